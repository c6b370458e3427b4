"""Synthetic discharge records: related diagnoses, skewed frequencies, rare codes and missing cells.

First a patient is drawn (age, sex), then a principal diagnosis that fits the patient, a related secondary diagnosis, a
procedure of the same organs, and a length of stay and a charge that depend on all of these. Every column has its own
random stream, so the same seed gives the same records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.demo.chapters import CHAPTERS, FIRST_AGES
from anonto.demo.codes import allowed_kinds, diagnoses_of, draw_codes, pool_of
from anonto.demo.procedures import BIRTHS, procedure_taxonomy, procedures_by_system
from anonto.ontology.catalogue import open_ontology
from anonto.random.streams import Seed

if TYPE_CHECKING:
    import polars as pl

    from anonto.arrays import Bools, Floats, Longs
    from anonto.demo.codes import Diagnoses
    from anonto.taxonomy.taxonomy import Taxonomy


__all__ = ["MISSING_SHARES", "discharges", "procedure_taxonomy"]

MISSING_SHARES = {
    "principal_dx": 0.02,
    "secondary_dx": 0.05,
    "age": 0.02,
    "sex": 0.02,
    "length_of_stay": 0.02,
    "charge": 0.04,
    "region": 0.03,
}
"""Shares of empty cells; a procedure is also missing if there was none."""
SHARE_SAME_BLOCK = 0.55
SHARE_COMPANION = 0.35
SHARE_OPERATED = 0.55
SHARE_ELSEWHERE = 0.2
"""Procedures on other organs than those of the diagnosis."""
REGIONS = {"North": 0.27, "South": 0.22, "East": 0.18, "West": 0.15, "Centre": 0.11, "Islands": 0.05, "Abroad": 0.02}
AGE_GROUPS = ((0, 0, 0.10), (1, 14, 0.06), (15, 49, 0.28), (50, 100, 0.56))
"""First and last age of a group, and its share."""


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Age and sex of the patients."""

    age: Longs
    is_woman: Bools

    @property
    def band(self) -> Longs:
        """The age band, as its place in `FIRST_AGES`."""
        return np.searchsorted(FIRST_AGES, self.age, side="right") - 1


def discharges(n_records: int, seed: int, *, taxonomy: Taxonomy | None = None) -> pl.DataFrame:
    """Generate synthetic discharge records.

    Args:
        n_records: How many.
        seed: The same seed gives the same records.
        taxonomy: ICD-10-CM, if the caller has it open.

    Returns:
        A table with the columns record_number, principal_dx, secondary_dx, procedure, age, sex, length_of_stay,
        charge and region.
    """
    import polars as pl

    streams = Seed(seed)
    icd = open_ontology("icd10cm") if taxonomy is None else taxonomy
    people = _people(n_records, streams.stream("people"))
    codes = diagnoses_of(icd, streams.stream("frequencies"))
    principal = _principal(people, codes, streams.stream("principal"))
    secondary = _secondary(people, principal, codes, streams.stream("secondary"))
    chapter = codes.chapter_of[principal]
    procedure, names = _procedures(people, chapter, streams.stream("procedure"))
    stay = _stay(people, chapter, procedure, streams.stream("stay"))
    charge = _charge(stay, procedure, streams.stream("charge"))
    region = streams.stream("region").choice(len(REGIONS), n_records, p=list(REGIONS.values()))
    numbers = streams.stream("record numbers").permutation(n_records)
    icd_names = pl.Series(icd.ids)
    frame = pl.DataFrame(
        {
            "record_number": pl.Series(numbers).cast(pl.String).str.zfill(9),
            "principal_dx": icd_names.gather(principal),
            "secondary_dx": icd_names.gather(secondary),
            "procedure": pl.Series(names).gather(np.maximum(procedure, 0)).set(pl.Series(procedure < 0), None),
            "age": people.age,
            "sex": pl.Series(["male", "female"]).gather(people.is_woman.astype(np.int64)),
            "length_of_stay": stay,
            "charge": charge,
            "region": pl.Series(list(REGIONS)).gather(region),
        }
    )
    return _with_gaps(frame, streams)


def _people(n_records: int, rng: np.random.Generator) -> People:
    group = rng.choice(len(AGE_GROUPS), n_records, p=[share for _, _, share in AGE_GROUPS])
    first, last = (np.array([one[end] for one in AGE_GROUPS])[group] for end in (0, 1))
    place = rng.beta(2.2, 2.6, n_records)
    age = np.floor(first + place * (last - first + 1)).astype(np.int64)
    share_of_women = np.where((age >= 15) & (age <= 49), 0.66, np.where(age >= 80, 0.6, 0.48))
    return People(age, rng.random(n_records) < share_of_women)


