r"""Association linkage: columns that leave unmasked tell which released record belongs to whom.

The intruder does not know these columns (z) of a person, but how they go with those that she knows (x). She gives a
candidate $(y_j, z_j)$ of the person i the score

$$\omega \sum_{\text{columns}} \log \frac{P(z_j \mid x_i)}{P(z_j)} - \beta\, d^2(x_i, y_j)$$

and matches everybody at once so that the sum of the scores is largest. Candidates are those of `method-aware-linkage`;
where no swap masks, all released records are. The two weights, to two digits, are those with which some persons' own
records are likeliest: an intruder finds them when she masks a table of her own.

She learns P(z | x) in one of three ways:

- **from other data**: persons held out, if `assess` has some;
- **from the release**: a released record counts in parts for all persons whose it could be, by their nearness;
- **from the original**: she knows how often each record of x and z together occurs there. It is the worst case, and not
  a rate of its own but a detail of the one before: who knows this knows z of everybody who is unique in x.

References: Bayes linkage after Fellegi, Sunter, Journal of the American Statistical Association 64 (1969), with columns
that only one side has.

Step by step: `anonto.attacks.plain.association_linkage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array, eye_array

from anonto.attacks.association_linkage import AssociationLinkage
from anonto.attacks.compute.association import GroupedValues, TrainedColumn, group_values, learn_scores
from anonto.attacks.compute.candidates import CandidateRecords, FoundCandidates
from anonto.attacks.compute.constraints import equal_cells, number_texts, support_constraints
from anonto.attacks.compute.global_linkage import (
    NEAREST_ROWS,
    blocks_to_match,
    describe_matched,
    match_records,
)
from anonto.attacks.compute.method_aware_linkage import describe_knowledge, most_persons
from anonto.attacks.compute.refinement import repeat_groups
from anonto.attacks.compute.space import LinkageSpace
from anonto.attacks.rate import Risk
from anonto.encoding.records import count_records, distinct_rows
from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.io.notation import numbers_of
from anonto.wording import list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.attacks.comparison import Comparison
    from anonto.attacks.compute.blocks import Block
    from anonto.attacks.compute.candidates import Targets
    from anonto.attacks.compute.constraints import Constraint
    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.attacks.known import Knowledge
    from anonto.encoding.value_space import ValueSpace

    Scores = Callable[[Longs], Floats]
    """Targets to targets × classes of released rows: how well they go together; −inf for never."""

OTHER_DATA, RELEASE, ORIGINAL = "other data", "the release", "the original"
MOST_CELLS = 1 << 25
"""The tables of all pairs of columns have about this many numbers together, at most."""
FEWEST_GROUPS = 64
MOST_WEIGHED, FEWEST_WEIGHED, PAIRS_WEIGHED = 512, 128, 4_000_000
"""The weights are fitted to so many persons, at most and at least, and about so many pairs with released records."""
LARGEST_WEIGHTS = 1e3, 4.0
LEAST_WEIGHT = 1e-3
ROUNDS = 10
"""How often the parts that records count for are made to add up, by persons and by records."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column in codes that all tables share."""

    space: ValueSpace
    original: Codes
    masked: Codes
    held_out: Codes | None

    @classmethod
    def of(cls, compared: Comparison, name: str) -> CodedColumn:
        """A column of a comparison; one that the plan does not describe is numbers if all its texts are."""
        held = compared.held_out
        if name in compared.columns:
            one = (compared.columns if held is None else held.columns)[name]
            return cls(one.value_space, one.original, one.masked, one.held_out)
        cells = compared.cells[name]
        sides = [cells.original, cells.masked, *([] if held is None else [held.cells[name]])]
        codes = [own - np.int32(1) for own in number_texts(*sides)]
        texts = tuple(dict.fromkeys(text for side in sides for text in side.values))
        counts = np.ones(len(texts), dtype=np.int64)
        numbers = numbers_of(texts)
        space = TextSpace(counts) if np.isnan(numbers).any() else NumericSpace(numbers, counts)
        return cls(space, codes[0], codes[1], codes[2] if held is not None else None)

    def grouped(self, most: int) -> GroupedValues:
        """Its values with their groups."""
        tables = [self.original] if self.held_out is None else [self.original, self.held_out]
        counts = np.bincount(np.concatenate(tables) + 1, minlength=self.space.counts.size + 1)
        return group_values(self.space, counts[1:], most)


def columns_that_tell(compared: Comparison, known: Sequence[str]) -> list[str]:
    """The columns that leave as they were, are not known, and have more than one value."""
    if not compared.n_records:
        return []
    n_persons, out = compared.amounts.n_persons, []
    for name, cells in compared.as_is.items():
        if name in known or len(cells.masked.values) + bool(cells.masked.n_missing) < 2:
            continue
        both = equal_cells(cells)
        if np.array_equal(both.persons[:n_persons], both.released[0][:n_persons]):
            out.append(name)
    return out


