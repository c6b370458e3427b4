"""Original and masked table to risk and utility: the release attacked, and what an analyst lost."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.engine.memory import memory_of
from anonto.errors import (
    ForeignRecordError,
    ForeignReleaseError,
    MissingColumnError,
    NotForClustersError,
    OnlyForClustersError,
    ParameterError,
    ReleaseShapeError,
    ShuffledRowsError,
    UncheckedRowsError,
)
from anonto.methods.random_swap import RandomSwap
from anonto.plan import plan_of
from anonto.private_record import PrivateRecord
from anonto.report.pictures import CountedCells, pictures_of
from anonto.risk.alignment import SHUFFLED, seems_shuffled, shows_order
from anonto.risk.attribute_inference import attribute_inference
from anonto.risk.classes import real_k, uniqueness
from anonto.risk.composition import Side, composition
from anonto.risk.distance_linkage import distance_linkage
from anonto.risk.findings import findings_of, worst_linkage
from anonto.risk.global_linkage import global_linkage
from anonto.risk.interval_disclosure import interval_disclosure
from anonto.risk.known import all_known, scenarios
from anonto.risk.known_law import known_law
from anonto.risk.likelihood_linkage import likelihood_linkage
from anonto.risk.method_aware_linkage import method_aware_linkage
from anonto.risk.partial_knowledge import NAME as PARTIAL_KNOWLEDGE
from anonto.risk.partial_knowledge import partial_knowledge
from anonto.risk.permutation_distance import permutation_distance
from anonto.risk.relations import is_swap
from anonto.risk.row_order import FINDING as IN_ORDER
from anonto.risk.row_order import row_order as by_row_order
from anonto.risk.seen_step import seen_step
from anonto.rng import Seed, row_order, seed_of
from anonto.run import mask
from anonto.table.beside import written_beside
from anonto.table.columns import encode
from anonto.table.comparison import Amounts, compared_column
from anonto.table.door import Door, gathered, is_spark_frame
from anonto.table.prepare import described, encode_described, opener, records_to_drop
from anonto.table.reading import read_table
from anonto.table.recoding import written
from anonto.table.records import distinct_rows
from anonto.table.series import as_text_series
from anonto.table.stretches import parquet_files
from anonto.utility.columns import column_losses
from anonto.utility.pairs import pair_losses
from anonto.utility.sampling import Sampling
from anonto.utility.table import prediction, propensity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.guarantee import Setting
    from anonto.plan import Plan
    from anonto.risk.known import Known
    from anonto.risk.known_law import KnownLaw
    from anonto.risk.rate import Risk
    from anonto.table.comparison import ComparedColumn

PERSONS_LINKED = 20_000
PERSONS_INFERRED = 1_000
PERSONS_COMPOSED = 5_000
PERSONS_DRAWN = 100_000
"""Of larger tables as many persons, chosen at random, are attacked."""


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """What the attacks reached, and what an analyst lost."""

    risk: tuple[Risk, ...]
    utility: Mapping[str, Any]
    n_records: int
    findings: tuple[str, ...] = ()
    """What must not be overlooked, in plain sentences: what undoes the masking, links beyond what k suggests, and
    proven ones."""
    plan: Plan | None = None
    """The plan of the release."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a report says besides: dropped records and columns, guarantees, and plain counts to draw."""
    second_masking: Callable[[], Assessment] | None = field(default=None, repr=False)
    """Masks the original a second time and assesses that, for the public edition; None where it cannot be known that
    the plan made the release, or where the table is attacked from counts."""

    @property
    def worst(self) -> Risk | None:
        """The linkage that reached most, whatever the intruder knows of what leaves: the headline."""
        return worst_linkage(self.risk)

    @property
    def worst_declared(self) -> Risk | None:
        """The linkage that reached most of those that know no column but declared quasi-identifiers."""
        plan = self.plan
        return None if plan is None else worst_linkage([one for one in self.risk if plan.are_declared(one.columns)])

    @property
    def partial(self) -> Risk | None:
        """What somebody reads off released rows who knows a few columns; None where there is nothing to read."""
        return next((one for one in self.risk if one.attack == PARTIAL_KNOWLEDGE), None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "n_records": self.n_records,
            "findings": list(self.findings),
            "risk": [one.to_dict() for one in self.risk],
            "utility": dict(self.utility),
        }

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        edition: str = "internal",
        sweep: Any = None,
        force: bool = True,
    ) -> None:
        """Write the report as one HTML file that needs nothing but itself.

        Args:
            path: The output; it appears when it is whole, or not at all.
            edition: ``"internal"``, or ``"public"``: without parameters that an intruder could use, and with rounded
                figures of a second masking in place of those of the release. The first public report of an
                assessment masks and attacks the table once more.
            sweep: Other plans to draw on the map of risk and utility: what `anonto.sweep` gave, or a list of points
                with ``label``, ``method``, ``risk``, ``utility`` and ``on_front``.
            force: Whether a file that is there is replaced.
        """
        from anonto.report.assessed import assessed_data
        from anonto.report.assessed_page import assessed_html

        with written_beside(Path(path), force=force) as beside:
            beside.write_text(assessed_html(assessed_data(self, edition, sweep)), encoding="utf-8")

    def to_json(
        self,
        path: str | os.PathLike[str],
        *,
        edition: str = "internal",
        sweep: Any = None,
        force: bool = True,
    ) -> None:
        """Write what the report says as JSON, in the shape that the report's schema describes.

        Args:
            path: The output; it appears when it is whole, or not at all.
            edition: ``"internal"`` or ``"public"``, as of the page.
            sweep: Other plans on the map, as of the page.
            force: Whether a file that is there is replaced.
        """
        from anonto.report.assessed import assessed_data
        from anonto.report.data import to_json

        with written_beside(Path(path), force=force) as beside:
            beside.write_text(to_json(assessed_data(self, edition, sweep)), encoding="utf-8")


