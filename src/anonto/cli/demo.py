"""``anonto demo``: the whole workflow from a synthetic table to a masked one with its report."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anonto.cli.options import ForceOption
from anonto.cli.show import show_facts, show_status
from anonto.masking.private_record import PrivateRecord
from anonto.methods.registry import FIRST_CHOICE

if TYPE_CHECKING:
    import polars as pl

    from anonto.attacks.rate import Risk
    from anonto.masking.release import Release
    from anonto.taxonomy.taxonomy import Taxonomy

TABLE, PROCEDURES, PLAN, MASKED, REPORT = "discharges.csv", "procedures.csv", "plan.toml", "masked.csv", "report.html"
PRIVATE = PrivateRecord.path_for(MASKED).name

COMMENTS = {
    "": "Made by `anonto demo`. Apply it again, and attack what comes out, with:\n"
    f"anonto mask {TABLE} --plan {PLAN} --output {MASKED} --force\n"
    f"anonto assess {TABLE} {MASKED} --plan {PLAN} --private {PRIVATE} --report {REPORT} --force",
    "principal_dx": "Codes with a meaning: the ontology defines the distance between two of them.",
    "procedure": "A custom hierarchy, in a file beside this plan.",
    "age": "Could help to identify someone together with the others.",
    "length_of_stay": "What researchers want to study: released unchanged.",
}
NOMINAL = {"kind": "nominal", "role": "quasi-identifier"}
COLUMNS: dict[str, Any] = {
    "record_number": {"kind": "nominal", "role": "identifier"},
    "principal_dx": {**NOMINAL, "ontology": "icd10cm"},
    "secondary_dx": {**NOMINAL, "ontology": "icd10cm"},
    "procedure": {**NOMINAL, "ontology": PROCEDURES},
    "age": {"kind": "numeric", "role": "quasi-identifier"},
    "sex": NOMINAL,
    "region": NOMINAL,
    "length_of_stay": {"kind": "numeric", "role": "confidential"},
    "charge": {"kind": "numeric", "role": "confidential"},
}
MASKED_COLUMNS = ["principal_dx", "secondary_dx", "procedure", "age", "sex", "region"]


def demo(
    *,
    folder: Annotated[Path, typer.Option("--folder", help="Folder for the files.")] = Path("demo-out"),
    records: Annotated[int, typer.Option("--records", min=100, help="Number of synthetic discharges.")] = 5_000,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**63 - 1, help="Makes the files reproducible; it is not a secret.")
    ] = 1,
    force: ForceOption = False,
) -> None:
    """Generate a synthetic table of discharges, mask it, attack the masked table, and write a report.

    Leaves the table, a hierarchy of procedures, the plan, the masked table, its private record and the report in a
    folder. The masking follows from `--seed`, so this masked table protects nobody: the people in it are synthetic.

    Example: `anonto demo --records 20000 --folder try-it`
    """
    from anonto.assessment.assess import assess
    from anonto.engine.run import mask
    from anonto.ontology.catalogue import open_ontology
    from anonto.report.data import report_data
    from anonto.report.terminal import terminal_summary

    with show_status("Reading ICD-10-CM"):
        icd = open_ontology("icd10cm")
    _make_ready(folder, force=force)
    with show_status("Generating discharges"):
        table = _write_inputs(folder, records, seed, icd, force=force)
    with show_status("Masking the table"):
        release = mask(folder / TABLE, folder / PLAN, seed=_mask_seed(seed))
        release.save(folder / MASKED, force=force)
    with show_status("Attacking the masked table"):
        found = assess(folder / TABLE, folder / MASKED, folder / PLAN, private=folder / PRIVATE)
    with show_status("Writing the report"):
        found.to_html(folder / REPORT, force=force)
    with show_status("Computing statistics"):
        masked = report_data(release)
        facts = [*_statistics(table, release, icd), *_largest_group(masked, "principal_dx")]
    show_facts(f"{records:,} synthetic discharges, coded in {icd.label('ICD10CM')} ({len(icd):,} concepts)", facts)
    typer.secho("Masked", bold=True)
    for line in terminal_summary(masked):
        typer.echo(f"  {line}")
    if found.worst is not None:
        show_facts("Attacked (0 % is safe, 100 % is disclosed)", _worst(found.worst))
    show_facts(f"Files in {folder}", _files())


def _make_ready(folder: Path, *, force: bool) -> None:
    """Create the folder; refuse if one of the files already exists."""
    from anonto.errors import UnwritableFileError
    from anonto.io.atomic_write import require_free

    outputs = [folder / name for name in (TABLE, PROCEDURES, PLAN, MASKED, PRIVATE, REPORT)]
    require_free([], outputs, force=force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(str(folder), error.strerror or "unknown reason") from None


def _write_inputs(folder: Path, records: int, seed: int, icd: Taxonomy, *, force: bool) -> pl.DataFrame:
    from anonto.demo.generate import discharges, procedure_taxonomy
    from anonto.io.atomic_write import atomic_write
    from anonto.io.table import Origin, Table
    from anonto.io.writing import write_table
    from anonto.masking.plan import Plan

    table = discharges(records, seed, taxonomy=icd)
    write_table(Table(table, Origin(name=TABLE, format="csv")), folder / TABLE, force=force)
    with (
        atomic_write(folder / PROCEDURES, force=force) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        csv.writer(file, lineterminator="\n").writerows([("id", "parent", "label"), *procedure_taxonomy()])
    with atomic_write(folder / PLAN, force=force) as temporary:
        temporary.write_text(Plan.from_dict(_plan()).to_toml(COMMENTS), encoding="utf-8")
    return table


def _plan() -> dict[str, Any]:
    return {"columns": COLUMNS, "steps": [{**FIRST_CHOICE, "columns": MASKED_COLUMNS}]}


def _mask_seed(seed: int) -> int:
    """A seed of full length derived from the public one on the command line."""
    return int.from_bytes(hashlib.blake2b(f"anonto demo {seed}".encode(), digest_size=16).digest(), "little")


def _statistics(table: pl.DataFrame, release: Release, icd: Taxonomy) -> list[tuple[str, str]]:
    from anonto import stats

    principal, secondary = table["principal_dx"], table["secondary_dx"]
    masked = release.table
    before = stats.distance_correlation(principal, secondary, icd, icd)
    after = stats.distance_correlation(masked["principal_dx"], masked["secondary_dx"], icd, icd)
    distinct = [f"{column.drop_nulls().n_unique():,}" for column in (principal, secondary)]
    return [
        ("distinct diagnoses", f"{distinct[0]} principal, {distinct[1]} secondary"),
        ("semantic mean", mean_in_words(stats.semantic_mean(principal, icd), icd)),
        ("distance correlation", f"{before:.4f} of both diagnoses, {after:.4f} after masking"),
    ]


def mean_in_words(mean: str, taxonomy: Taxonomy) -> str:
    """The mean concept; says so if it is the root, which carries no information."""
    if mean in taxonomy.roots:
        return f"{mean}, the root: the codes are too diverse to have a more specific mean"
    return f"{mean} {taxonomy.label(mean)}"


def _largest_group(masked: dict[str, Any], column: str) -> list[tuple[str, str]]:
    """The largest group on an upper level of the ontology."""
    (described,) = (one for one in masked["columns"] if one["name"] == column)
    largest = described["ontologies"][0]["levels"][0]["rows"][0]
    return [("largest chapter", f"{largest['label']}: {largest['before']} records, {largest['after']} after masking")]


def _worst(worst: Risk) -> list[tuple[str, str]]:
    return [
        ("worst linkage", f"{worst.rate:.2%} of persons ({worst.low:.2%} to {worst.high:.2%}), by {worst.attack}"),
        ("by chance, and 1/k", f"{worst.baseline:.2%}, and {1 / FIRST_CHOICE['k']:.0%}"),
    ]


def _files() -> list[tuple[str, str]]:
    return [
        (TABLE, "the table"),
        (PROCEDURES, "the hierarchy of its procedures"),
        (PLAN, "which columns are masked, and how"),
        (MASKED, "the masked table"),
        (PRIVATE, "the seed; with real data, keep it away from the release"),
        (REPORT, "changes, disclosure risk and information loss: open it in a browser"),
    ]
