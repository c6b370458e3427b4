"""Ontologies that a column may belong to: given ones, files that turn out to be ontologies, and those with a name.

A file is recognised as an ontology by its content, and only if it is a real hierarchy: a table about people may look
like one by accident. Files that cannot be read are skipped, unless they were given.
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

from anonto.errors import AnontoError
from anonto.ontology.catalogue import LISTED, open_ontology
from anonto.ontology.read import read_ontology, sniff
from anonto.ontology.readers import reader_of
from anonto.ontology.refusals import not_a_folder
from anonto.ontology.source import decode_text, is_gzipped, kind_of_path, open_file
from anonto.profile.column_profile import name_words, word_set
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from anonto.profile.column_profile import ColumnProfile

MOST_BYTES = 1 << 28
"""Larger files in a folder are taken for tables; they can still be given by name."""
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
    """An ontology and its reference in a plan."""

    taxonomy: Taxonomy
    reference: Path | str | Taxonomy
    """A file, a listed name, or the taxonomy itself."""
    is_example: bool = False

    @property
    def title(self) -> str:
        """Its name in reasons."""
        return self.reference if isinstance(self.reference, str) else self.taxonomy.name

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name and of its roots' labels."""
        roots = [self.taxonomy.label(root) for root in self.taxonomy.roots[:3]]
        return frozenset(word for text in (self.title, *roots) for word in name_words(text))

    def likeness(self, words: Iterable[str]) -> int:
        """The number of meaningful words that its name shares with a column's; synonyms count as one word."""
        of_column = frozenset(words)
        shared = {word for word in of_column & self.words - FILLER_WORDS if len(word) > 1 and not word.isdigit()}
        own, other = _subject(self.words), _subject(of_column)
        return len(shared - DIAGNOSIS_WORDS - PROCEDURE_WORDS) + (own is not None and own == other)


def candidates(
    given: Sequence[str | os.PathLike[str] | Taxonomy], folders: Sequence[Path], *, leave_out: Sequence[Path] = ()
) -> list[Candidate]:
    """The given ontologies and those in some folders, each once."""
    found = [
        *(_candidate_of(one) for one in given),
        *(one for folder in folders for one in _in_folder(folder, leave_out)),
    ]
    seen: set[str] = set()
    different = []
    for candidate in found:
        sha256 = candidate.taxonomy.provenance.sha256
        if not sha256 or sha256 not in seen:
            different.append(candidate)
        seen.add(sha256)
    return different


def listed_candidates(columns: Sequence[ColumnProfile]) -> list[Candidate]:
    """The ontologies with a name that some column may belong to."""
    return [
        Candidate(open_ontology(one.name), one.name, is_example=not one.package)
        for one in LISTED.values()
        if one.available and any(_WANTED.get(one.name, _has_several_values)(column) for column in columns)
    ]


def _candidate_of(one: str | os.PathLike[str] | Taxonomy) -> Candidate:
    if isinstance(one, Taxonomy):
        return Candidate(one, one)
    name = os.fspath(one)
    return Candidate(open_ontology(name), Path(name) if Path(name).exists() else name)


def _in_folder(folder: Path, leave_out: Sequence[Path]) -> Iterator[Candidate]:
    if kind_of_path(folder) != "folder":
        raise not_a_folder(str(folder))
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
    is_packed = is_gzipped(path)
    with open_file(path) as stored:
        try:
            head = gzip.GzipFile(fileobj=stored).read(HEAD_BYTES) if is_packed else stored.read(HEAD_BYTES)
        except (OSError, EOFError):
            return ""
    whole_lines = head.rpartition(b"\n")[0] if len(head) == HEAD_BYTES else head
    return decode_text(whole_lines or head, path.name)


def is_real_hierarchy(taxonomy: Taxonomy) -> bool:
    """Return whether most concepts have a parent and, in a file of levels, most groups have a single parent.

    In a table about people the first column may look like values and the last like a top level. But there the same text
    has many parents, because sex does not determine region.
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


def _may_be_icd_10(column: ColumnProfile) -> bool:
    """Return whether most values look like codes, or the name means diagnoses and most values are words."""
    looks = sum(bool(_ICD_10_CODE.fullmatch(value)) for value in column.values)
    is_worded = sum(not any(sign.isdigit() for sign in value) for value in column.values)
    return 2 * looks > len(column.values) or (
        _subject(column.words) == "diagnosis" and 2 * is_worded > len(column.values)
    )


def _has_several_values(column: ColumnProfile) -> bool:
    return len(column.values) > 1


_WANTED: dict[str, Callable[[ColumnProfile], bool]] = {"icd10cm": _may_be_icd_10}
"""Large ontologies are only opened if a column may belong to them."""


def _subject(words: Iterable[str]) -> str | None:
    """Diagnoses or procedures; a name with words for both, such as ``icd9_proc``, means procedures."""
    spoken = frozenset(words)
    if spoken & PROCEDURE_WORDS:
        return "procedure"
    return "diagnosis" if spoken & DIAGNOSIS_WORDS else None
