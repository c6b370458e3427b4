"""A table and a grid of plans to the risk-utility map."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import MissingColumnError, ParameterError
from anonto.plan import Plan, plan_of
from anonto.processes import share_out
from anonto.sweeping.grid import Skipped, label_of, masked_columns, plans_to_try
from anonto.sweeping.journal import Journal
from anonto.sweeping.points import Point, Sweep, require_risk
from anonto.sweeping.unit import Job, Unit, at_random_of, done, steps_as_data
from anonto.sweeping.whole import WholeTable
from anonto.table.door import Door
from anonto.table.prepare import opener
from anonto.table.reading import read_table
from anonto.table.series import as_text_series
from anonto.threads import n_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from anonto.sweeping.grid import Grid
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener
    from anonto.taxonomy.taxonomy import Taxonomy

    Progress = Callable[[int, int], object]

SAMPLE = 5_000
SEEDS = 3


def sweep(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    grid: Grid | None = None,
    *,
    seeds: int = SEEDS,
    max_risk: float | None = None,
    sample: int = SAMPLE,
    workers: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Try many plans on a table, attack each, and measure what each keeps.

    Args:
        table: A pandas, polars or pyarrow table, or the path of a file.
        plan: What the columns are. Every plan of the grid masks the columns of its steps, or all quasi-identifiers
            where it has none; its own steps are tried too.
        grid: ``{method: {parameter: [values]}}`` or a list of steps without columns; without one, every method that can
            mask these columns, with a few values of its parameters.
        seeds: How often each plan is tried.
        max_risk: The risk for which ``best`` looks for a plan, from 0 to 1.
        sample: Of a table with more records so many are taken, at random. A sample errs in both directions: a
            swap within k places is safer in it than in the whole table, groups of k are not. So ``best`` tries a plan
            on the whole table, with all seeds, before it calls it safe.
        workers: Processes to share the work; by default one for each processor. The result does not depend on it.
        resume: A file that keeps what is finished; a sweep that is stopped and started again with it does only the
            rest.
        progress: Called with how many runs are finished and how many there are.

    Returns:
        A sweep with ``.points``, ``.pareto``, ``.best(max_risk)``, ``.skipped``, ``.to_dict()`` and ``.to_html(path)``.
    """
    _require_whole("seeds", seeds)
    _require_whole("sample", sample)
    if workers is not None:
        _require_whole("workers", workers)
    chosen = plan_of(plan)
    limit = None if max_risk is None else require_risk(max_risk)
    columns = masked_columns(chosen)
    open_once = opener(chosen.folder)
    read = read_table(table, **chosen.reading) if isinstance(table, str | os.PathLike) else None
    door = Door(table) if read is None else Door(read.frame, origin=read.origin)
    all_records, n_records = _looked_at(door, chosen, columns), len(door)
    frame = _sampled(all_records, sample)
    described = [name for name in frame.columns if name in chosen.columns or name in columns]
    opened = _opened(chosen, described, open_once)
    is_whole = len(frame.columns) == len(described)
    job = Job(frame, opened, at_random_of(frame, opened, columns, open_once), is_whole)
    plans, skipped = plans_to_try(chosen, grid, frame.height)
    marks = _marks(frame, n_records, opened)
    units = [
        Unit(one.steps, number, _key(marks, one, number)) for number in range(seeds) for one in plans
    ]  # every plan once, then every plan again: what is finished early covers the map
    with Journal(resume, marks) as journal:
        left = [unit for unit in units if unit.key not in journal.results]
        n_done = len(units) - len(left)
        _tell(progress, n_done, len(units))
        n_workers = n_threads() if workers is None else workers
        with closing(share_out(done, job, left, n_workers)) as finished:
            for unit, result in finished:
                journal.add(unit.key, {"steps": steps_as_data(unit.steps), "seed": unit.seed}, result)
                n_done += 1
                _tell(progress, n_done, len(units))
        found = {(unit.steps, unit.seed): journal.results[unit.key] for unit in units}
    points = []
    for one in plans:
        runs = tuple(found[one.steps, number] for number in range(seeds))
        refused = next((run["skipped"] for run in runs if "skipped" in run), None)
        if refused is None:
            points.append(Point(one, runs, is_given=one.steps == chosen.steps))
        else:
            skipped.append(Skipped(label_of(one.steps), refused))
    whole = None
    if frame.height < n_records:
        whole = WholeTable(
            all_records,
            opened,
            columns,
            open_once,
            is_whole=is_whole,
            n_seeds=seeds,
            resume=resume,
            marks=marks,
            key_of=_KeysOfWhole(all_records, n_records, opened),
        )
    swept = Sweep(
        points=tuple(points),
        skipped=tuple(skipped),
        columns=columns,
        n_records=n_records,
        n_sampled=frame.height,
        n_seeds=seeds,
        max_risk=limit,
        whole=whole,
    )
    if limit is not None:
        swept.best()  # what it takes on the whole table belongs to the work, and is kept with it
    return swept


