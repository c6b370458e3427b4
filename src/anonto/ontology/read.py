"""From a path to a taxonomy: what kind of file it is, and the reader for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anonto.errors import AnontoError, MalformedFileError, UnknownFormatError
from anonto.ontology.readers import OWN, own_readers, reader_names, reader_of
from anonto.ontology.sniff import sniff
from anonto.ontology.source import kind_of_path, name_of_folder, read_source
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import TypeVar

    from anonto.ontology.readers import Reader

    Given = TypeVar("Given")


def read_ontology(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the public name
    root: str | None = None,
) -> Taxonomy:
    """Read the is-a hierarchy of an ontology.

    Args:
        path: A file, plain or in gzip, or the folder of an RF2 release. Its name does not matter.
        format: The name of a reader; by default the content decides.
        root: A concept; it and what lies below it are kept.

    Returns:
        The taxonomy, without shortcuts; its provenance says what was left out.

    Raises:
        FileError: If the file cannot be read or used; the subclass says why.
    """
    asked = None if format is None else reader_of(format)
    if format is not None and asked is None:
        raise UnknownFormatError(str(path), reader_names(), asked=format)
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
    """What a reader makes of a file; one of another package that fails is told as such."""
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
