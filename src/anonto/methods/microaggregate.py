r"""Microaggregation: records that are close to each other form groups, and each becomes the centre of its group.

Groups of at least k are formed by MDAV on the S-distance of all columns of the step (`anonto.stats.records`); then all
records of a group have the same values, so that nobody can be told from k − 1 others by these columns.

- **S-distance.** What a column adds to the squared distance of two records is the variance of the pair over that of
  the column. With ``scale = "paper"`` the variance of a nominal column grows with the number of records, and next to
  numbers it counts for almost nothing; ``"mean"`` corrects that.
- **Groups.** MDAV gives groups of k to 2k − 1. With ``refine`` records then move between near groups while that lowers
  the sum of squared distances inside the groups and, where the centre comes from the taxonomy, to their centres. With
  ``variable`` groups form by V-MDAV, which lets near records join a group of k; sizes stay in the same range.
- **Centres.** The mean of numbers and ranks, rounded as the column is; of concepts the one with the least sum of
  squared distances, from the whole domain (``centroid = "taxonomy"``), or the value of the group with the least sum of
  distances (``"sample"``): then only values that occurred are released. With ``semantics = "classic"`` meaning is
  ignored: values are equal or not, and the most frequent one is the centre.
- **Synthetic values.** With ``aggregate = "synthetic"`` every cell is drawn from the values of the column that are not
  farther from it than the farthest one of its group. Records of a group then differ, and a cell may stay as it was.
- **t-closeness.** With ``t`` and ``confidential``, groups are merged until in each the distribution of that column,
  which is released as it is, is no farther than t from that of the table.
- **Missing cells** stay in their rows: records that lack the same cells are grouped among themselves, and fewer than k
  of them are refused. Where the plan keeps different codes of missing cells apart, they may tell the records of a group
  from each other: whether k records are equal is counted on the cells as they are written.

References: Domingo-Ferrer, Sánchez, Rufian-Torrell, Anonymization of nominal data based on semantic marginality,
Information Sciences 242 (2013); Domingo-Ferrer, Torra, Data Mining and Knowledge Discovery 11 (2005), algorithm 5.1.
Departures: ``scale``, ``refine`` and ``centroid`` correct the paper by default; ``"paper"``, ``false`` and ``"sample"``
follow it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from anonto.arithmetic import dot
from anonto.errors import ParameterError, SmallStrataError, TooFewForGroupsError
from anonto.methods.aggregation import centres_of, drawn_around, value_sets
from anonto.methods.blocks import BlockMethod, fit_in_blocks, is_cut
from anonto.methods.closeness import Confidential, close_groups
from anonto.methods.grouping import Groups, mdav, refined
from anonto.methods.guarantee import Guarantee, Setting, promised
from anonto.methods.parameters import (
    BLOCK_ROWS,
    GROUP_SIZES,
    REFINE,
    K,
    choice,
    column_name,
    flag,
    number,
    public,
    sizes_within,
)
from anonto.methods.recentring import recentred
from anonto.methods.record_flows import record_flows
from anonto.methods.row_masking import moves_between
from anonto.methods.s_space import s_space, scaled_column
from anonto.methods.variable_size import variable_mdav
from anonto.methods.words import Words
from anonto.stats.pair_variance import SCALES
from anonto.table.attributes import NumericAttribute
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.methods.record_flows import RecordFlows
    from anonto.methods.s_space import ScaledColumn
    from anonto.table.attributes import Attribute
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

KIND = "k-anonymity"
CONDITIONS = (
    "each person has one record, and an intruder knows a person by the columns of this step only; the rows leave in "
    "random order, and the seed, which tells it, stays secret; there is one release of these records. It limits the "
    "linking of a row to a person, and not what is learnt where all persons of a group have the same value of another "
    "column"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Microaggregate(BlockMethod):
    """``k``: the least size of a group; how distances are scaled, groups formed and replaced; ``t``: how close.

    ``block_rows``: where there are more rows, groups form inside blocks of about so many.
    """

    name: ClassVar[str] = "microaggregate"
    words: ClassVar[Words] = Words(
        title="Same values in groups",
        summary="gives all records of groups of `k` or more the values in the middle of their group",
        does=(
            "Puts the records into groups of at least k that mean something similar, and gives all of a group the"
            " value in its middle."
        ),
        columns="any kinds, together",
        keeps="Keeps averages roughly; values become coarser.",
        proves="k-anonymity, on conditions",
        proved="k-anonymity. Nobody can be told from k − 1 others by these columns.",
        report=(
            "The records were put into groups of at least {k} that are close in meaning, and the values of these "
            "columns were replaced group by group: where the parameter “aggregate” is “centroid”, by what lies in"
            " the middle of the group, the same for all its records; where it is “synthetic”, by values drawn by "
            "chance from around each. A value of the masked table need not have occurred before."
        ),
    )
    makes_equal: ClassVar[bool] = True
    k: int = field(metadata=public(K))
    scale: Literal["mean", "paper"] = field(
        default="mean",
        metadata=choice(SCALES, "scale of distances", "How the distances of columns are made comparable."),
    )
    aggregate: Literal["centroid", "synthetic"] = field(
        default="centroid",
        metadata=choice(
            ("centroid", "synthetic"),
            "replace by",
            "“centroid”: the middle of the group; “synthetic”: values drawn around each.",
            is_public=True,
        ),
    )
    centroid: Literal["taxonomy", "sample"] = field(
        default="taxonomy",
        metadata=choice(
            ("taxonomy", "sample"), "the middle is", "“taxonomy”: any concept; “sample”: only values that occurred."
        ),
    )
    semantics: Literal["marginality", "classic"] = field(
        default="marginality",
        metadata=choice(
            ("marginality", "classic"), "meaning", "“marginality”: by meaning; “classic”: values are equal or not."
        ),
    )
    refine: bool = field(default=True, metadata=REFINE)
    variable: bool = field(
        default=False, metadata=flag("groups of variable size", "Let near records join a group beyond k.")
    )
    t: float | None = field(
        default=None,
        metadata=number(
            "closeness t",
            "How far the confidential values of a group may be from those of the table, 0 to 1.",
            above=0,
            high=1,
            offered=(0.01, 1, 0.01),
        ),
    )
    confidential: str | None = field(
        default=None, metadata=column_name("confidential column", "The column that the closeness is about.")
    )
    block_rows: int | None = field(default=None, metadata=BLOCK_ROWS)

    def __post_init__(self) -> None:
        BlockMethod.__post_init__(self)
        if self.t is not None and self.confidential is None:
            raise ParameterError("confidential", "given where t is: the column that t is about", None)
        if self.t is None and self.confidential is not None:
            raise ParameterError("t", "given where confidential is", None)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sizes_within(GROUP_SIZES, n_records)}

    @property
    def also_needs(self) -> tuple[str, ...]:
        """Columns that the method looks at and does not mask."""
        return () if self.confidential is None else (self.confidential,)

    def fit(self, records: Records, rng: np.random.Generator) -> RecordFlows:
        """Group the records, and replace them group by group."""
        if is_cut(self, records):
            return fit_in_blocks(self, records, rng)
        n_columns = len(records.names) - len(self.also_needs)
        attributes, codes = records.attributes[:n_columns], records.codes[:, :n_columns]
        by_meaning = self.semantics == "marginality"
        columns = [scaled_column(attribute, self.scale, by_meaning=by_meaning) for attribute in attributes]
        groups, facts = self._grouped(records, columns)
        released = np.empty((groups.members.size, n_columns), dtype=np.int32)
        extended: list[Attribute] = []
        for place, column in enumerate(columns):
            of_column = np.ascontiguousarray(codes[:, place])
            sets = value_sets(groups, of_column, column.attribute.counts.size)
            if self.aggregate == "synthetic":
                drawn = drawn_around(column.attribute, sets, groups, of_column, column.distances, rng)
                released[:, place] = drawn
                extended.append(column.attribute)
            else:
                from_taxonomy = self.centroid == "taxonomy"
                new, centres = centres_of(column.attribute, sets, column.distances, from_taxonomy=from_taxonomy)
                released[:, place] = centres[groups.group_of_member()]
                extended.append(new)
        before = codes[groups.members]
        sse = {
            name: _squared_error(extended[place], before[:, place], released[:, place])
            for place, name in enumerate(records.names[:n_columns])
        }
        equal = Groups(distinct_rows(list(codes.T))[1][groups.members], groups.offsets)
        return record_flows(
            records,
            groups.members,
            released,
            None,
            [0] * n_columns,
            {**equal.facts(), **facts, "sse": sse},
            tuple(extended),
        )

    @property
    def least_group(self) -> int | None:
        """Equal records, at least; none where cells are drawn."""
        return self.k if self.aggregate == "centroid" else None

    def require_strata(self, records: Records) -> None:
        """Refuse patterns of missing cells that too few records have, as `fit` does."""
        _strata(records.codes[:, : len(records.names) - len(self.also_needs)], records.counts, self.k)

    def _grouped(self, records: Records, columns: Sequence[ScaledColumn]) -> tuple[Groups, dict[str, Any]]:
        """Groups of all records, one pattern of missing cells after the other, and what is known of their closeness."""
        confidential = None
        if self.confidential is not None:
            confidential = Confidential(self.confidential, records.attributes[-1], records.codes[:, -1])
        codes, names = records.codes[:, : len(columns)], records.names[: len(columns)]
        members, sizes = [np.empty(0, dtype=np.int32)], [np.zeros(1, dtype=np.int64)]
        farthest, n_merged = 0.0, 0
        for stratum in _strata(codes, records.counts, self.k):
            present = np.flatnonzero(codes[stratum[0]] >= 0)
            own_codes = codes[np.ix_(stratum, present)]
            own = [columns[place] for place in present.tolist()]
            own_names = [names[place] for place in present.tolist()]
            groups = self._groups_of(own, own_codes, records.counts[stratum], own_names)
            if confidential is not None and self.t is not None:
                space = s_space(own, own_codes, own_names) if own else None
                close = close_groups(space, groups, confidential, stratum, self.t)
                groups, farthest = close.groups, max(farthest, close.farthest)
                n_merged += close.n_merged
            members.append(stratum[groups.members].astype(np.int32))
            sizes.append(groups.sizes)
        offsets = np.cumsum(np.concatenate(sizes)).astype(np.int64)
        facts = {} if confidential is None else {"t_closeness": farthest, "merged_groups": n_merged}
        return Groups(np.concatenate(members), offsets), facts

    def _groups_of(self, columns: Sequence[ScaledColumn], codes: Codes, counts: Longs, names: Sequence[str]) -> Groups:
        """Groups of records that have the same columns."""
        if not columns:
            rows = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
            return Groups(rows, np.array([0, rows.size], dtype=np.int64))
        space = s_space(columns, codes, names)
        groups = variable_mdav(space, counts, self.k) if self.variable else mdav(space, counts, self.k)
        if not self.refine:
            return groups
        space = s_space(columns, codes, names, squares=True)
        better = refined(space, groups, self.k, pair_cost="sum")
        if better is None:
            return groups
        to_taxonomy = self.aggregate == "centroid" and self.centroid == "taxonomy" and self.semantics == "marginality"
        if to_taxonomy and any(column.distances is not None for column in columns):
            return recentred(space, columns, codes, better.groups, self.k)
        return better.groups

    def guarantee(self, setting: Setting) -> Guarantee:
        """k-anonymity, where all records of a group are equal in all columns that an intruder may know."""
        broken = []
        if self.aggregate == "synthetic":
            broken.append("the records of a group are not equal: their cells are drawn one by one")
        explained = self.aggregate == "synthetic" or setting.unmatched
        if not explained and setting.facts.get("real_k", self.k) < self.k:
            broken.append("fewer than k released records are equal: their missing cells have different codes")
        if self.k == 1:
            broken.append("groups of one record are no groups")
        return promised(setting, KIND, CONDITIONS, k=self.k, broken=broken)


def _strata(codes: Codes, counts: Longs, k: int) -> list[Longs]:
    """The records of each pattern of missing cells."""
    missing = codes < 0
    if not missing.any():
        return [np.arange(counts.size)] if counts.size else []
    _, pattern = distinct_rows([column.astype(np.int32) for column in missing.T])
    order = np.argsort(pattern, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(pattern[order])) + 1)
    rows = [int(counts[part].sum()) for part in parts]
    small = [n for n in rows if n < k]
    if 0 < sum(rows) < k:
        raise TooFewForGroupsError(sum(rows), k, ())
    if len(parts) > 1 and small:
        raise SmallStrataError(len(small), len(parts), sum(small), k, "form a group")
    return parts


def _squared_error(attribute: Attribute, before: Codes, after: Codes) -> float:
    """The sum of the squared distances between cells before and after; of numbers in their own units."""
    moves = moves_between(before, after)
    if isinstance(attribute, NumericAttribute):
        moved = attribute.numbers[moves.sources] - attribute.numbers[moves.targets]
    else:
        moved = attribute.pair_distances(moves.sources, moves.targets)
    return dot(moves.amounts, moved**2)
