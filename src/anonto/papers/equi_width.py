"""Multivariate equi-width swapping: Table 1 by formula and by simulation, Table 2, and the time it takes.

Li, Shen, Multivariate equi-width data swapping for private data publication, PAKDD 2010.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonto.papers.equi_width_claims import claims
from anonto.papers.equi_width_runs import (
    BINS_OF_TIMES,
    K_OF_INVARIANTS,
    K_OF_TIMES,
    METHODS,
    MOST_WITH_INVARIANTS,
    NAME,
    REPEATS,
    corner_records,
    exponent,
    measure_times,
    printed_cells,
    simulate_bins,
    swap_in_bins,
    swap_selected,
)
from anonto.papers.experiments import Experiment
from anonto.papers.figures import Line, LineChart
from anonto.papers.printed_tables import printed_table
from anonto.papers.results import PaperResult, ResultColumn, ResultTable, Section, as_printed, here

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.papers.results import Cell
    from anonto.papers.scope import Scope
    from anonto.papers.source import NumberTable, RecordSource


def subjects(source: RecordSource) -> dict[str, Any]:
    """The tables of numbers."""
    return {f"numbers {one.name}": one for one in source.numbers} | {"simulation": None}


def jobs(scope: Scope, numbers: Sequence[NumberTable]) -> list[Experiment]:
    """All experiments but the clock, which runs alone."""
    planned = [
        Experiment((NAME, one.name, method, degree), swap_in_bins, f"numbers {one.name}", (method, degree, scope.seeds))
        for one in numbers
        for method in METHODS
        for degree in scope.degrees
    ]
    planned += [
        Experiment((NAME, one.name, "invariant", rate), swap_selected, f"numbers {one.name}", (rate, scope.seeds))
        for one in numbers
        if one.columns.height <= MOST_WITH_INVARIANTS
        for rate in scope.rates
    ]
    for n, width, correlation in printed_cells():
        if n <= scope.largest_printed_n:
            arguments = (n, width, correlation, scope.seeds)
            planned.append(Experiment((NAME, n, width, correlation), simulate_bins, "simulation", arguments))
    return planned


def result(found: Mapping[tuple[Any, ...], Any], numbers: Sequence[NumberTable], scope: Scope) -> PaperResult:
    """The page's content; measures the times."""
    seconds = {"MEWS": measure_times(scope.width_sizes, "MEWS"), "MEDS": measure_times(scope.depth_sizes, "MEDS")}
    runs = {key[1:]: one for key, one in found.items() if key[0] == NAME}
    names = [one.name for one in numbers]
    return PaperResult(
        name=NAME,
        title="Multivariate equi-width data swapping",
        citation="Li, Shen, Multivariate equi-width data swapping for private data publication, PAKDD 2010",
        lead="Whole records of a few columns change places inside bins of equal width (MEWS) or equal depth (MEDS). "
        "What that does to correlations, what somebody who knows the width can tell, and how long it takes.",
        samples=(
            *(f"{one.name}: {one.about}; {' and '.join(one.swapped)} are swapped together." for one in numbers),
            "The paper does not say which columns it swaps; of public tables the first two columns of numbers are "
            "taken. Columns are standardised before distances are taken. For MEWS the number of bins of a column is "
            "the one whose number of bins with records comes closest to the partition degree d; for MEDS k = n/d.",
        ),
        sections=(_table_1(runs), _table_2(runs, names, scope), _invariants(runs, scope), _times(seconds)),
        claims=tuple(claims(runs, names, scope, seconds)),
    )


def _table_1(runs: Mapping[tuple[Any, ...], Any]) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for n, width, rho, p, _ in printed_table(f"{NAME}-table-1").rows():
        ours = runs.get((n, width, rho))
        computed = corner_records(n, width, rho)
        simulated_cells = (ours.corner, ours.smallest, ours.disclosure) if ours else (None, None, None)
        rows.append((n, width, rho, computed, math.log(computed) / computed, *simulated_cells, p))
    return Section(
        title="Table 1: what is called privacy",
        text=(
            "All 18 printed numbers are ln(q)/q, with q the expected records of a standard bivariate normal sample "
            "in the corner of the grid where both numbers are between 2 − t and 2. That corner is not the smallest "
            "bin: under a positive correlation the emptiest bins lie off the diagonal. So as well as the formula the "
            "grid is simulated: N* is the size of the smallest bin that has records, and whoever knows the width "
            "finds a value in it with probability 1/(N* − 1), or 1 where a record is alone.",
        ),
        tables=(
            ResultTable(
                name=f"{NAME}-table-1",
                title="Table 1, by formula and by simulation",
                columns=(
                    ResultColumn("n"),
                    ResultColumn("t", digits=1),
                    ResultColumn("ρ", digits=1),
                    *here("q by formula", "ln(q)/q"),
                    *here("corner, simulated", "smallest bin N*", digits=1),
                    *here("disclosed if t is known"),
                    *as_printed("P"),
                ),
                rows=tuple(rows),
            ),
        ),
    )


