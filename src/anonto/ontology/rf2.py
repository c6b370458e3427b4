"""SNOMED CT's release format 2: a folder of tab-separated tables without quoting.

Read are the tables of concepts, relationships and descriptions, as snapshots or else as full history, and the
historical associations if present. Active concepts and their inferred is-a relationships are kept. A release has
millions of rows, so all work is done on whole columns.
"""

from __future__ import annotations

import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import FileError, MalformedFileError
from anonto.ontology.readers import Reader
from anonto.ontology.refusals import empty_file, wrong_encoding
from anonto.ontology.source import (
    GZIP_MAGIC,
    file_sha256,
    name_of_folder,
    open_file,
    read_unpacked,
    refuse_binary,
)
from anonto.taxonomy.build import Parts, build
from anonto.taxonomy.taxonomy import Provenance
from anonto.wording import clip

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import polars as pl

    from anonto.arrays import Longs
    from anonto.ontology.readers import Start
    from anonto.taxonomy.taxonomy import Taxonomy


FORMAT = "rf2"
IS_A = "116680003"
INFERRED = "900000000000011006"
FULLY_SPECIFIED_NAME = "900000000000003001"
SYNONYM = "900000000000013009"
REPLACED_BY = "900000000000526001"
SAME_AS = "900000000000527005"

_FILE = re.compile(
    r"x?(?:sct2_(?P<table>Concept|Relationship|Description)|der2_cRefset_(?P<associations>Association))"
    r"(?:_|(?<=Association))[A-Za-z]*?(?P<type>Snapshot|Full)(?:-[A-Za-z-]+)?_.*\.txt(?:\.gz)?"
)
_TABLE_HEADER = "id\teffectivetime\tactive\tmoduleid\t"
_DATE = re.compile(r"_(\d{8})\D")
_SEMANTIC_TAG = r"\s*\([^()]*\)$"
_HEADER_BYTES = 4096
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_COLUMNS = {
    "Concept": ("id", "active"),
    "Relationship": ("active", "sourceId", "destinationId", "typeId", "characteristicTypeId"),
    # The last one is read to detect a term with a tab, which puts a text in place of a number.
    "Description": ("active", "conceptId", "languageCode", "typeId", "term", "caseSignificanceId"),
    "Association": ("active", "refsetId", "referencedComponentId", "targetComponentId"),
}
_NUMBERS = {
    "effectiveTime",
    "sourceId",
    "destinationId",
    "conceptId",
    "caseSignificanceId",
    "referencedComponentId",
    "targetComponentId",
}


def read_rf2(folder: Path) -> Taxonomy:
    """Read a release folder, or any folder above or below it that holds the tables."""
    if not folder.is_dir():
        raise MalformedFileError(folder.name, "RF2", "it is one file; give the folder of the release")
    files = _files(folder)
    used = [path for paths in files.values() for path in paths]
    with ThreadPoolExecutor(max_workers=1) as pool:
        sha256 = pool.submit(_sha256, folder, used)
        parts, isolated_concepts = _parts(files)
    provenance = Provenance(
        source=name_of_folder(folder),
        format=FORMAT,
        sha256=sha256.result(),
        version=max((date for path in used for date in _DATE.findall(path.name)), default=""),
        isolated_concepts=isolated_concepts,
    )
    return build(parts, provenance)


def _parts(files: Mapping[str, Sequence[Path]]) -> tuple[Parts, int]:
    """The connected concepts, and the number of isolated ones."""
    import polars as pl

    concepts = _table(files, "Concept")
    if concepts["id"].n_unique() < concepts.height:
        concepts = concepts.unique("id", keep="last", maintain_order=True)
    is_active = concepts["active"] == "1"
    ids = concepts.filter(is_active)["id"].to_numpy()
    children, parents, orphaned_edges = _edges(files, ids, concepts["id"].to_numpy())
    connected = np.zeros(ids.size, np.bool_)
    connected[children] = True
    connected[parents[parents >= 0]] = True
    new_number = np.cumsum(connected) - 1
    kept = ids[connected]
    labels, synonym_of, synonyms = _names(files, kept)
    parts = Parts(
        ids=tuple(pl.Series(kept).cast(pl.String).to_list()),
        labels=labels,
        children=new_number[children],
        parents=np.where(parents >= 0, new_number[parents], -1),
        synonym_of=synonym_of,
        synonyms=synonyms,
        obsolete=_obsolete(files, concepts.filter(~is_active).select("id")),
        orphaned_edges=orphaned_edges,
    )
    return parts, int(np.count_nonzero(~connected))


