"""Anonymisation by semantic marginality: the worked example, Tables 2–5 and Figures 2–5, and what the correction gains.

Domingo-Ferrer, Sánchez, Rufian-Torrell, Anonymization of nominal data based on semantic marginality, Information
Sciences 242 (2013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto import stats
from anonto.ontology.catalogue import open_ontology
from anonto.papers.experiments import Experiment
from anonto.papers.figures import BarChart, Line, LineChart
from anonto.papers.marginality_claims import claims
from anonto.papers.marginality_runs import (
    AGE,
    CLASS_SIZES,
    DX,
    EXAMPLE,
    MIXED,
    NAME,
    NOMINAL,
    NOMINAL_VARIANTS,
    PRINTED_TABLES,
    STAY,
    VARIANTS,
    WITH_CHARGE,
    MarginalityRuns,
    count_classes,
    measure_squared_errors,
    printed_marginalities,
)
from anonto.papers.printed_tables import printed_table
from anonto.papers.results import PaperResult, ResultColumn, ResultTable, Section, as_printed, here
from anonto.papers.samples import category_samples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.papers.results import Cell
    from anonto.papers.samples import Sample
    from anonto.papers.scope import Scope
    from anonto.papers.source import RecordSource


def subjects(source: RecordSource) -> dict[str, Sample]:
    """The samples."""
    return {f"discharges {name}": sample for name, sample in category_samples(source).items()}


def jobs(scope: Scope) -> list[Experiment]:
    """All experiments."""
    planned = []
    for category, kind in PRINTED_TABLES:
        subject = f"discharges {category}"
        for variant in VARIANTS if kind == MIXED else NOMINAL_VARIANTS:
            for k in scope.group_sizes:
                arguments = (kind, variant, k, scope.seeds)
                planned.append(
                    Experiment((NAME, category, kind, variant, k), measure_squared_errors, subject, arguments)
                )
        if kind == MIXED:
            planned.append(Experiment((NAME, category), count_classes, subject))
            smallest = scope.group_sizes[0]
            for variant in ("classic", "marginality"):
                arguments = (WITH_CHARGE, variant, smallest, scope.seeds)
                planned.append(
                    Experiment(
                        (NAME, category, WITH_CHARGE, variant, smallest), measure_squared_errors, subject, arguments
                    )
                )
    return planned


def result(found: Mapping[tuple[Any, ...], Any], samples: Mapping[str, Sample], scope: Scope) -> PaperResult:
    """The page's content."""
    runs = MarginalityRuns(scope, found)
    return PaperResult(
        name=NAME,
        title="Anonymisation by semantic marginality",
        citation="Domingo-Ferrer, Sánchez, Rufian-Torrell, Anonymization of nominal data based on semantic "
        "marginality, Information Sciences 242 (2013)",
        lead="Records that are close form groups of k and become equal. What meaning saves against counting two "
        "codes as equal or not, and what a scale that does not grow with the table saves on top.",
        samples=(
            *(samples[f"discharges {category}"].rule for category in ("neoplasm", "digestive")),
            "These are not the paper's data: it has 19,502 and 143,472 discharges of California in four columns; these "
            "have age, length of stay and diagnosis, and no charges. Errors are sums over records, so that only their "
            "course and their order compare. Distances of diagnoses are those of the paper (its equation 1, "
            "<code>ancestor</code>).",
            "Groups and centres follow from the records. Only ties are left to chance: here they go to the first "
            "value in the order of names, and codes of the ICD are named in the order of their meaning, which would "
            "help the classic method most, for which all different codes are equally far apart. So with each seed "
            "the codes are renamed at random.",
        ),
        sections=(
            _example(),
            _class_section(runs),
            *(_errors(runs, category) for category in ("neoplasm", "digestive")),
        ),
        claims=tuple(claims(runs)),
    )


# ------------------------------------------------------------------------------------------------ the worked example


def _example() -> Section:
    known = printed_table(f"{NAME}-table-1")["marginality"].to_list()
    ours = stats.marginality(EXAMPLE, open_ontology("dementias"))
    rows: list[tuple[Cell, ...]] = [
        (f"x{place + 1}", value, float(mine), from_printed, theirs)
        for place, (value, mine, from_printed, theirs) in enumerate(
            zip(EXAMPLE, ours, printed_marginalities(), known, strict=True)
        )
    ]
    return Section(
        title="The worked example",
        text=(
            "From the printed distances every printed marginality follows. From the formula two distances do not: "
            "Alzheimer's to meningitis and to multiple sclerosis are 0.78, and printed as 0.65, the distance to "
            "vascular dementia. Alzheimer's is the mean either way. The variance is "
            f"{np.mean(printed_marginalities()):.2f} with the printed distances and {float(np.mean(ours)):.2f} with "
            "those of the formula.",
        ),
        tables=(
            ResultTable(
                name=f"{NAME}-table-1",
                title="Table 1: marginalities",
                columns=(
                    ResultColumn(""),
                    ResultColumn("value"),
                    *here("from the hierarchy", "from the printed distances", digits=2),
                    *as_printed("marginality", digits=2),
                ),
                rows=tuple(rows),
            ),
        ),
    )


# ------------------------------------------------------------------------------------------------ classes


