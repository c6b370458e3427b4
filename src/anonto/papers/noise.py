"""Semantic noise, one column at a time and correlated (Figures 1–2, Table 1), and the exponential mechanism.

Rodriguez-Garcia, Sánchez, Batet, Perturbative data protection of multivariate nominal datasets, PSD 2016.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.papers.experiments import Experiment
from anonto.papers.figures import Line, LineChart
from anonto.papers.measurement import Measurement
from anonto.papers.noise_claims import claims
from anonto.papers.noise_runs import (
    ALL,
    ALONE,
    EXPONENTIAL,
    NAME,
    NARROW,
    PLAIN,
    PRINTED_LEVELS,
    STRONG,
    TOGETHER,
    TOGETHER_EQUAL,
    VARIANTS,
    WEAK,
    A,
    B,
    NoiseRuns,
    add_noise,
    measure_original,
)
from anonto.papers.printed_tables import printed_table
from anonto.papers.results import PaperResult, ResultColumn, ResultTable, Section, as_printed, here
from anonto.papers.samples import noise_samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.papers.results import Cell
    from anonto.papers.samples import Sample
    from anonto.papers.scope import Scope
    from anonto.papers.source import RecordSource

NUMBERS = {
    STRONG: "Figure 1, strong correlation",
    WEAK: "Figure 2, weak correlation",
    PLAIN: "A plain sample of the file",
    NARROW: "Strong correlation in the domain of one chapter",
}


def subjects(source: RecordSource, scope: Scope) -> dict[str, Sample]:
    """The samples."""
    return {f"noise {name}": sample for name, sample in noise_samples(source, scope.noise_records).items()}


def jobs(scope: Scope) -> list[Experiment]:
    """All experiments."""
    planned = []
    for which in ALL:
        subject = f"noise {which}"
        planned.append(Experiment((NAME, which), measure_original, subject))
        for variant, (method, parameters) in VARIANTS.items():
            for level in scope.noise_levels:
                given = {**parameters, "noise_level": level}
                arguments = (method, given, scope.seeds)
                planned.append(Experiment((NAME, which, variant, level), add_noise, subject, arguments))
        for epsilon in scope.epsilons if which in {STRONG, WEAK} else ():
            arguments = (EXPONENTIAL, {"epsilon": epsilon}, scope.seeds)
            planned.append(Experiment((NAME, which, EXPONENTIAL, epsilon), add_noise, subject, arguments))
    return planned


def result(found: Mapping[tuple[Any, ...], Any], samples: Mapping[str, Sample], scope: Scope) -> PaperResult:
    """The page's content."""
    runs = NoiseRuns(scope, found)
    return PaperResult(
        name=NAME,
        title="Semantic noise on several columns",
        citation="Rodriguez-Garcia, Sánchez, Batet, Perturbative data protection of multivariate nominal datasets, "
        "PSD 2016",
        lead="Diagnoses move to others about as far away as a random number says, each column alone or both "
        "together. What is left of their correlation, at the noise of the paper and at equal noise.",
        samples=(
            "These are not the paper's data, which are not public.",
            *(
                f"{which.capitalize()}. {samples[f'noise {which}'].rule} Distance correlation "
                f"{runs.original(which).correlation:.4f}."
                for which in ALL
            ),
            "A is the principal, B the secondary diagnosis; distances are Wu-Palmer's below the concept that is "
            "declared as the domain, as in the paper. Any concept of the domain may be released.",
            "The paper measures the noise of one column by the semantic variance and that of two by the distance "
            "variance, which is not the square of a distance. «Equal variance» gives the correlated noise the semantic "
            "variance too, so that only the correlation differs.",
        ),
        sections=(_figures(runs), _table_1(runs), _errors(runs), _exponential(runs)),
        claims=tuple(claims(runs)),
    )


# ------------------------------------------------------------------------------------------------ figures