def assess(
    original: Any,
    masked: Any,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    *,
    private: str | os.PathLike[str] | None = None,
    same_order: bool = False,
    predict: str | None = None,
    second: tuple[Any, Plan | Mapping[str, Any] | str | os.PathLike[str]] | None = None,
    second_private: str | os.PathLike[str] | None = None,
    memory: int | str | None = None,
    seed: int = 0,
) -> Assessment:
    """Attack a release with its original in hand, and measure what was lost.

    Args:
        original: The table that was masked: pandas, polars, pyarrow, a Spark DataFrame or a path.
        masked: The release: rows in the order of the original, or in the order of `save` with the private record.
        plan: The plan it was masked with.
        private: The private record of the release, to put shuffled rows back in order, and to check that all belong
            together by masking the original anew.
        same_order: Say that the rows of a file are in the order of the original, where no column tells it.
        predict: A column to be predicted from the others, to see what a model loses.
        second: Another release of the same original and its plan, to see what somebody can do who has both.
        second_private: The private record of the second release.
        memory: For Spark DataFrames: how much memory of the driver may be taken, in bytes or as ``"2GB"``; without it
            half of what its machine has. Tables whose rows do not fit are attacked from counts of them.
        seed: For the choice of persons in large tables; it has nothing to do with the seed of the release.

    Returns:
        An assessment with ``.risk``, ``.utility`` and ``.to_dict()``.
    """
    record, chosen = _record_and_plan(private, plan)
    limit = None if memory is None else memory_of(memory)
    if limit is not None and not (is_spark_frame(original) and is_spark_frame(masked)):
        raise OnlyForClustersError("memory")
    if is_spark_frame(masked) and private is None and not same_order:
        _require_a_witness(chosen)
    rng = np.random.default_rng(seed)
    counted = None
    stored, names = _is_stored(masked), list(masked.columns) if is_spark_frame(masked) else None
    brought: tuple[str, ...] = ()
    also = _unnamed_on_cluster(original, masked, chosen)
    if _is_too_large_for_here(original, masked, chosen, limit):
        if second is not None:
            raise NotForClustersError("second")
        columns, facts, side, counted = _compared_from_counts(
            (original, masked), chosen, record, limit, rng, same_order=same_order, stored=stored
        )
    else:
        if not _is_too_large_for_here(original, masked, chosen, limit, also):
            brought, also = also, ()
        original, masked = (_from_cluster(one, chosen, limit, brought) for one in (original, masked))
        columns, facts, side = _compared(
            original, masked, chosen, record, same_order=same_order, stored=stored, names=names
        )
    facts |= {name: [*facts[name], *also] for name in ("released_as_is", "not_attacked")}
    known = all_known(_steps(chosen), columns, side.cells, chosen.is_confidential)
    n_records = facts["records"]
    if predict is not None and predict not in columns:
        raise MissingColumnError(predict, list(columns))
    pairs = columns if counted is None else counted.pairs
    risk = tuple(_risk(chosen, known, columns, pairs, side, rng, seed_of(seed)))
    releases = [(chosen, record)]
    if second is None and second_private is not None:
        raise ParameterError("second", "given where its private record is", None)
    if second is not None:
        record_of_other, plan_of_other = _record_and_plan(second_private, second[1])
        releases.append((plan_of_other, record_of_other))
        other = _from_cluster(second[0], plan_of_other, limit, brought)
        _, of_other, other_side = _compared(
            original, other, plan_of_other, record_of_other, same_order=same_order, stored=_is_stored(second[0])
        )
        facts["kept_order"] |= of_other["kept_order"]
        risk += tuple(_composed((chosen, side), (plan_of_other, other_side), rng))
    risk += (by_row_order(n_records),) if facts["kept_order"] else ()
    utility = _utility(columns, pairs, chosen, predict, Sampling(seed_of(seed), side.rows))
    in_classes = max(scenarios(_steps(chosen), columns), key=len, default=())
    facts["pictures"] = pictures_of(columns, _steps(chosen), in_classes, counted)
    facts["distinct_records"] = _n_distinct(max(known, key=lambda one: len(one.names), default=None))
    findings = _findings(releases, risk, facts, columns, rng)
    seeds = [(one, made.seed) for one, made in releases if made is not None]
    again = None
    if counted is None and len(seeds) == len(releases):
        again = _SecondMasking(original, tuple(seeds), predict, seed, facts)
    return Assessment(risk, utility, n_records, findings, chosen, facts, again)


