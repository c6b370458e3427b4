"""Ontology readers by name: ours, and those of other packages, which are entry points of `GROUP`.

A reader has everything about its format: its name, a sentence, how its content is recognised, and how it is read.
Our modules are imported when something is read, because the command line's help only needs the names; other packages
are imported if none of our strict formats is recognised, or if they are requested by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from anonto.runtime.plugins import load_plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from anonto.ontology.source import Source
    from anonto.taxonomy.taxonomy import Taxonomy

GROUP = "anonto.ontologies"
KIND = "ontology reader"
"""The name used in warnings."""
PLUGIN_RANK = 50
"""The rank at which the readers of other packages are tried."""
OWN: Mapping[str, str] = {
    "edge-csv": "edge_csv:READER",
    "level-csv": "level_csv:READER",
    "obo": "obo:READER",
    "owl": "rdf:OWL_READER",
    "skos": "rdf:SKOS_READER",
    "rf2": "rf2:READER",
    "icd10cm": "icd10cm:READER",
    "mesh": "mesh:READER",
}
"""The modules of our readers."""


@dataclass(frozen=True, slots=True)
class Start:
    """The sample from which a format is recognised."""

    name: str
    """Name of the file, for messages only: the content decides."""
    text: str
    lines: tuple[str, ...] = ()
    """The first lines that are neither blank nor comments; empty for XML."""
    element: str = ""
    """The name of the root element of XML, without its prefix."""
    tag: str = ""
    """The whole start tag of that element."""

    @property
    def first(self) -> str:
        """The first lines as one text."""
        return "\n".join(self.lines)


def _never(start: Start) -> bool:
    del start
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A format of ontologies."""

    name: str
    sentence: str
    """Description of the format."""
    relations: str = ""
    """The part of the file that holds the is-a relations, for the documentation."""
    ids: str = ""
    """The part of the file that becomes the id of a concept, for the documentation."""
    endings: tuple[str, ...] = ()
    """Usual file name endings, only used to list files in the app."""
    read: Callable[[Source], Taxonomy] | None = None
    """Reads a text."""
    read_path: Callable[[Path], Taxonomy] | None = None
    """Reads a folder or a binary file, for a format without ``read``."""
    recognises: Callable[[Start], bool] = _never
    """True if a text has this format; it may refuse a text that is known to be unreadable."""
    read_recognised: Callable[[Source], Taxonomy] | None = None
    """Reads a recognised text, if that differs from reading one whose format was requested by name."""
    may_be_a_table: bool = False
    """True if a table about people may look like it; searches for ontologies then check more."""
    rank: int = PLUGIN_RANK
    """Readers of lower rank are tried first; loose formats come last."""


def reader_names() -> tuple[str, ...]:
    """The names of all readers, ours first."""
    return (*OWN, *plugin_readers())


def reader_of(name: str) -> Reader | None:
    """The reader with a name, or None."""
    return _own(name) if name in OWN else plugin_readers().get(name)


def own_readers() -> list[Reader]:
    """Our readers in the order in which they are tried."""
    return sorted(map(_own, OWN), key=lambda one: one.rank)


@cache
def plugin_readers() -> Mapping[str, Reader]:
    """The readers of other packages; unusable ones are skipped with a warning."""
    return load_plugins(GROUP, KIND, _fault)


def _fault(name: str, reader: Any, found: Mapping[str, Reader]) -> str | None:
    """Why an object cannot be a reader with this name; None if it can."""
    if name in OWN or name in found:
        return "there is a reader of this name already"
    return None if isinstance(reader, Reader) and reader.name == name else "it is not a Reader of this name"


def file_endings() -> tuple[str, ...]:
    """The usual endings of ontology file names."""
    readers = (*own_readers(), *plugin_readers().values())
    return tuple(dict.fromkeys(ending for one in readers for ending in one.endings))


def _own(name: str) -> Reader:
    module, _, attribute = OWN[name].partition(":")
    reader: Reader = getattr(import_module(f"anonto.ontology.{module}"), attribute)
    return reader
