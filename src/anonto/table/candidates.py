"""Ontologies that a column may belong to: given ones, files that turn out to be one, and those with a name.

A file is taken for an ontology by its content, and only if it is a real hierarchy: a table about people may read like
one by accident. What cannot be read is passed over, unless it was asked for.
"""

from __future__ import annotations

import gzip
import os
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import AnontoError, NotAFolderError
from anonto.ontology.catalogue import LISTED, open_ontology
from anonto.ontology.read import read_ontology
from anonto.ontology.readers import reader_of
from anonto.ontology.sniff import sniff
from anonto.ontology.source import GZIP_MAGIC, decoded, kind_of_path, opened
from anonto.table.facts import name_words, word_set
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from anonto.table.facts import Facts

MOST_BYTES = 1 << 28
"""Larger files in a folder are tables rather than ontologies; they can still be given by name."""
HEAD_BYTES = 1 << 18
TOPS = frozenset(("*", "any", "all", "everything", "root", "top"))
FILLER_WORDS = word_set(
    """csv tsv txt xml obo owl ttl gz hierarchy hierarchies edges edge tree levels level ontology taxonomy thesaurus
    codes code data table file all list cm id ids type class the of and principal primary secondary main other"""
)
DIAGNOSIS_WORDS = word_set("dx diag diagnosis diagnoses icd disease diseases disorder disorders illness")
PROCEDURE_WORDS = word_set("pr px proc procedure procedures pcs operation operations surgery")
_ICD_10_CODE = re.compile(r"\s*[A-TV-Za-tv-z]\d[0-9ABab](\.?[0-9A-Za-z]{1,4})?\s*")


@dataclass(frozen=True, eq=False)
class Candidate:
    """An ontology with a way to name it in a plan."""

    taxonomy: Taxonomy
    reference: Path | str | Taxonomy
    """A file, a listed name, or the taxonomy itself when it has neither."""
    is_example: bool = False

    @property
    def title(self) -> str:
        """How reasons name it."""
        return self.reference if isinstance(self.reference, str) else self.taxonomy.name

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name and of its roots' labels."""
        roots = [self.taxonomy.label(root) for root in self.taxonomy.roots[:3]]
        return frozenset(word for text in (self.title, *roots) for word in name_words(text))

    def likeness(self, words: Iterable[str]) -> int:
        """How many telling words its name shares with a column's, counting words for the same thing as one."""
        of_column = frozenset(words)
        shared = {word for word in of_column & self.words - FILLER_WORDS if len(word) > 1 and not word.isdigit()}
        own, other = _subject(self.words), _subject(of_column)
        return len(shared - DIAGNOSIS_WORDS - PROCEDURE_WORDS) + (own is not None and own == other)


def candidates(
    given: Sequence[str | os.PathLike[str] | Taxonomy], folders: Sequence[Path], *, leave_out: Sequence[Path] = ()
) -> list[Candidate]:
    """The ontologies that were given and those that lie in some folders, each once."""
    found = [*(_given(one) for one in given), *(one for folder in folders for one in _in_folder(folder, leave_out))]
    seen: set[str] = set()
    different = []
    for candidate in found:
        sha256 = candidate.taxonomy.provenance.sha256
        if not sha256 or sha256 not in seen:
            different.append(candidate)
        seen.add(sha256)
    return different


def listed_candidates(columns: Sequence[Facts]) -> list[Candidate]:
    """The ontologies with a name that may explain some column."""
    return [
        Candidate(open_ontology(one.name), one.name, is_example=not one.package)
        for one in LISTED.values()
        if one.available and any(_WANTED.get(one.name, _any)(facts) for facts in columns)
    ]


def _given(one: str | os.PathLike[str] | Taxonomy) -> Candidate:
    if isinstance(one, Taxonomy):
        return Candidate(one, one)
    name = os.fspath(one)
    return Candidate(open_ontology(name), Path(name) if Path(name).exists() else name)


def _in_folder(folder: Path, leave_out: Sequence[Path]) -> Iterator[Candidate]:
    if kind_of_path(folder) != "folder":
        raise NotAFolderError(str(folder))
    left_out = {path.resolve() for path in leave_out}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.resolve() not in left_out and path.stat().st_size <= MOST_BYTES:
            try:
                sniff(_head(path), path.name)
                taxonomy = read_ontology(path)
            except AnontoError:
                continue
            if is_real_hierarchy(taxonomy):
                yield Candidate(taxonomy, path)


def _head(path: Path) -> str:
    """The first lines of a file, unpacked."""
    with opened(path) as stored:
        is_packed = stored.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        stored.seek(0)
        try:
            head = gzip.GzipFile(fileobj=stored).read(HEAD_BYTES) if is_packed else stored.read(HEAD_BYTES)
        except (OSError, EOFError):
            return ""
    whole_lines = head.rpartition(b"\n")[0] if len(head) == HEAD_BYTES else head
    return decoded(whole_lines or head, path.name)


def is_real_hierarchy(taxonomy: Taxonomy) -> bool:
    """Whether most concepts have a parent and, in a file of levels, whether a group has one group above it.

    In a table about people the first column may look like values and the last like a top; but sex does not determine
    region, so that the same text stands below many others.
    """
    n_parents = np.diff(taxonomy.parent_offsets)
    n_children = np.diff(taxonomy.child_offsets)
    if len(taxonomy) < 3 or 2 * np.count_nonzero(n_parents) < len(taxonomy):
        return False
    reader = reader_of(taxonomy.provenance.format)
    if reader is None or not reader.may_be_a_table:
        return True
    is_inner = n_children > 0
    n_inner = np.count_nonzero(is_inner)
    labels = Counter(label for label, inner in zip(taxonomy.labels, is_inner.tolist(), strict=True) if inner)
    repeated = sum(count for count in labels.values() if count > 1)
    several = np.count_nonzero(n_parents > 1)
    if 10 * repeated > n_inner or 10 * several > len(taxonomy) or 2 * n_inner > len(taxonomy):
        return False
    return taxonomy.max_depth > 2 or taxonomy.labels[int(taxonomy.order[0])].strip().casefold() in TOPS


def _may_be_icd_10(facts: Facts) -> bool:
    """Most values look like codes, or the name speaks of diagnoses and most values are words."""
    looks = sum(bool(_ICD_10_CODE.fullmatch(value)) for value in facts.values)
    is_worded = sum(not any(sign.isdigit() for sign in value) for value in facts.values)
    return 2 * looks > len(facts.values) or (_subject(facts.words) == "diagnosis" and 2 * is_worded > len(facts.values))


def _any(facts: Facts) -> bool:
    return len(facts.values) > 1


_WANTED: dict[str, Callable[[Facts], bool]] = {"icd10cm": _may_be_icd_10}
"""Large ontologies are opened only if a column may be in them."""


def _subject(words: Iterable[str]) -> str | None:
    """Diagnoses or procedures; a name that speaks of both, as ``icd9_proc`` does, means procedures."""
    spoken = frozenset(words)
    if spoken & PROCEDURE_WORDS:
        return "procedure"
    return "diagnosis" if spoken & DIAGNOSIS_WORDS else None
