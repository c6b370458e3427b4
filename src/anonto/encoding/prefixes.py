"""Prefixes of texts, such as the first digits of a postcode: small areas share one text, and texts form a hierarchy."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.refusals import malformed_populations, unknown_prefixes
from anonto.ontology.source import numbered_lines, read_source
from anonto.taxonomy.build import Draft
from anonto.taxonomy.taxonomy import Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Longs
    from anonto.encoding.recode import Recode
    from anonto.taxonomy.taxonomy import Taxonomy

ALL = "\0 all texts"
"""The root of the hierarchy; no cell has this text."""
DELIMITERS = ",;\t|"


def prefixes_of(
    name: str, values: Sequence[str], counts: Longs, recode: Recode, folder: Path | None
) -> tuple[str, ...]:
    """The prefix of each value; that of an area with too few people is the one text for all of these."""
    prefixes = [value[: recode.prefix] for value in values]
    if recode.population is None or recode.prefix is None or recode.at_least is None:
        return tuple(prefixes)
    path = population_file(recode.population, folder)
    people = read_populations(path, recode.prefix)
    unknown = np.array([prefix not in people for prefix in prefixes], dtype=np.bool_)
    if unknown.any():
        found = sorted({prefixes[place] for place in np.flatnonzero(unknown).tolist()})
        raise unknown_prefixes(found, name, path.name, int(counts[unknown].sum()))
    return tuple(prefix if people[prefix] >= recode.at_least else recode.other for prefix in prefixes)


def population_file(population: str, folder: Path | None) -> Path:
    """The path of a file of populations; a relative one starts at the folder of the plan."""
    in_folder = None if folder is None else folder / population
    return in_folder if in_folder is not None and in_folder.exists() else Path(population)


def read_populations(path: Path, length: int) -> Mapping[str, float]:
    """How many people live in each area, from a CSV file of codes and numbers; longer codes are added up.

    A first line whose second cell is no number is a header.
    """
    lines = [(number, line) for number, line in numbered_lines(read_source(path).text) if line.strip()]
    delimiter = max(DELIMITERS, key=lambda sign: sum(sign in line for _, line in lines))
    people: dict[str, float] = {}
    for place, (number, line) in enumerate(lines):
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
        amount = _amount(cells[1]) if len(cells) > 1 else math.nan
        if math.isnan(amount):
            if place == 0:
                continue
            raise malformed_populations(path.name, f"line {number:,} is not a prefix and a number of people")
        people[cells[0][:length]] = people.get(cells[0][:length], 0.0) + amount
    return people


def _amount(text: str) -> float:
    """A number of people; NaN for anything else."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and number >= 0 else math.nan


def prefix_taxonomy(values: Sequence[str], prefixes: Sequence[str], length: int) -> Taxonomy:
    """Texts below their prefixes, and these below the text for small areas where they have it."""
    draft = Draft()
    draft.concept(ALL)
    for value, released in zip(values, prefixes, strict=True):
        below = value
        for above in (value[:length], released):
            if above == below:
                continue
            draft.concept(below)
            draft.edge(below, above)
            below = above
        draft.concept(below)
        draft.edge(below, ALL)
    return draft.finish(Provenance(source="prefixes", format="prefixes", sha256=""))