# ---------------------------------------------------------------------------------------------- files


def _files(folder: Path) -> dict[str, list[Path]]:
    """The files of each table, snapshots if present; a plain file is preferred to the same file gzipped."""
    found: dict[tuple[str, str], dict[str, Path]] = {}
    for path in sorted(Path(where, name) for where, _, names in os.walk(folder) for name in names):
        if match := _FILE.fullmatch(path.name):
            table = match["table"] or match["associations"]
            found.setdefault((table, match["type"]), {}).setdefault(str(path).removesuffix(".gz"), path)
    files = {table: found.get((table, "Snapshot")) or found.get((table, "Full")) or {} for table in _COLUMNS}
    for table in ("Concept", "Relationship", "Description"):
        if not files[table]:
            fault = f"the folder holds no file sct2_{table}_Snapshot… or sct2_{table}_Full…"
            raise MalformedFileError(name_of_folder(folder), "RF2", fault)
    return {table: list(paths.values()) for table, paths in files.items()}


def _sha256(folder: Path, used: Sequence[Path]) -> str:
    names = sorted((path.relative_to(folder).as_posix(), file_sha256(path)) for path in used)
    return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in names).encode()).hexdigest()


# ---------------------------------------------------------------------------------------------- tables


def _table(files: Mapping[str, Sequence[Path]], table: str, **wanted: str) -> pl.DataFrame:
    """The rows of a table with the wanted values, in the latest state of each component."""
    import polars as pl

    paths = files[table]
    several_states = len(paths) > 1 or "Full" in paths[0].name
    columns = dict.fromkeys(_COLUMNS[table] + (("id", "effectiveTime") if several_states else ()))
    frame = pl.concat([_scan(path, columns) for path in paths])
    if several_states:
        frame = frame.sort("effectiveTime", maintain_order=True)
        frame = frame.unique("id", keep="last", maintain_order=True)
    for column, value in wanted.items():
        # A null means that the row is too short: it must reach the check below.
        frame = frame.filter((pl.col(column) == value).fill_null(value=True))
    try:
        rows = frame.collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        _refuse_broken(paths, columns)
        raise MalformedFileError(paths[0].name, "RF2", clip(str(error).split("\n")[0])) from None
    if any(rows.null_count().row(0)):
        _refuse_broken(paths, columns)
        rows = rows.drop_nulls()
    return rows


def _numeric(columns: Collection[str]) -> list[str]:
    """The columns to read as numbers; the ids of associations are not numbers."""
    return [c for c in columns if c in _NUMBERS or (c == "id" and "refsetId" not in columns)]


def _scan(path: Path, columns: Collection[str]) -> pl.LazyFrame:
    import polars as pl

    with open_file(path) as file:
        start = file.read(_HEADER_BYTES)
    content = read_unpacked(path) if start.startswith(GZIP_MAGIC) else None
    start = start if content is None else content[:_HEADER_BYTES]
    refuse_binary(start, path.name)
    if start.startswith(_UTF_16) or b"\x00" in start:
        raise _not_utf_8(path.name, 1)
    header = start.decode("utf-8-sig", errors="replace").split("\n")[0].strip().split("\t")
    if header == [""]:
        raise empty_file(path.name)
    for column in columns:
        if column not in header:
            raise MalformedFileError(path.name, "RF2", f"its header has no column {column}", 1)
    return pl.scan_csv(
        path if content is None else content,
        separator="\t",
        quote_char=None,
        infer_schema=False,
        schema_overrides=dict.fromkeys(_numeric(columns), pl.Int64),
    ).select(list(columns))


def _refuse_broken(paths: Sequence[Path], columns: Collection[str]) -> None:
    """Report the first faulty line, if there is one."""
    for path in paths:
        lines = read_unpacked(path).split(b"\n")
        header = lines[0].decode("utf-8-sig", errors="replace").rstrip("\r").split("\t")
        numbers = [header.index(column) for column in _numeric(columns)]
        for number, line in enumerate(lines, start=1):
            try:
                cells = line.decode().rstrip("\r").split("\t")
            except UnicodeDecodeError:
                raise _not_utf_8(path.name, number) from None
            if number == 1 or cells == [""]:
                continue
            if len(cells) != len(header):
                fault = f"it has {len(cells)} cells where the header has {len(header)}"
                raise MalformedFileError(path.name, "RF2", fault, number)
            if not all(cells[n].isdecimal() for n in numbers):
                raise MalformedFileError(path.name, "RF2", "an identifier or a date is not a number", number)