def _table_2(runs: Mapping[tuple[Any, ...], Any], names: Sequence[str], scope: Scope) -> Section:
    known = {row[:3]: row[3:] for row in printed_table(f"{NAME}-table-2").rows()}
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys([*names, *(key[0] for key in known)]):
        for method in METHODS:
            for degree in scope.degrees:
                one = runs.get((name, method, degree))
                theirs = known.get((name, method, degree), (None, None))
                ours = (
                    (one.degree, one.singletons, one.across, one.everywhere, one.of_pairs, one.within)
                    if one
                    else (None,) * 6
                )
                rows.append((name, method, degree, *ours, *theirs))
    lines = tuple(
        Line.through(
            f"{method} {name}",
            scope.degrees,
            [runs[name, method, d].everywhere for d in scope.degrees],
            dashed=method == "MEDS",
        )
        for name in names
        for method in METHODS
    )
    return Section(
        title="Table 2: how much correlations change",
        text=(
            "Δρ is the mean absolute change of Pearson's correlation, σ its standard deviation over the pairs of "
            "columns. Columns that are swapped together keep their correlation exactly. The printed numbers cannot "
            "be absolute changes (see the claims); they are compared by their order only.",
        ),
        tables=(
            ResultTable(
                name=f"{NAME}-table-2",
                title="Table 2: change of correlations",
                columns=(
                    ResultColumn("data"),
                    ResultColumn("method"),
                    ResultColumn("d"),
                    *here("bins", "of one record", digits=0),
                    *here("Δρ across", "Δρ all pairs", "σ over pairs", "Δρ within", digits=5),
                    *as_printed("Δρ", "σ", digits=2),
                ),
                rows=tuple(rows),
            ),
        ),
        figures=(
            LineChart(
                name=f"{NAME}-correlations",
                title="Change of correlations against the number of bins",
                caption="Mean absolute change over all pairs of columns; bands are one standard deviation over the "
                "seeds.",
                lines=lines,
                x_label="partition degree d (bins with records)",
                y_label="Δρ, all pairs",
                log_x=True,
                log_y=True,
            ),
        ),
    )


def _invariants(runs: Mapping[tuple[Any, ...], Any], scope: Scope) -> Section:
    names = list(dict.fromkeys(key[0] for key in runs if key[1] == "invariant"))
    rows: list[tuple[Cell, ...]] = [
        (name, rate, one.epsilon, one.everywhere, one.within)
        for name in names
        for rate in scope.rates
        for one in (runs[name, "invariant", rate],)
    ]
    lines = tuple(
        Line(name, tuple((rate, runs[name, "invariant", rate].epsilon, 0.0) for rate in scope.rates)) for name in names
    )
    return Section(
        title="A swap with an ε, which the paper does not have",
        text=(
            f"<code>invariant-swap</code> selects records of bins of {K_OF_INVARIANTS} at a rate and permutes them. "
            "Its ε is proved, subject to invariants: who is in which bin, and which values a bin holds, is not "
            "protected by it. Bins that share equal records become one, so that columns with few different values "
            "have large ones.",
        ),
        tables=(
            ResultTable(
                name=f"{NAME}-invariants",
                title="What is proved and what is lost, by the rate",
                columns=(
                    ResultColumn("data"),
                    ResultColumn("rate", digits=2),
                    *here("ε", digits=2),
                    *here("Δρ all pairs", "Δρ within", digits=5),
                ),
                rows=tuple(rows),
            ),
        ),
        figures=(
            LineChart(
                name=f"{NAME}-invariants",
                title="ε of invariant-swap against the rate of selection",
                caption=f"Bins of {K_OF_INVARIANTS} records and more; the largest bin decides. At the rate 1 it is 0.",
                lines=lines,
                x_label="rate of selection",
                y_label="ε, subject to invariants",
            ),
        ),
    )


def _times(seconds: Mapping[str, Mapping[int, float]]) -> Section:
    sizes = sorted({n for one in seconds.values() for n in one})
    rows: list[tuple[Cell, ...]] = [(n, *(seconds[method].get(n) for method in METHODS)) for n in sizes]
    return Section(
        title="Run time against the number of records",
        text=(
            f"Two normal columns, {BINS_OF_TIMES} bins a column for MEWS, k = {K_OF_TIMES} for MEDS; seconds of "
            f"processor time, the least of {REPEATS} repeats. The exponents are {exponent(seconds['MEWS']):.2f} for "
            f"MEWS and {exponent(seconds['MEDS']):.2f} for MEDS: 1 is linear. These numbers alone differ from run to "
            "run.",
        ),
        tables=(
            ResultTable(
                name=f"{NAME}-times",
                title="Seconds",
                columns=(ResultColumn("records"), *here(*METHODS, digits=4)),
                rows=tuple(rows),
            ),
        ),
        figures=(
            LineChart(
                name=f"{NAME}-times",
                title="Seconds against the number of records",
                caption="Both axes are logarithmic, so that a straight line with slope 1 is linear growth.",
                lines=tuple(
                    Line(method, tuple((float(n), second, 0.0) for n, second in seconds[method].items()))
                    for method in METHODS
                ),
                x_label="records",
                y_label="seconds",
                log_x=True,
                log_y=True,
            ),
        ),
    )
