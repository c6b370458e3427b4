"""Claims of the paper on equi-width swapping, and the verdicts on them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.methods.widths import equi_depth_disclosure
from anonto.papers.claims import count_falling, count_growing, impossible, judge, total
from anonto.papers.equi_width_runs import METHODS, NAME, corner_records, exponent, printed_cells
from anonto.papers.printed_tables import printed_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.papers.claims import Claim
    from anonto.papers.equi_width_runs import BinSwap
    from anonto.papers.scope import Scope


def claims(
    runs: Mapping[tuple[Any, ...], Any],
    names: Sequence[str],
    scope: Scope,
    seconds: Mapping[str, Mapping[int, float]],
) -> list[Claim]:
    """All claims about swapping in bins."""
    swaps = [runs[name, method, d] for name in names for method in METHODS for d in scope.degrees]
    swaps += [one for key, one in runs.items() if key[1] == "invariant"]
    return [
        _margins_stay(swaps),
        _within_is_kept(swaps),
        _width_is_kept(swaps),
        _formula(),
        _falls_with_degree(runs, names, scope),
        _width_against_depth(runs, names, scope),
        _absolute_changes(runs, scope),
        _linear(seconds),
        _correlation_protects(runs, scope),
        _lemma_1(),
    ]


def _margins_stay(swaps: Sequence[BinSwap]) -> Claim:
    changed = max(max(one.changed_rows.values) for one in swaps)
    n_runs = sum(len(one.across.values) for one in swaps)
    return judge(
        "1",
        "Swapping changes no frequency, of single values or of combinations that move together.",
        kind="hard",
        holds=changed == 0,
        found=f"{n_runs:,} runs: {changed:.0f} cells differ after sorting.",
        why="A swap that changes a margin is a fault of the program.",
    )


def _within_is_kept(swaps: Sequence[BinSwap]) -> Claim:
    largest = max(max(one.within.values) for one in swaps)
    return judge(
        "10 within",
        "Correlations inside the swapping set stay exactly as they are.",
        kind="hard",
        holds=largest <= 1e-12,
        found=f"The largest change is {largest:.1g}, from the order in which numbers are summed.",
        why="Whole tuples move; a change would be a fault of the program.",
    )


def _width_is_kept(swaps: Sequence[BinSwap]) -> Claim:
    farthest = max(max(one.over_width.values) for one in swaps)
    return judge(
        "width",
        "MEWS moves no number by more than the width.",
        kind="hard",
        holds=farthest <= 1 + 1e-9,
        found=f"The farthest move is {farthest:.4f} of the width.",
        why="Records only move inside their bin.",
    )


def _formula() -> Claim:
    known = printed_table(f"{NAME}-table-1").rows()
    right = sum(
        (q := corner_records(n, width, rho)) == reconstructed and abs(math.log(q) / q - p) <= 5.1e-5
        for n, width, rho, p, reconstructed in known
    )
    return judge(
        "Table 1",
        "Table 1 is the formula ln(q)/q of the corner of the grid.",
        kind="hard",
        holds=right == len(known),
        found=f"{right} of {len(known)} printed numbers are reached to all digits.",
        why="The formula must give every printed number.",
    )


def _falls_with_degree(runs: Mapping[tuple[Any, ...], Any], names: Sequence[str], scope: Scope) -> Claim:
    parts = {
        f"{name} {method}": count_falling([runs[name, method, d].everywhere for d in scope.degrees])
        for name in names
        for method in METHODS
    }
    whole = total(parts.values())
    against = [name for name, one in parts.items() if not one.holds]
    return judge(
        "10a",
        "Correlations change less the more bins there are.",
        holds=whole.holds,
        found=f"{whole}{'; against it: ' + ', '.join(against) if against else ''}.",
        why="The changes are small against the draws where most pairs are uncorrelated anyway.",
    )


def _width_against_depth(runs: Mapping[tuple[Any, ...], Any], names: Sequence[str], scope: Scope) -> Claim:
    better = {
        (name, d): runs[name, "MEWS", d].everywhere.mean < runs[name, "MEDS", d].everywhere.mean
        for name in names
        for d in scope.degrees
    }
    most = max(runs[name, "MEWS", d].singletons / runs[name, "MEWS", d].degree for name in names for d in scope.degrees)
    against = [f"{name} d = {d:,}" for (name, d), one in better.items() if not one]
    return judge(
        "10b",
        "MEWS changes correlations less than MEDS with equally many bins.",
        holds=all(better.values()),
        found=f"In {sum(better.values())} of {len(better)} "
        f"cases{'; not in ' + ', '.join(against) if against else ''}. Up to {most:.0%} of the bins of MEWS have one "
        "record, which never moves.",
        why="It depends on where the records lie: few wide bins hold most records of a skewed table, while bins of "
        "equal depth are small where records are dense. The paper names exceptions too. Records that are alone in a "
        "bin keep their correlation by not being protected.",
    )


def _absolute_changes(runs: Mapping[tuple[Any, ...], Any], scope: Scope) -> Claim:
    ours = max(runs["Syn100k", method, d].everywhere.mean for method in METHODS for d in scope.degrees)
    return impossible(
        "10c",
        "Table 2 prints absolute changes of correlations (up to 0.61 on Syn100k).",
        found=f"At most 0.083 is possible on average; we find up to {ours:.4f}.",
        why="One of the six pairs of Syn100k is correlated, with 0.5: if all of it were lost the mean would change "
        "by 0.5/6 = 0.083. The printed numbers are probably percent.",
    )


def _linear(seconds: Mapping[str, Mapping[int, float]]) -> Claim:
    power = exponent(seconds["MEWS"])
    return judge(
        "11",
        "MEWS takes time linear in the records.",
        holds=power <= 1.2,
        found=f"Exponent {power:.2f} from {min(seconds['MEWS']):,} to {max(seconds['MEWS']):,} records (MEDS "
        f"{exponent(seconds['MEDS']):.2f}).",
        why="Other work on the machine, or caches that the larger tables no longer fit.",
    )


def _correlation_protects(runs: Mapping[tuple[Any, ...], Any], scope: Scope) -> Claim:
    n = scope.largest_printed_n
    simulated = {(width, rho): runs[n, width, rho] for size, width, rho in printed_cells() if size == n}
    widths, correlations = (sorted({cell[place] for cell in simulated}) for place in (0, 1))
    grows = total(count_growing([simulated[width, rho].smallest for rho in correlations]) for width in widths)
    widest = widths[-1]
    shown = [f"{simulated[widest, rho].smallest.mean:.1f} at ρ = {rho}" for rho in correlations]
    return judge(
        "P3",
        "More correlated columns are better protected (Table 1: P falls with ρ).",
        holds=grows.holds,
        found=f"{n:,} records, t = {widest}: the smallest bin has {', '.join(shown)} records; it grows in {grows}.",
        why="P is computed for the corner on the diagonal, which fills as the correlation rises; the bins off the "
        "diagonal empty, and a record that is alone in its bin never moves. The opposite is true.",
    )


def _lemma_1() -> Claim:
    q = 100_000
    constant = q * equi_depth_disclosure(q) - math.log(q)
    return impossible(
        "P4",
        "Lemma 1: the constant c₁ of (ln q + c₁)/q lies between γ + 0.2 and 1.2.",
        found=f"c₁ = {constant:.4f} at q = {q:,}; γ + 0.2 = {np.euler_gamma + 0.2:.4f}.",
        why="The sum that the lemma starts from gives γ − ln 2 + ½ = 0.384 in the limit: a sign was lost.",
    )