def _not_utf_8(name: str, line: int) -> FileError:
    """The error for a release that is not in UTF-8."""
    return wrong_encoding(name, line, "UTF-8", other_encodings=False)


# ---------------------------------------------------------------------------------------------- concepts


def _edges(files: Mapping[str, Sequence[Path]], ids: Longs, declared: Longs) -> tuple[Longs, Longs, int]:
    """Child and parent of each relationship by their position in ``ids``; −1 for an absent parent.

    The third result is the number of relationships whose child is not among the declared ids.
    """
    rows = _table(files, "Relationship", active="1", typeId=IS_A, characteristicTypeId=INFERRED)
    children = _positions(rows["sourceId"].to_numpy(), ids)
    parents = _positions(rows["destinationId"].to_numpy(), ids)
    kept = children >= 0
    orphaned = _positions(rows["sourceId"].to_numpy()[~kept], declared) < 0
    return children[kept], parents[kept], int(np.count_nonzero(orphaned))


def _positions(values: Longs, ids: Longs) -> Longs:
    if ids.size == 0:
        return np.full(values.size, -1, np.int64)
    import polars as pl

    numbered = pl.LazyFrame({"id": ids, "n": np.arange(ids.size)})
    found = pl.LazyFrame({"id": values}).join(numbered, on="id", how="left", maintain_order="left")
    return found.select(pl.col("n").fill_null(-1)).collect()["n"].to_numpy()


def _names(files: Mapping[str, Sequence[Path]], ids: Longs) -> tuple[tuple[str, ...], Longs, tuple[str, ...]]:
    """The label of each concept, and the synonyms with the number of the concept of each.

    The label is the fully specified name, in English if possible, otherwise any synonym.
    """
    import polars as pl

    rows = _table(files, "Description", active="1")
    rows = rows.select(
        pl.Series("n", _positions(rows["conceptId"].to_numpy(), ids)),
        "term",
        full=pl.col("typeId") == FULLY_SPECIFIED_NAME,
        short=pl.col("typeId") == SYNONYM,
        foreign=~pl.col("languageCode").str.starts_with("en"),
    ).filter(pl.col("n") >= 0)
    if rows["foreign"].any():
        rows = rows.sort("foreign", maintain_order=True)
    full, short = (rows.filter(pl.col(kind)).select("n", "term") for kind in ("full", "short"))
    del rows
    best = pl.concat([full, short]).unique("n", keep="first", maintain_order=True)
    numbers = pl.DataFrame({"n": np.arange(ids.size)})
    labels = numbers.join(best, on="n", how="left", maintain_order="left")["term"].fill_null("")
    bare = full.with_columns(pl.col("term").str.replace(_SEMANTIC_TAG, ""))
    synonyms = pl.concat([bare, short])
    del best, full, short, bare
    synonyms = synonyms.filter(synonyms["term"] != labels.gather(synonyms["n"])).unique(maintain_order=True)
    synonym_of, texts = synonyms["n"].to_numpy(), synonyms["term"]
    del synonyms
    return tuple(labels.to_list()), synonym_of, tuple(texts.to_list())


def _obsolete(files: Mapping[str, Sequence[Path]], inactive: pl.DataFrame) -> dict[str, str | None]:
    """Inactive concepts → their replacement, or else the same concept, or None."""
    import polars as pl

    texts = inactive["id"].cast(pl.String).to_list()
    if not files["Association"]:
        return dict.fromkeys(texts)
    rows = _table(files, "Association", active="1")
    ranked = pl.concat([rows.filter(pl.col("refsetId") == kind) for kind in (REPLACED_BY, SAME_AS)])
    first = ranked.unique("referencedComponentId", keep="first", maintain_order=True)
    found = inactive.join(first, left_on="id", right_on="referencedComponentId", how="left", maintain_order="left")
    return dict(zip(texts, found["targetComponentId"].cast(pl.String).to_list(), strict=True))


def _refuse_single_table(start: Start) -> bool:
    if start.first.lower().startswith(_TABLE_HEADER):
        raise MalformedFileError(start.name, "RF2", "it is one table of a release; give the folder of the release")
    return False


READER = Reader(
    name=FORMAT,
    sentence="the folder of a SNOMED CT release in release format 2",
    relations="inferred is-a relationships",
    ids="SNOMED CT identifiers",
    read_path=read_rf2,
    recognises=_refuse_single_table,
    rank=0,
)
