"""Ontologies that have a name: those of installed packages and the examples of the papers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from anonto.errors import MissingPackageError, OntologyError
from anonto.wording import did_you_mean, list_names

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from anonto.taxonomy.taxonomy import Taxonomy

EXAMPLES = Path(__file__).parent / "examples"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedOntology:
    """An ontology that has a name."""

    name: str
    title: str
    origin: str
    package: str = ""
    """The PyPI package that has it; empty if it is part of anonto."""
    extra: str = ""

    @property
    def available(self) -> bool:
        """True if its file is on this machine."""
        return self.file() is not None

    def file(self) -> Path | None:
        """Its file, found without importing the package."""
        if not self.package:
            return EXAMPLES / f"{self.name}.csv"
        spec = find_spec(self.package.replace("-", "_"))
        folders = list(spec.submodule_search_locations or []) if spec else []
        found = [path for folder in folders for path in Path(folder).rglob("*tabular*.xml")]
        return max(found, key=lambda path: path.name) if found else None


LISTED: Mapping[str, ListedOntology] = {
    one.name: one
    for one in (
        ListedOntology(
            name="icd10cm",
            title="ICD-10-CM, diagnoses (US), with seventh characters",
            origin="official tabular XML of CMS and NCHS, in the package simple-icd-10-cm",
            package="simple-icd-10-cm",
            extra="icd",
        ),
        ListedOntology(
            name="nervous-system",
            title="Disorders of the nervous system: the example of the rank swapping paper",
            origin="Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), Figs. 1–4",
        ),
        ListedOntology(
            name="dementias",
            title="Dementias and other diseases: the example of the marginality paper",
            origin="Domingo-Ferrer, Sánchez, Rufian-Torrell, Information Sciences 242 (2013), Example 1",
        ),
        ListedOntology(
            name="illnesses",
            title="Seven illnesses, for trying things out",
            origin="made for the documentation",
        ),
    )
}


_IN_USE: WeakValueDictionary[tuple[Path, int, int], Taxonomy] = WeakValueDictionary()
"""Listed ontologies that someone still holds, by file, size and time of change: reading ICD-10-CM takes seconds."""


def ontology_names() -> tuple[str, ...]:
    """The names that `anonto.read_ontology` accepts in place of paths."""
    return tuple(LISTED)


def open_ontology(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the public name
    root: str | None = None,
) -> Taxonomy:
    """Read an ontology from a file, a SNOMED CT release folder, or by a listed name.

    Args:
        path: A file (also gzipped), an RF2 folder, or one of `ontology_names`. A file of that name wins.
        format: The name of a format, as ``obo``; by default it is detected from the content.
        root: Keep this concept and its descendants only.

    Returns:
        The hierarchy as a `Taxonomy`.
    """
    from anonto.ontology.read import read_ontology

    name = os.fspath(path)
    if _is_there(name):
        return read_ontology(path, format=format, root=root)
    listed = LISTED.get(name)
    if listed is not None:
        file = listed.file()
        if file is None:
            raise MissingPackageError(f"The ontology {name!r}", listed.package, listed.extra)
        if format is not None or root is not None:
            return read_ontology(file, format=format, root=root)
        status = file.stat()
        key = (file, status.st_size, status.st_mtime_ns)
        taxonomy = _IN_USE.get(key)
        if taxonomy is None:
            taxonomy = _IN_USE[key] = read_ontology(file)
        return taxonomy
    if isinstance(path, str) and Path(name).name == name and not Path(name).suffix:
        raise unknown_ontology(name, LISTED)
    return read_ontology(path, format=format, root=root)


def _is_there(name: str) -> bool:
    """Return whether a path exists, or cannot be checked, so that reading it will report why."""
    try:
        return Path(name).exists()
    except OSError:
        return True


def unknown_ontology(name: str, known: Collection[str]) -> OntologyError:
    """A name that is neither a file nor a listed ontology."""
    return OntologyError(
        f"There is no file and no listed ontology {name!r}{did_you_mean(name, known)}; listed are {list_names(known)}."
    )