def _class_section(runs: MarginalityRuns) -> Section:
    groups = tuple(f"{low}" if low == high else f"{low}–{high}" if high else f"{low} +" for low, high in CLASS_SIZES)
    charts: list[BarChart] = []
    rows: list[tuple[Cell, ...]] = []
    for category, numbers in (("neoplasm", "2 and 4"), ("digestive", "3 and 5")):
        found = runs.classes(category)
        charts.append(
            BarChart(
                name=f"{NAME}-classes-{category}",
                title=f"Figures {numbers}: equivalence classes, {category}",
                caption=f"{found.n_records:,} records by the size of their class: how many records share age, stay "
                "and diagnosis (mixed), or the diagnosis alone.",
                groups=groups,
                bars=(("mixed", found.shares[MIXED]), ("diagnosis alone", found.shares[NOMINAL])),
                x_label="records of the class",
                y_label="share of records",
            )
        )
        rows += [
            (category, kind, found.n_records, found.n_classes[kind], *found.shares[kind]) for kind in (MIXED, NOMINAL)
        ]
    return Section(
        title="Figures 2 to 5: equivalence classes",
        text=("In the mixed columns most records are alone in their class, and microaggregation has to change them.",),
        tables=(
            ResultTable(
                name=f"{NAME}-classes",
                title="Share of records by the size of their class",
                columns=(
                    ResultColumn("category"),
                    ResultColumn("columns"),
                    ResultColumn("records"),
                    ResultColumn("classes"),
                    *here(*groups, digits=3),
                ),
                rows=tuple(rows),
            ),
        ),
        figures=tuple(charts),
    )


# ------------------------------------------------------------------------------------------------ errors


def _errors(runs: MarginalityRuns, category: str) -> Section:
    mixed, nominal = PRINTED_TABLES[category, MIXED], PRINTED_TABLES[category, NOMINAL]
    return Section(
        title=f"Tables {mixed} and {nominal}: squared errors, {category}",
        tables=(
            _mixed_table(runs, category, mixed),
            _scales_table(runs, category),
            _nominal_table(runs, category, nominal),
        ),
        figures=(_chart(runs, category),),
    )


def _mixed_table(runs: MarginalityRuns, category: str, number: int) -> ResultTable:
    known = {row["k"]: row for row in printed_table(f"{NAME}-table-{number}").iter_rows(named=True)}
    both = ("classic", "marginality")
    labels = [f"{column} {variant}" for column in ("age", "stay", "diagnosis") for variant in both]
    ours = [runs.sse(category, MIXED, variant, column) for column in (AGE, STAY, DX) for variant in both]
    rows = tuple(
        (
            k,
            *(numbers[place] for numbers in ours),
            *(known[k][f"{column}_{variant}"] for column in ("AGE", "LOS", "DIAG") for variant in both),
        )
        for place, k in enumerate(runs.ks)
    )
    return ResultTable(
        name=f"{NAME}-table-{number}",
        title=f"Table {number}: age, stay and diagnosis, at the scale of the paper",
        columns=(ResultColumn("k"), *here(*labels, digits=0), *as_printed(*labels, digits=0)),
        rows=rows,
        note="The paper's column of charges has no counterpart here and is left out.",
    )


def _scales_table(runs: MarginalityRuns, category: str) -> ResultTable:
    variants = ("marginality", "marginality, corrected", "defaults")
    labels = [f"{column}: {name}" for column in ("age", "stay", "diagnosis") for name in ("paper", "mean", "defaults")]
    ours = [runs.sse(category, MIXED, variant, column) for column in (AGE, STAY, DX) for variant in variants]
    return ResultTable(
        name=f"{NAME}-scales-{category}",
        title="What the correction gains: marginality at both scales, and the defaults of <code>microaggregate</code>",
        columns=(ResultColumn("k"), *here(*labels, digits=0)),
        rows=tuple((k, *(numbers[place] for numbers in ours)) for place, k in enumerate(runs.ks)),
        note="At the scale of the paper the variance of the diagnosis grows with the number of records, so that "
        "beside numbers it hardly counts. <code>mean</code> divides that out; the defaults also refine the groups "
        "and take centres from the whole taxonomy.",
    )


def _nominal_table(runs: MarginalityRuns, category: str, number: int) -> ResultTable:
    known = {row[0]: row[1:] for row in printed_table(f"{NAME}-table-{number}").rows()}
    ours = [runs.sse(category, NOMINAL, variant) for variant in NOMINAL_VARIANTS]
    return ResultTable(
        name=f"{NAME}-table-{number}",
        title=f"Table {number}: the diagnosis alone",
        columns=(
            ResultColumn("k"),
            *here(*NOMINAL_VARIANTS, digits=0),
            *as_printed("classic", "marginality", digits=0),
        ),
        rows=tuple((k, *(numbers[place] for numbers in ours), *known[k]) for place, k in enumerate(runs.ks)),
    )


def _chart(runs: MarginalityRuns, category: str) -> LineChart:
    n = runs.classes(category).n_records

    def line(name: str, kind: str, variant: str, *, dashed: bool = False) -> Line:
        numbers = runs.sse(category, kind, variant)
        return Line(
            name,
            tuple((float(k), one.mean / n, one.spread / n) for k, one in zip(runs.ks, numbers, strict=True)),
            dashed,
        )

    return LineChart(
        name=f"{NAME}-errors-{category}",
        title=f"Squared error of the diagnosis per record, {category}",
        caption="Dashed: meaning ignored (classic). Mixed groups at the scale of the paper lose almost all of the "
        "diagnosis; the corrected scale keeps most of it.",
        lines=(
            line("mixed, classic", MIXED, "classic", dashed=True),
            line("mixed, paper", MIXED, "marginality"),
            line("mixed, mean, classic", MIXED, "classic, corrected", dashed=True),
            line("mixed, mean", MIXED, "marginality, corrected"),
            line("mixed, defaults", MIXED, "defaults"),
            line("alone, classic", NOMINAL, "classic", dashed=True),
            line("alone", NOMINAL, "marginality"),
        ),
        x_label="k (records of a group)",
        y_label="squared error per record",
    )