def _record_and_plan(
    private: str | os.PathLike[str] | None, plan: Plan | Mapping[str, Any] | str | os.PathLike[str]
) -> tuple[PrivateRecord | None, Plan]:
    """The private record if there is one, and the plan, with the blocks that its release was masked in."""
    if private is None:
        return None, plan_of(plan)
    record = PrivateRecord.read(private)
    return record, record.in_blocks(plan_of(plan))


def _findings(
    releases: Sequence[tuple[Plan, PrivateRecord | None]],
    risk: Sequence[Risk],
    facts: Mapping[str, Any],
    columns: Mapping[str, ComparedColumn],
    rng: np.random.Generator,
) -> tuple[str, ...]:
    """What must not be overlooked."""
    plan = releases[0][0]
    found = findings_of(
        plan.steps,
        risk,
        facts["records"],
        guessable_seed=any(record is not None and record.seed.can_be_guessed for _, record in releases),
        stayed=facts["stayed_without_a_concept"],
        settings=facts["settings"],
        not_attacked=facts["not_attacked"],
    )
    if facts["kept_order"]:
        found = (IN_ORDER, *found)
    if not facts["rows_in_order"] and seems_shuffled([columns[name] for name in _not_at_random(plan)], rng):
        found = (SHUFFLED, *found)
    return found


@dataclass(slots=True, eq=False, repr=False)
class _SecondMasking:
    """The same table masked with the same plan and another seed, and assessed like the release; once, when asked for.

    The seed is derived from that of the release, so that every public report of a release has the same figures.
    """

    original: Any
    releases: tuple[tuple[Plan, Seed], ...]
    """The plan and the seed of the release, and of a second release if one was given."""
    predict: str | None
    seed: int
    facts: Mapping[str, Any]
    """Those of the release."""
    found: Assessment | None = None

    def __call__(self) -> Assessment:
        """What was found."""
        if self.found is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they came with the release
                first, *others = [(self._masked(number), plan) for number, (plan, _) in enumerate(self.releases)]
                second = others[0] if others else None
                found = assess(
                    self.original, *first, same_order=True, predict=self.predict, second=second, seed=self.seed
                )
            of_release = {name: self.facts[name] for name in ("guarantees", "settings", "made_anew", "kept_order")}
            kept_order = (by_row_order(found.n_records),) if self.facts["kept_order"] else ()
            self.found = replace(found, risk=(*found.risk, *kept_order), facts={**found.facts, **of_release})
        return self.found

    def _masked(self, number: int) -> Any:
        plan, seed = self.releases[number]
        return mask(_of_files(self.original, plan), plan, seed=seed.derived("second masking", number).number).table