def _chapters_of(people: People, rng: np.random.Generator) -> Longs:
    """A chapter for each person, by age and sex."""
    weights = np.array([chapter.weights for chapter in CHAPTERS], dtype=np.float64).T
    of_men = weights.copy()
    of_men[:, [place for place, chapter in enumerate(CHAPTERS) if chapter.letter == "O"]] = 0
    table = np.vstack([of_men, weights])
    groups, chapters = np.indices(table.shape)
    pool = pool_of(chapters.ravel(), groups.ravel(), table.ravel())
    return pool.draw(people.band + len(FIRST_AGES) * people.is_woman, rng)


def _principal(people: People, codes: Diagnoses, rng: np.random.Generator) -> Longs:
    allowed = allowed_kinds(people.age, people.is_woman)
    found = draw_codes(codes.by_chapter, _chapters_of(people, rng), allowed, codes.fits, rng)
    return np.where(found < 0, codes.neutral, found)


def _secondary(people: People, principal: Longs, codes: Diagnoses, rng: np.random.Generator) -> Longs:
    """Draw secondary diagnoses: mostly from the same block, often from a companion chapter, sometimes from any."""
    allowed = allowed_kinds(people.age, people.is_woman)
    chapter = codes.chapter_of[principal]
    near = draw_codes(codes.by_block, codes.block_of[principal], allowed, codes.fits, rng, avoid=principal)
    companion = draw_codes(codes.by_chapter, _companions(chapter, rng), allowed, codes.fits, rng, avoid=principal)
    other = draw_codes(codes.by_chapter, _chapters_of(people, rng), allowed, codes.fits, rng, avoid=principal)
    fate = rng.random(principal.size)
    found = np.where(
        fate < SHARE_SAME_BLOCK, near, np.where(fate < SHARE_SAME_BLOCK + SHARE_COMPANION, companion, other)
    )
    for instead in (companion, other, np.full_like(found, codes.neutral)):
        found = np.where(found < 0, instead, found)
    return found


def _companions(chapter: Longs, rng: np.random.Generator) -> Longs:
    places = {one.letter: place for place, one in enumerate(CHAPTERS)}
    listed = [[places[letter] for letter in one.companions] for one in CHAPTERS]
    sizes = np.array([len(one) for one in listed])
    starts = np.cumsum(sizes) - sizes
    chosen = (rng.random(chapter.size) * sizes[chapter]).astype(np.int64)
    return np.asarray(np.concatenate(listed)[starts[chapter] + chosen], dtype=np.int64)


def _procedures(people: People, chapter: Longs, rng: np.random.Generator) -> tuple[Longs, list[str]]:
    """The position of each record's procedure among all codes, −1 for none; and the codes."""
    by_system = procedures_by_system()
    names = [code for codes in by_system for code in codes]
    systems = np.repeat(np.arange(len(by_system)), [len(codes) for codes in by_system])
    rank = np.concatenate([np.arange(len(codes)) for codes in by_system])
    pool = pool_of(np.arange(len(names)), systems, 1.0 / (rank + 1.5) ** 1.2)
    own = np.array([one.body_system - 1 for one in CHAPTERS])[chapter]
    births, newborns = BIRTHS - 1, len(by_system) - 1
    anywhere = rng.integers(0, newborns - 1, chapter.size)
    anywhere += anywhere >= births
    is_mother = chapter == next(place for place, one in enumerate(CHAPTERS) if one.letter == "O")
    strays = (rng.random(chapter.size) < SHARE_ELSEWHERE) & ~is_mother
    system = np.where(strays | ((own == births) & ~is_mother), anywhere, own)
    system = np.where((own == births) & (people.age == 0), newborns, system)
    drawn = pool.draw(system, rng)
    return np.where(rng.random(chapter.size) < SHARE_OPERATED, drawn, -1), names


def _stay(people: People, chapter: Longs, procedure: Longs, rng: np.random.Generator) -> Longs:
    typical = (
        np.array([one.days for one in CHAPTERS])[chapter] * (0.8 + people.age / 200) * np.where(procedure < 0, 0.8, 1.2)
    )
    return 1 + np.floor(rng.gamma(1.4, np.maximum(typical - 1, 0.5) / 1.4)).astype(np.int64)


def _charge(stay: Longs, procedure: Longs, rng: np.random.Generator) -> Floats:
    logarithm = 8.1 + 0.75 * np.log(stay) + 0.7 * (procedure >= 0) + rng.normal(0, 0.45, stay.size)
    return np.asarray(np.round(np.exp(logarithm), 2), dtype=np.float64)


def _with_gaps(frame: pl.DataFrame, streams: Seed) -> pl.DataFrame:
    import polars as pl

    gaps = {
        name: pl.Series(streams.stream("missing", name).random(frame.height) < share)
        for name, share in MISSING_SHARES.items()
    }
    return frame.with_columns(frame[name].set(gap, None).alias(name) for name, gap in gaps.items())
