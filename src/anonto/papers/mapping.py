"""Codes of the ICD as concepts of SNOMED CT, for whoever holds a licence: a release folder and a map.

The map is a table with the columns `code` (as in the discharges, diagnoses and procedures alike) and `concept`; of
several rows for a code the first counts. Records with a code that the map or the release lacks are left out before
anything is sampled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from anonto.errors import TooFewRecordsError
from anonto.io.reading import read_table
from anonto.io.table import missing_column
from anonto.ontology.read import read_ontology
from anonto.papers.source import CODES
from anonto.wording import count_of

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.papers.source import RecordSource

FEWEST = 1_172
"""Records of the largest sample that is drawn."""


def map_to_snomed_ct(source: RecordSource, release: Path, map_file: Path) -> RecordSource:
    """The same records in concepts of a SNOMED CT release.

    Args:
        source: Discharges in codes.
        release: An RF2 folder.
        map_file: A table with the columns `code` and `concept`.
    """
    taxonomy = read_ontology(release)
    table = read_table(map_file, names=("code", "concept")).frame
    for name in ("code", "concept"):
        if name not in table.columns:
            raise missing_column(name, table.columns)
    rows = table.select(pl.col("code", "concept").cast(pl.String)).drop_nulls().unique("code", keep="first")
    concepts = {code: concept for code, concept in rows.rows() if concept in taxonomy}
    before = len(source.discharges)
    mapped = source.discharges.with_columns(
        pl.col(CODES).replace_strict(concepts, default=None, return_dtype=pl.String)
    ).drop_nulls(CODES)
    if len(mapped) < FEWEST:
        raise too_few_mapped(len(mapped), before, FEWEST)
    without_stand_in = tuple(note for note in source.notes if "stand" not in note)
    return replace(
        source,
        name=f"{len(mapped):,} of {source.name}, mapped to SNOMED CT",
        discharges=mapped,
        diagnoses=taxonomy,
        procedures=taxonomy,
        notes=(
            f"Codes were mapped to SNOMED CT with the given map: {before - len(mapped):,} of {before:,} discharges "
            "have a code that it lacks and were left out. A map of codes knows no more than the codes do: concepts "
            "that the ICD does not tell apart are not told apart here either, as they would be in records that were "
            "coded in SNOMED CT.",
            *without_stand_in,
        ),
        mapped=True,
    )


def too_few_mapped(n_left: int, n_records: int, least: int) -> TooFewRecordsError:
    """A map of codes that leaves too few records to run the experiments on."""
    return TooFewRecordsError(
        f"The map places all codes of {n_left:,} of {count_of(n_records, 'discharge')} in the release, and the "
        f"experiments need {least:,}; complete the map, diagnoses and procedures alike."
    )
