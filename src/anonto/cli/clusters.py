"""Shared options and functions of commands that can run on a Spark cluster."""

from __future__ import annotations

import re
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.show import show_status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.masking.plan import Plan


class EngineChoice(StrEnum):
    """The engine to use: where the rows live."""

    LOCAL = "local"
    SPARK = "spark"


EngineOption = Annotated[
    EngineChoice,
    typer.Option(
        "--engine",
        help="Where the rows are processed: on this machine, or on a Spark cluster, which reads and writes Parquet "
        "files and folders of them that all its workers can reach. The result is the same.",
    ),
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="The Spark cluster, such as spark://HOST:7077; by default taken from Spark's own configuration.",
    ),
]

_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+):/(?!/)")


def address(path: Path) -> str:
    """A path, or the URL that it was before being parsed as a path."""
    return str(path) if str(path).startswith("file:") else _SCHEME.sub(r"\1://", str(path))


def is_here(path: Path) -> bool:
    """Return whether a path is local and not a URL."""
    return _SCHEME.match(str(path)) is None


def require_engine(engine: EngineChoice, master: str | None) -> None:
    """Refuse cluster options for local work."""
    from anonto.engine.refusals import only_for_clusters

    if engine == EngineChoice.LOCAL and master is not None:
        raise only_for_clusters("--master")


@contextmanager
def open_tables(engine: EngineChoice, master: str | None, *tables: Path) -> Iterator[list[Any]]:
    """The paths unchanged, or the DataFrames of Parquet files on a cluster."""
    require_engine(engine, master)
    if engine == EngineChoice.LOCAL:
        yield list(tables)
        return
    from anonto.engine.spark.session import open_session
    from anonto.engine.spark.storage import read_parquet
    from anonto.errors import MissingFileError

    for table in tables:
        if is_here(table) and not table.exists():
            raise MissingFileError(str(table))
    with open_session(master) as session:
        yield [read_parquet(session, address(table)) for table in tables]


def profile_files(table: Path, plan: Plan, master: str | None) -> dict[str, Any]:
    """Describe Parquet files on a cluster."""
    from anonto.engine.spark.numbered_frame import number_rows
    from anonto.profile.on_cluster import profile_on_cluster

    with open_tables(EngineChoice.SPARK, master, table) as (frame,):
        return profile_on_cluster(number_rows(frame, None).table, plan)


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
    """Mask Parquet files on a cluster, and return the evidence."""
    from anonto.engine.refusals import no_private_place, only_parquet
    from anonto.engine.run import mask
    from anonto.io.atomic_write import require_free
    from anonto.masking.plan import plan_of
    from anonto.masking.release import Outputs
    from anonto.runtime.memory_limit import parse_memory

    chosen, written = plan_of(plan), Outputs.of(output, private or True, report)
    require_free([table, plan, *chosen.ontology_files], [output, *written.further], force=force)
    if not output.name.endswith(".parquet"):
        raise only_parquet(address(output))
    if private is None and not is_here(output):
        raise no_private_place(address(output))
    limit = None if memory is None else parse_memory(memory)
    with show_status("Masking the table on the cluster"), open_tables(EngineChoice.SPARK, master, table) as (frame,):
        release = mask(frame, chosen, seed=seed, memory=limit)
        return release.save(
            address(output),
            keep_order=keep_order,
            private=True if private is None else private,
            report=report,
            force=force,
        )
