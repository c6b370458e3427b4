"""The tabular list of ICD-10-CM in the XML of its publisher (CDC/NCHS).

Chapters, blocks and codes form a tree below one root. The list defines seventh characters without listing the codes
that have them: these are added below each code without subdivisions, padded with X, except where a note excludes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from anonto.errors import MalformedFileError
from anonto.ontology.readers import Reader
from anonto.ontology.safe_xml import safe_xml
from anonto.taxonomy.build import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.ontology.source import Source
    from anonto.taxonomy.taxonomy import Taxonomy

FORMAT = "icd10cm"
ROOT = "ICD10CM"

_CATEGORY_LENGTH = 3
_LENGTH_BEFORE_EXTENSION = 6
_TRAILING_RANGE = re.compile(r"\(([A-Z]\w{2}(?:-[A-Z]\w{2})?)\)$")
_NOT_APPLICABLE = re.compile(r" do(?:es)? not apply to codes ")


@dataclass(frozen=True, slots=True)
class _Extension:
    """A seventh character, its meaning, and the sixth characters that it never follows."""

    character: str
    meaning: str
    never_after: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Place:
    """An element, the concept above it and the seventh characters that apply to it."""

    element: ET.Element
    parent: str
    extensions: tuple[_Extension, ...] = ()


def read_icd10cm(source: Source) -> Taxonomy:
    """Read the tabular list."""
    tabular = _parse(source)
    version = _text(tabular, "version")
    draft = Draft()
    draft.concept(ROOT, f"ICD-10-CM {version}".strip())
    pending = [_Place(chapter, ROOT) for chapter in reversed(tabular.findall("chapter"))]
    if not pending:
        raise MalformedFileError(source.name, "ICD-10-CM", "it has no chapter")
    while pending:
        place = pending.pop()
        if place.element.tag == "diag":
            below = _add_code(draft, place, source.name)
        else:
            below = _add_group(draft, place, source.name)
        pending.extend(reversed(list(below)))
    return draft.finish(source.provenance(FORMAT, version=version))


def _parse(source: Source) -> ET.Element:
    try:
        return ET.fromstring(safe_xml(source.text, source.name))  # noqa: S314 - entities are checked
    except ET.ParseError as error:
        raise MalformedFileError(source.name, "ICD-10-CM", _fault(error), error.position[0]) from None


def _fault(error: ET.ParseError) -> str:
    message, _, _ = str(error).partition(": line")
    return message


def _add_group(draft: Draft, place: _Place, name: str) -> Iterator[_Place]:
    """Add a chapter or a block, unless it is a block without codes."""
    element = place.element
    description = _text(element, "desc")
    found = _TRAILING_RANGE.search(description)
    codes = element.get("id") or (found.group(1) if found else _text(element, "name"))
    if not codes:
        raise MalformedFileError(name, "ICD-10-CM", f"a {element.tag} has no range of codes")
    if element.tag == "section" and element.find("diag") is None:
        return
    concept = f"{'chapter' if element.tag == 'chapter' else 'block'}:{codes}"
    draft.concept(concept, _TRAILING_RANGE.sub("", description).rstrip())
    draft.edge(concept, place.parent)
    for below in element:
        if below.tag in {"section", "diag"}:
            yield _Place(below, concept)


def _add_code(draft: Draft, place: _Place, name: str) -> Iterator[_Place]:
    element = place.element
    code, label = _text(element, "name"), _text(element, "desc")
    if not code:
        raise MalformedFileError(name, "ICD-10-CM", f"a code below {place.parent} has no name")
    draft.concept(code, label)
    draft.edge(code, place.parent)
    for note in element.iterfind("inclusionTerm/note"):
        draft.synonym(code, (note.text or "").strip())
    extensions = _extensions(element) or place.extensions
    subdivisions = element.findall("diag")
    if not subdivisions:
        _add_extended(draft, code, label, extensions)
    for below in subdivisions:
        yield _Place(below, code, extensions)


def _extensions(element: ET.Element) -> tuple[_Extension, ...]:
    definition = element.find("sevenChrDef")
    if definition is None:
        return ()
    never_after: dict[str, set[str]] = {}
    for note in element.iterfind("notes/note"):
        for seventh, sixth in _exceptions(" ".join((note.text or "").split())):
            never_after.setdefault(seventh, set()).update(sixth)
    return tuple(
        _Extension(character, (extension.text or "").strip(), frozenset(never_after.get(character, ())))
        for extension in definition.iterfind("extension")
        if (character := extension.get("char"))
    )


def _exceptions(note: str) -> Iterator[tuple[str, list[str]]]:
    """The seventh characters that a note excludes after some sixth ones.

    Such a note reads: 7th characters D and S do not apply to codes … with 6th character 7 - death.
    """
    _, _, rule = note.partition("7th character")
    found = _NOT_APPLICABLE.search(rule)
    if found is None:
        return
    _, _, sixth = rule[found.end() :].partition(" with 6th character ")
    for character in re.findall(r"\b[A-Z\d]\b", rule[: found.start()]):
        yield character, re.findall(r"\b([A-Z\d]) - ", sixth)


def _add_extended(draft: Draft, code: str, label: str, extensions: tuple[_Extension, ...]) -> None:
    for extension in extensions:
        extended = extended_code(code, extension.character)
        if extended[-2] in extension.never_after:
            continue
        draft.concept(extended, f"{label}, {extension.meaning}")
        draft.edge(extended, code)


def extended_code(code: str, character: str) -> str:
    """A code with its seventh character: ``T07`` and ``A`` give ``T07.XXXA``."""
    plain = code.replace(".", "").ljust(_LENGTH_BEFORE_EXTENSION, "X") + character
    return f"{plain[:_CATEGORY_LENGTH]}.{plain[_CATEGORY_LENGTH:]}"


def _text(element: ET.Element, tag: str) -> str:
    return (element.findtext(tag) or "").strip()


READER = Reader(
    name=FORMAT,
    sentence="the tabular list of ICD-10-CM in XML",
    relations="chapter, block, code; seventh characters are added",
    ids="codes; `chapter:…`, `block:…`",
    endings=(".xml",),
    read=read_icd10cm,
    recognises=lambda start: start.element.startswith("ICD10CM"),
    rank=10,
)
