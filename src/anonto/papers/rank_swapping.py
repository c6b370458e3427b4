"""Semantic rank swapping: Tables 1–6 and Figures 5–7, with group swapping and the attacks that the paper does not have.

Rodriguez-Garcia, Batet, Sánchez, Utility-preserving privacy protection of nominal data sets via semantic rank swapping,
Information Fusion 45 (2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.papers.experiments import Experiment
from anonto.papers.figures import Line, LineChart
from anonto.papers.measurement import Measurement
from anonto.papers.printed_tables import printed_table
from anonto.papers.rank_swapping_claims import claims
from anonto.papers.results import PaperResult, ResultColumn, ResultTable, Section, as_printed, here
from anonto.papers.samples import moderate_sample, strong_samples
from anonto.papers.swapping_runs import (
    DX,
    METHODS,
    MODERATE,
    NAME,
    PROCEDURE,
    SECOND,
    STRONG,
    TABLES,
    THIRD,
    SwappingRuns,
    measure_features,
    swap_sample,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.papers.results import Cell
    from anonto.papers.samples import Sample
    from anonto.papers.scope import Scope
    from anonto.papers.source import RecordSource


def subjects(source: RecordSource) -> dict[str, Sample]:
    """The samples."""
    strong, third = strong_samples(source)
    return {MODERATE: moderate_sample(source), STRONG: strong, THIRD: third}


def jobs(scope: Scope) -> list[Experiment]:
    """All experiments."""
    planned = [Experiment((NAME, subject), measure_features, subject) for subject in (MODERATE, STRONG, THIRD)]
    for subject, methods in (
        (MODERATE, METHODS),
        (STRONG, ("rank-swap", "rank-swap-joint")),
        (THIRD, ("rank-swap-joint",)),
    ):
        for method in methods:
            for k in (None,) if method == "random-swap" else scope.ks:
                parameters = {} if k is None else {"k": k}
                arguments = (method, parameters, scope.seeds)
                planned.append(Experiment((NAME, subject, method, k), swap_sample, subject, arguments))
    return planned


def result(found: Mapping[tuple[Any, ...], Any], samples: Mapping[str, Sample], scope: Scope) -> PaperResult:
    """The page's content."""
    runs = SwappingRuns(scope, found)
    return PaperResult(
        name=NAME,
        title="Semantic rank swapping",
        citation="Rodriguez-Garcia, Batet, Sánchez, Utility-preserving privacy protection of nominal data sets via "
        "semantic rank swapping, Information Fusion 45 (2019)",
        lead="Cells change places with cells that mean nearly the same. How far they move, what is left of the "
        "dependence of two columns, and who can still be linked.",
        samples=(
            "These are not the paper's data, which are not public: the samples are chosen to be like them in what the "
            "paper prints of them.",
            f"Dataset 1. {samples[MODERATE].rule}",
            f"Dataset 2. {samples[STRONG].rule}",
            "Dataset 3. The records of Dataset 2 with their secondary diagnosis as a third column.",
            "Distances are Wu-Palmer's below the least common subsumer of a column's values, as in the paper. A is the "
            "principal diagnosis, B the procedure, C the secondary diagnosis.",
        ),
        sections=(
            _dataset_1(runs, samples[MODERATE]),
            _figures(runs),
            _datasets_2_and_3(runs),
            _attacks(runs),
        ),
        claims=tuple(claims(runs)),
    )


# ------------------------------------------------------------------------------------------------ tables


def _dataset_1(runs: SwappingRuns, sample: Sample) -> Section:
    return Section(
        title="Dataset 1: moderate correlation",
        text=(
            "Ours are means over the seeds, with the standard deviation behind ±. The printed numbers come from other "
            "records in another ontology: what should agree is their order and how they change with k.",
        ),
        tables=(_features(runs, sample), *(_table_by_k(runs, method) for method in TABLES)),
    )


