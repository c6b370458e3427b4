"""Which ontology format a text is in, judged by its content alone."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import TYPE_CHECKING

from anonto.errors import AnontoError, PluginWarning, UnknownFormatError, UnsupportedFormatError
from anonto.ontology.readers import (
    KIND,
    OF_OTHERS,
    OWN,
    Start,
    own_readers,
    reader_names,
    readers_of_others,
)
from anonto.ontology.safe_xml import root_tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.ontology.readers import Reader

_SAMPLE_LINES = 100
_RDF_FORMATS = "RDF/XML, Turtle or OBO"
_MESH_FORMATS = "the MeSH tree file or MeSH in RDF"
_UNREAD_XML = {
    "ClaML": ("ClaML", "an edge list in CSV"),
    "DescriptorRecordSet": ("MeSH XML", _MESH_FORMATS),
    "SupplementalRecordSet": ("MeSH XML", _MESH_FORMATS),
}
_FUNCTIONAL = re.compile(r"(Prefix|Ontology)\s*\(")
_MANCHESTER = re.compile(r"(Prefix|Ontology|Namespace):(\s|$)")
_JSON = re.compile(r"\{\s*[\"}]|\[\s*[{\"\[\d]|\[\s*\]\s*$")


def sniff(text: str, name: str) -> Reader:
    """The reader that recognises a text."""
    start = start_of(text, name)
    refusal = _refusal(start)
    found = next((one for one in _asked(with_own=refusal is None) if _recognises(one, start)), None)
    if found is None:
        raise refusal or UnknownFormatError(name, reader_names())
    return found


def _asked(*, with_own: bool) -> Iterator[Reader]:
    """Readers in the order in which they are asked: those of others after strict forms of ours, before loose ones."""
    own = own_readers() if with_own else []
    yield from (one for one in own if one.rank < OF_OTHERS)
    yield from readers_of_others().values()
    yield from (one for one in own if one.rank >= OF_OTHERS)


def start_of(text: str, name: str) -> Start:
    """What the readers look at."""
    content = text.lstrip("\ufeff \t\n")
    tag = root_tag(content, name) if content.startswith("<") else None
    if tag is not None:
        return Start(name, text, element=tag[1], tag=tag[0])
    return Start(name, text, tuple(_significant_lines(text)))


def _recognises(reader: Reader, start: Start) -> bool:
    try:
        return reader.recognises(start)
    except AnontoError:
        raise
    except Exception as error:
        if reader.name in OWN:
            raise
        warn_once(reader.name, reader.recognises.__module__, f"looking at a file raised {type(error).__name__}")
        return False


@cache
def warn_once(name: str, where: str, fault: str) -> None:
    """Warn that a reader of another package is left out; of the next files it is not said again."""
    warnings.warn(PluginWarning(KIND, name, where, fault), stacklevel=2)


def _significant_lines(text: str, at_most: int = _SAMPLE_LINES) -> Iterator[str]:
    """The first lines that are neither blank nor a comment of any of the formats."""
    position = 0
    while position < len(text) and at_most:
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position:end].strip(" ")
        position = end + 1
        if line.strip() and not line.startswith(("#", "!")):
            at_most -= 1
            yield line


def _refusal(start: Start) -> UnsupportedFormatError | None:
    """Why a text is not read whose format is known and has no reader of ours."""
    first, found = start.first, _UNREAD_XML.get(start.element)
    if start.element == "Ontology" and "rdf:about" not in start.tag:
        found = "OWL/XML", _RDF_FORMATS
    elif _FUNCTIONAL.match(first):
        found = "OWL in functional syntax", _RDF_FORMATS
    elif _MANCHESTER.match(first):
        found = "OWL in Manchester syntax", _RDF_FORMATS
    elif _JSON.match(first):
        found = "an OBO graph in JSON" if '"graphs"' in first else "JSON", _RDF_FORMATS
    return None if found is None else UnsupportedFormatError(start.name, *found)
