"""Likelihood linkage: the intruder knows how noise was drawn, and takes the likeliest released record for a person's.

She scores a released record by the probability that the method makes it from the person's original values, column by
column and, where the noise of two columns is correlated, jointly; ties count one over their number. For a single
released cell she also computes how certain its original value is: max P(x = v | y), with the frequencies of the
original table as the prior.

- A known column that no step masks must be equal. One that is masked by another kind of method has no likelihood: it
  decides between equally likely records, by distance. Where that method is a swap whose support is known, records
  outside it are impossible.
- The likelihood of a pair is exact. For more than two columns with correlated noise it is approximated along the tree
  of the strongest correlations: P(y₁ y₂ y₃) ≈ P(y₁ y₂) P(y₂ y₃) / P(y₂).
- Where the value that directs the noise is unknown, the likelihood is averaged over the values that occur with the
  known one.

References: Lambert, Journal of Official Statistics 9 (1993); Fuller, Journal of Official Statistics 9 (1993).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.compute import likelihood_kernels
from anonto.attacks.compute.constraints import part_numbers, support_constraints
from anonto.attacks.compute.kernels import DistanceTables, RecordArrays
from anonto.attacks.compute.posterior import posterior_of
from anonto.attacks.compute.space import LinkageSpace
from anonto.attacks.likelihood_linkage import LikelihoodLinkage
from anonto.attacks.rate import Risk
from anonto.encoding.records import count_records, distinct_rows
from anonto.methods.likelihood_kernels import noise_sizes
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.attacks.compute.constraints import Constraint
    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.attacks.compute.likelihood import StepLikelihood
    from anonto.encoding.comparison import ComparedColumn
    from anonto.methods.likelihood import MethodLikelihood


NUMBERS_AT_ONCE = 1 << 21
MOST_TIME = 2e10
"""Approximate limit in nanoseconds of one processor; beyond it fewer persons are attacked."""
FEWEST_PERSONS = 100
TIME_OF_A_CELL, TIME_OF_A_NUMBER, TIME_OF_A_PAIR = 10.0, 60.0, 400.0
CORRELATED = 1e-12


def likelihood_linkage(
    known: Sequence[ComparedColumn],
    steps: Sequence[StepLikelihood],
    masked: Collection[str],
    rng: np.random.Generator,
    rows: Longs | None = None,
    swaps: Sequence[EncodedStep] = (),
) -> Risk | None:
    """Link persons to the likeliest released records; None where no known column is under noise.

    Args:
        known: The columns that the intruder knows of a person.
        steps: The steps of the plan that have a likelihood.
        masked: The columns that some step masks.
        rng: For the choice of persons where the likelihood takes long to compute.
        rows: The persons that are attacked; None for all.
        swaps: All steps of the plan that swap, if their support is known.
    """
    persons = np.arange(known[0].n_persons) if rows is None else rows
    attack = KnownLikelihoods.of(known, steps, masked, swaps, persons)
    if not attack.parts:
        return None
    hits, impossible = attack.hits(attack.affordable(persons, rng))
    return Risk.of_links(
        hits,
        known[0].n_rows,
        attack=LikelihoodLinkage.name,
        knowledge=attack.knowledge(),
        columns=(column.name for column in known),
        details={"impossible": impossible, **_posteriors(attack.parts, rows)},
    )


def _posteriors(involved: Sequence[KnownPart], rows: Longs | None) -> dict[str, Any]:
    """Certainty about original values given single released cells, by column."""
    out: dict[str, dict[str, float]] = {}
    for part in involved:
        for place in part.places:
            for key, value in posterior_of(part.step, place, rows).items():
                out.setdefault(key, {})[part.step.names[place]] = value
    return out


@dataclass(frozen=True, slots=True)
class KnownPart:
    """A step with a likelihood, and which of its columns the intruder knows of a person."""

    step: StepLikelihood
    places: tuple[int, ...]

    def knows_partner(self, place: int) -> bool:
        """Return whether the value that directs the noise of a column is known, or there is none."""
        partner = self.step.likelihood.partners[place]
        return partner is None or partner in self.places

    @property
    def directed(self) -> tuple[int, ...]:
        """The known columns whose noise is not directed by an unknown value."""
        return tuple(place for place in self.places if self.knows_partner(place))

    @property
    def are_paired(self) -> bool:
        """True if the noise of columns may be correlated."""
        return self.step.likelihood.mixing is not None and len(self.directed) > 1

    def pairs(self, row: int) -> list[tuple[int, int, float]]:
        """Two columns each, and the correlation of their noise: a tree of the strongest correlations.

        Args:
            row: One that has the pattern of missing cells in question.
        """
        likelihood, codes = self.step.likelihood, self.step.codes
        present = [place for place in self.directed if codes[place][row] >= 0]
        if not self.are_paired or len(present) < 2:
            return []
        partners = [present_at if present_at is not None else -1 for present_at in likelihood.partners]
        directed = np.array([partner < 0 or codes[partner][row] >= 0 for partner in partners])
        return _tree(present, likelihood, likelihood.correlations(directed))


def _tree(places: Sequence[int], likelihood: MethodLikelihood, together: Floats) -> list[tuple[int, int, float]]:
    """Spanning tree of the columns, grown by the strongest correlation."""
    joined, free, out = [places[0]], list(places[1:]), []
    while free:
        a, b = max(((a, b) for a in joined for b in free), key=lambda pair: abs(float(together[pair])))
        if likelihood.are_sizes_shared or abs(together[a, b]) > CORRELATED:
            out.append((a, b, float(together[a, b])))
        joined.append(b)
        free.remove(b)
    return out


@dataclass(frozen=True, slots=True)
class KnownLikelihoods:
    """Scores of pairs of a person and a released record, by what an intruder knows of the methods."""

    parts: list[KnownPart]
    equal: list[ComparedColumn]
    """Known columns that no step masks."""
    others: list[ComparedColumn]
    """Known columns that are masked in another way."""
    known: Sequence[ComparedColumn]
    constraints: Sequence[Constraint] = ()
    """Constraints of swaps of such columns."""

    @classmethod
    def of(
        cls,
        known: Sequence[ComparedColumn],
        steps: Sequence[StepLikelihood],
        masked: Collection[str],
        swaps: Sequence[EncodedStep],
        persons: Longs,
    ) -> KnownLikelihoods:
        """From the columns that are known of some persons: see `likelihood_linkage`."""
        names = [column.name for column in known]
        found = [
            KnownPart(step, tuple(step.names.index(name) for name in names if name in step.names)) for step in steps
        ]
        parts = [part for part in found if part.places]
        of_steps = {name for part in parts for name in part.step.names}
        return cls(
            parts,
            [column for column in known if column.name not in masked],
            [column for column in known if column.name in masked and column.name not in of_steps],
            known,
            support_constraints(names, [step for step in swaps if not of_steps & set(step.names)], persons),
        )

    def knowledge(self) -> str:
        """The intruder's knowledge and action."""
        fitted = any(part.step.likelihood.levels is not None for part in self.parts)
        said = [
            "the original values of one person in these columns, the method, its parameters"
            + (" and what it measured on the original table" if fitted else "")
        ]
        if self.equal:
            said.append("a column that is not masked must be equal")
        if self.others:
            said.append("a column that is masked in another way decides between equally likely records, by distance")
        if self.constraints:
            said.append("a record out of reach of a swap is excluded")
        n_linked = [len(part.directed) if part.step.likelihood.mixing is not None else 0 for part in self.parts]
        if any(part.directed != part.places for part in self.parts):
            said.append("noise that is directed by an unknown value is averaged over those that go with the known one")
        if max(n_linked, default=0) > 2:
            said.append("noise of more than two columns is followed along its strongest correlations")
        said.append("posteriors are of single cells, before which the frequencies of the original table are believed")
        return "; ".join(said)

    # ---------------------------------------------------------------------------------------- persons

    def keys(self) -> list[Codes]:
        """The features that distinguish persons: codes of all rows of the original, several for each."""
        return [
            *(column.original for column in self.known),
            *(part.step.level_of_row for part in self.parts if part.step.has_levels_of_rows),
            *(constraint.persons for constraint in self.constraints),
        ]

    def released_keys(self) -> list[Codes]:
        """The features that distinguish released rows."""
        numbers = [numbers for constraint in self.constraints for numbers in constraint.released]
        return [*(column.masked for column in self.known), *numbers]

    def affordable(self, persons: Longs, rng: np.random.Generator) -> Longs:
        """The persons, or as many as can be attacked in the time."""
        if not persons.size:
            return persons
        n_targets = distinct_rows([codes[persons] for codes in self.keys()])[0].shape[0]
        n_released = distinct_rows(self.released_keys())[0].shape[0]
        time = n_released * TIME_OF_A_CELL * len(self.known)
        for part in self.parts:
            likelihood = part.step.likelihood
            of_numbers = [place for place in part.places if likelihood.columns[place].computes_each_number]
            time += TIME_OF_A_NUMBER * sum(part.step.n_released[place] for place in of_numbers)
            n_sizes = noise_sizes(likelihood.laplace)[0].size
            for a, b, _ in part.pairs(int(np.argmin(_n_missing(part)))):
                n_pairs = min(n_released, part.step.most_classes(a) * part.step.most_classes(b))
                time += n_pairs * TIME_OF_A_PAIR * n_sizes
        most = max(FEWEST_PERSONS, int(MOST_TIME / time))
        return persons if n_targets <= most else np.sort(rng.choice(persons, most, replace=False))

    def hits(self, persons: Longs) -> tuple[Floats, int]:
        """The probability that each person is linked; and how many persons cannot have become their own record."""
        if not persons.size:
            return np.empty(0), 0
        targets, of_person = first_rows([codes[persons] for codes in self.keys()])
        targets = persons[targets]
        released, record_of = first_rows(self.released_keys())
        amounts = count_records(record_of, released.size, self.known[0].amounts.masked)
        by_pattern, parts = self.split(targets, released.size)
        place_of = np.empty(targets.size, dtype=np.int64)
        place_of[by_pattern] = np.arange(targets.size)
        targets = targets[by_pattern]
        order = np.argsort(place_of[of_person], kind="stable")
        target_of, own = place_of[of_person][order], record_of[persons][order].astype(np.int32)
        found, own_scores = np.empty(persons.size), np.empty(persons.size)
        by_distance = _DistanceColumns.of(self.others, targets, released)

        def attack(part: slice) -> None:
            scores = self.scores(targets[part], released)
            mine = slice(*np.searchsorted(target_of, [part.start, part.stop]))
            rows = target_of[mine] - part.start
            own_scores[mine] = scores[rows, own[mine]]
            nearby = by_distance.targets.part(part), by_distance.released, by_distance.tables
            likelihood_kernels.link(scores, amounts, rows, own[mine], *nearby, found[mine])

        in_threads(attack, parts)
        hits = np.empty(persons.size)
        hits[order] = found
        return hits, int(np.count_nonzero(own_scores == -np.inf))

    def split(self, targets: Longs, n_released: int) -> tuple[Longs, list[slice]]:
        """An order of targets, and parts of it that are scored at once: in each the same columns are missing."""
        missing = [(part.step.codes[place] < 0)[targets] for part in self.parts for place in part.places]
        nothing = np.zeros(targets.size, dtype=np.int32)
        patterns = distinct_rows([nothing, *(one.astype(np.int32) for one in missing)])[1]
        by_pattern = np.argsort(patterns, kind="stable")
        ends = np.flatnonzero(np.diff(patterns[by_pattern], append=-1)) + 1
        paired = sum(part.step.n_released[place] for part in self.parts for place in part.directed if part.are_paired)
        size = max(8, NUMBERS_AT_ONCE // (n_released + 6 * paired))
        starts = np.concatenate([[0], ends[:-1]])
        return by_pattern, [one for a, b in zip(starts, ends, strict=True) for one in slices(int(a), int(b), size)]

    # ---------------------------------------------------------------------------------------- scores

    def scores(self, targets: Longs, released: Longs) -> Floats:
        """Logarithms of likelihoods: targets, which have the same columns missing, × released records."""
        scores = np.zeros((targets.size, released.size))
        for column in self.equal:
            likelihood_kernels.add_equal(scores, column.original[targets], column.masked[released])
        for part in self.parts:
            _add_part(scores, part, targets, released)
        for constraint in self.constraints:
            allowed = constraint.allowed_rows(constraint.persons[targets])
            for numbers in part_numbers(constraint):
                scores[~allowed[:, numbers[released]]] = -np.inf
        return scores


def _add_part(scores: Floats, part: KnownPart, targets: Longs, released: Longs) -> None:
    known, likelihood = part.step, part.step.likelihood
    pairs = part.pairs(int(targets[0]))
    of_pairs = {}
    for place in part.places:
        values = known.released[place][released]
        n_pairs = sum(place in pair[:2] for pair in pairs)
        if known.codes[place][targets[0]] < 0:
            likelihood_kernels.add_equal(scores, np.full(targets.size, known.n_released[place], np.int32), values)
            continue
        if not n_pairs:
            found = known.probabilities(place, targets, average=not part.knows_partner(place))
            likelihood_kernels.add_cells(scores, _logarithms(found), values, 1.0)
            continue
        of_pairs[place] = intervals = known.intervals(place, targets)
        if n_pairs > 1:
            alone = _logarithms(intervals.probabilities(laplace=likelihood.laplace))
            likelihood_kernels.add_cells(scores, alone, values, 1.0 - n_pairs)
    sizes = noise_sizes(likelihood.laplace)
    for a, b, correlation in pairs:
        of_a, of_b = of_pairs[a].arrays, of_pairs[b].arrays
        classes = _add_missing(of_pairs[a].classes), _add_missing(of_pairs[b].classes)
        cells = known.released[a][released], known.released[b][released]
        shape = (targets.size, of_a[0].shape[1], of_b[0].shape[1])
        if shape[1] * shape[2] <= released.size:
            tables = np.empty(shape)
            likelihood_kernels.pair_tables(of_a, of_b, correlation, sizes, tables)
            likelihood_kernels.add_from_tables(scores, tables, classes, cells)
        else:
            likelihood_kernels.add_pairs(scores, of_a, of_b, classes, cells, correlation, sizes)


def _logarithms(probabilities: Floats) -> Floats:
    """Logarithms, with a last column for a missing cell, which a value never becomes."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(probabilities)
    return np.concatenate([logarithms, np.full((logarithms.shape[0], 1), -np.inf)], axis=1)


def _add_missing(classes: Codes) -> Codes:
    return np.concatenate([classes, np.full((classes.shape[0], 1), -1, dtype=np.int32)], axis=1)


def first_rows(columns: Sequence[Codes]) -> tuple[Longs, Codes]:
    """One row of each distinct combination, and for each row the number of its combination."""
    number = distinct_rows(columns)[1]
    return np.unique(number, return_index=True)[1], number


def _n_missing(part: KnownPart) -> Longs:
    return np.asarray(sum((part.step.codes[place] < 0).astype(np.int64) for place in part.places))


@dataclass(frozen=True, slots=True)
class _DistanceColumns:
    """The known columns that decide between equally likely records by distance; there may be none."""

    targets: RecordArrays
    released: RecordArrays
    tables: DistanceTables

    @classmethod
    def of(cls, columns: Sequence[ComparedColumn], targets: Longs, released: Longs) -> _DistanceColumns:
        if not columns:
            none = np.empty(0, dtype=np.int64)
            of_targets, of_released = (
                RecordArrays(np.empty((rows.size, 0), dtype=np.int32), np.empty((rows.size, 0)))
                for rows in (targets, released)
            )
            return cls(of_targets, of_released, DistanceTables(np.empty(0), none, none))
        space = LinkageSpace.of(columns)
        persons = space.persons(np.stack([column.original[targets] for column in columns], axis=1))
        records = space.released_records(np.stack([column.masked[released] for column in columns], axis=1))
        return cls(persons, records, space.tables)