def _require_whole(name: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ParameterError(name, "a whole number, 1 or more", number)


def _tell(progress: Progress | None, n_done: int, n_all: int) -> None:
    if progress is not None:
        progress(n_done, n_all)


def _looked_at(door: Door, plan: Plan, columns: tuple[str, ...]) -> pl.DataFrame:
    """The columns that leave, whether the plan names them or not; identifiers go no further than here."""
    import polars as pl

    for name in (*plan.columns, *columns):
        if name not in door.names:
            raise MissingColumnError(name, door.names)
    names = [name for name in door.names if plan.description(name).role != "identifier"]
    return pl.DataFrame([door.series(name).alias(name) for name in names])


def _sampled(frame: pl.DataFrame, sample: int) -> pl.DataFrame:
    if frame.height <= sample:
        return frame
    return frame[np.sort(np.random.default_rng(0).choice(frame.height, sample, replace=False))]


def _opened(plan: Plan, names: list[str], open_once: Opener) -> Plan:
    """The descriptions of some columns, with each ontology opened once for all that follows."""
    described = {name: _with_ontologies(plan.description(name), open_once) for name in names}
    return Plan(described)


def _with_ontologies(description: ColumnDescription, open_once: Opener) -> ColumnDescription:
    if description.kind != "nominal" or not description.ontologies:
        return description
    return replace(description, ontology=tuple(open_once(one) for one in description.ontologies))


# ------------------------------------------------------------------------------------------------ what belongs together


def _marks(frame: pl.DataFrame, n_records: int, plan: Plan) -> dict[str, str]:
    """Hashes of what results belong to: of the cells that are looked at, and of what the plan says of them."""
    cells = hashlib.sha256(str(n_records).encode())
    for name in frame.columns:
        texts = as_text_series(frame[name]).to_list()
        cells.update(json.dumps([name, texts], ensure_ascii=False).encode("utf-8", "surrogatepass"))
    described = {name: one.to_mapping() for name, one in plan.columns.items()}
    told = json.dumps(described, default=_ontology_mark, sort_keys=True)
    return {"table": cells.hexdigest(), "plan": hashlib.sha256(told.encode()).hexdigest()}


def _ontology_mark(ontology: Taxonomy) -> list[Any]:
    return [ontology.provenance.sha256, ontology.provenance.restricted_to, len(ontology)]


def _key(marks: Mapping[str, str], plan: Plan, seed: int) -> str:
    told = json.dumps([version("anonto"), marks, steps_as_data(plan.steps), seed], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


class _KeysOfWhole:
    """Keys of runs on all records of a table that was sampled; its cells are read when the first is asked for."""

    def __init__(self, frame: pl.DataFrame, n_records: int, plan: Plan) -> None:
        self._of = frame, n_records, plan
        self._marks: dict[str, str] | None = None

    def __call__(self, plan: Plan, seed: int) -> str:
        if self._marks is None:
            self._marks = {**_marks(*self._of), "records": "all"}
        return _key(self._marks, plan, seed)
