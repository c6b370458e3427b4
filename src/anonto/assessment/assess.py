"""From an original and its release to risk and utility: how far attacks succeed, and what an analyst loses."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.assessment.compare import GivenRelease, compare, is_stored
from anonto.assessment.disclosure import describe_disclosure
from anonto.assessment.foreign import attack_foreign, foreign_findings, losses_in_foreign, open_foreign
from anonto.assessment.held_out import as_held_out_records, encode_held_out, open_beside
from anonto.assessment.in_memory import compare_in_memory, mask_again, open_encoded
from anonto.assessment.units import as_records
from anonto.attacks.alignment import SHUFFLED, seems_shuffled
from anonto.attacks.findings import NO_RECORDS, findings_of, worst_linkage
from anonto.attacks.known import scenarios
from anonto.attacks.registry import attacks
from anonto.attacks.run_attacks import count_tries, run_attacks
from anonto.errors import ParameterError, PlanError
from anonto.io.atomic_write import atomic_write
from anonto.io.table import missing_column
from anonto.random.streams import Seed, seed_of
from anonto.report.pictures import pictures_of
from anonto.runtime.memory_limit import parse_memory
from anonto.runtime.shared import sharing
from anonto.utility.sampling import Sampling
from anonto.utility.whole import losses_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anonto.attacks.comparison import Comparison
    from anonto.attacks.rate import Risk
    from anonto.attacks.run_attacks import Progress
    from anonto.masking.plan import Plan

MEASURING_LOSSES = "what an analyst loses"
"""The last part of an assessment, in the words of its progress."""


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """Results of the attacks, and the information loss for an analyst."""

    risk: tuple[Risk, ...]
    utility: Mapping[str, Any]
    n_records: int
    findings: tuple[str, ...] = ()
    """Warnings in plain sentences: what undoes the masking, links beyond what k suggests, and
    proven ones."""
    plan: Plan | None = None
    """The plan of the release."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for a report: dropped records and columns, guarantees, and plain counts to draw. If somebody has
    looked for the identifiers of HIPAA in the cells, ``identifiers`` has their letters by column."""
    second_masking: Callable[[], Assessment] | None = field(default=None, repr=False)
    """Masks the original a second time and assesses that, for the public edition; None where it cannot be known that
    the plan made the release, or where the table is attacked from counts."""

    @property
    def worst(self) -> Risk | None:
        """The linkage that reached most, whichever released columns the intruder knows: the headline."""
        return worst_linkage(self.risk)

    @property
    def worst_declared(self) -> Risk | None:
        """The linkage that reached most of those that know no column but declared quasi-identifiers."""
        plan = self.plan
        return None if plan is None else worst_linkage([one for one in self.risk if plan.are_declared(one.columns)])

    @property
    def partial(self) -> Risk | None:
        """Disclosure to an intruder who knows a few columns; None where nothing can be read off."""
        return next((one for one in self.risk if attacks()[one.attack].of_few_columns), None)

    def to_dict(self, *, frames: Iterable[str] | str = ()) -> dict[str, Any]:
        """The assessment as plain data; ``population`` is there where the plan says how large it is.

        Args:
            frames: Names of laws and guidelines, such as ``"wp29"``; the evidence for each is under ``frames``.
        """
        population = self.facts.get("disclosure", {}).get("population")
        plain = {
            "n_records": self.n_records,
            "findings": list(self.findings),
            "risk": [one.to_dict() for one in self.risk],
            "utility": dict(self.utility),
            **({"population": population} if population else {}),
        }
        if frames and self.plan is None:
            raise plan_needed("frames")
        return {**plain, "frames": self._report("internal", None, frames)["frames"]} if frames else plain

    def _report(self, edition: str, sweep: Any, frames: Iterable[str] | str) -> dict[str, Any]:
        """The data of the report."""
        from anonto.report.assessed import assessed_data

        return assessed_data(self, edition, sweep, frames)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        edition: str = "internal",
        sweep: Any = None,
        frames: Iterable[str] | str = (),
        force: bool = True,
    ) -> None:
        """Write the report as one HTML file that needs nothing but itself.

        Args:
            path: The output; it appears when it is whole, or not at all.
            edition: ``"internal"``, or ``"public"``: without parameters that an intruder could use, and with rounded
                figures of a second masking in place of those of the release. The first public report of an
                assessment masks and attacks the table once more; that of a release of another tool has no figures.
            sweep: Other plans to draw on the map of risk and utility: what `anonto.sweep` gave, or a list of points
                with ``label``, ``method``, ``risk``, ``utility`` and ``on_front``.
            frames: Names of laws and guidelines, such as ``"wp29"``: each gets a section with the evidence for it.
            force: Whether a file that is there is replaced.
        """
        from anonto.report.foreign import foreign_data
        from anonto.report.page import assessed_html, foreign_html

        for name, given in (("sweep", sweep), ("frames", frames or None)):
            if self.plan is None and given is not None:
                raise plan_needed(name)

        with atomic_write(Path(path), force=force) as temporary:
            if self.plan is None:
                page = foreign_html(foreign_data(self, edition))
            else:
                page = assessed_html(self._report(edition, sweep, frames))
            temporary.write_text(page, encoding="utf-8")

    def to_json(
        self,
        path: str | os.PathLike[str],
        *,
        edition: str = "internal",
        sweep: Any = None,
        frames: Iterable[str] | str = (),
        force: bool = True,
    ) -> None:
        """Write what the report says as JSON, in the shape that the report's schema describes.

        Args:
            path: The output; it appears when it is whole, or not at all.
            edition: ``"internal"`` or ``"public"``, as of the page.
            sweep: Other plans on the map, as of the page.
            frames: Names of laws and guidelines, as of the page.
            force: Whether a file that is there is replaced.
        """
        from anonto.report.data import to_json

        if self.plan is None:
            raise no_json_report()

        with atomic_write(Path(path), force=force) as temporary:
            temporary.write_text(to_json(self._report(edition, sweep, frames)), encoding="utf-8")


@sharing()
def assess(
    original: Any,
    masked: Any,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    private: str | os.PathLike[str] | None = None,
    same_order: bool = False,
    predict: str | None = None,
    second: tuple[Any, Plan | Mapping[str, Any] | str | os.PathLike[str]] | None = None,
    second_private: str | os.PathLike[str] | None = None,
    held_out: Any = None,
    memory: int | str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Assessment:
    """Attack a release with its original in hand, and measure what was lost.

    Args:
        original: The table that was masked: pandas, polars, pyarrow, a Spark DataFrame or a path.
        masked: The release: rows in the order of the original, or in the order of `save` with the private record.
        plan: The plan it was masked with; None for a release that another tool made, which is attacked in the columns
            that both tables share.
        private: The private record of the release, to put shuffled rows back in order, and to check that all belong
            together by masking the original again.
        same_order: Say that the rows of a file are in the order of the original, where no column shows it.
        predict: A column to be predicted from the others, to see what a model loses.
        second: Another release of the same original and its plan, to see what somebody can do who has both.
        second_private: The private record of the second release.
        held_out: A table of persons like those of the original who were not masked, with the columns of the original:
            some attacks compare both, or learn from these persons.
        memory: For Spark DataFrames: how much memory of the driver may be taken, in bytes or as ``"2GB"``; without it
            half of what its machine has. Tables whose rows do not fit are attacked from counts of them.
        seed: For the choice of persons in large tables; it has nothing to do with the seed of the release.
        progress: Called with how many parts are finished, how many there are, and what is done next in words.

    Returns:
        An assessment with ``.risk``, ``.utility`` and ``.to_dict()``.
    """
    if plan is None:
        of_plans = {"private": private, "predict": predict, "second": second, "second_private": second_private}
        given = [name for name, one in {**of_plans, "memory": memory}.items() if one is not None]
        if given:
            raise plan_needed(given[0])
        return _assess_foreign(original, masked, held_out, seed_of(seed))
    releases = [GivenRelease.of(masked, plan, private)]
    if second is None and second_private is not None:
        raise ParameterError("second", "given where its private record is", None)
    if second is not None:
        releases.append(GivenRelease.of(*second, second_private))
    rng = np.random.default_rng(seed)
    seeds = [one.record.seed for one in releases if one.record is not None]
    known: list[dict[str, Any]] = []
    others = None
    if held_out is not None:
        original, others = open_beside(held_out, original, masked, releases[0].plan)
    if any(one.plan.has_units for one in releases):
        found = [as_records(original, one, same_order=same_order, stored=is_stored(one.table)) for one in releases]
        if others is not None:
            others = as_held_out_records(others, found[0].original, releases[0].plan)
        original, releases, known = found[0].original, [one.release for one in found], [one.facts for one in found]
        same_order = True
    compared, here = compare(
        original,
        releases[0],
        releases[1] if second is not None else None,
        memory=None if memory is None else parse_memory(memory),
        same_order=same_order,
        rng=rng,
    )
    if others is not None:
        plan_of_records = releases[0].plan
        held = encode_held_out(others, open_encoded(here, plan_of_records), compared, plan_of_records)
        compared = replace(compared, held_out=held)
    compared.facts.update(known[0] if known else {})
    compared.facts["kept_order"] |= any(one["kept_order"] for one in known)
    if predict is not None and predict not in compared.columns:
        raise missing_column(predict, list(compared.columns))
    disclosure = describe_disclosure(compared, releases[0].plan)
    tell = progress or _tell_nobody
    n_tries = count_tries(compared)
    n_parts = n_tries + 1
    risk = run_attacks(compared, rng, seed_of(seed), progress=lambda n_done, _, what: tell(n_done, n_parts, what))
    tell(n_tries, n_parts, MEASURING_LOSSES)
    utility = _utility(compared, predict, seed_of(seed))
    facts = compared.facts | {"pictures": _pictures(compared), "distinct_records": compared.n_distinct}
    facts |= {"disclosure": disclosure}
    findings = _findings(compared, seeds, risk, rng)
    again = None
    if compared.amounts.row_by_row and len(seeds) == len(releases):
        plans = [one.plan for one in releases]
        of_saving = tuple(one for one in risk if attacks()[one.attack].of_saving)
        again = _SecondMasking(here, tuple(zip(plans, seeds, strict=True)), predict, seed, facts, of_saving, others)
    return Assessment(risk, utility, compared.n_records, findings, releases[0].plan, facts, again)


def _tell_nobody(n_done: int, n_parts: int, what: str) -> None:
    """Progress that nobody watches."""


def _assess_foreign(original: Any, released: Any, held_out: Any, seed: Seed) -> Assessment:
    """Attack a release that another tool made."""
    release, facts = open_foreign(original, released, held_out)
    risk = attack_foreign(release, seed)
    findings = foreign_findings(release, risk) if release.n_released else (NO_RECORDS,)
    return Assessment(risk, losses_in_foreign(release), release.n_released, findings, None, facts)


@sharing()
def assess_in_order(original: Any, masked: Any, plan: Plan, *, screening: bool = False) -> Assessment:
    """The results of `assess` for rows in order, without the data of a report; when screening, of cheap attacks."""
    compared, risk = _attack_in_order(original, masked, plan, screening=screening)
    return Assessment(risk, _utility(compared, None, Seed(0)), compared.n_records)


@sharing()
def risks_in_order(original: Any, masked: Any, plan: Plan) -> tuple[Risk, ...]:
    """The risks of `assess` for rows in order, without measuring what was lost."""
    return _attack_in_order(original, masked, plan, screening=False)[1]


def _attack_in_order(original: Any, masked: Any, plan: Plan, *, screening: bool) -> tuple[Comparison, tuple[Risk, ...]]:
    compared = compare_in_memory(open_encoded(original, plan), masked, plan, None, same_order=True)
    return compared, run_attacks(compared, np.random.default_rng(0), Seed(0), screening=screening)


def _utility(compared: Comparison, predict: str | None, seed: Seed) -> dict[str, Any]:
    before = compared.before_recoding
    changed = (*compared.masked, *(name for name in before if name not in compared.masked))
    losses = losses_of(
        {**compared.columns, **before},
        {**compared.pairs, **before},
        changed,
        predict,
        Sampling(seed, compared.rows),
    )
    return losses if "weight" not in compared.facts else {"weighted_by": compared.facts["weight"], **losses}


def _pictures(compared: Comparison) -> dict[str, Any]:
    """Data for the charts of the report."""
    steps = compared.names_by_step
    in_classes = max(scenarios(steps, compared.columns), key=len, default=())
    return pictures_of(compared.columns, steps, in_classes, compared.pairs, compared.unchanged)


def _findings(
    compared: Comparison, seeds: Sequence[Seed], risk: Sequence[Risk], rng: np.random.Generator
) -> tuple[str, ...]:
    """The warnings of an assessment."""
    facts = compared.facts
    found = findings_of(
        compared.steps,
        risk,
        compared.n_records,
        guessable_seed=any(one.can_be_guessed for one in seeds),
        stayed=facts["stayed_without_a_concept"],
        settings=facts["settings"],
        not_attacked=facts["not_attacked"],
    )
    found = (*(finding for one in risk if (finding := attacks()[one.attack].finding)), *found)
    near = [name for step in compared.steps if not step.method.moves_at_random for name in step.columns]
    if not facts["rows_in_order"] and seems_shuffled([compared.columns[name] for name in near], rng):
        found = (SHUFFLED, *found)
    return found


@dataclass(slots=True, eq=False, repr=False)
class _SecondMasking:
    """The same table masked with the same plan and another seed, and assessed like the release, when first needed.

    The seed is derived from that of the release, so that every public report of a release has the same figures. They
    count records: weighted ones would tell of the weights too, and one record of a large weight could move them far.
    """

    original: Any
    """The path of a file: the table is not kept in memory for a report that may never be requested."""
    releases: tuple[tuple[Plan, Seed], ...]
    """The plan and the seed of the release, and of a second release if one was given."""
    predict: str | None
    seed: int
    facts: Mapping[str, Any]
    """Those of the release."""
    of_saving: tuple[Risk, ...]
    """Results of the release that follow from how it was saved, whatever was masked."""
    held_out: Any
    """Persons who were not masked; None if there are none."""
    found: Assessment | None = None

    @sharing()
    def __call__(self) -> Assessment:
        """The results."""
        if self.found is None:
            plan = self.releases[0][0]
            original = open_encoded(self.original, plan)
            first, *others = [
                (mask_again(original, one, seed.derive("second masking", number))[0], one.without_weight())
                for number, (one, seed) in enumerate(self.releases)
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they came with the release
                second = others[0] if others else None
                found = assess(
                    original,
                    *first,
                    same_order=True,
                    predict=self.predict,
                    second=second,
                    held_out=self.held_out,
                    seed=self.seed,
                )
            names = ("guarantees", "settings", "made_anew", "kept_order", "released_rows")
            of_release = {name: self.facts[name] for name in names if name in self.facts}
            facts = {**found.facts, **of_release}
            self.found = replace(found, risk=(*found.risk, *self.of_saving), facts=facts, plan=plan)
        return self.found


def plan_needed(name: str) -> PlanError:
    """An argument of an assessment that is of no use without a plan."""
    return PlanError(f"{name} needs the plan of the release; give the plan, or leave {name} out.")


def no_json_report() -> PlanError:
    """The data of a report on a release without a plan."""
    return PlanError(
        "The report as JSON describes what a plan did, and this release was assessed without one; write the page "
        "(--report), or take the results as plain data from to_dict (--json)."
    )
