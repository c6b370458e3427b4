"""A table and a grid of plans to the risk-utility map."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.prepare import opener
from anonto.engine.memory.recode import recode_table
from anonto.engine.memory.units import FOR_LOOKING, units_of
from anonto.errors import ParameterError
from anonto.io.reading import read_table
from anonto.io.table import missing_column
from anonto.masking.plan import Plan, plan_of
from anonto.runtime.processes import share_out
from anonto.runtime.threads import n_threads
from anonto.sweep.grid import SkippedPlan, label_of, masked_columns, plans_to_try
from anonto.sweep.journal import Journal
from anonto.sweep.points import Point, Sweep, require_risk
from anonto.sweep.unit import SweepInput, Unit, marks_of, measure_random_swap, run_unit, steps_as_data
from anonto.sweep.whole import RunCounter, WholeTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.prepare import Opener
    from anonto.sweep.grid import Grid
    from anonto.sweep.whole import Progress

SAMPLE = 5_000
SEEDS = 3
FEW_RECORDS = 1_000
"""Plans are tried on at most this many records in this process first, as all of them may be tried in a second."""


def sweep(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    grid: Grid | None = None,
    *,
    seeds: int = SEEDS,
    max_risk: float | str | None = None,
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
        max_risk: The risk for which ``best`` looks for a plan, from 0 to 1, or a named threshold: ``"ema-0070"`` or
            ``"health-canada"``.
        sample: The number of records that are drawn at random from a larger table. A sample errs in both directions:
            a swap within k places is safer in it than in the whole table, groups of k are not. Costly attacks are
            left out while plans are compared. So ``best`` tries a plan again before it calls it safe: on the whole
            table, with as many fresh seeds, by every attack.
        workers: Processes to share the work; by default one for each processor, and only this one where all is done in
            less time than they take to start. The result does not depend on it.
        resume: A file that keeps what is finished; a sweep that is stopped and started again with it does only the
            rest.
        progress: Called with how many runs are finished and how many there are; the second number grows where a plan
            that looked safe is not, and the next is tried again.

    Returns:
        A sweep with ``.points``, ``.pareto``, ``.best(max_risk)``, ``.skipped``, ``.to_dict()`` and ``.to_html(path)``.
    """
    _require_whole("seeds", seeds)
    _require_whole("sample", sample)
    if workers is not None:
        _require_whole("workers", workers)
    given_plan = plan_of(plan)
    own_plan = given_plan
    if given_plan.recoded:
        table, recoding = recode_table(table, given_plan, None)
        own_plan = recoding.plan
    persons = units_of(table, own_plan, FOR_LOOKING) if own_plan.has_units else None
    chosen = own_plan if persons is None else persons.plan
    limit = None if max_risk is None else require_risk(max_risk)
    columns = masked_columns(chosen)
    open_once = opener(chosen.folder)
    if persons is not None:
        adapter = FrameAdapter(persons.records)
    elif isinstance(table, str | os.PathLike):
        read = read_table(table, **chosen.reading)
        adapter = FrameAdapter(read.frame, origin=read.origin)
    else:
        adapter = table if isinstance(table, FrameAdapter) else FrameAdapter(table)
    all_records, n_records = _select_columns(adapter, chosen, columns), len(adapter)
    frame = _draw_sample(all_records, sample)
    described = [name for name in frame.columns if name in chosen.columns or name in columns]
    opened = _open_ontologies(chosen, described, open_once)
    is_whole = all(name in described for name in frame.columns if name not in chosen.identifiers(frame.columns))
    given = SweepInput(frame, opened, measure_random_swap(frame, opened, columns, open_once), is_whole)
    plans, skipped = plans_to_try(chosen, grid, frame.height)
    marks = marks_of(frame, n_records, opened)
    # Every plan once, then every plan again: what is finished early covers the map.
    units = [Unit.of(one.steps, number, marks) for number in range(seeds) for one in plans]
    counter = RunCounter(progress)
    with Journal(resume, marks) as journal:
        _run_units(units, given, journal, workers, counter)
    found = {(unit.steps, unit.seed): journal.results[unit.key] for unit in units}
    points = []
    for one in plans:
        runs = tuple(found[one.steps, number] for number in range(seeds))
        refused = next((run["skipped"] for run in runs if "skipped" in run), None)
        if refused is None:
            whole_plan = replace(given_plan, steps=one.steps)
            points.append(Point(whole_plan, runs, is_given=one.steps == chosen.steps))
        else:
            skipped.append(SkippedPlan(label_of(one.steps), refused))
    swept = Sweep(
        points=tuple(points),
        skipped=tuple(skipped),
        columns=columns,
        n_records=n_records,
        n_sampled=frame.height,
        n_seeds=seeds,
        max_risk=limit,
        whole=WholeTable(all_records, given, columns, seeds, resume, marks, counter),
    )
    if limit is not None:
        swept.best()  # the second stage belongs to the work, and its results are kept in the journal
    counter.tell = None
    return swept


def _run_units(
    units: Sequence[Unit], given: SweepInput, journal: Journal, workers: int | None, counter: RunCounter
) -> None:
    """Run the units that the journal does not have yet, and add their results to it."""
    left = [unit for unit in units if unit.key not in journal.results]
    counter.expect(len(units), n_done=len(units) - len(left))
    n_workers = n_threads() if workers is None else workers
    is_small = workers is None and given.frame.height <= FEW_RECORDS
    with closing(share_out(run_unit, given, left, n_workers, begins_alone=is_small)) as finished:
        for unit, result in finished:
            journal.add(unit.key, {"steps": steps_as_data(unit.steps), "seed": unit.seed}, result)
            counter.finish_one()


def _require_whole(name: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ParameterError(name, "a whole number, 1 or more", number)


def _select_columns(adapter: FrameAdapter, plan: Plan, columns: tuple[str, ...]) -> pl.DataFrame:
    """The released columns, whether the plan names them or not; weights stay, other identifiers are left out."""
    import polars as pl

    for name in (*plan.columns, *columns, *filter(None, [plan.weight])):
        if name not in adapter.names:
            raise missing_column(name, adapter.names)
    names = [name for name in adapter.names if not plan.description(name).is_dropped or name == plan.weight]
    return pl.DataFrame([adapter.series(name).alias(name) for name in names])


def _draw_sample(frame: pl.DataFrame, sample: int) -> pl.DataFrame:
    if frame.height <= sample:
        return frame
    return frame[np.sort(np.random.default_rng(0).choice(frame.height, sample, replace=False))]


def _open_ontologies(plan: Plan, names: list[str], open_once: Opener) -> Plan:
    """The descriptions of some columns, with each ontology opened once for all that follows."""
    described = {name: _open_ontology(plan.description(name), open_once) for name in names}
    return Plan(described, table={} if plan.weight is None else {"weight": plan.weight})


def _open_ontology(description: ColumnDescription, open_once: Opener) -> ColumnDescription:
    if not description.has_concepts:
        return description
    return replace(description, ontology=tuple(open_once(one) for one in description.ontologies))
