"""Readers of ontologies by name: ours, and those that other packages bring as entry points of `GROUP`.

A reader is one place: its name, a sentence about the format, how its content is told from others', and how it is read.
Our modules are loaded when something is read, for the command line's help names the formats too; those of others when
no strict form of ours has been recognised, or when they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from anonto.plugins import load_plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from anonto.ontology.source import Source
    from anonto.taxonomy.taxonomy import Taxonomy

GROUP = "anonto.ontologies"
KIND = "ontology reader"
"""What warnings call it."""
OF_OTHERS = 50
"""The rank at which the readers of other packages are asked."""
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
"""Where our readers are."""


@dataclass(frozen=True, slots=True)
class Start:
    """What is looked at to tell one format from another."""

    name: str
    """Of the file, for messages alone: the content decides."""
    text: str
    lines: tuple[str, ...] = ()
    """The first lines that are neither blank nor comments; none of XML."""
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
    """What such a file is."""
    endings: tuple[str, ...] = ()
    """How names of such files end; only for lists of files to pick one from."""
    read: Callable[[Source], Taxonomy] | None = None
    """Reads a text."""
    read_path: Callable[[Path], Taxonomy] | None = None
    """Reads a folder, or a file that is no text; of a format that is not read by ``read``."""
    recognises: Callable[[Start], bool] = _never
    """Whether a text is of this format; what is known and cannot be read may be refused here."""
    read_recognised: Callable[[Source], Taxonomy] | None = None
    """Reads a text that was recognised, where that differs from what was asked for by name."""
    may_be_a_table: bool = False
    """Whether a table about people may be taken for it; whoever looks for ontologies then asks for more."""
    rank: int = OF_OTHERS
    """Those of a lower rank are asked first: the looser the form, the later."""


def reader_names() -> tuple[str, ...]:
    """The names of all readers, ours first."""
    return (*OWN, *readers_of_others())


def reader_of(name: str) -> Reader | None:
    """The reader of a name; None if there is none."""
    return _own(name) if name in OWN else readers_of_others().get(name)


def own_readers() -> list[Reader]:
    """Our readers, those first that are asked first."""
    return sorted(map(_own, OWN), key=lambda one: one.rank)


@cache
def readers_of_others() -> Mapping[str, Reader]:
    """The readers of other packages; one that cannot be used is left out with a warning."""
    return load_plugins(GROUP, KIND, _fault)


def _fault(name: str, reader: Any, found: Mapping[str, Reader]) -> str | None:
    """Why something cannot be a reader of this name; None if it can."""
    if name in OWN or name in found:
        return "there is a reader of this name already"
    return None if isinstance(reader, Reader) and reader.name == name else "it is not a Reader of this name"


def file_endings() -> tuple[str, ...]:
    """How names of ontology files end."""
    readers = (*own_readers(), *readers_of_others().values())
    return tuple(dict.fromkeys(ending for one in readers for ending in one.endings))


def _own(name: str) -> Reader:
    module, _, attribute = OWN[name].partition(":")
    reader: Reader = getattr(import_module(f"anonto.ontology.{module}"), attribute)
    return reader
