r"""Microaggregation: records that are close to each other form groups, and each becomes the centre of its group.

Groups of at least k are formed by MDAV on the S-distance of all columns of the step (`anonto.stats.records`); then all
records of a group have the same values, so that each is indistinguishable from k − 1 others by these columns.

- **S-distance.** What a column adds to the squared distance of two records is the variance of the pair over that of
  the column. With ``scale = "paper"`` the variance of a nominal column grows with the number of records, and next to
  numbers it counts for almost nothing; ``"mean"`` corrects that.
- **Groups.** MDAV gives groups of k to 2k − 1. With ``refine`` records then move between near groups while that lowers
  the sum of squared distances inside the groups and, where the centre comes from the taxonomy, to their centres. With
  ``variable`` groups form by V-MDAV, which lets near records join a group of k; sizes stay in the same range. Records
  with a single column, of numbers or ranks, are refined to the best groups there are (`anonto.methods.one_column`);
  then rows with one value are a group of any size from k. With ``average_risk`` groups are of any size from k on, as
  many as it allows, formed by removing centres (`anonto.methods.removal`); equal records are always in one.
- **Centres.** The mean of numbers and ranks, rounded as the column is; of concepts the one with the least sum of
  squared distances, from the whole domain (``centroid = "taxonomy"``), or the value of the group with the least sum of
  distances (``"sample"``): then only values that occurred are released. With ``semantics = "classic"`` meaning is
  ignored: values are equal or not, and the most frequent one is the centre.
- **Sets.** A set, such as all diagnoses of a person, is one value; all records of a group get the set that
  `anonto.stats.set_mean` finds for them, in the same number of rows.
- **Synthetic values.** With ``aggregate = "synthetic"`` every cell is drawn from the values of the column that are not
  farther from it than the farthest one of its group. Records of a group then differ, and a cell may stay as it was.
- **t-closeness.** With ``t`` and ``confidential``, groups are merged until in each the distribution of that column,
  which is released as it is, is no farther than t from that of the table.
- **l-diversity.** With ``l`` they are merged until each shows enough of its values: see `anonto.methods.diversity`.
- **Missing cells** stay in their rows: records that lack the same cells are grouped among themselves, and fewer than k
  of them are refused. Where the plan keeps different codes of missing cells apart, they may distinguish the records of
  a group: whether k records are equal is counted on the cells as they are written.

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
from anonto.encoding.records import distinct_rows
from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import NumericSpace
from anonto.errors import ParameterError
from anonto.methods.aggregation import centres_of, draw_around, value_sets
from anonto.methods.blocks import BlockMethod, fit_in_blocks, is_cut
from anonto.methods.diversity import (
    CLOSENESS,
    CONFIDENTIAL,
    DIVERSITY,
    KIND_OF_DIVERSITY,
    C,
    Kind,
    diversity_of,
    require_confidential,
    smallest_diversity,
)
from anonto.methods.grouping import RecordGroups, mdav, refine_groups
from anonto.methods.guarantee import EQUAL_IN_GROUPS, K_ANONYMITY, Guarantee, Setting, promise
from anonto.methods.loss_bound import MOST_RECORDS, are_bounds_wanted, least_loss, loss_of
from anonto.methods.one_column import best_groups
from anonto.methods.parameters import (
    AVERAGE_RISK,
    BLOCK_ROWS,
    GROUP_SIZES,
    REFINE,
    K,
    choice,
    flag,
    groups_within,
    least_persons,
    public,
    sizes_within,
)
from anonto.methods.record_transitions import record_transitions
from anonto.methods.refine_centroids import move_to_centroids
from anonto.methods.refusals import small_strata, too_few_for_groups, too_few_for_risk
from anonto.methods.removal import groups_by_removal, scaled_centres
from anonto.methods.row_masking import moves_between
from anonto.methods.s_space import s_space, scale_column
from anonto.methods.t_closeness import NO_LIMIT, Confidential, close_groups
from anonto.methods.v_mdav import variable_mdav
from anonto.methods.words import Words
from anonto.stats.pair_variance import SCALES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.records import Records
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.method import Family
    from anonto.methods.record_transitions import RecordTransitions
    from anonto.methods.s_space import ScaledColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Microaggregate(BlockMethod):
    """``k``: the least size of a group; how distances are scaled, groups formed and replaced; ``t``: how close.

    ``average_risk``: how many groups of any size there may be. ``block_rows``: where there are more rows,
    groups form inside blocks of about so many.
    """

    name: ClassVar[str] = "microaggregate"
    words: ClassVar[Words] = Words(
        title="Same values in groups",
        summary="gives all records of a group of `k` or more the central values of the group",
        does=(
            "Puts records of similar meaning into groups of at least k, and gives all records of a group the same "
            "central values."
        ),
        columns="any kinds, together",
        keeps="Keeps averages roughly; values become coarser.",
        proves="k-anonymity, on conditions",
        proved="k-anonymity. By these columns, each record is indistinguishable from at least k − 1 others.",
        report=(
            "The records were put into groups of at least {k} that are close in meaning, and the values of these "
            "columns were replaced group by group: where the parameter “aggregate” is “centroid”, by the "
            "centre of the group, the same for all its records; where it is “synthetic”, by values drawn at "
            "random from around each. A value of the masked table need not have occurred before."
        ),
    )
    makes_equal: ClassVar[bool] = True
    family: ClassVar[Family] = "aggregation"
    takes_sets: ClassVar[bool] = True
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
            "“centroid”: the centre of the group; “synthetic”: values drawn around each.",
            is_public=True,
        ),
    )
    centroid: Literal["taxonomy", "sample"] = field(
        default="taxonomy",
        metadata=choice(
            ("taxonomy", "sample"), "the centre is", "“taxonomy”: any concept; “sample”: only values that occurred."
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
    average_risk: float | None = field(default=None, metadata=AVERAGE_RISK)
    t: float | None = field(default=None, metadata=CLOSENESS)
    l: int | None = field(default=None, metadata=DIVERSITY)  # noqa: E741 - the name of the parameter in plans
    diversity: Kind | None = field(default=None, metadata=KIND_OF_DIVERSITY)
    c: float | None = field(default=None, metadata=C)
    confidential: str | None = field(default=None, metadata=CONFIDENTIAL)
    block_rows: int | None = field(default=None, metadata=BLOCK_ROWS)

    def __post_init__(self) -> None:
        BlockMethod.__post_init__(self)
        if self.variable and self.average_risk is not None:
            raise ParameterError("variable", "left out where average_risk is given: groups then are of any size", True)
        require_confidential(self.confidential, self.t, self.l)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sizes_within(GROUP_SIZES, n_records)}

    @property
    def also_needs(self) -> tuple[str, ...]:
        """Columns that the method looks at and does not mask."""
        return () if self.confidential is None else (self.confidential,)

    @property
    def unfit_for_sets(self) -> str | None:
        """Synthetic sets would be those of other records; closeness is measured for groups of single values only."""
        return (
            "aggregate = 'synthetic'"
            if self.aggregate == "synthetic"
            else "t"
            if self.t is not None
            else None
            if self.l is None
            else "l"
        )

    def fit(self, records: Records, rng: np.random.Generator) -> RecordTransitions:
        """Group the records, and replace them group by group."""
        if is_cut(self, records):
            return fit_in_blocks(self, records, rng)
        n_columns = len(records.names) - len(self.also_needs)
        value_spaces, codes = records.value_spaces[:n_columns], records.codes[:, :n_columns]
        by_meaning = self.semantics == "marginality"
        columns = [scale_column(value_space, self.scale, by_meaning=by_meaning) for value_space in value_spaces]
        groups, facts = self._form_groups(records, columns)
        released = np.empty((groups.members.size, n_columns), dtype=np.int32)
        extended: list[ValueSpace] = []
        for place, column in enumerate(columns):
            of_column = np.ascontiguousarray(codes[:, place])
            sets = value_sets(groups, of_column, column.value_space.counts.size)
            if self.aggregate == "synthetic":
                drawn = draw_around(column.value_space, sets, groups, of_column, column.distances, rng)
                released[:, place] = drawn
                extended.append(column.value_space)
            else:
                from_taxonomy = self.centroid == "taxonomy"
                new, centres = centres_of(column.value_space, sets, column.distances, from_taxonomy=from_taxonomy)
                released[:, place] = centres[groups.group_of_member()]
                extended.append(new)
        before = codes[groups.members]
        sse = {
            name: _squared_error(extended[place], before[:, place], released[:, place])
            for place, name in enumerate(records.names[:n_columns])
        }
        equal = RecordGroups(distinct_rows(list(codes.T))[1][groups.members], groups.offsets)
        return record_transitions(
            records,
            groups.members,
            released,
            None,
            [0] * n_columns,
            {**equal.facts(), **facts, "sse": sse, **self._nearness(records, columns, groups, released, extended)},
            tuple(extended),
        )

    def _nearness(
        self,
        records: Records,
        columns: Sequence[ScaledColumn],
        groups: RecordGroups,
        released: Codes,
        value_spaces: Sequence[ValueSpace],
    ) -> dict[str, float]:
        """Average loss of a record and its lower bound; nothing where there are too many records to compute them."""
        is_small = 0 < records.counts.size <= MOST_RECORDS
        if self.aggregate == "synthetic" or not is_small or not are_bounds_wanted():
            return {}
        codes = records.codes[:, : len(columns)]
        away: list[Floats | None] = []
        for place, value_space in enumerate(value_spaces):
            own, centres = codes[groups.members, place], released[:, place]
            there = own >= 0
            apart = np.zeros(own.size)
            apart[there] = value_space.pair_distances(own[there], centres[there])
            away.append(None if isinstance(value_space, NumericSpace) else apart)
        loss = loss_of(columns, codes, groups, away)
        strata = self._strata(codes, records.counts)
        rows = [int(records.counts[stratum].sum()) for stratum in strata]
        most = [n // self.k if self.average_risk is None else groups_within(self.average_risk, n) for n in rows]
        bound = least_loss(loss, records.counts, strata, self.k, most)
        return {} if bound is None else {"loss": loss.total / records.n_rows, "loss_bound": bound / records.n_rows}

    @property
    def least_group(self) -> int | None:
        """Equal records, at least; none where cells are drawn."""
        return self.k if self.aggregate == "centroid" else None

    @property
    def bounds_groups(self) -> bool:
        """True if it limits how many groups of equal records there are, so that they are counted."""
        return self.average_risk is not None and self.aggregate == "centroid"

    def require_strata(self, records: Records) -> None:
        """Refuse patterns of missing cells that too few records have, as `fit` does."""
        self._strata(records.codes[:, : len(records.names) - len(self.also_needs)], records.counts)

    def _strata(self, codes: Codes, counts: Longs) -> list[Longs]:
        """The records of each pattern of missing cells."""
        if self.average_risk is None:
            return _strata(codes, counts, self.k)
        if 0 < counts.sum() < self.least_rows:
            raise too_few_for_risk(int(counts.sum()), self.k, self.average_risk)
        return _strata(codes, counts, max(self.k, least_persons(self.average_risk)))

    def _form_groups(self, records: Records, columns: Sequence[ScaledColumn]) -> tuple[RecordGroups, dict[str, Any]]:
        """Groups of all records, one pattern of missing cells after the other, and the facts about their closeness."""
        confidential = None
        if self.confidential is not None:
            wanted = diversity_of(self.l, self.diversity, self.c)
            confidential = Confidential(self.confidential, records.value_spaces[-1], records.codes[:, -1], wanted)
        codes, names = records.codes[:, : len(columns)], records.names[: len(columns)]
        members, sizes = [np.empty(0, dtype=np.int32)], [np.zeros(1, dtype=np.int64)]
        farthest, n_merged = 0.0, 0
        for stratum in self._strata(codes, records.counts):
            present = np.flatnonzero(codes[stratum[0]] >= 0)
            own_codes = codes[np.ix_(stratum, present)]
            own = [columns[place] for place in present.tolist()]
            own_names = [names[place] for place in present.tolist()]
            form = self._groups_of if self.average_risk is None or not own else self._groups_within_risk
            groups = form(own, own_codes, records.counts[stratum], own_names)
            if confidential is not None:
                space = s_space(own, own_codes, own_names) if own else None
                close = close_groups(space, groups, confidential, stratum, NO_LIMIT if self.t is None else self.t)
                groups, farthest = close.groups, max(farthest, close.farthest)
                n_merged += close.n_merged
            members.append(stratum[groups.members].astype(np.int32))
            sizes.append(groups.sizes)
        offsets = np.cumsum(np.concatenate(sizes)).astype(np.int64)
        groups = RecordGroups(np.concatenate(members), offsets)
        facts: dict[str, Any] = {} if confidential is None else {"merged_groups": n_merged}
        if confidential is not None and self.t is not None:
            facts = {"t_closeness": farthest, **facts}
        if confidential is not None and self.l is not None:
            facts["smallest_diversity"] = smallest_diversity(
                groups.group_of_member(), confidential.codes[groups.members]
            )
        return groups, facts if self.average_risk is None else {**facts, **groups.risk()}

    @property
    def _to_taxonomy(self) -> bool:
        """True if centres come from the taxonomy."""
        return self.aggregate == "centroid" and self.centroid == "taxonomy" and self.semantics == "marginality"

    def _groups_within_risk(
        self, columns: Sequence[ScaledColumn], codes: Codes, counts: Longs, names: Sequence[str]
    ) -> RecordGroups:
        """As many groups of records that have the same columns as the average risk allows."""
        space = s_space(columns, codes, names, squares=True)
        centres = scaled_centres(columns, codes, from_taxonomy=self._to_taxonomy)
        n_groups = groups_within(self.average_risk or 1.0, int(counts.sum()))
        return groups_by_removal(space, centres, counts, self.k, n_groups, refine=self.refine)

    def _groups_of(
        self, columns: Sequence[ScaledColumn], codes: Codes, counts: Longs, names: Sequence[str]
    ) -> RecordGroups:
        """Groups of records that have the same columns."""
        if not columns:
            rows = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
            return RecordGroups(rows, np.array([0, rows.size], dtype=np.int64))
        if self.refine and len(columns) == 1 and isinstance(columns[0].value_space, NumericSpace):
            return best_groups(columns[0].value_space.numbers[codes[:, 0]], counts, self.k, names)
        space = s_space(columns, codes, names)
        groups = variable_mdav(space, counts, self.k) if self.variable else mdav(space, counts, self.k)
        if not self.refine:
            return groups
        space = s_space(columns, codes, names, squares=True)
        better = refine_groups(space, groups, self.k, pair_cost="sum")
        if better is None:
            return groups
        if self._to_taxonomy and _have_centre_tables(columns):
            return move_to_centroids(space, columns, codes, better.groups, self.k)
        return better.groups

    def guarantee(self, setting: Setting) -> Guarantee:
        """k-anonymity, where all records of a group are equal in all columns that an intruder may know."""
        broken = []
        if self.aggregate == "synthetic":
            broken.append("the records of a group are not equal: their cells are drawn one by one")
        explained = self.aggregate == "synthetic" or setting.unmatched or setting.facts.get("left_records")
        if not explained and setting.facts.get("real_k", self.k) < self.k:
            broken.append("fewer than k released records are equal: their missing cells have different codes")
        if self.k == 1:
            broken.append("groups of one record are no groups")
        facts = setting.facts
        if not explained and not facts.get("left_records") and facts.get("real_groups", 0) > facts.get("groups", 0):
            broken.append("there are more groups of equal records: their missing cells have different codes")
        return promise(setting, K_ANONYMITY, EQUAL_IN_GROUPS, k=self.k, average_risk=self.average_risk, broken=broken)


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
        raise too_few_for_groups(sum(rows), k, ())
    if len(parts) > 1 and small:
        raise small_strata(len(small), len(parts), sum(small), k, "form a group")
    return parts


def _have_centre_tables(columns: Sequence[ScaledColumn]) -> bool:
    """Whether centres come from tables of candidates: there are concepts, and no sets, which have too many."""
    has_sets = any(isinstance(column.value_space, SetSpace) for column in columns)
    return not has_sets and any(column.distances is not None for column in columns)


def _squared_error(value_space: ValueSpace, before: Codes, after: Codes) -> float:
    """The sum of the squared distances between cells before and after; of numbers in their own units."""
    moves = moves_between(before, after)
    if isinstance(value_space, NumericSpace):
        moved = value_space.numbers[moves.sources] - value_space.numbers[moves.targets]
    else:
        moved = value_space.pair_distances(moves.sources, moves.targets)
    return dot(moves.amounts, moved**2)