def _figures(runs: NoiseRuns) -> Section:
    charts = tuple(
        LineChart(
            name=f"{NAME}-correlation-{which}",
            title=f"{number}: correlation against noise",
            caption="Distance correlation of both diagnoses after noise; bands are one standard deviation over the "
            "seeds.",
            lines=(
                Line.through(ALONE, runs.levels, runs.correlations(which, ALONE), dashed=True),
                Line.through(TOGETHER, runs.levels, runs.correlations(which, TOGETHER)),
                Line.through("… equal variance", runs.levels, runs.correlations(which, TOGETHER_EQUAL)),
            ),
            x_label="noise level α",
            y_label="distance correlation",
            level=(runs.original(which).correlation, "original"),
        )
        for which, number in NUMBERS.items()
    )
    rows: list[tuple[Cell, ...]] = [
        (
            which,
            level,
            *(runs.one(which, variant, level).correlation for variant in VARIANTS),
            *(runs.one(which, variant, level).corrected for variant in VARIANTS),
        )
        for which in ALL
        for level in runs.levels
    ]
    originals = ", ".join(
        f"{which} {before.correlation:.4f} ({before.corrected:.4f} without bias)"
        for which in ALL
        for before in (runs.original(which),)
    )
    return Section(
        title="Figures 1 and 2: correlation against the noise level",
        text=(
            "The paper has two samples. The other two show what the comparison depends on. Noise of one column is "
            "directed by its semantic mean: where that is the root, values move up and down their own branch, and "
            "columns stay correlated. Noise of two columns moves a value away from its partner, or towards it: where "
            "the two are near each other in a narrow domain, they are driven apart.",
        ),
        tables=(
            ResultTable(
                name=f"{NAME}-correlations",
                title="Distance correlation after noise",
                columns=(
                    ResultColumn("sample"),
                    ResultColumn("α", digits=1),
                    *here(*VARIANTS),
                    *here(*(f"{variant}, without bias" for variant in VARIANTS)),
                ),
                rows=tuple(rows),
                note=f"Originals: {originals}. The distance correlation of a sample is above 0 even for independent "
                "columns; without this bias it is about 0 for them.",
            ),
        ),
        figures=charts,
    )


# ------------------------------------------------------------------------------------------------ Table 1


def _table_1(runs: NoiseRuns) -> Section:
    known = {row[0]: row[1:] for row in printed_table(f"{NAME}-table-1").rows()}
    before = runs.original(STRONG)
    found = [runs.one(STRONG, variant, level) for variant in VARIANTS for level in PRINTED_LEVELS]
    levels = [level for _ in VARIANTS for level in PRINTED_LEVELS]

    def off(after: Measurement, original: float, level: float) -> Measurement:
        return Measurement.of(abs(value - (1 + level) * original) for value in after.values)

    rows: list[tuple[Cell, ...]] = []
    for letter, column in (("A", A), ("B", B)):
        theirs = [
            known[f"sd(mean({letter}),mean({letter}*))"],
            known[f"|var({letter}*)-(1+alpha)var({letter})|"],
            known[f"actual_RMSE({letter})"],
            known[f"target_RMSE({letter})"],
        ]
        ours: list[list[Cell]] = [
            [one.mean_shift[column] for one in found],
            [
                off(one.variance[column], before.variance[column], level)
                for one, level in zip(found, levels, strict=True)
            ],
            [one.rmse[column] for one in found],
            [one.target[column] for one in found],
        ]
        names = (
            f"mean of {letter} moved",
            f"variance of {letter} off (1 + α)",
            f"actual RMSE {letter}",
            f"target RMSE {letter}",
        )
        rows += [(name, *mine, *printed_row) for name, mine, printed_row in zip(names, ours, theirs, strict=True)]
    rows.append(
        (
            "covariance off (1 + α)",
            *(off(one.covariance, before.covariance, level) for one, level in zip(found, levels, strict=True)),
            *known["|sdCov(A*,B*)-(1+alpha)sdCov(A,B)|"],
        )
    )
    labels = [f"{variant}, α = {level}" for variant in VARIANTS for level in PRINTED_LEVELS]
    theirs_labels = [f"{variant}, α = {level}" for variant in (ALONE, TOGETHER) for level in PRINTED_LEVELS]
    return Section(
        title="Table 1: strong correlation, at two noise levels",
        text=("Variances are semantic variances, mean squared distances to the semantic mean.",),
        tables=(
            ResultTable(
                name=f"{NAME}-table-1",
                title="Table 1",
                columns=(ResultColumn(""), *here(*labels, digits=3), *as_printed(*theirs_labels, digits=2)),
                rows=tuple(rows),
            ),
        ),
    )