def _features(runs: SwappingRuns, sample: Sample) -> ResultTable:
    known = dict(printed_table(f"{NAME}-table-1").rows())
    ours = runs.features(MODERATE)
    rows: list[tuple[Cell, ...]] = [
        ("semantic mean of A", sample.taxonomies[DX].label(ours.mean[DX]), known["semantic_mean_A"]),
        ("semantic mean of B", sample.taxonomies[PROCEDURE].label(ours.mean[PROCEDURE]), known["semantic_mean_B"]),
        ("distance variance of A", ours.variance[DX], float(known["sdVar_A"])),
        ("distance variance of B", ours.variance[PROCEDURE], float(known["sdVar_B"])),
        ("distance correlation", ours.correlation[DX, PROCEDURE], float(known["sdCor_AB"])),
        ("records", sample.table.height, int(known["n_records"])),
        ("categories of A", ours.categories[DX], int(known["categories_A"])),
        ("categories of B", ours.categories[PROCEDURE], int(known["categories_B"])),
    ]
    columns = (ResultColumn(""), *here("Dataset 1"), *as_printed("Dataset 1"))
    return ResultTable(name=f"{NAME}-table-1", title="Table 1: the unmasked data", columns=columns, rows=tuple(rows))


def _table_by_k(runs: SwappingRuns, method: str) -> ResultTable:
    number, algorithm = TABLES[method]
    known = {row["k"]: row for row in printed_table(f"{NAME}-table-{number}").iter_rows(named=True)}
    original = runs.features(MODERATE)
    rows: list[tuple[Cell, ...]] = []
    for k in runs.ks:
        ours, theirs = runs.one(MODERATE, method, k), known[k]
        cor = ours.correlation[DX, PROCEDURE]
        rows.append(
            (
                k,
                ours.mean_shift[DX],
                ours.variance[DX].less(original.variance[DX]),
                ours.rmse[DX],
                ours.rmse[PROCEDURE],
                cor,
                Measurement.of(abs(one) for one in cor.less(original.correlation[DX, PROCEDURE]).values),
                theirs["sd_mean_A"],
                theirs["abs_diff_sdVar_A"],
                theirs["RMSE_A"],
                theirs["RMSE_B"],
                theirs["sdCor_AB"],
                theirs["abs_diff_sdCor_AB"],
            )
        )
    labels = ("mean of A moved", "variance of A changed", "RMSE A", "RMSE B", "correlation", "changed by")
    return ResultTable(
        name=f"{NAME}-table-{number}",
        title=f"Table {number}: {METHODS[method]} ({algorithm}, <code>{method}</code>)",
        columns=(ResultColumn("k"), *here(*labels), *as_printed(*labels)),
        rows=tuple(rows),
    )


def _datasets_2_and_3(runs: SwappingRuns) -> Section:
    tables = []
    for number, subject, columns in ((5, STRONG, (DX, PROCEDURE)), (6, THIRD, (DX, PROCEDURE, SECOND))):
        known = {row["k"]: row for row in printed_table(f"{NAME}-table-{number}").iter_rows(named=True)}
        letters = dict(zip(columns, "ABC", strict=False))
        pairs = list(runs.features(subject).correlation)
        labels = [f"RMSE {letters[name]}" for name in columns]
        labels += [f"correlation {letters[a]}{letters[b]}" for a, b in pairs]
        rows: list[tuple[Cell, ...]] = [
            (
                k,
                *(runs.one(subject, "rank-swap-joint", k).rmse[name] for name in columns),
                *(runs.one(subject, "rank-swap-joint", k).correlation[pair] for pair in pairs),
                *(known[k][f"RMSE_{letters[name]}"] for name in columns),
                *(known[k][f"sdCor_{letters[a]}{letters[b]}"] for a, b in pairs),
            )
            for k in runs.ks
        ]
        unmasked = ", ".join(
            f"{letters[a]}{letters[b]} {value:.4f}" for (a, b), value in runs.features(subject).correlation.items()
        )
        tables.append(
            ResultTable(
                name=f"{NAME}-table-{number}",
                title=f"Table {number}: Dataset {number - 3}, joint (Algorithm 3, <code>rank-swap-joint</code>)",
                columns=(ResultColumn("k"), *here(*labels), *as_printed(*labels)),
                rows=tuple(rows),
                note=f"Correlations of the unmasked data: {unmasked}.",
            )
        )
    return Section(
        title="Datasets 2 and 3: few categories, and a third column",
        text=(
            "Every combination of diagnosis and procedure has more than two records, so with k = 2 a record finds "
            "its whole interval among its equals and nothing moves: the zeros of Table 5 follow from the data, not "
            "from a method that protects for free.",
        ),
        tables=tuple(tables),
    )