def measured(original: Any, masked: Any, plan: Plan) -> Assessment:
    """What `assess` finds with its first seed, for rows in the same order, without what only a report shows."""
    columns, facts, side = _compared(original, masked, plan, None, same_order=True)
    rng = np.random.default_rng(0)
    known = all_known(_steps(plan), columns, side.cells, plan.is_confidential)
    risk = tuple(_risk(plan, known, columns, columns, side, rng, Seed(0)))
    return Assessment(risk, _utility(columns, columns, plan, None, Sampling(Seed(0), side.rows)), facts["records"])


def _steps(plan: Plan) -> list[tuple[str, ...]]:
    """The columns that each step masks."""
    return [step.columns for step in plan.steps]


def _n_distinct(known: Known | None) -> int:
    """How many different records the original has in what an intruder knows: as far as an unmasked table tells."""
    return 0 if known is None else int(distinct_rows([one.original for one in known.columns])[0].shape[0])


def _not_at_random(plan: Plan) -> list[str]:
    """Columns whose masked cells are near their original ones by the method."""
    return [name for step in plan.steps if step.method.name != RandomSwap.name for name in step.columns]


# ------------------------------------------------------------------------------------------------ attacks


def _risk(
    plan: Plan,
    known: Sequence[Known],
    columns: Mapping[str, ComparedColumn],
    pairs: Mapping[str, ComparedColumn],
    side: Side,
    rng: np.random.Generator,
    seed: Seed,
) -> list[Risk]:
    """What all attacks find.

    Args:
        plan: That of the release.
        known: What intruders know.
        columns: Of both tables.
        pairs: For each masked column its cells before and after.
        side: What attacks that know the method see.
        rng: For the choice of persons.
        seed: For a choice that must not depend on what was drawn before.
    """
    found: list[Risk] = []
    laws = _laws(plan, columns)
    for one in known:
        found += [one.told(risk) for risk in _of_knowledge(one, plan, columns, side, laws, rng)]
    by_rows = partial_knowledge(
        side.leaving, columns, _steps(plan), plan.is_confidential, seed.stream(PARTIAL_KNOWLEDGE)
    )
    found += [by_rows] if by_rows is not None else []
    for name in plan.masked:
        if name in columns:
            found += interval_disclosure(pairs[name])
    return found


def _of_knowledge(
    who: Known,
    plan: Plan,
    columns: Mapping[str, ComparedColumn],
    side: Side,
    laws: Sequence[KnownLaw],
    rng: np.random.Generator,
) -> list[Risk]:
    """What all attacks find that compare what an intruder knows with released records.

    Where everybody is linked already, no further linkage is tried: none can reach more.
    """
    known, names = who.columns, who.names
    linked, fewer = (_some_persons(known[0], most, rng) for most in (PERSONS_LINKED, PERSONS_INFERRED))
    secrets = [one for one in columns.values() if one.description.role == "confidential" and one.name not in names]
    found = [distance_linkage(known, linked)]
    is_all = who.is_worst and found[0].rate == 1.0
    found += [] if is_all else [global_linkage(known, rng)]
    found += [permutation_distance(known, fewer)] if not who.is_worst else []
    found += [real_k(known), uniqueness(known, secrets)]
    if not is_all and any(set(step.names) & set(names) for step in side.steps):
        found += method_aware_linkage(known, side.steps, who.cells, rng.spawn(1)[0], linked)
    if not is_all:
        by_likelihood = likelihood_linkage(known, laws, plan.masked, rng.spawn(1)[0], linked, side.steps)
        found += [by_likelihood] if by_likelihood is not None else []
    return [*found, *(attribute_inference(known, secret, fewer) for secret in secrets)]