def _errors(runs: NoiseRuns) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for which in (STRONG, WEAK):
        for level in runs.levels:
            found = [runs.one(which, variant, level) for variant in VARIANTS]
            cells = [cell for one in found for cell in (one.target[A], one.rmse[A], one.truncated[A])]
            rows.append((which, level, *cells))
    labels = [f"{what}, {variant}" for variant in VARIANTS for what in ("target", "actual", "truncated")]
    return Section(
        title="How far values move: target and actual",
        text=(
            "Concepts stand at few distances, and a value takes the next one that is far enough, so it moves farther "
            "than meant; at the edge of the domain noise is truncated, and it moves less.",
        ),
        tables=(
            ResultTable(
                name=f"{NAME}-errors",
                title="RMSE of the principal diagnosis, and the share of truncated noise",
                columns=(ResultColumn("correlation"), ResultColumn("α", digits=1), *here(*labels, digits=3)),
                rows=tuple(rows),
            ),
        ),
    )


def _exponential(runs: NoiseRuns) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (which, epsilon, one.rmse[A], one.rmse[B], one.correlation, one.corrected)
        for which in (STRONG, WEAK)
        for epsilon in runs.epsilons
        for one in (runs.one(which, EXPONENTIAL, epsilon),)
    ]

    def trade(name: str, variant: str, amounts: Sequence[float], *, dashed: bool = False) -> Line:
        found = [runs.one(STRONG, variant, amount) for amount in amounts]
        points = sorted((one.rmse[A].mean, one.corrected.mean, one.corrected.spread) for one in found)
        return Line(name, tuple(points), dashed)

    return Section(
        title="The exponential mechanism in comparison",
        text=(
            "Noise has no proof. The exponential mechanism has one, ε-differential privacy of each value, and pays "
            "for it: a taxonomy has few concepts near a value and very many far away, so that hardly anything of the "
            "value is left unless ε is large. The distance correlation of what is released is then mostly the bias "
            "of samples, which the last column is without.",
        ),
        tables=(
            ResultTable(
                name=f"{NAME}-exponential",
                title="<code>taxonomy-exponential</code>, ε of each value",
                columns=(
                    ResultColumn("correlation"),
                    ResultColumn("ε", digits=0),
                    *here("RMSE A", "RMSE B", "correlation", "without bias"),
                ),
                rows=tuple(rows),
            ),
        ),
        figures=(
            LineChart(
                name=f"{NAME}-trade",
                title="What is kept at which error, strong correlation",
                caption="Each point is one noise level or one ε: to the left values move less, above more of the "
                "correlation is left.",
                lines=(
                    trade(ALONE, ALONE, runs.levels, dashed=True),
                    trade(TOGETHER, TOGETHER, runs.levels),
                    trade("… equal variance", TOGETHER_EQUAL, runs.levels),
                    trade("exponential", EXPONENTIAL, runs.epsilons),
                ),
                x_label="RMSE of the principal diagnosis",
                y_label="distance correlation, without bias",
                numbers_on_x=False,
                level=(runs.original(STRONG).corrected, "original"),
            ),
        ),
    )
