"""XML that is safe to parse, and how it is distinguished from Turtle.

XML is checked before any parser sees it: entities that are nested, too long or external are refused; the short
namespace entities that editors such as Protégé write are allowed.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING

from anonto.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_ENTITY_LENGTH = 1024
MAX_ENTITY_GROWTH = 64 << 20
MAX_ENTITY_RATIO = 10

TURTLE = re.compile(
    r"@(prefix|base)\b|(?i:PREFIX\s+[\w.-]*:\s*<|BASE\s*<)"
    r"|(?:(?:<[^<>\"{}|^`\\\s]*>|_:\S+|[\w-]*:[\w.-]+|\[\s*+\])\s++|\[\s++)(?:a|<[^<>\s]*>|[\w-]*:[\w.-]+)\s"
)
_MISC = re.compile(r"\s+|<\?.*?\?>|<!--.*?-->", re.DOTALL)
_START_TAG = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)(?=[\s/>])[^>]*>?")
_DOCTYPE = re.compile(r"<!DOCTYPE", re.IGNORECASE)
_DOCTYPE_START = re.compile(r"<!DOCTYPE\s++[\w.:-]++(?:[^\[>\"']|\"[^\"]*\"|'[^']*')*+(?=[\[>])")
_ENTITY = re.compile(r"<!ENTITY\s+([\w.:-]+)\s+(\"[^\"]*\"|'[^']*')\s*>")
_OTHER_DECLARATION = re.compile(r"<!(?:ELEMENT|ATTLIST|NOTATION)\b(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>")
_AMPERSAND = re.compile(r"&(?:(?:amp|#0*38|#[xX]0*26);)+")
_CHARACTER = re.compile(r"&#(\d{1,7}|[xX][0-9A-Fa-f]{1,6});")
_REFERENCE = re.compile(r"&([\w.:-]+);")
_ENTITY_REFERENCE = re.compile(r"&(?!(?:lt|gt|quot|apos);)[\w.:-]+;")


def root_tag(text: str, name: str) -> re.Match[str] | None:
    """The start tag of the root element of XML; None for Turtle, which may also start with an angle bracket."""
    content = text[_prolog(text, name)[0] :]
    return None if _is_turtle(content) else _START_TAG.match(content)


def safe_xml(text: str, name: str) -> str:
    """XML that is safe for any parser: without encoding, its DOCTYPE reduced to harmless entities.

    An entity is allowed if it is internal, at most 1,024 characters long and refers to no other entity; the references
    together must not expand the text too much. A DOCTYPE is only allowed before the root element, because some parsers
    obey it anywhere.
    """
    end, entities = _prolog(text, name)
    if _DOCTYPE.search(text, end):
        raise unsafe_entities(name)
    if _growth(text, end, entities) > max(MAX_ENTITY_GROWTH, MAX_ENTITY_RATIO * len(text)):
        raise unsafe_entities(name)
    declared = "".join(f'<!ENTITY {entity[1]} "{_in_double_quotes(entity[2])}">' for entity in entities)
    doctype = f"<!DOCTYPE x [{declared}]>" if declared else ""
    return doctype + "\n" * text.count("\n", 0, end) + text[end:]


def _growth(text: str, start: int, entities: Iterable[re.Match[str]]) -> int:
    """The number of characters that the references to entities expand to."""
    lengths: dict[str, int] = {}
    for entity in entities:
        lengths[entity[1]] = max(len(entity[2]), lengths.get(entity[1], 0))
    if not lengths:
        return 0
    references = Counter(found[1] for found in _REFERENCE.finditer(text, start))
    return sum(references[name] * length for name, length in lengths.items())


def _in_double_quotes(quoted: str) -> str:
    value = _CHARACTER.sub(lambda found: _character(found.group(1)), quoted[1:-1])
    return value.replace('"', "&quot;").replace("<", "&lt;")


def _character(reference: str) -> str:
    number = int(reference[1:], 16) if reference[0] in "xX" else int(reference)
    return chr(number) if number <= sys.maxunicode and chr(number) not in "&<" else f"&#{reference};"


def _is_turtle(content: str) -> bool:
    """Return whether a text is Turtle: ``<urn:x> a …`` looks like a start tag, but only XML has end tags."""
    return bool(TURTLE.match(content)) and "</" not in content


def _prolog(text: str, name: str) -> tuple[int, list[re.Match[str]]]:
    """Where the root element starts, and the entities that a harmless DOCTYPE declares."""
    position = _after_misc(text, 0)
    entities: list[re.Match[str]] = []
    if not _DOCTYPE.match(text, position):
        return position, entities
    start = _DOCTYPE_START.match(text, position)
    if start is None:
        raise unsafe_entities(name)
    position = start.end()
    if text.startswith("[", position):
        position, entities = _declarations(text, position + 1, name)
    return _after_misc(text, text.find(">", position) + 1 or len(text)), entities


def _declarations(text: str, start: int, name: str) -> tuple[int, list[re.Match[str]]]:
    position = _after_misc(text, start)
    entities = []
    while not text.startswith("]", position):
        entity = _ENTITY.match(text, position)
        declaration = entity or _OTHER_DECLARATION.match(text, position)
        if declaration is None or (entity and not _is_harmless(entity[2][1:-1])):
            raise unsafe_entities(name)
        if entity:
            entities.append(entity)
        position = _after_misc(text, declaration.end())
    return position, entities


def _is_harmless(value: str) -> bool:
    """Return whether an entity's value refers to no entity, also after its character references are resolved."""
    if len(value) > MAX_ENTITY_LENGTH:
        return False
    return not _ENTITY_REFERENCE.search(_AMPERSAND.sub("&", value))


def _after_misc(text: str, position: int) -> int:
    while found := _MISC.match(text, position):
        position = found.end()
    return position


def unsafe_entities(name: str) -> FileError:
    """XML whose entities could expand without bound or reach outside the file."""
    return FileError(
        f"{name!r} declares XML entities that nest, are too long or point outside the file; remove its DOCTYPE."
    )
