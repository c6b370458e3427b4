"""``anonto demo``: the statistics of two generated columns of diagnoses."""

from __future__ import annotations

from typing import Annotated

import typer

from anonto.cli.show import show_facts, show_table


def demo(
    *,
    records: Annotated[int, typer.Option("--records", min=10, help="How many discharges to make up.")] = 2_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For the same discharges each time.")] = 1,
) -> None:
    """Make up discharges with two ICD-10-CM diagnoses and print their semantic statistics.

    Example: `anonto demo --records 5000`
    """
    from anonto import stats
    from anonto.ontology.catalogue import open_ontology
    from anonto.table.generate import related_columns

    tax = open_ontology("icd10cm")
    principal, secondary = related_columns(tax, records, seed=seed)
    mean = stats.semantic_mean(principal, tax)
    median_like = stats.marginality_mean(principal, tax)
    test = stats.independence_test(principal, secondary, tax, tax, permutations=99, seed=seed)
    show_facts(
        f"{records:,} made-up discharges, coded in {tax.label('ICD10CM')} ({len(tax):,} concepts)",
        [
            (
                "distinct diagnoses",
                f"{len(set(principal) - {None}):,} principal, {len(set(secondary) - {None}):,} secondary",
            ),
            ("missing cells", f"{principal.count(None):,} principal, {secondary.count(None):,} secondary"),
            ("semantic mean", f"{mean} {tax.label(mean)}"),
            ("semantic variance", f"{stats.semantic_variance(principal, tax):.4f}"),
            ("least marginal value", f"{median_like} {tax.label(median_like)}"),
            ("distance correlation", f"{stats.distance_correlation(principal, secondary, tax, tax):.4f}"),
            ("the same, bias-corrected", f"{test.statistic:.4f} (squared)"),
            ("p-value", f"{test.p_value:.3f} from {test.permutations} random pairings"),
        ],
    )
    examples = [(a, b) for a, b in zip(principal, secondary, strict=True) if a and b][:4]
    rows = [
        [
            f"{a} {tax.label(a)}",
            f"{b} {tax.label(b)}",
            f"{tax.distance(a, b):.3f}",
            f"{tax.distance(a, b, 'ancestor'):.3f}",
        ]
        for a, b in examples
    ]
    show_table(["principal", "secondary", "wu-palmer", "ancestor"], rows)