def association_linkage(compared: Comparison, who: Knowledge, rng: np.random.Generator) -> list[Risk]:
    """Match everybody with released records, by what their other columns tell; nothing where no column tells.

    Args:
        compared: The original and its release.
        who: What the intruder knows of the persons.
        rng: For the choice of blocks in a large table, of the persons to whom weights are fitted, and of one of several
            equally good matchings.
    """
    read = columns_that_tell(compared, who.names)
    if not read or not who.columns[0].n_persons:
        return []
    attack = _Attack.of(compared, who, read, rng)

    def risk(learnt_from: str, hits: Floats, **details: Any) -> Risk:
        return Risk.of_links(
            hits,
            who.columns[0].n_rows,
            attack=AssociationLinkage.name,
            knowledge=f"the original values of {attack.whom} in these columns; {attack.told}; and how columns that "
            f"leave unmasked ({list_names(read)}) go with them, learnt from {learnt_from}",
            columns=who.names,
            details={"learnt_from": learnt_from, "read": list(read), **details},
        )

    worst = risk(ORIGINAL, attack.hits(attack.of_original, attack.nearness_alone))
    of_worst = {"rate": worst.rate, "low": worst.low, "high": worst.high}
    levels = [(RELEASE, attack.of_release, {"with_the_original": of_worst})]
    if compared.held_out is not None:
        levels.append((OTHER_DATA, attack.of_other_data, {}))
    out = []
    for learnt_from, scores, details in levels:
        weights = attack.fit_weights(scores)
        told = dict(zip(("nearness", "association"), weights, strict=True))
        out.append(risk(learnt_from, attack.hits(scores, weights), weights=told, **details))
    return out


def _masking(steps: Sequence[EncodedStep], names: Collection[str]) -> list[EncodedStep]:
    """The steps that mask one of some columns."""
    return [step for step in steps if set(step.names) & set(names)]


def _constraints(compared: Comparison, who: Knowledge, persons: Longs) -> list[Constraint]:
    """Constraints of the known columns: equality, the support of swaps, and groups that are formed again."""
    names = [column.name for column in who.columns]
    out: list[Constraint] = [equal_cells(who.cells[name]) for name in names if name in who.cells]
    out += support_constraints(names, compared.swaps, persons)
    grouped = [repeat_groups(step, compared.columns, names) for step in _masking(compared.groupings, names)]
    return [*out, *(one for one in grouped if one is not None)]


