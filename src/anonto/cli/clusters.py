"""What commands share that can work on a Spark cluster."""

from __future__ import annotations

import re
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.show import working

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.plan import Plan


class Engine(StrEnum):
    """Where the rows live."""

    LOCAL = "local"
    SPARK = "spark"


EngineOption = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="Where the rows are worked on: on this machine, or on a Spark cluster, which reads and writes Parquet "
        "files and folders of them that all its workers reach. The result is the same.",
    ),
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="The Spark cluster, as spark://HOST:7077; without it, what Spark's own configuration says.",
    ),
]

_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+):/(?!/)")


def address(path: Path) -> str:
    """A path, or the URL that it was before it was taken for a path."""
    return str(path) if str(path).startswith("file:") else _SCHEME.sub(r"\1://", str(path))


def is_here(path: Path) -> bool:
    """Whether a path is of this machine and not a URL of another place."""
    return _SCHEME.match(str(path)) is None


def require_engine(engine: Engine, master: str | None) -> None:
    """Refuse a cluster for work on this machine."""
    from anonto.errors import OnlyForClustersError

    if engine == Engine.LOCAL and master is not None:
        raise OnlyForClustersError("--master")


@contextmanager
def opened_tables(engine: Engine, master: str | None, *tables: Path) -> Iterator[list[Any]]:
    """Paths as they are, or the DataFrames of Parquet files on a cluster."""
    require_engine(engine, master)
    if engine == Engine.LOCAL:
        yield list(tables)
        return
    from anonto.engine.spark.session import opened_session
    from anonto.engine.spark.storage import read_parquet
    from anonto.errors import MissingFileError

    for table in tables:
        if is_here(table) and not table.exists():
            raise MissingFileError(str(table))
    with opened_session(master) as session:
        yield [read_parquet(session, address(table)) for table in tables]


def profile_files(table: Path, plan: Plan, master: str | None) -> dict[str, Any]:
    """Describe Parquet files on a cluster."""
    from anonto.engine.spark.profile import profile_on_cluster
    from anonto.engine.spark.source import taken

    with opened_tables(Engine.SPARK, master, table) as (frame,):
        return profile_on_cluster(taken(frame, None).table, plan)


def mask_on_cluster(
    table: Path,
    plan: Path,
    output: Path,
    *,
    master: str | None,
    seed: int | None,
    memory: str | None,
    keep_order: bool,
    private: Path | None,
    report: Path | None,
    force: bool,
) -> dict[str, Any]:
    """Mask Parquet files on a cluster; the evidence."""
    from anonto.engine.room import memory_of
    from anonto.errors import OnlyParquetError, PrivatePlaceError
    from anonto.plan import plan_of
    from anonto.private_record import PrivateRecord
    from anonto.run import mask
    from anonto.table.beside import require_free

    chosen, outputs = plan_of(plan), [output, private or PrivateRecord.beside(output), *([report] if report else [])]
    require_free([table, plan, *chosen.ontology_files], outputs, force=force)
    if not output.name.endswith(".parquet"):
        raise OnlyParquetError(address(output))
    if private is None and not is_here(output):
        raise PrivatePlaceError(address(output))
    limit = None if memory is None else memory_of(memory)
    with working("Masking the table on the cluster"), opened_tables(Engine.SPARK, master, table) as (frame,):
        release = mask(frame, chosen, seed=seed, memory=limit)
        return release.save(
            address(output),
            keep_order=keep_order,
            private=True if private is None else private,
            report=report,
            force=force,
        )
