"""OBO flat files (versions 1.0 to 1.4), read line by line.

Lenient on purpose: published files break the grammar in places that do not matter here. Read from the ``[Term]``
stanzas: id, name, alternative ids, synonyms of all scopes, ``is_a``, ``is_obsolete`` and ``replaced_by``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anonto.errors import MalformedFileError
from anonto.ontology.readers import Reader
from anonto.ontology.source import numbered_lines
from anonto.taxonomy.build import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.ontology.readers import Start
    from anonto.ontology.source import Source
    from anonto.taxonomy.taxonomy import Taxonomy

FORMAT = "obo"

_START = re.compile(r"\[(Term|Typedef|Instance)\]|(format-version|data-version)\s*:")
_STANZA = re.compile(r"^\[(Term|Typedef|Instance)\]", re.MULTILINE)
_TAG = re.compile(r"[a-z][\w-]*:\s")
_SYNONYM_TAGS = ("synonym", "exact_synonym", "narrow_synonym", "broad_synonym", "related_synonym")
_IDENTIFIER = re.compile(r"(?:\\.|[^\s\\{])+")
_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"')
_TRAILING_COMMENT = re.compile(r"(?<!\\)\s!(\s.*)?$")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "W": " "}


@dataclass(slots=True)
class _Term:
    line: int
    concept: str = ""
    name: str = ""
    alternatives: list[str] = field(default_factory=list)
    synonyms: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    obsolete: bool = False
    replacement: str | None = None


def read_obo(source: Source) -> Taxonomy:
    """Read an OBO file."""
    draft = Draft()
    for term in _terms(source.text):
        if not term.concept:
            raise MalformedFileError(source.name, "OBO", "its [Term] has no id", term.line)
        _add(draft, term)
    return draft.finish(source.provenance(FORMAT, version=_version(source.text), relations=("is_a",)))


def _terms(text: str) -> Iterator[_Term]:
    term = None
    for number, line in numbered_lines(text):
        if line.startswith("["):
            if term:
                yield term
            term = _Term(number) if line.startswith("[Term]") else None
        elif term:
            tag, _, value = line.partition(":")
            _note(term, tag.strip(), value.strip())
    if term:
        yield term


def _note(term: _Term, tag: str, value: str) -> None:
    if tag == "is_a":
        term.parents.append(_identifier(value))
    elif tag in _SYNONYM_TAGS:
        term.synonyms.append(_quoted_text(value))
    elif tag == "alt_id":
        term.alternatives.append(_identifier(value))
    elif tag == "id":
        term.concept = _identifier(value)
    elif tag == "name":
        term.name = _plain(value)
    elif tag == "is_obsolete":
        term.obsolete = value.startswith("true")
    elif tag == "replaced_by":
        term.replacement = term.replacement or _identifier(value)


def _add(draft: Draft, term: _Term) -> None:
    draft.concept(term.concept, term.name)
    if term.obsolete:
        draft.obsolete(term.concept, term.replacement)
    for parent in filter(None, term.parents):
        draft.edge(term.concept, parent)
    for synonym in term.synonyms:
        draft.synonym(term.concept, synonym)
    for other in filter(None, term.alternatives):
        draft.alternative(other, term.concept)


def _version(text: str) -> str:
    header, _, _ = text.partition("\n[")
    found = re.search(r"^data-version\s*:(.*)$", header, re.MULTILINE)
    return _plain(found.group(1).strip()) if found else ""


def _identifier(value: str) -> str:
    """An id: everything up to a blank or to the brace of modifiers."""
    found = _IDENTIFIER.match(value)
    return _unescape(found.group()) if found else ""


def _quoted_text(value: str) -> str:
    found = _QUOTED.match(value)
    return _unescape(found.group(1)) if found else _plain(value).strip('"')


def _plain(value: str) -> str:
    if "!" in value:
        value = _TRAILING_COMMENT.sub("", value)
    return _unescape(_without_modifiers(value) if value.endswith("}") else value)


def _without_modifiers(value: str) -> str:
    """A value without the braces at its end, if they hold ``name="text"``."""
    before, _, modifiers = value[:-1].rpartition("{")
    modifiers = modifiers.rstrip()
    if "}" in modifiers or before.endswith("\\") or not modifiers.endswith('"') or '="' not in modifiers[:-1]:
        return value
    return before.rstrip()


def _unescape(value: str) -> str:
    if "\\" not in value:
        return value
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape.group(1), escape.group(1)), value)


def _is_obo(start: Start) -> bool:
    first = start.first
    return bool(_START.match(first) or (_TAG.match(first) and _STANZA.search(start.text)))


READER = Reader(
    name=FORMAT,
    sentence="OBO flat files 1.0 to 1.4, read leniently",
    relations="`is_a`",
    ids="`id`",
    endings=(".obo", ".obo.gz"),
    read=read_obo,
    recognises=_is_obo,
    rank=10,
)
