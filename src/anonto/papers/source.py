"""Source of the records: the public files, or synthetic discharges; with codes mapped on request.

Discharges have the columns `principal_dx`, `secondary_dx`, `procedure`, `age` and `length_of_stay`, and the chapter
and block of both diagnoses. Records are grouped by the chapters of the ICD, also where the codes are then mapped to
concepts of another ontology.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonto.errors import MissingFileError, ParameterError
from anonto.ontology.catalogue import open_ontology
from anonto.taxonomy.build import Draft, restrict
from anonto.taxonomy.taxonomy import Provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from anonto.taxonomy.taxonomy import Taxonomy

DIAGNOSES = ("principal_dx", "secondary_dx")
CODES = (*DIAGNOSES, "procedure")
NUMBERS = ("age", "length_of_stay")
N_DISCHARGES = 60_000
DISCHARGES_SEED = 7
SYNTHETIC_ROWS = 100_000
SYNTHETIC_SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class NumberTable:
    """Columns of numbers, and which of them are swapped together."""

    name: str
    columns: pl.DataFrame
    swapped: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True, eq=False)
class RecordSource:
    """All records of a run."""

    name: str
    discharges: pl.DataFrame
    diagnoses: Taxonomy
    procedures: Taxonomy
    numbers: tuple[NumberTable, ...]
    categories: Mapping[str, str]
    """The chapters of neoplasms and of diseases of the digestive system."""
    notes: tuple[str, ...]
    mapped: bool = False
    """True if codes became concepts of another ontology."""

    def taxonomy(self, column: str) -> Taxonomy:
        """The taxonomy of a column of codes."""
        return self.procedures if column == "procedure" else self.diagnoses

    def chapter_label(self, chapter: str) -> str:
        """A chapter in words."""
        return self.labels.get(chapter, chapter)

    @property
    def labels(self) -> dict[str, str]:
        """The titles of the chapters."""
        rows = self.discharges.select("chapter", "chapter_title").unique().rows()
        return {chapter: title for chapter, title in rows if chapter}


# ------------------------------------------------------------------------------------------------ public files


FILES = {
    "discharges": "nhds2010/nhds2010_oshpdlike_dev20k.csv.gz",
    "diagnoses": "icd9cm/icd9cm_dx_edges.csv",
    "procedures": "icd9cm/icd9cm_pr_edges.csv",
    "Abalone": "uci_abalone/abalone.csv",
    "MagicTele": "uci_magic/magic04.csv.gz",
}


def public_source(folder: Path) -> RecordSource:
    """The files of docs/data.md: the National Hospital Discharge Survey 2010, ICD-9-CM, Abalone and MAGIC."""
    if not folder.exists():
        raise MissingFileError(str(folder))
    if not folder.is_dir():
        raise ParameterError("--data", "a folder with the public files", str(folder))
    paths = {name: folder / path for name, path in FILES.items()}
    for path in paths.values():
        if not path.is_file():
            raise MissingFileError(str(path))
    diagnoses, procedures = (open_ontology(paths[name]) for name in ("diagnoses", "procedures"))
    survey = pl.read_csv(paths["discharges"], infer_schema=False).rename({"principal_procedure": "procedure"})
    table = survey.select(*CODES, pl.col(NUMBERS).cast(pl.Int64))
    return RecordSource(
        name=f"{len(table):,} discharges of the National Hospital Discharge Survey 2010, coded in ICD-9-CM",
        discharges=add_chapters(table, diagnoses),
        diagnoses=diagnoses,
        procedures=procedures,
        numbers=(
            synthetic_numbers(SYNTHETIC_ROWS),
            _numbers_of(paths["Abalone"], "Abalone", "4,177 abalones"),
            _numbers_of(paths["MagicTele"], "MagicTele", "19,020 events of the MAGIC telescope"),
        ),
        categories={"neoplasm": "chapter:140-239", "digestive": "chapter:520-579"},
        notes=(
            "ICD-9-CM stands in for SNOMED CT, which the papers on rank swapping and noise use and which needs a "
            "licence; the paper on marginality uses ICD-9 itself. ICD-9-CM is a tree of six levels, in which a code "
            "has one parent; SNOMED CT is deeper, has several parents for most concepts and far more of them. So "
            "distances take fewer values and tie more often, the chapters of the ICD weigh more, and the survey has "
            "fewer different codes than the papers' hospitals have concepts.",
            "The survey has no charges: mixed tables have age, length of stay and diagnosis where the papers have four "
            "columns.",
        ),
    )


def _numbers_of(path: Path, name: str, about: str) -> NumberTable:
    table = pl.read_csv(path)
    columns = table.select(pl.col(one) for one, kind in table.schema.items() if kind.is_numeric()).cast(pl.Float64)
    return NumberTable(name, columns, tuple(columns.columns[:2]), f"{about}, {len(columns.columns)} columns of numbers")


# ------------------------------------------------------------------------------------------------ synthetic records


def synthetic_source() -> RecordSource:
    """Synthetic discharges, coded in ICD-10-CM, for machines without the public files."""
    from anonto.demo.generate import discharges, procedure_taxonomy

    icd = open_ontology("icd10cm")
    procedures = _taxonomy_of(procedure_taxonomy(), "synthetic procedures")
    whole = discharges(N_DISCHARGES, DISCHARGES_SEED, taxonomy=icd).drop_nulls()
    icd = _restrict_to(icd, {*whole["principal_dx"], *whole["secondary_dx"]})
    table = whole.select(*CODES, *NUMBERS, "charge")
    columns = table.select("age", "length_of_stay", "charge").cast(pl.Float64)
    return RecordSource(
        name=f"{len(table):,} synthetic discharges without missing cells, coded in ICD-10-CM",
        discharges=add_chapters(table, icd),
        diagnoses=icd,
        procedures=procedures,
        numbers=(
            synthetic_numbers(SYNTHETIC_ROWS),
            NumberTable("Discharges", columns, ("age", "length_of_stay"), "age, stay and charge of the discharges"),
        ),
        categories={"neoplasm": "chapter:C00-D49", "digestive": "chapter:K00-K95"},
        notes=(
            "The discharges are synthetic: diagnosis, procedure, age and stay depend on each other as in a hospital, "
            "only more simply. Claims about real data are for a run with `--data`.",
            "ICD-10-CM and a small hierarchy of procedures stand in for SNOMED CT, which needs a licence. Both are "
            "trees. Of ICD-10-CM only the codes that occur and those above them are used.",
        ),
    )


def _taxonomy_of(rows: Iterable[tuple[str, str, str]], name: str) -> Taxonomy:
    draft = Draft()
    for concept, parent, label in rows:
        draft.concept(concept, label)
        if parent:
            draft.edge(concept, parent)
    return draft.finish(Provenance(source=name, format="edge-csv", sha256=""))


def _restrict_to(icd: Taxonomy, codes: Iterable[str]) -> Taxonomy:
    """The part of a taxonomy with some codes and all that is above them."""
    above = frozenset().union(*(icd.ancestors(code) for code in codes))
    kept = np.zeros(len(icd), dtype=np.bool_)
    kept[icd.numbers(above)] = True
    return restrict(icd, kept, icd.roots[0])


def synthetic_numbers(n_rows: int) -> NumberTable:
    """Syn100k: four standard normal columns, of which the first two have the correlation ½ and are not moved together.

    The paper says that one pair of its columns is correlated and not which columns are swapped. Swapping one of the
    pair with an independent column shows what is lost; swapping both would lose nothing of it.
    """
    rng = np.random.default_rng(SYNTHETIC_SEED)
    normal = rng.normal(size=(n_rows, 4))
    normal[:, 1] = 0.5 * normal[:, 0] + np.sqrt(0.75) * normal[:, 1]
    columns = pl.DataFrame({f"x{place + 1}": normal[:, place] for place in range(4)})
    return NumberTable(
        "Syn100k", columns, ("x2", "x3"), f"{n_rows:,} rows of four normal columns, x1 and x2 correlated"
    )


# ------------------------------------------------------------------------------------------------ chapters


def add_chapters(table: pl.DataFrame, icd: Taxonomy) -> pl.DataFrame:
    """The table with the chapter and block of both diagnoses; empty for a code that has none."""
    chapter_of, block_of = {}, {}
    for chapter in icd.children(icd.roots[0]):
        chapter_of.update(dict.fromkeys(icd.descendants(chapter), chapter))
        for block in icd.children(chapter):
            block_of.update(dict.fromkeys(icd.descendants(block), block))
    added = {}
    for column, ending in zip(DIAGNOSES, ("", "_2"), strict=True):
        added[f"chapter{ending}"] = [chapter_of.get(code, "") for code in table[column]]
        added[f"block{ending}"] = [block_of.get(code, "") for code in table[column]]
    titles = {chapter: icd.label(chapter) for chapter in set(added["chapter"]) if chapter}
    added["chapter_title"] = [titles.get(chapter, "") for chapter in added["chapter"]]
    return table.with_columns(pl.Series(name, values, dtype=pl.String) for name, values in added.items())
