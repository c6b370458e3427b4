"""``anonto warm-up``: compile everything once, so that later commands need not wait."""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.options import JsonOption
from anonto.cli.show import show_facts, show_json, show_status

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

RECORDS = 240
HIERARCHY = "hierarchy.csv"


def warm_up(
    *,
    demo_only: Annotated[
        bool,
        typer.Option(
            "--demo-only", help="Compile only what a proposed plan needs: masking in groups, and the attacks."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compile every method and attack on a tiny table, once; the compiled code is kept beside the program.

    The first use of a method otherwise waits for its compilation, half a minute for the largest.

    Example: `anonto warm-up`
    """
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, plan in _plans(Path(folder), demo_only=demo_only):
            with show_status(f"Compiling {method}"):
                start = time.perf_counter()
                _use(plan)
                seconds[method] = round(time.perf_counter() - start, 2)
    if as_json:
        show_json({"seconds": seconds})
        return
    facts = [(method, f"{taken:.1f} s") for method, taken in seconds.items()]
    show_facts("Compiled, or already compiled", facts)


def _plans(folder: Path, *, demo_only: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """A plan for every method, with the first values that a sweep would try."""
    from anonto.methods.registry import FIRST_CHOICE
    from anonto.sweep.grid import default_grid

    lines = ["child,parent", *(f"v{i},g{i % 4}" for i in range(12)), *(f"g{i},root" for i in range(4))]
    (folder / HIERARCHY).write_text("\n".join(lines) + "\n", encoding="utf-8")
    nominal = {"kind": "nominal", "role": "quasi-identifier", "ontology": str(folder / HIERARCHY)}
    columns: dict[str, Any] = {
        "one": nominal,
        "other": nominal,
        "text": {"kind": "nominal", "role": "quasi-identifier"},
        "number": {"kind": "numeric", "role": "quasi-identifier"},
        "secret": {"kind": "numeric", "role": "confidential"},
    }
    grid, first = default_grid(RECORDS), FIRST_CHOICE["method"]
    for method in (first, *(name for name in grid if name != first and not demo_only)):
        parameters = {name: values[0] for name, values in grid[method].items()}
        yield method, {"columns": columns, "steps": [{"method": method, **parameters}]}


def _use(plan: dict[str, Any]) -> None:
    """Mask and attack the table by every set of columns that the method takes."""
    from anonto.assessment.assess import assess
    from anonto.engine.run import mask
    from anonto.errors import InputError

    table = _table()
    for columns in (["one", "other", "text", "number"], ["one", "other", "number"], ["one", "other"]):
        step = {**plan["steps"][0], "columns": columns}
        whole = {**plan, "steps": [step]}
        try:
            release = mask(table, whole, seed=1 << 100)
            assess(table, release.table, whole)
        except InputError:
            continue
        return


def _table() -> pl.DataFrame:
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    values = np.array([f"v{i}" for i in range(12)])
    return pl.DataFrame(
        {
            "one": values[rng.integers(0, 12, RECORDS)],
            "other": values[rng.integers(0, 12, RECORDS)],
            "text": values[rng.integers(0, 3, RECORDS)],
            "number": rng.integers(0, 90, RECORDS),
            "secret": rng.integers(0, 50, RECORDS),
        }
    )
