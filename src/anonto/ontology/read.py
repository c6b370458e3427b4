"""From a path to a taxonomy: the format is recognised by content alone, and its reader is called."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import AnontoError, FileError, MalformedFileError
from anonto.ontology.readers import (
    KIND,
    OWN,
    PLUGIN_RANK,
    Start,
    own_readers,
    plugin_readers,
    reader_names,
    reader_of,
)
from anonto.ontology.safe_xml import root_tag
from anonto.ontology.source import kind_of_path, name_of_folder, read_source
from anonto.runtime.plugins import unusable_plugin
from anonto.taxonomy.taxonomy import Taxonomy
from anonto.wording import did_you_mean, list_names

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator
    from typing import TypeVar

    from anonto.ontology.readers import Reader

    Given = TypeVar("Given")

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


def read_ontology(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the public name
    root: str | None = None,
) -> Taxonomy:
    """Read the is-a hierarchy of an ontology.

    Args:
        path: A file, plain or gzipped, or the folder of an RF2 release. Its name does not matter.
        format: The name of a reader; by default the content decides.
        root: A concept; only it and its descendants are kept.

    Returns:
        The taxonomy, without shortcuts; its provenance counts what was left out.

    Raises:
        FileError: If the file cannot be read or used; the subclass says why.
    """
    asked = None if format is None else reader_of(format)
    if format is not None and asked is None:
        raise unknown_format(str(path), reader_names(), asked=format)
    taxonomy = _read_folder(Path(path), asked) if kind_of_path(path) == "folder" else _read_file(Path(path), asked)
    return taxonomy if root is None else taxonomy.below(root)


def _read_folder(folder: Path, asked: Reader | None) -> Taxonomy:
    reader = asked or next(one for one in own_readers() if one.read_path)
    if reader.read_path is None:
        raise MalformedFileError(name_of_folder(folder), reader.name, "it is a folder")
    return _read(reader, reader.read_path, folder, name_of_folder(folder))


def _read_file(path: Path, asked: Reader | None) -> Taxonomy:
    if asked is not None and asked.read_path is not None:
        return _read(asked, asked.read_path, path, path.name)
    source = read_source(path)
    reader = asked or sniff(source.text, source.name)
    return _read(reader, (not asked and reader.read_recognised) or reader.read, source, source.name)


def _read(reader: Reader, read: Callable[[Given], Taxonomy] | None, given: Given, name: str) -> Taxonomy:
    """The taxonomy that a reader builds from a file; a failing reader of another package is reported as such."""
    try:
        taxonomy = None if read is None else read(given)
    except AnontoError:
        raise
    except Exception as error:
        if reader.name in OWN:
            raise
        raise MalformedFileError(name, reader.name, f"its reader raised {type(error).__name__}") from error
    if not isinstance(taxonomy, Taxonomy):
        raise MalformedFileError(name, reader.name, "its reader made no taxonomy of it")
    return taxonomy


# ------------------------------------------------------------------------------------------------ formats


def sniff(text: str, name: str) -> Reader:
    """The reader that recognises a text."""
    start = start_of(text, name)
    refusal = _refusal(start)
    found = next((one for one in _readers_in_order(with_own=refusal is None) if _recognises(one, start)), None)
    if found is None:
        raise refusal or unknown_format(name, reader_names())
    return found


def _readers_in_order(*, with_own: bool) -> Iterator[Reader]:
    """Readers in the order in which they are tried: plugins come after our strict formats, before our loose ones."""
    own = own_readers() if with_own else []
    yield from (one for one in own if one.rank < PLUGIN_RANK)
    yield from plugin_readers().values()
    yield from (one for one in own if one.rank >= PLUGIN_RANK)


def start_of(text: str, name: str) -> Start:
    """The sample that readers examine."""
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
    """Warn that a reader of another package is skipped; not again for the next files."""
    warnings.warn(unusable_plugin(KIND, name, where, fault), stacklevel=2)


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


def _refusal(start: Start) -> FileError | None:
    """The error for a known format that none of our readers can read."""
    first, found = start.first, _UNREAD_XML.get(start.element)
    if start.element == "Ontology" and "rdf:about" not in start.tag:
        found = "OWL/XML", _RDF_FORMATS
    elif _FUNCTIONAL.match(first):
        found = "OWL in functional syntax", _RDF_FORMATS
    elif _MANCHESTER.match(first):
        found = "OWL in Manchester syntax", _RDF_FORMATS
    elif _JSON.match(first):
        found = "an OBO graph in JSON" if '"graphs"' in first else "JSON", _RDF_FORMATS
    return None if found is None else unsupported_format(start.name, *found)


def unknown_format(name: str, known: Collection[str], asked: str | None = None) -> FileError:
    """Content in none of the formats that are read, or a format that does not exist."""
    start = f"{name!r} is not in a known ontology format"
    if asked is not None:
        start = f"There is no ontology format {asked!r}{did_you_mean(asked, known)}"
    return FileError(f"{start}; known formats are {list_names(known)}.")


def unsupported_format(name: str, found: str, convert_to: str) -> FileError:
    """A format that is recognised but not read."""
    return FileError(f"{name!r} is {found}, which is not supported; convert it to {convert_to} first.")