def _some_persons(column: ComparedColumn, most: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Persons to be attacked; None for all rows."""
    if column.n_persons > most:
        return np.sort(rng.choice(column.n_persons, most, replace=False))
    return None if column.amounts is None else np.arange(column.n_persons)


def _laws(plan: Plan, columns: Mapping[str, ComparedColumn]) -> list[KnownLaw]:
    """Of the steps whose method draws for each row from a law that is known."""
    open_once = opener(plan.folder)
    laws = [known_law(step.method, [columns[name] for name in step.columns], open_once) for step in plan.steps]
    return [law for law in laws if law is not None]


def _composed(first: tuple[Plan, Side], second: tuple[Plan, Side], rng: np.random.Generator) -> list[Risk]:
    """Both releases attacked together, in all scenarios of either that concern both."""
    sides = (first[1], second[1])
    known = dict.fromkeys(names for plan, side in (first, second) for names in scenarios(_steps(plan), side.columns))
    in_both = [names for names in known if all(set(names) <= set(side.columns) for side in sides)]
    rows = sides[0].rows
    if rows.size > PERSONS_COMPOSED:
        rows = np.sort(rng.choice(rows, PERSONS_COMPOSED, replace=False))
    return [composition(names, *sides, rng.spawn(1)[0], rows) for names in in_both]


# ------------------------------------------------------------------------------------------------ losses


def _utility(
    columns: Mapping[str, ComparedColumn],
    of_cells: Mapping[str, ComparedColumn],
    plan: Plan,
    predict: str | None,
    sampling: Sampling,
) -> dict[str, Any]:
    described = list(columns.values())
    losses = {name: column_losses(of_cells[name]) for name in plan.masked if name in columns}
    rmses = [one["rmse"] for one in losses.values()]
    table: dict[str, Any] = {"mean_rmse": float(np.mean(rmses)) if rmses else 0.0}
    if described and described[0].original.size:
        table |= propensity(described, sampling)
        if predict is not None:
            table["prediction"] = {"column": predict, **prediction(described, columns[predict], sampling)}
    pairs = pair_losses(described, sampling) if len(described) > 1 else []
    masked = set(plan.masked)
    return {"columns": losses, "pairs": [pair for pair in pairs if masked & set(pair["columns"])], "table": table}


# ------------------------------------------------------------------------------------------------ row by row


def _compared(
    original: Any,
    masked: Any,
    plan: Plan,
    record: PrivateRecord | None,
    *,
    same_order: bool,
    stored: bool = False,
    names: Sequence[str] | None = None,
) -> tuple[dict[str, ComparedColumn], dict[str, Any], Side]:
    """Both tables in one space, the rows of the release put in the order of the original; and what a report says.

    Args:
        original: The table that was masked.
        masked: Its release.
        plan: Its plan.
        record: Its private record.
        same_order: Whether the rows are said to be in the order of the original.
        stored: Whether the release is as it was saved: its order is then the one that it leaves in.
        names: All columns of the release, where the table has not all of them.
    """
    original = _of_files(original, plan)
    before, after = (_opened(table, plan) for table in (original, masked))
    identifiers = [name for name in before.names if plan.description(name).role == "identifier"]
    expected = [name for name in before.names if name not in identifiers]
    for name in plan.masked:
        if name not in before.names:
            raise MissingColumnError(name, before.names)
    if set(after.names) != set(expected):
        raise ForeignReleaseError(
            [name for name in expected if name not in after.names],
            [name for name in after.names if name not in expected],
        )
    rows = _rows_that_stay(before, plan)
    if rows.size != len(after):
        raise ReleaseShapeError(len(after), int(rows.size))
    series = {name: _alike(before.series(name).gather(rows), after.series(name)) for name in expected}
    described = [name for name in expected if name in plan.columns or name in plan.masked]
    cells = {name: (written(before, name).gather(rows), written(after, name)) for name in described}
    as_is = [name for name in expected if name not in plan.masked]
    settings, order = None, None
    n_before, n_after = len(before), len(after)
    if record is not None:
        order, settings = _order_of(original, plan, record.seed, {name: series[name][1] for name in expected}, after)
        if order is not None:
            series, cells = (
                {name: (one, other.gather(order)) for name, (one, other) in pairs.items()} for pairs in (series, cells)
            )
    _require_same_rows(series, as_is)
    in_order = record is not None or same_order or shows_order([series[name][0] for name in as_is])
    if not in_order and isinstance(masked, str | os.PathLike):
        raise UncheckedRowsError
    tables = _Tables(
        series,
        (),
        identifiers,
        rows,
        n_before,
        n_after,
        cells,
        names=names or after.names,
        in_order=in_order,
        kept_order=stored and in_order and order is None and n_after > 1,
        settings=settings,
    )
    return _described(tables, plan)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Tables:
    """Two tables side by side."""

    series: Mapping[str, tuple[pl.Series, pl.Series]]
    """For each column its cells before and after."""
    others: Sequence[str]
    """Columns that are the same in both, and not looked at."""
    identifiers: Sequence[str]
    rows: NDArray[np.int64]
    """Which row of the original each row was."""
    n_before: int
    n_after: int
    written: Mapping[str, tuple[pl.Series, pl.Series]]
    """For each column of the plan the same with the codes that mean missing."""
    names: Sequence[str] = field(kw_only=True)
    """All columns of the release, also those that nobody looks at."""
    in_order: bool = field(kw_only=True)
    """Whether the rows are known to stand beside those that they came from."""
    kept_order: bool = field(kw_only=True)
    """Whether they leave in the order of the original."""
    settings: Sequence[Setting] | None = field(kw_only=True)
    """What the guarantees of the release made anew rest on, if it was."""
    amounts: Amounts | None = None
    """What the rows stand for, where they do not stand for themselves."""


def _described(tables: _Tables, plan: Plan) -> tuple[dict[str, ComparedColumn], dict[str, Any], Side]:
    """Both tables in one space; and what a report says."""
    series, amounts = tables.series, tables.amounts
    of_original = None if amounts is None else amounts.original
    as_is = [name for name in series if name not in plan.masked]
    open_once = opener(plan.folder)
    looked_at = [
        name
        for name in series
        if name in plan.masked or (name in plan.columns and _has_values(series[name][0], plan.description(name).na))
    ]
    columns = {
        name: compared_column(name, *series[name], plan.description(name), open_once, amounts, tables.written.get(name))
        for name in looked_at
        if plan.description(name).role != "other" or name in plan.masked
    }
    unmatched = {name: _n_unmatched(columns[name], series[name][0]) for name in plan.masked}
    settings = _settings(tables, plan, unmatched, columns)
    facts = {
        "records": tables.n_after,
        "dropped_records": tables.n_before - tables.n_after,
        "dropped_columns": list(tables.identifiers),
        "released_as_is": [*as_is, *tables.others],
        "not_attacked": list(tables.others),
        "made_anew": tables.settings is not None,
        "rows_in_order": tables.in_order,
        "kept_order": tables.kept_order,
        "stayed_without_a_concept": {
            name: unmatched[name]
            for step in plan.steps
            if not getattr(step.method, "moves_missing", False)
            for name in step.columns
        },
        "settings": settings,
        "guarantees": [
            step.method.guarantee(setting).to_dict() for step, setting in zip(plan.steps, settings, strict=True)
        ],
    }
    steps = [
        seen_step(step.method, step.columns, series, plan.description, open_once, of_original, tables.written)
        for step in plan.steps
        if is_swap(step.method) and tables.n_after
    ]
    return columns, facts, Side(columns, steps, {name: series[name] for name in as_is}, tables.rows, series)


def _unnamed_on_cluster(original: Any, masked: Any, plan: Plan) -> tuple[str, ...]:
    """Columns that leave and that the plan does not name, of two tables on a cluster; of others all are read anyway."""
    if not (is_spark_frame(original) and is_spark_frame(masked)):
        return ()
    from anonto.comparing.on_cluster import unnamed_in_both

    return unnamed_in_both(original, masked, plan)


def _is_too_large_for_here(original: Any, masked: Any, plan: Plan, limit: int | None, also: Sequence[str] = ()) -> bool:
    """Whether two tables are on a cluster and cannot be brought together on this machine."""
    if not (is_spark_frame(original) and is_spark_frame(masked)):
        return False
    from anonto.comparing.on_cluster import fit_here

    return not fit_here([original, masked], plan, limit, also)


def _compared_from_counts(
    tables: tuple[Any, Any],
    plan: Plan,
    record: PrivateRecord | None,
    limit: int | None,
    rng: np.random.Generator,
    *,
    same_order: bool,
    stored: bool,
) -> tuple[dict[str, ComparedColumn], dict[str, Any], Side, CountedCells]:
    """Both tables in one space, from what a cluster counts: distinct records, pairs of cells, and some persons."""
    from anonto.comparing.on_cluster import counted_on_cluster

    _require_few_enough(tables[0], plan, limit)
    open_once = opener(plan.folder)

    def numbered(name: str, before: pl.Series, after: pl.Series) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        column = compared_column(name, before, after, plan.description(name), open_once)
        return _by_meaning(column, "original"), _by_meaning(column, "masked")

    found = counted_on_cluster(
        *tables,
        plan,
        seed=None if record is None else record.seed,
        n_persons=PERSONS_DRAWN,
        rng=rng,
        numbered=numbered,
        mask=mask,
        memory=limit,
    )
    cells = {name: (_as_enumeration(before), _as_enumeration(after)) for name, (before, after) in found.cells.items()}
    (originals, of_originals), (released, of_released) = found.originals, found.released
    n_persons, places = found.persons[0].shape[0], (of_originals.size, of_released.size)
    first = np.zeros(max(places, default=0), dtype=np.int64)
    # Where a record of one table stands in the other, it repeats the first record of that.
    before = np.concatenate([found.persons[0], originals, originals[first[: places[1]]]])
    after = np.concatenate([found.persons[1], released[first[: places[0]]], released])
    amounts = Amounts(
        np.concatenate([np.zeros(n_persons, np.int64), of_originals, np.zeros(places[1], np.int64)]),
        np.concatenate([np.zeros(n_persons + places[0], np.int64), of_released]),
        n_persons,
    )
    series = {
        name: (
            gathered(cells[name][0], np.ascontiguousarray(before[:, place])),
            gathered(cells[name][1], np.ascontiguousarray(after[:, place])),
        )
        for place, name in enumerate(found.names)
    }
    as_is = [name for name in found.names if name not in plan.masked]
    witnesses = [pl.Series(one) for one in found.witnesses.T]
    in_order = (
        record is not None
        or same_order
        or shows_order([series[name][0] for name in as_is], amounts.original)
        or shows_order(witnesses)
    )
    side_by_side = _Tables(
        series,
        found.others,
        found.identifiers,
        np.arange(before.shape[0]),
        found.n_before,
        found.n_records,
        series,
        names=tables[1].columns,
        in_order=in_order,
        kept_order=stored and in_order and not found.shuffled and found.n_records > 1,
        settings=found.settings,
        amounts=amounts,
    )
    columns, facts, side = _described(side_by_side, plan)
    pairs = {}
    for name, (one, other, times) in found.pairs.items():
        both = gathered(cells[name][0], one), gathered(cells[name][1], other)
        pairs[name] = compared_column(name, *both, plan.description(name), open_once, Amounts(times, times, 0))
    return columns, facts, side, CountedCells(pairs, found.unchanged)


def _by_meaning(column: ComparedColumn, which: str) -> NDArray[np.int32]:
    """Numbers for the cells of one table: by what they mean, and where that is nothing, as they are written."""
    codes, written = column.side(which)[0], column.written(which)
    return np.where((codes < 0) & (written >= 0), np.int32(column.n_values) + written, column.meanings()[codes])


def _require_few_enough(original: Any, plan: Plan, limit: int | None) -> None:
    """Refuse steps that are attacked row by row where the rows do not fit, before a cluster counts anything."""
    from anonto.comparing.on_cluster import require_rows_fit

    for number, step in enumerate(plan.steps, start=1):
        levels = getattr(step.method, "noise_level", None)
        if isinstance(levels, tuple) and len(levels) != len(step.columns):
            must = "one number, or one for each column, where a table is attacked from counts"
            raise ParameterError(f"noise_level of step {number}", must, f"{len(levels):,} numbers")
        if getattr(step.method, "lists_rows", False):
            require_rows_fit(original, f"records, whose groups in step {number} are lists of them,", limit)


def _as_enumeration(cells: pl.Series) -> pl.Series:
    """Distinct texts, so that each takes little where it is repeated."""
    return cells.cast(pl.Enum(cells)) if cells.dtype == pl.String else cells


def _settings(
    tables: _Tables, plan: Plan, unmatched: Mapping[str, int], columns: Mapping[str, ComparedColumn]
) -> list[Setting]:
    """What the guarantees of the steps rest on; without the private record as far as it can be told."""
    stay = {name for name, n in unmatched.items() if n}
    seen = []
    for step in plan.steps:
        facts = {}
        if getattr(step.method, "makes_equal", False):
            facts["real_k"] = real_k([columns[name] for name in step.columns]).details["real_k"]
        released = {"rows_in_order": tables.kept_order, "no_records": not tables.n_after, "facts": facts}
        seen.append(plan.setting(step, tables.names, stay, **released))
    if tables.settings is None:
        return seen
    # The release made anew may lack columns that nobody looks at.
    return [
        replace(known, left_out=one.left_out, rows_in_order=one.rows_in_order)
        for known, one in zip(tables.settings, seen, strict=True)
    ]


def _n_unmatched(column: ComparedColumn, original: pl.Series) -> int:
    """How many cells have a text and no concept, where the plan keeps such cells."""
    description = column.description
    if description.unmatched != "keep" or not description.ontologies:
        return 0
    cells = described(column.name, replace(encode(original), amounts=column.of_original), description)
    return int(column.counts("original")[-1]) - cells.n_missing


def _is_stored(table: Any) -> bool:
    """Whether a table is as it was saved, and not one in memory, whose rows are in order for use in the house."""
    if not is_spark_frame(table):
        return isinstance(table, str | os.PathLike)
    from anonto.comparing.on_cluster import is_stored

    return is_stored(table)


def _from_cluster(table: Any, plan: Plan, limit: int | None, also: Sequence[str]) -> Any:
    """The columns of a Spark DataFrame that are looked at; other tables as they are."""
    if not is_spark_frame(table):
        return table
    from anonto.comparing.on_cluster import to_compare

    return to_compare(table, plan, limit, also)


def _require_a_witness(plan: Plan) -> None:
    """Refuse a release on a cluster whose order no column that is looked at can show."""
    if all(name in plan.masked or one.role == "identifier" for name, one in plan.columns.items()):
        raise UncheckedRowsError


def _opened(table: Any, plan: Plan) -> Door:
    whole = _of_files(table, plan)
    if not isinstance(whole, str | os.PathLike):
        return Door(whole)
    read = read_table(whole, **plan.reading)
    return Door(read.frame, origin=read.origin)


def _of_files(table: Any, plan: Plan) -> Any:
    """The table of a folder, or of a pattern, of Parquet files; others as they are."""
    files = parquet_files(table) if isinstance(table, str | os.PathLike) else None
    return table if files is None else pl.concat([read_table(file, **plan.reading).frame for file in files])


def _rows_that_stay(door: Door, plan: Plan) -> NDArray[np.int64]:
    open_once = opener(plan.folder)
    drops = [
        records_to_drop(encode_described(name, door.series(name), one), one, open_once)
        for name, one in plan.columns.items()
        if name in door.names and one.role != "identifier" and (one.missing == "drop" or one.unmatched == "drop")
    ]
    dropped = [one for one in drops if one is not None]
    stays = ~np.logical_or.reduce(dropped) if dropped else np.ones(len(door), dtype=np.bool_)
    return np.flatnonzero(stays)


def _order_of(
    original: Any, plan: Plan, seed: Seed, masked: Mapping[str, pl.Series], released: Door
) -> tuple[NDArray[np.int64] | None, Sequence[Setting]]:
    """For each row of the original the place of its row in the release (None where the order was kept).

    The original is masked anew: only the plan and the record of this release give the same cells. With the places comes
    what the guarantees rest on.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = mask(original, plan, seed=seed.number)
        again = Door(release.table, origin=released.origin)
    cells = {name: as_text_series(again.series(name)).cast(pl.String) for name in masked}
    found = {name: as_text_series(column).cast(pl.String) for name, column in masked.items()}
    n_rows = len(again)
    places = np.empty(n_rows, dtype=np.int64)
    places[row_order(seed, "order of rows", n_rows).part(0, n_rows)] = np.arange(n_rows)
    if all(cells[name].equals(found[name].gather(places)) for name in masked):
        return places, release.settings
    if not all(cells[name].equals(found[name]) for name in masked):
        raise ForeignRecordError
    return None, release.settings


def _alike(original: pl.Series, released: pl.Series) -> tuple[pl.Series, pl.Series]:
    """A column before and after, of one type where the release's file could not hold that of the original.

    The number 3.0 is the text ``3.0`` in a CSV file, and a moment is written otherwise than a text of it.
    """
    if original.dtype == released.dtype or original.dtype.is_nested() or original.dtype in (pl.String, pl.Object):
        return original, released
    try:
        cells = _in_type(released, original.dtype)
    except pl.exceptions.PolarsError:
        return original, released
    return original, released if cells.null_count() > released.null_count() else cells


def _in_type(cells: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Cells of another type, null where they have no such cell."""
    if cells.dtype == pl.String and isinstance(dtype, pl.Datetime):
        return cells.str.to_datetime(time_unit=dtype.time_unit, time_zone=dtype.time_zone, strict=False)
    if cells.dtype == pl.String and dtype == pl.Time:
        return cells.str.to_time("%H:%M:%S%.f", strict=False)
    return cells.cast(dtype, strict=False)


def _has_values(cells: pl.Series, na: Sequence[str]) -> bool:
    """Whether a column that is released as it is has anything to look at."""
    return any(value not in na for value in encode(cells).values)


def _require_same_rows(series: Mapping[str, tuple[pl.Series, pl.Series]], as_is: Sequence[str]) -> None:
    """Columns that no step masked must be the same, row by row."""
    for name in as_is:
        one, other = (as_text_series(cells).cast(pl.String) for cells in series[name])
        if not one.equals(other):
            raise ShuffledRowsError(name)