@dataclass(frozen=True, eq=False)
class _Attack:
    compared: Comparison
    who: Knowledge
    known: list[CodedColumn]
    read: list[CodedColumn]
    candidates: CandidateRecords
    targets: Targets
    nearest: FoundCandidates
    place_of: Longs
    """The place of each person among those who are looked for; −1 for all others."""
    blocks: list[Block]
    classes: tuple[Codes, Codes]
    """The number of each row's cells in the columns that tell, in the original and in the release."""
    rng: np.random.Generator

    @classmethod
    def of(cls, compared: Comparison, who: Knowledge, read: Sequence[str], rng: np.random.Generator) -> _Attack:
        """Look for the candidates of the persons, the nearest first."""
        columns = who.columns
        parts = [equal_cells(compared.cells[name]) for name in read]
        _, number = distinct_rows([np.concatenate([part.persons, *part.released]) for part in parts])
        before, after = number[: parts[0].persons.size], number[parts[0].persons.size :]
        blocks = blocks_to_match(columns, LinkageSpace.of(columns), most_persons(columns), rng)
        searched = np.unique(np.concatenate([block.persons for block in blocks]))
        place_of = np.full(columns[0].n_persons, -1, dtype=np.int64)
        place_of[searched] = np.arange(searched.size)
        candidates = CandidateRecords.of(columns, _constraints(compared, who, searched), after)
        targets = candidates.targets(searched)
        nearest = candidates.search(targets, NEAREST_ROWS)
        known, others = ([CodedColumn.of(compared, name) for name in names] for names in (who.names, read))
        return cls(compared, who, known, others, candidates, targets, nearest, place_of, blocks, (before, after), rng)

    @property
    def told(self) -> str:
        """The intruder's knowledge of the methods."""
        names, compared = set(self.who.names), self.compared
        grouped = _masking(compared.groupings, names)
        said = [describe_knowledge(compared.swaps, self.who.names)] if _masking(compared.swaps, names) else []
        if grouped:
            of_all = ", ".join(dict.fromkeys(name for step in grouped for name in step.names))
            said.append(f"the original values of all persons in {of_all}, from which groups are formed again")
        return "; ".join(said) or "nothing of the method"

    @property
    def whom(self) -> str:
        """Who was matched."""
        return describe_matched(self.who.columns, self.blocks)

    @cached_property
    def row_of_target(self) -> Longs:
        """A row of the original with each target."""
        return self.targets.rows[self.targets.sorted_persons[self.targets.ends[:-1]]]

    @cached_property
    def row_of_record(self) -> Longs:
        """A row of the release with each distinct record."""
        return np.unique(self.candidates.record_of_row, return_index=True)[1]

    # ---------------------------------------------------------------------------------------- what goes together

    @cached_property
    def grouped(self) -> tuple[list[GroupedValues], list[GroupedValues]]:
        """The values of the columns with their groups, few enough for the memory."""
        n_pairs = len(self.known) * len(self.read)
        most = max(FEWEST_GROUPS, int(np.sqrt(MOST_CELLS / n_pairs)))
        return [one.grouped(most) for one in self.known], [one.grouped(most) for one in self.read]

    def _learn(self, known: Sequence[Codes], read: Sequence[Codes], pairs: Any) -> Scores:
        """The scores of targets and classes, learnt from the codes of the columns in pairs of rows."""
        of_known, of_read = self.grouped
        rows = np.zeros(self.candidates.n_classes, dtype=np.int64)
        present, firsts = np.unique(self.classes[1], return_index=True)
        rows[present] = firsts
        learnt = learn_scores(
            [
                TrainedColumn(values, codes, one.original[self.row_of_target])
                for values, codes, one in zip(of_known, known, self.known, strict=True)
            ],
            [
                TrainedColumn(values, codes, one.masked[rows])
                for values, codes, one in zip(of_read, read, self.read, strict=True)
            ],
            pairs,
        )
        return learnt.between

    @cached_property
    def of_other_data(self) -> Scores:
        """Learnt from persons held out."""
        known, read = ([one.held_out for one in some if one.held_out is not None] for some in (self.known, self.read))
        return self._learn(known, read, eye_array(known[0].size, format="csr"))

    @cached_property
    def of_release(self) -> Scores:
        """Learnt from the release: each record counts in parts for the persons whose it could be."""
        known = [one.original[self.row_of_target] for one in self.known]
        return self._learn(known, [one.masked[self.row_of_record] for one in self.read], self._parts())

    def _parts(self) -> Any:
        """Targets × released records: for how many persons of the target each record counts."""
        target, place = np.nonzero(self.nearest.listed >= 0)
        record, distances = self.nearest.listed[target, place], self.nearest.distances[target, place]
        amounts = self.candidates.released.amounts
        nearness = self.nearness_alone[0]
        least = np.full(len(self.nearest.listed), np.inf)
        np.minimum.at(least, target, distances)
        parts = np.exp(-np.minimum(nearness * (distances - least[target]), 600.0)) * amounts[record]
        wanted = np.diff(self.targets.ends).astype(np.float64)
        for _ in range(ROUNDS):
            parts *= (wanted / np.maximum(np.bincount(target, parts, wanted.size), 1e-300))[target]
            parts *= (amounts / np.maximum(np.bincount(record, parts, amounts.size), 1e-300))[record]
        return coo_array((parts, (target, record)), shape=(wanted.size, amounts.size)).tocsr()

    @cached_property
    def of_original(self) -> Scores:
        """Learnt from the original: the share of the persons with the known cells who have each class."""
        amounts = self.compared.amounts.original
        known = distinct_rows([column.original for column in self.who.columns])[1]
        pairs, pair_of = distinct_rows([known, self.classes[0]])
        counts = count_records(pair_of, len(pairs), amounts)
        totals = np.bincount(pairs[:, 0], counts)
        shares = np.round(np.log(np.maximum(counts, 1) / np.maximum(totals[pairs[:, 0]], 1)), 9)
        starts = np.searchsorted(pairs[:, 0], np.arange(totals.size + 1))

        def scores(targets: Longs) -> Floats:
            out = np.full((targets.size, self.candidates.n_classes), -np.inf)
            for row, own in enumerate(known[self.row_of_target[targets]]):
                mine = slice(starts[own], starts[own + 1])
                out[row, pairs[mine, 1]] = shares[mine]
            return out

        return scores

    # ---------------------------------------------------------------------------------------- weights

    @cached_property
    def _weighed(self) -> tuple[Longs, Longs, Floats, Floats]:
        """Some persons: their targets, the record of each, the squared distances to all records, and the candidates."""
        targets, candidates = self.targets, self.candidates
        n_records = candidates.released.amounts.size
        size = min(MOST_WEIGHED, max(FEWEST_WEIGHED, PAIRS_WEIGHED // n_records), targets.rows.size)
        chosen = np.sort(self.rng.choice(targets.rows.size, size, replace=False))
        chosen = chosen[self.nearest.has_own[chosen]]
        own_targets = targets.of_person[chosen].astype(np.int64)
        records = candidates.released.records.codes
        squared = np.empty((chosen.size, len(records)))
        amounts = np.empty(squared.shape)
        for row, target in enumerate(own_targets.tolist()):
            squared[row] = candidates.space.between(np.tile(targets.codes[target], (len(records), 1)), records)
            allowed = candidates.allowed_rows(targets, slice(target, target + 1))[0]
            amounts[row] = candidates.released.amounts * allowed[candidates.released.parts].all(axis=1)
        return own_targets, candidates.record_of_row[targets.rows[chosen]].astype(np.int64), squared, amounts

    @cached_property
    def nearness_alone(self) -> tuple[float, float]:
        """The weights of nearness, without other columns, and 1."""
        return self.fit_weights(None)[0], 1.0

    def fit_weights(self, scores: Scores | None) -> tuple[float, float]:
        """The weights of nearness and of the scores with which some persons' own records are likeliest, to two digits.

        Args:
            scores: The scores; None for nearness alone.
        """
        from scipy.optimize import minimize

        targets, own, squared, amounts = self._weighed
        if not own.size:
            return 1.0, 1.0
        of_class = self.candidates.released.classes
        parts = [-squared] if scores is None else [-squared, scores(targets)[:, of_class]]
        persons, logarithms = np.arange(own.size), np.log(np.maximum(amounts, 1e-300))

        def lost(weights: Floats) -> tuple[float, Floats]:
            total = logarithms + sum(weight * part for weight, part in zip(weights, parts, strict=True))
            top = total.max(axis=1, keepdims=True)
            chances = np.exp(total - top)
            sums = chances.sum(axis=1, keepdims=True)
            chances /= sums
            missed = (top[:, 0] + np.log(sums[:, 0]) - total[persons, own]).mean()
            slopes = [((chances * part).sum(axis=1) - part[persons, own]).mean() for part in parts]
            return float(missed), np.array(slopes)

        bounds = [(LEAST_WEIGHT, most) for most in LARGEST_WEIGHTS[: len(parts)]]
        found = minimize(lost, np.ones(len(parts)), jac=True, bounds=bounds, method="L-BFGS-B").x
        nearness, association = (float(f"{one:.1e}") for one in (*found, 1.0)[:2])
        return nearness, association

    # ---------------------------------------------------------------------------------------- matching

    def hits(self, scores: Scores, weights: tuple[float, float]) -> Floats:
        """The probability that each counted person is matched with her own record.

        Args:
            scores: What goes together.
            weights: Of nearness and of the scores.
        """
        nearness, association = weights
        candidates, targets = self.candidates, self.targets
        found = FoundCandidates.room_for(targets, NEAREST_ROWS)

        def search(part: slice) -> None:
            own = scores(np.arange(part.start, part.stop))
            further = (own.max(axis=1, keepdims=True, initial=-np.inf) - own) * (association / nearness)
            candidates.search_part(targets, part, candidates.allowed_rows(targets, part), further, found)

        candidates.in_parts(search, targets)
        costs = np.where(found.listed >= 0, found.distances, 0.0)
        amounts, rows_of = candidates.released.amounts, candidates.record_of_row
        hits = np.full(self.place_of.size, np.nan)
        for block in self.blocks:
            target = targets.of_person[self.place_of[block.persons]]
            rows = rows_of if self.who.columns[0].amounts.row_by_row else None
            match = match_records(found.listed[target], costs[target], amounts, rows, self.rng)
            shared = share_matches(target, match, rows_of[block.persons], amounts)
            hits[block.persons[: block.n_counted]] = shared[: block.n_counted]
        counted: Floats = hits[~np.isnan(hits)]
        return counted


def share_matches(targets: Codes, match: Longs, own: Codes, amounts: Longs) -> Floats:
    """The probability that each person is matched with her own row, if equal persons and equal rows are exchanged.

    Args:
        targets: The target of each person.
        match: The record that each is matched with; −1 for none.
        own: The record of each.
        amounts: How many rows have each record.
    """
    width = amounts.size + 1
    pairs, times = np.unique(targets.astype(np.int64) * width + match + 1, return_counts=True)
    wanted = targets.astype(np.int64) * width + own + 1
    place = np.minimum(np.searchsorted(pairs, wanted), pairs.size - 1)
    alike = np.bincount(targets)[targets]
    out: Floats = np.where(pairs[place] == wanted, times[place] / (alike * amounts[own]), 0.0)
    return out
