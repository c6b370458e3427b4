"""From a path to a taxonomy: what kind of file it is, and the reader for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import MalformedFileError, UnknownFormatError
from anonto.ontology.edge_csv import read_edge_csv
from anonto.ontology.formats import FORMATS
from anonto.ontology.icd10cm import read_icd10cm
from anonto.ontology.level_csv import read_level_csv
from anonto.ontology.mesh import read_mesh
from anonto.ontology.obo import read_obo
from anonto.ontology.rdf import read_owl, read_rdf, read_skos
from anonto.ontology.rf2 import read_rf2
from anonto.ontology.sniff import sniff
from anonto.ontology.source import kind_of_path, name_of_folder, read_source

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from anonto.ontology.source import Source
    from anonto.taxonomy.taxonomy import Taxonomy

_READERS: Mapping[str, Callable[[Source], Taxonomy]] = {
    "edge-csv": read_edge_csv,
    "level-csv": read_level_csv,
    "obo": read_obo,
    "owl": read_owl,
    "skos": read_skos,
    "rdf": read_rdf,
    "icd10cm": read_icd10cm,
    "mesh": read_mesh,
}


def read_ontology(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the public name
    root: str | None = None,
) -> Taxonomy:
    """Read the is-a hierarchy of an ontology.

    Args:
        path: A file, plain or in gzip, or the folder of an RF2 release. Its name does not matter.
        format: One of `FORMATS`; by default the content decides.
        root: A concept; it and what lies below it are kept.

    Returns:
        The taxonomy, without shortcuts; its provenance says what was left out.

    Raises:
        FileError: If the file cannot be read or used; the subclass says why.
    """
    if format is not None and format not in FORMATS:
        raise UnknownFormatError(str(path), FORMATS, asked=format)
    taxonomy = _read_folder(Path(path), format) if kind_of_path(path) == "folder" else _read_file(Path(path), format)
    return taxonomy if root is None else taxonomy.below(root)


def _read_folder(folder: Path, format_name: str | None) -> Taxonomy:
    if format_name not in {None, "rf2"}:
        raise MalformedFileError(name_of_folder(folder), str(format_name), "it is a folder")
    return read_rf2(folder)


def _read_file(path: Path, format_name: str | None) -> Taxonomy:
    if format_name == "rf2":
        raise MalformedFileError(path.name, "RF2", "it is one file; give the folder of the release")
    source = read_source(path)
    return _READERS[format_name or sniff(source.text, source.name)](source)