# ------------------------------------------------------------------------------------------------ figures


def _lines(runs: SwappingRuns, values: Mapping[str, Sequence[Measurement]]) -> tuple[Line, ...]:
    return tuple(
        Line.through(METHODS[method], runs.ks, numbers, dashed=method in {"random-swap", "frequency-swap"})
        for method, numbers in values.items()
    )


def _figures(runs: SwappingRuns) -> Section:
    charts = []
    for number, name, what, column in ((5, "rmse-a", "diagnosis (A)", DX), (6, "rmse-b", "procedure (B)", PROCEDURE)):
        lines = _lines(runs, {method: runs.rmse(MODERATE, method, column) for method in METHODS})
        charts.append(
            LineChart(
                name=f"{NAME}-{name}",
                title=f"Figure {number}: how far the {what} moves",
                caption="Root mean squared distance between released and original values, Dataset 1; bands are one "
                "standard deviation over the seeds.",
                lines=lines,
                x_label="k (records of an interval, or of a group)",
                y_label="RMSE",
                log_x=True,
            )
        )
    original = runs.features(MODERATE).correlation[DX, PROCEDURE]
    charts.append(
        LineChart(
            name=f"{NAME}-correlation",
            title="Figure 7: what is left of the dependence of diagnosis and procedure",
            caption="Distance correlation after swapping, Dataset 1; the thin line is the original.",
            lines=_lines(runs, {method: runs.correlation(MODERATE, method) for method in METHODS}),
            x_label="k",
            y_label="distance correlation",
            log_x=True,
            level=(original, "original"),
        )
    )
    return Section(title="Figures 5 to 7, with group swapping", figures=tuple(charts))


def _attacks(runs: SwappingRuns) -> Section:
    methods = ("rank-swap-fixed", "rank-swap", "rank-swap-joint", "group-swap")
    rows: list[tuple[Cell, ...]] = []
    for k in runs.ks:
        found = [runs.one(MODERATE, method, k) for method in methods]
        rates = [rate for one in found for rate in (one.blind_linkage, one.method_aware)]
        rows.append((k, 1 / k, *rates, runs.one(MODERATE, methods[2], k).untouched))
    unmasked = runs.features(MODERATE).linkage
    lines = _lines(runs, {m: [runs.one(MODERATE, m, k).worst_linkage for k in runs.ks] for m in methods})
    bound = Line("1/k", tuple((float(k), 1 / k, 0.0) for k in runs.ks), dashed=True)
    return Section(
        title="Who can still be linked",
        text=(
            "The paper argues that a record is re-identified with probability 1/k at most. Here an intruder knows "
            "diagnosis and procedure of everybody and takes the nearest released record for a person's (distance "
            "linkage), or matches all persons at once (global linkage); the first number is the better of the two. "
            "The second is that of an intruder who also knows the method and k, and takes only released records that "
            f"the swap could have made (method-aware linkage). Of the unmasked table {unmasked:.1%} are linked; the "
            "others have doubles.",
            "Only group-swap keeps the 1/k, and only it has a proof. Rank swapping leaves some records without a "
            "free partner and moves the others to near ones that an intruder can guess.",
        ),
        tables=(
            ResultTable(
                name=f"{NAME}-linkage",
                title="Share of persons linked, Dataset 1",
                columns=(
                    ResultColumn("k"),
                    ResultColumn("1/k"),
                    *here(
                        *(f"{METHODS[method]}{known}" for method in methods for known in ("", ", method known")),
                        "cells without a partner (joint)",
                    ),
                ),
                rows=tuple(rows),
            ),
        ),
        figures=(
            LineChart(
                name=f"{NAME}-linkage",
                title="Share of persons linked, against 1/k",
                caption="The best of distance, global and method-aware linkage, both columns of everybody known. Both "
                "axes are logarithmic.",
                lines=(*lines, bound),
                x_label="k",
                y_label="share of persons linked",
                log_x=True,
                log_y=True,
            ),
        ),
    )
