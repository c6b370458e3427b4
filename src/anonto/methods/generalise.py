"""Generalisation: cells become more general until each record is equal to k − 1 others in all columns of the step.

A concept becomes an ancestor, a number an interval such as ``[30, 40)``, a rank a list of neighbours such as
``{low, mid}``, a text ``*``; `anonto.methods.hierarchies` says which levels a column has.

- **Global.** All cells of a column go to one level. The levels are those with the least loss of all combinations that
  keep to k, found over the whole lattice (`anonto.methods.lattice`).
- **Local.** Each class of records has levels of its own (`anonto.methods.local_recoding`). That loses less, and is
  harder to analyse, because cells of one column then stand for different ranges.
- **Loss.** What a record loses is the sum over the columns of the squared distance of its cell to what is released, by
  meaning: 0 if nothing changes, 1 for a cell that becomes missing. The evidence gives the mean over the records, and
  a bound below which no choice of levels can be. The root of a column's part is its RMSE.
- **Suppressed records.** With ``suppress = 0.02`` up to 2 % of the records may lose all cells of the step, where that
  loses less than to generalise all others for them. They become missing, and are a class too: none, or at least k.
- **Missing cells** are a value of their own and stay missing.
- **Confidential values.** With ``l`` each class shows enough different values of the column ``confidential``
  (`anonto.methods.diversity`), with ``t`` they are no farther than t from those of the table, by the distances of the
  column: ordered ones of numbers, those of the ontology of concepts (`anonto.methods.t_closeness`).

Nothing is drawn: the same table always gets the same levels.

References: Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13 (2001); El Emam et al., A
globally optimal k-anonymity method for the de-identification of health data, JAMIA 16 (2009), whose monotony rules out
nodes; LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from anonto.encoding.records import Records
from anonto.errors import ParameterError
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
from anonto.methods.guarantee import EQUAL_IN_GROUPS, K_ANONYMITY, Guarantee, Setting, promise
from anonto.methods.hierarchies import hierarchy_of
from anonto.methods.lattice import Asked, Leveled, best_node
from anonto.methods.local_recoding import LocalClass, Recoded, recode_locally
from anonto.methods.memory import BYTES_PER_RECORD
from anonto.methods.method import RecordMethod
from anonto.methods.parameters import GROUP_SIZES, K, choice, number, public, sizes_within
from anonto.methods.record_transitions import record_transitions
from anonto.methods.refusals import not_diverse, too_few_for_groups
from anonto.methods.t_closeness import NO_LIMIT, Confidential
from anonto.methods.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Longs
    from anonto.methods.hierarchies import Hierarchy
    from anonto.methods.memory import Budget
    from anonto.methods.method import Family
    from anonto.methods.record_transitions import RecordTransitions

MOST_LEVELS = 40
"""Levels of a column that memory is reckoned for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generalise(RecordMethod):
    """``k``: the least size of a class; ``suppress``: the share of records that may lose all their cells."""

    name: ClassVar[str] = "generalise"
    words: ClassVar[Words] = Words(
        title="More general values",
        summary="makes values more general until each record is equal to `k` − 1 others",
        does=(
            "Replaces codes by more general ones and numbers by intervals, as little as possible, until each record "
            "is equal to at least k − 1 others."
        ),
        columns="any kinds but sets, together",
        keeps="Every released value is true of its person, only less exact.",
        proves="k-anonymity, on conditions",
        proved="k-anonymity. By these columns, each record is indistinguishable from at least k − 1 others.",
        report=(
            "The values of these columns were made more general until at least {k} records are equal in all of them: "
            "codes became codes above them, numbers became intervals, and where nothing more general was left, an "
            "asterisk. Of all ways to do so the one was taken by which values move least in meaning. A record that "
            "would have cost the others too much may have lost its values in these columns."
        ),
    )
    makes_equal: ClassVar[bool] = True
    family: ClassVar[Family] = "aggregation"
    releases_text: ClassVar[bool] = True
    k: int = field(metadata=public(K))
    scope: Literal["global", "local"] = field(
        default="global",
        metadata=choice(
            ("global", "local"),
            "levels",
            "“global”: one level for all cells of a column; “local”: each class has its own, which loses less.",
            is_public=True,
            sweep=("global", "local"),
        ),
    )
    suppress: float = field(
        default=0.0,
        metadata=number(
            "share that may be suppressed",
            "The share of the records that may lose all values of these columns, 0 to 1.",
            low=0,
            high=1,
            offered=(0, 0.5, 0.01),
            sweep=(0.0, 0.02),
            is_public=True,
        ),
    )
    width: float | tuple[float, ...] | None = field(
        default=None,
        metadata={
            **number(
                "narrowest interval",
                "The width of the narrowest intervals of numbers, or one for each column; a round one by default. "
                "Wider ones are twice, four times, … as wide.",
                above=0,
                must="a number above 0, or one for each column",
                lists="allowed",
                offered=(0, None, None),
            )
        },
    )

    t: float | None = field(default=None, metadata=CLOSENESS)
    l: int | None = field(default=None, metadata=DIVERSITY)  # noqa: E741 - the name of the parameter in plans
    diversity: Kind | None = field(default=None, metadata=KIND_OF_DIVERSITY)
    c: float | None = field(default=None, metadata=C)
    confidential: str | None = field(default=None, metadata=CONFIDENTIAL)

    def __post_init__(self) -> None:
        RecordMethod.__post_init__(self)
        require_confidential(self.confidential, self.t, self.l)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sizes_within(GROUP_SIZES, n_records)}

    @property
    def least_group(self) -> int:
        """Equal records, at least."""
        return self.k

    def bytes_per_row(self, n_columns: int) -> int:
        """Bytes of a distinct record."""
        return BYTES_PER_RECORD + 8 * MOST_LEVELS + 40 * n_columns

    @property
    def also_needs(self) -> tuple[str, ...]:
        """The column that closeness and diversity are about."""
        return () if self.confidential is None else (self.confidential,)

    def fit_within(self, records: Records, rng: np.random.Generator, budget: Budget) -> RecordTransitions:
        """Fit all distinct records at once, or refuse them."""
        budget.require(self.bytes_per_row(len(records.names)) * records.counts.size, "so many different records")
        return self.fit(records, rng)

    def fit(self, records: Records, rng: np.random.Generator) -> RecordTransitions:
        """Find the levels, and what each record becomes."""
        del rng
        whole, confidential = records, None
        if self.confidential is not None:
            wanted = diversity_of(self.l, self.diversity, self.c)
            confidential = Confidential(self.confidential, records.value_spaces[-1], records.codes[:, -1], wanted)
            records = Records(records.names[:-1], records.value_spaces[:-1], records.codes[:, :-1], records.counts)
        if not records.n_rows:
            return record_transitions(whole, np.arange(0), records.codes, records.counts, [0] * len(records.names))
        if records.n_rows < self.k:
            raise too_few_for_groups(records.n_rows, self.k)
        hierarchies = self._hierarchies(records)
        columns, asked = _leveled(records, hierarchies), self._asked(records, confidential)
        found = best_node(columns, records.counts, asked)
        if found is None and self.t is None:
            raise not_diverse(str(self.confidential), records.n_rows)
        if found is None:
            raise too_few_for_groups(records.n_rows, self.k)
        suppressed = found.look.suppressed
        if self.scope == "global":
            classes = np.where(suppressed, np.int32(-1), found.look.classes)
            levels = np.where(suppressed[:, None], np.int32(-1), np.array([found.node], dtype=np.int32))
            recoded = Recoded(classes, levels, found.look.loss)
            further = {"loss_of_any_levels": found.bound / records.n_rows}
            return _release(records, hierarchies, recoded, {**further, **_shown(recoded, confidential, self)})
        top = LocalClass(np.arange(records.counts.size), tuple(len(one.levels) - 1 for one in hierarchies))
        as_found = [LocalClass(np.flatnonzero(found.look.classes == one), found.node) for one in found.kept_classes]
        starts = [([top], np.arange(0)), (as_found, np.flatnonzero(suppressed))]
        recoded = min(
            (recode_locally(columns, records.counts, asked, classes, lost) for classes, lost in starts),
            key=lambda one: one.loss,
        )
        return _release(records, hierarchies, recoded, _shown(recoded, confidential, self))

    def _asked(self, records: Records, confidential: Confidential | None) -> Asked:
        """What classes must keep to."""
        is_good = None
        if confidential is not None:
            limit = NO_LIMIT if self.t is None else self.t
            is_good = partial(confidential.is_good, counts=records.counts, t=limit)
        return Asked(self.k, int(self.suppress * records.n_rows), is_good)

    def _hierarchies(self, records: Records) -> list[Hierarchy]:
        """The levels of each column."""
        n_columns = len(records.names)
        widths = self.width if isinstance(self.width, tuple) else (self.width,) * n_columns
        if len(widths) != n_columns:
            raise ParameterError("width", f"one number, or one for each of the {n_columns} columns", list(widths))
        return [
            hierarchy_of(name, space, width, self.name, has_missing=bool((own < 0).any()))
            for name, space, width, own in zip(
                records.names, records.value_spaces, widths, records.codes.T, strict=True
            )
        ]

    def guarantee(self, setting: Setting) -> Guarantee:
        """k-anonymity, where all records of a class are equal in all columns that an intruder may know."""
        broken = []
        if (
            not setting.unmatched
            and not setting.facts.get("left_records")
            and setting.facts.get("real_k", self.k) < self.k
        ):
            broken.append("fewer than k released records are equal: their missing cells have different codes")
        if self.k == 1:
            broken.append("groups of one record are no groups")
        return promise(setting, K_ANONYMITY, EQUAL_IN_GROUPS, k=self.k, broken=broken)


