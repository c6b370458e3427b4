"""Original and masked table to risk and utility: the release attacked, and what an analyst lost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.comparing.compare import Given, compare
from anonto.comparing.in_memory import compared_in_memory, made_anew, opened
from anonto.engine.room import memory_of
from anonto.errors import MissingColumnError, ParameterError
from anonto.report.pictures import pictures_of
from anonto.risk.alignment import SHUFFLED, seems_shuffled
from anonto.risk.attacking import attacked
from anonto.risk.attacks.partial_knowledge import PartialKnowledge
from anonto.risk.findings import findings_of, worst_linkage
from anonto.risk.known import scenarios
from anonto.risk.row_order import FINDING as IN_ORDER
from anonto.risk.row_order import row_order as by_row_order
from anonto.rng import Seed, seed_of
from anonto.table.beside import written_beside
from anonto.utility.sampling import Sampling
from anonto.utility.whole import losses_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from anonto.plan import Plan
    from anonto.risk.comparison import Comparison
    from anonto.risk.rate import Risk


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
        return next((one for one in self.risk if one.attack == PartialKnowledge.name), None)

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
        from anonto.report.page import assessed_html

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
    releases = [Given.of(masked, plan, private)]
    if second is None and second_private is not None:
        raise ParameterError("second", "given where its private record is", None)
    if second is not None:
        releases.append(Given.of(*second, second_private))
    rng = np.random.default_rng(seed)
    compared, here = compare(
        original,
        releases[0],
        releases[1] if second is not None else None,
        memory=None if memory is None else memory_of(memory),
        same_order=same_order,
        rng=rng,
    )
    if predict is not None and predict not in compared.columns:
        raise MissingColumnError(predict, list(compared.columns))
    risk = attacked(compared, rng, seed_of(seed))
    utility = _utility(compared, predict, seed_of(seed))
    facts = compared.facts | {"pictures": _pictures(compared), "distinct_records": compared.n_distinct}
    findings = _findings(compared, releases, risk, rng)
    seeds = [(one.plan, one.record.seed) for one in releases if one.record is not None]
    again = None
    if compared.amounts.row_by_row and len(seeds) == len(releases):
        again = _SecondMasking(here, tuple(seeds), predict, seed, facts)
    return Assessment(risk, utility, compared.n_records, findings, releases[0].plan, facts, again)


def measured(original: Any, masked: Any, plan: Plan) -> Assessment:
    """What `assess` finds with its first seed, for rows in the same order, without what only a report shows."""
    compared = compared_in_memory(opened(original, plan), masked, plan, None, same_order=True)
    risk = attacked(compared, np.random.default_rng(0), Seed(0))
    return Assessment(risk, _utility(compared, None, Seed(0)), compared.n_records)


def _utility(compared: Comparison, predict: str | None, seed: Seed) -> dict[str, Any]:
    return losses_of(compared.columns, compared.pairs, compared.masked, predict, Sampling(seed, compared.rows))


def _pictures(compared: Comparison) -> dict[str, Any]:
    """What the report draws."""
    steps = compared.names_by_step
    in_classes = max(scenarios(steps, compared.columns), key=len, default=())
    return pictures_of(compared.columns, steps, in_classes, compared.pairs, compared.unchanged)


def _findings(
    compared: Comparison, releases: Sequence[Given], risk: Sequence[Risk], rng: np.random.Generator
) -> tuple[str, ...]:
    """What must not be overlooked."""
    facts = compared.facts
    found = findings_of(
        compared.steps,
        risk,
        compared.n_records,
        guessable_seed=any(one.record is not None and one.record.seed.can_be_guessed for one in releases),
        stayed=facts["stayed_without_a_concept"],
        settings=facts["settings"],
        not_attacked=facts["not_attacked"],
    )
    if facts["kept_order"]:
        found = (IN_ORDER, *found)
    near = [name for step in compared.steps if not step.method.moves_at_random for name in step.columns]
    if not facts["rows_in_order"] and seems_shuffled([compared.columns[name] for name in near], rng):
        found = (SHUFFLED, *found)
    return found


@dataclass(slots=True, eq=False, repr=False)
class _SecondMasking:
    """The same table masked with the same plan and another seed, and assessed like the release; once, when asked for.

    The seed is derived from that of the release, so that every public report of a release has the same figures.
    """

    original: Any
    """Of a file its path: the table is not held in memory for a report that may never be asked for."""
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
            original = opened(self.original, self.releases[0][0])
            first, *others = [
                (made_anew(original, plan, seed.derived("second masking", number))[0], plan)
                for number, (plan, seed) in enumerate(self.releases)
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they came with the release
                second = others[0] if others else None
                found = assess(original, *first, same_order=True, predict=self.predict, second=second, seed=self.seed)
            of_release = {name: self.facts[name] for name in ("guarantees", "settings", "made_anew", "kept_order")}
            kept_order = (by_row_order(found.n_records),) if self.facts["kept_order"] else ()
            self.found = replace(found, risk=(*found.risk, *kept_order), facts={**found.facts, **of_release})
        return self.found
