"""The samples of the experiments, each chosen by a rule that looks at the unmasked records alone.

The hospital records of the papers are not public. For the rank swapping paper, samples are drawn from every chapter of
the ICD, every pair of chapters with half as many records each, and the whole file; of those whose distance correlation
is within `NEAR` of the printed one (or else of the nearest) the one is taken whose numbers of categories are nearest to
the printed ones, as ratios. Nothing that a method does is looked at, and one seed draws all samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto import stats
from anonto.papers.source import DIAGNOSES, NUMBERS
from anonto.stats.dependence import too_few_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anonto.papers.source import RecordSource
    from anonto.taxonomy.taxonomy import Taxonomy

SAMPLING_SEED = 2019
NEAR = 0.03
LEAST_CLASS = 3
"""Records with the same diagnosis and procedure that the second sample has at least: more than the smallest k."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Records of columns with a taxonomy each, and the rule that chose them."""

    name: str
    table: pl.DataFrame
    taxonomies: Mapping[str, Taxonomy]
    """Taxonomies of the nominal columns; the others are numeric."""
    root: str
    rule: str
    measure: str = "wu-palmer"

    @property
    def columns(self) -> list[str]:
        """The columns."""
        return self.table.columns

    def plan(self, method: str, columns: Sequence[str], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """A plan that masks some columns."""
        described = {name: self._describe(name) for name in columns}
        return {"columns": described, "steps": [{"method": method, "columns": list(columns), **parameters}]}

    def _describe(self, column: str) -> dict[str, Any]:
        if column not in self.taxonomies:
            return {"kind": "numeric", "role": "quasi-identifier"}
        return {
            "kind": "nominal",
            "role": "quasi-identifier",
            "ontology": self.taxonomies[column],
            "root": self.root,
            "measure": self.measure,
        }

    def correlation(self, first: str, second: str, table: pl.DataFrame | None = None) -> float:
        """The distance correlation of two columns, of another table with the same columns if one is given."""
        cells = self.table if table is None else table
        taxonomies = (self.taxonomies[first], self.taxonomies[second])
        return stats.distance_correlation(cells[first], cells[second], *taxonomies, self.measure, self.root)


# ------------------------------------------------------------------------------------------------ rank swapping


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    chapters: str
    table: pl.DataFrame
    correlation: float
    categories: tuple[int, int]


def _candidates(
    source: RecordSource, n_records: int, draw: Callable[[pl.DataFrame], pl.DataFrame | None]
) -> Iterator[_Candidate]:
    """Samples of each chapter, each pair of chapters and the whole file, where they have enough records."""
    whole = source.discharges
    sizes = whole.filter(pl.col("chapter") != "").group_by("chapter").len().sort("chapter").rows()
    groups: list[tuple[str, ...]] = [(chapter,) for chapter, _ in sizes]
    groups += combinations([chapter for chapter, size in sizes if size >= n_records / 2], 2)
    for chapters in (*groups, ()):
        part = whole.filter(pl.col("chapter").is_in(chapters)) if chapters else whole
        drawn = draw(part) if len(part) >= n_records else None
        if drawn is None:
            continue
        correlation = stats.distance_correlation(
            drawn["principal_dx"], drawn["procedure"], source.diagnoses, source.procedures, root="lcs"
        )
        titles = " and ".join(source.chapter_label(chapter) for chapter in chapters) or "all chapters"
        yield _Candidate(titles, drawn, correlation, (drawn["principal_dx"].n_unique(), drawn["procedure"].n_unique()))


def _nearest(candidates: Sequence[_Candidate], correlation: float, categories: tuple[int, int]) -> _Candidate:
    off = [abs(one.correlation - correlation) for one in candidates]
    allowed = max(NEAR, min(off))
    near = [one for one, distance in zip(candidates, off, strict=True) if distance <= allowed]
    return min(
        near,
        key=lambda one: sum(abs(math.log(n / m)) for n, m in zip(one.categories, categories, strict=True)),
    )


def moderate_sample(source: RecordSource) -> Sample:
    """1,172 discharges with a moderate correlation of diagnosis and procedure (Dataset 1)."""

    def draw(part: pl.DataFrame) -> pl.DataFrame:
        return part[np.sort(np.random.default_rng(SAMPLING_SEED).choice(len(part), 1_172, replace=False))]

    found = _nearest(list(_candidates(source, 1_172, draw)), 0.4595, (783, 430))
    return _swap_sample(source, "moderate", found, ("principal_dx", "procedure"), "1,172 drawn discharges")


def strong_samples(source: RecordSource) -> tuple[Sample, Sample]:
    """1,012 discharges with a stronger one, of few categories (Dataset 2), and with a third column (Dataset 3)."""
    candidates = list(_candidates(source, 1_012, _whole_classes))
    if not candidates:
        raise too_few_pairs("The sample of classes of three equal discharges", 1_012, _count_in_classes(source))
    found = _nearest(candidates, 0.6392, (55, 94))
    how = (
        f"discharges of drawn combinations of diagnosis and procedure, each whole and with {LEAST_CLASS} records at "
        "least, until there are 1,012 or the next would be too many"
    )
    return (
        _swap_sample(source, "strong", found, ("principal_dx", "procedure"), how),
        _swap_sample(source, "strong with a third column", found, ("principal_dx", "procedure", "secondary_dx"), how),
    )


def _whole_classes(part: pl.DataFrame) -> pl.DataFrame | None:
    keys = ["principal_dx", "procedure"]
    classes = part.group_by(keys).len().filter(pl.col("len") >= LEAST_CLASS).sort(keys)
    if classes["len"].sum() < 1_012:
        return None
    left, taken = 1_012, []
    for place in np.random.default_rng(SAMPLING_SEED).permutation(len(classes)).tolist():
        size = classes["len"][place]
        if size <= left:
            taken.append(place)
            left -= size
    return part.join(classes[sorted(taken)], on=keys, how="semi", maintain_order="left")


def _count_in_classes(source: RecordSource) -> int:
    classes = source.discharges.group_by("principal_dx", "procedure").len()["len"]
    return int(classes.filter(classes >= LEAST_CLASS).sum())


def _swap_sample(source: RecordSource, name: str, found: _Candidate, columns: Sequence[str], how: str) -> Sample:
    rule = (
        f"{len(found.table):,} records: {how}. Taken from {found.chapters}: of all chapters, pairs of large chapters "
        f"and the whole file, within {NEAR} of the printed correlation, nearest to the printed numbers of categories. "
        f"Correlation of diagnosis and procedure {found.correlation:.4f}, categories {found.categories[0]} × "
        f"{found.categories[1]}. Sampling seed {SAMPLING_SEED}."
    )
    table = found.table.select(columns)
    return Sample(name, table, {column: source.taxonomy(column) for column in columns}, "lcs", rule)


# ------------------------------------------------------------------------------------------------ marginality


def category_samples(source: RecordSource) -> dict[str, Sample]:
    """All discharges with a neoplasm, and with a disease of the digestive system."""
    found = {}
    for name, chapter in source.categories.items():
        table = source.discharges.filter(pl.col("chapter") == chapter).select(*NUMBERS, "principal_dx")
        found[name] = Sample(
            name,
            table,
            {"principal_dx": source.diagnoses},
            "ontology",
            f"All {len(table):,} discharges with a principal diagnosis of the chapter {source.chapter_label(chapter)}.",
            "ancestor",
        )
    return found


# ------------------------------------------------------------------------------------------------ noise


def noise_samples(source: RecordSource, n_records: int) -> dict[str, Sample]:
    """Principal and secondary diagnosis of four kinds of discharges.

    Strong and weak are the two of the paper. The others show what the result depends on: a plain sample of the file,
    and the same kind of records as in the strong one, but of one chapter that is also the domain.
    """
    return {
        "strong": _same_block(source, n_records),
        "weak": _least_correlated(source, n_records),
        "plain": _plain(source, n_records),
        "narrow": _narrow(source, n_records),
    }


def _noise_sample(
    source: RecordSource, name: str, part: pl.DataFrame, n_records: int, root: str, of_whom: str
) -> Sample:
    rng = np.random.default_rng(SAMPLING_SEED)
    table = part[np.sort(rng.choice(len(part), min(n_records, len(part)), replace=False))].select(DIAGNOSES)
    rule = f"{len(table):,} discharges, drawn from those {of_whom}. Sampling seed {SAMPLING_SEED}."
    return Sample(name, table, dict.fromkeys(DIAGNOSES, source.diagnoses), root, rule)


def _same_block(source: RecordSource, n_records: int) -> Sample:
    same = source.discharges.filter(_OF_ONE_BLOCK)
    return _noise_sample(
        source, "strong", same, n_records, _domain(source), "with both diagnoses in one block of the ICD"
    )


def _least_correlated(source: RecordSource, n_records: int) -> Sample:
    domain = _domain(source)
    found = []
    for chapter in sorted(set(source.discharges["chapter"]) - {""}):
        part = source.discharges.filter(pl.col("chapter") == chapter)
        if len(part) >= n_records:
            of_whom = (
                f"with a principal diagnosis of {source.chapter_label(chapter)}, which is the chapter with the least "
                f"correlation of those with {n_records:,} discharges"
            )
            sample = _noise_sample(source, "weak", part, n_records, domain, of_whom)
            found.append((sample.correlation(*DIAGNOSES), chapter, sample))
    if not found:
        return _plain(source, n_records)
    return min(found, key=lambda one: one[:2])[2]


def _plain(source: RecordSource, n_records: int) -> Sample:
    return _noise_sample(source, "plain", source.discharges, n_records, _domain(source), "of the whole file")


def _narrow(source: RecordSource, n_records: int) -> Sample:
    same = source.discharges.filter(_OF_ONE_BLOCK)
    sizes = same.group_by("chapter").len().sort("len", "chapter", descending=[True, False])
    chapter = sizes["chapter"][0]
    part = same.filter(pl.col("chapter") == chapter)
    of_whom = (
        f"with both diagnoses in one block of {source.chapter_label(chapter)}, the chapter with most of them, which "
        "is also the domain"
    )
    root = _concept_above(source, part) if source.mapped else chapter
    return _noise_sample(source, "narrow", part, n_records, root, of_whom)


_OF_ONE_BLOCK = (pl.col("block") == pl.col("block_2")) & (pl.col("block") != "")


def _domain(source: RecordSource) -> str:
    """All diagnoses: the whole of an ontology of diagnoses, or what stands above all concepts that codes map to."""
    return _concept_above(source, source.discharges) if source.mapped else "ontology"


def _concept_above(source: RecordSource, table: pl.DataFrame) -> str:
    concepts = sorted({*table["principal_dx"], *table["secondary_dx"]})
    above = source.diagnoses.least_common_subsumer(*concepts) if len(concepts) > 1 else concepts[0]
    return above or "ontology"