def _leveled(records: Records, hierarchies: Sequence[Hierarchy]) -> list[Leveled]:
    """The records at each level of each column."""
    return [
        Leveled(
            tuple(level.groups[own] for level in one.levels),
            tuple(level.losses[own] for level in one.levels),
            (own >= 0).astype(np.float64),
        )
        for one, own in zip(hierarchies, records.codes.T, strict=True)
    ]


def _release(
    records: Records, hierarchies: Sequence[Hierarchy], recoded: Recoded, further: Mapping[str, float]
) -> RecordTransitions:
    """What each record becomes."""
    released = np.full_like(records.codes, -1)
    value_spaces = []
    for place, one in enumerate(hierarchies):
        present = np.flatnonzero(records.codes[:, place] >= 0)
        levels = recoded.levels[present, place]
        groups = np.zeros(present.size, dtype=np.int64)
        for height, level in enumerate(one.levels):
            there = levels == height
            groups[there] = level.groups[records.codes[present[there], place]]
        cells, which = np.unique(np.stack([levels, groups], axis=1), axis=0, return_inverse=True)
        value_space, codes = one.release([(level, group) for level, group in cells.tolist()])
        released[present, place] = codes[which.ravel()]
        value_spaces.append(value_space)
    lost = recoded.classes < 0
    facts = {
        **class_facts(recoded.classes[~lost], records.counts[~lost]),
        "suppressed_records": int(records.counts[lost].sum()),
        "largest_level": {
            name: int(recoded.levels[:, place].max(initial=0)) for place, name in enumerate(records.names)
        },
        "largest_possible_level": {
            name: len(one.levels) - 1 for name, one in zip(records.names, hierarchies, strict=True)
        },
        "loss": recoded.loss / records.n_rows,
        **further,
    }
    sources, untouched = np.arange(records.counts.size), [0] * len(records.names)
    return record_transitions(records, sources, released, records.counts, untouched, facts, tuple(value_spaces))


def _shown(recoded: Recoded, confidential: Confidential | None, asked: Generalise) -> dict[str, float]:
    """Evidence about the confidential values of the classes."""
    if confidential is None or asked.l is None:
        return {}
    kept = recoded.classes >= 0
    return {"smallest_diversity": smallest_diversity(recoded.classes[kept], confidential.codes[kept])}


def class_facts(classes: Codes, counts: Longs) -> dict[str, int]:
    """Evidence about classes of equal records."""
    sizes = np.bincount(classes, weights=counts).astype(np.int64)
    sizes = sizes[sizes > 0]
    return {
        "groups": int(sizes.size),
        "smallest_group": int(sizes.min()) if sizes.size else 0,
        "largest_group": int(sizes.max(initial=0)),
    }
