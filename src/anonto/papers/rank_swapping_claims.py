"""Claims of the paper on rank swapping, and the verdicts on them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from anonto.papers.claims import NOTHING, Comparisons, count_below, count_falling, count_growing, judge, total
from anonto.papers.measurement import Measurement, not_above
from anonto.papers.results import ranges
from anonto.papers.swapping_runs import DX, METHODS, MODERATE, PROCEDURE, STRONG, TABLES, THIRD

if TYPE_CHECKING:
    from anonto.papers.claims import Claim
    from anonto.papers.swapping_runs import SwappingRuns

ROUNDING = 1e-12


def claims(runs: SwappingRuns) -> list[Claim]:
    """All claims about rank swapping."""
    return [
        _margins_stay(runs),
        _rmse_grows(runs),
        _order_of_rmse(runs),
        *_order_of_correlation(runs),
        _more_columns(runs),
        _classes_larger_than_k(runs),
        *_linkage(runs),
    ]


def _margins_stay(runs: SwappingRuns) -> Claim:
    changed = max(max(one.changed_frequencies.values) for one in runs.all())
    shift = max(max(number.values) for one in runs.all() for number in one.mean_shift.values())
    drift = runs.largest_drift()
    n_runs = sum(len(one.linkage.values) for one in runs.all())
    return judge(
        "1",
        "Swapping changes no frequency, no semantic mean and no distance variance of a column.",
        kind="hard",
        holds=changed == 0 and shift == 0 and drift <= ROUNDING,
        found=f"{n_runs:,} runs: {changed:.0f} frequencies changed, means moved by {shift:g}, variances by "
        f"{drift:.1g}.",
        why="A swap that changes a margin is a fault of the program.",
    )


def _rmse_grows(runs: SwappingRuns) -> Claim:
    parts = {
        METHODS[method]: total(count_growing(runs.rmse(MODERATE, method, column)) for column in (DX, PROCEDURE))
        for method in TABLES
    }
    whole = total(parts.values())
    return judge(
        "2",
        "The error grows with k, for all three algorithms.",
        holds=whole.holds,
        found=f"{whole}: " + ", ".join(f"{name} {one.right}/{one.all}" for name, one in parts.items()) + ".",
        why="Neighbouring k differ by less than the draws do.",
    )


def _order_of_rmse(runs: SwappingRuns) -> Claim:
    order = ("rank-swap", "rank-swap-joint", "rank-swap-fixed", "random-swap")
    tallies, gap = NOTHING, 0.0
    for column in (DX, PROCEDURE):
        by_method = {method: runs.rmse(MODERATE, method, column) for method in METHODS}
        for nearer, farther in pairwise(order):
            tallies += total(count_below(a, b) for a, b in zip(by_method[nearer], by_method[farther], strict=True))
        tallies += total(
            count_below(a, b) for a, b in zip(by_method["frequency-swap"], by_method["random-swap"], strict=True)
        )
        pairs = zip(by_method["rank-swap-fixed"], by_method["frequency-swap"], strict=True)
        gap = max(gap, *(abs(a.mean - b.mean) for a, b in pairs))
    return judge(
        "3",
        "Errors: per column < joint < fixed ranking ≈ frequency < random, at every k.",
        holds=tallies.holds and gap <= 0.1,
        found=f"{tallies}; fixed ranking and frequency differ by {gap:.3f} at most.",
        why="Fixed ranking puts values next to each other that are equally far from one value and may be far from each "
        "other, so how it compares with swaps that ignore meaning depends on the data; at large k and with few "
        "categories the methods come close to each other.",
    )


def _order_of_correlation(runs: SwappingRuns) -> list[Claim]:
    joint, alone, fixed, frequency, at_random = (
        runs.correlation(MODERATE, method)
        for method in ("rank-swap-joint", "rank-swap", "rank-swap-fixed", "frequency-swap", "random-swap")
    )
    first = Comparisons(sum(not_above(b, a) for a, b in zip(joint, alone, strict=True)), len(joint))
    second = total(count_below(b, a) for a, b in zip(alone, fixed, strict=True))
    third = total(count_below(b, a) for a, b in zip(fixed, frequency, strict=True))
    third += total(count_below(b, a) for a, b in zip(fixed, at_random, strict=True))
    falls = {METHODS[m]: count_falling(runs.correlation(MODERATE, m)) for m in ("rank-swap-joint", "rank-swap")}
    whole = total(falls.values())
    return [
        judge(
            "4a",
            "Correlation kept: joint ≥ per column > fixed ranking > swaps that ignore meaning.",
            holds=(first + second + third).holds,
            found=f"joint ≥ per column in {first}, per column > fixed in {second}, fixed > the others in {third}; "
            f"joint {ranges(joint)}, per column {ranges(alone)}, fixed {ranges(fixed)}, frequency "
            f"{ranges(frequency)}, random {ranges(at_random)}.",
            why="Where cells hardly move, at small k, moving each column alone loses little; and the distance "
            "correlation of a sample is above 0 even for independent columns, so what is left of it is hard to tell "
            "apart.",
        ),
        judge(
            "4b",
            "The correlation kept falls with k.",
            holds=whole.holds,
            found=f"{whole}: " + ", ".join(f"{name} {one.right}/{one.all}" for name, one in falls.items()) + ".",
            why="The steps between neighbouring k are as small as the spread over the draws, and a release can by "
            "chance be more correlated than its original.",
        ),
    ]


def _more_columns(runs: SwappingRuns) -> Claim:
    joint = "rank-swap-joint"
    farther = [
        three.mean - two.mean
        for column in (DX, PROCEDURE)
        for two, three in zip(runs.rmse(STRONG, joint, column), runs.rmse(THIRD, joint, column), strict=True)
    ]
    lost = [
        two.mean - three.mean
        for two, three in zip(runs.correlation(STRONG, joint), runs.correlation(THIRD, joint), strict=True)
    ]
    mean_farther, mean_lost = sum(farther) / len(farther), sum(lost) / len(lost)
    return judge(
        "5",
        "With more columns swapped jointly, each is kept slightly worse (mean over all k).",
        holds=mean_farther > 0 and mean_lost > 0,
        found=f"A third column adds {mean_farther:.3f} to the errors and takes {mean_lost:.3f} from the correlation, "
        f"on average; {sum(one > 0 for one in farther)} of {len(farther)} errors are larger.",
        why="The third column adds distance to every pair of records and can also keep records apart that would have "
        "moved.",
    )


def _classes_larger_than_k(runs: SwappingRuns) -> Claim:
    found = [runs.one(STRONG, method, 2) for method in ("rank-swap-joint", "rank-swap")]
    largest = max(max(number.values) for one in found for number in one.rmse.values())
    return judge(
        "6",
        "With k below the size of the smallest class, nothing changes: the error is exactly 0.",
        kind="hard",
        holds=largest == 0,
        found=f"Dataset 2, k = 2, joint and per column, all seeds: the largest error is {largest:g}.",
        why="An interval that holds equal records only must leave them as they are.",
    )


def _linkage(runs: SwappingRuns) -> list[Claim]:
    found = []
    why = (
        "The argument counts the records of an interval; but some records find no free partner and stay, and the "
        "others go to near ones, which an intruder takes first. It is no bound, and group-swap is there for one."
    )
    for key, method, reason in (
        ("P1", "rank-swap-joint", why),
        ("P2", "group-swap", "The proof bounds what is expected; a single table can be above by chance."),
    ):
        found_at = {k: runs.one(MODERATE, method, k) for k in runs.ks}
        above = [k for k, one in found_at.items() if not not_above(one.worst_linkage, Measurement((1 / k,)))]
        shown = ", ".join(
            f"{one.blind_linkage.mean:.3f} and {one.method_aware.mean:.3f} at k = {k} (1/k = {1 / k:.3f})"
            for k, one in found_at.items()
        )
        found.append(
            judge(
                key,
                f"Re-identification is bounded by 1/k: {METHODS[method]}.",
                holds=not above,
                found=f"Linked without and with knowledge of the method: {shown}.",
                why=reason,
            )
        )
    return found
