"""Likelihood linkage: the intruder knows how noise was drawn, and takes the likeliest released record for a person's.

She scores a released record by the probability that the method makes it of the person's original values, column by
column and, where the noise of columns goes together, of both at once; ties count one over their number. From a single
released cell she also tells how sure its original value is: max P(x = v | y), with the frequencies of the original
table for what she believed before.

- A known column that no step masks must be equal. One that another kind of method masks has no such law: it decides
  between equally likely records, by distance. Where that method is a swap whose reach is known, records out of its
  reach are impossible.
- The law of a pair is exact. Of more than two columns whose noise goes together it is followed along the tree of the
  strongest correlations: P(y₁ y₂ y₃) ≈ P(y₁ y₂) P(y₂ y₃) / P(y₂).
- Where the value that directs the noise is not known, the law is averaged over those that go with the known one.

References: Lambert, Journal of Official Statistics 9 (1993); Fuller, Journal of Official Statistics 9 (1993).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.methods import law_kernels
from anonto.methods.laws import ConceptNoise, NumberNoise, StepLaw
from anonto.risk import likelihood_kernels
from anonto.risk.attacks.likelihood_linkage import LikelihoodLinkage
from anonto.risk.posterior import posterior_of
from anonto.risk.rate import Risk, wilson_interval
from anonto.risk.reaches import numbers_in, reaches_of
from anonto.risk.space import Space
from anonto.table.records import counted, distinct_rows
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from anonto.risk.known_law import KnownLaw
    from anonto.risk.relations import Relation
    from anonto.risk.seen_step import SeenStep
    from anonto.table.comparison import ComparedColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

NUMBERS_AT_ONCE = 1 << 21
MOST_TIME = 2e10
"""Nanoseconds of one processor that may be spent, about; else fewer persons are attacked."""
FEWEST_PERSONS = 100
TIME_OF_A_CELL, TIME_OF_A_NUMBER, TIME_OF_A_PAIR = 10.0, 60.0, 400.0
CORRELATED = 1e-12


def likelihood_linkage(
    known: Sequence[ComparedColumn],
    laws: Sequence[KnownLaw],
    masked: Collection[str],
    rng: np.random.Generator,
    rows: Longs | None = None,
    swaps: Sequence[SeenStep] = (),
) -> Risk | None:
    """Link persons to the likeliest released records; None where no known column is under noise.

    Args:
        known: What the intruder knows of a person.
        laws: Of all steps of the plan that have one.
        masked: The columns that some step masks.
        rng: For the choice of persons where the law takes long to compute.
        rows: The persons that are attacked; None for all.
        swaps: All steps of the plan that swap, if their reach is known.
    """
    names = [column.name for column in known]
    involved = [_Part(law, tuple(law.names.index(name) for name in names if name in law.names)) for law in laws]
    involved = [part for part in involved if part.places]
    if not involved:
        return None
    of_law = {name for part in involved for name in part.law.names}
    n_rows = known[0].n_rows
    persons = np.arange(known[0].n_persons) if rows is None else rows
    attack = _Attack(
        involved,
        [column for column in known if column.name not in masked],
        [column for column in known if column.name in masked and column.name not in of_law],
        known,
        reaches_of(names, [step for step in swaps if not of_law & set(step.names)], persons),
    )
    hits, impossible = attack.hits(attack.affordable(persons, rng))
    low, high = wilson_interval(float(hits.sum()), hits.size)
    return Risk(
        attack=LikelihoodLinkage.name,
        knowledge=attack.knowledge(),
        columns=tuple(names),
        rate=float(hits.mean()) if hits.size else 0.0,
        low=low,
        high=high,
        baseline=1.0 / n_rows if n_rows else 0.0,
        n=int(hits.size),
        details={"impossible": impossible, **_posteriors(involved, rows)},
    )


def _posteriors(involved: Sequence[_Part], rows: Longs | None) -> dict[str, Any]:
    """What single released cells tell of their original values, by column."""
    out: dict[str, dict[str, float]] = {}
    for part in involved:
        for place in part.places:
            for key, value in posterior_of(part.law, place, rows).items():
                out.setdefault(key, {})[part.law.names[place]] = value
    return out


@dataclass(frozen=True, slots=True)
class _Part:
    """A step whose law is known, and which of its columns the intruder knows of a person."""

    law: KnownLaw
    places: tuple[int, ...]

    def knows_partner(self, place: int) -> bool:
        """Whether the value that directs the noise of a column is known, or there is none."""
        partner = self.law.law.partners[place]
        return partner is None or partner in self.places

    @property
    def directed(self) -> tuple[int, ...]:
        """The columns whose noise is directed by nothing that is unknown."""
        return tuple(place for place in self.places if self.knows_partner(place))

    @property
    def are_paired(self) -> bool:
        """Whether the noise of columns may go together."""
        return self.law.law.mixing is not None and len(self.directed) > 1

    def pairs(self, row: int) -> list[tuple[int, int, float]]:
        """Two columns each, and the correlation of their noise: a tree of the strongest correlations.

        Args:
            row: One that has the pattern of missing cells in question.
        """
        law, codes = self.law.law, self.law.codes
        present = [place for place in self.directed if codes[place][row] >= 0]
        if not self.are_paired or len(present) < 2:
            return []
        partners = [present_at if present_at is not None else -1 for present_at in law.partners]
        directed = np.array([partner < 0 or codes[partner][row] >= 0 for partner in partners])
        return _tree(present, law, law.correlations(directed))


def _tree(places: Sequence[int], law: StepLaw, together: Floats) -> list[tuple[int, int, float]]:
    """Join columns to those that are joined already, the most correlated first."""
    joined, free, out = [places[0]], list(places[1:]), []
    while free:
        a, b = max(((a, b) for a in joined for b in free), key=lambda pair: abs(float(together[pair])))
        if law.are_sizes_shared or abs(together[a, b]) > CORRELATED:
            out.append((a, b, float(together[a, b])))
        joined.append(b)
        free.remove(b)
    return out


@dataclass(frozen=True, slots=True)
class _Attack:
    parts: list[_Part]
    equal: list[ComparedColumn]
    """Known columns that no step masks."""
    others: list[ComparedColumn]
    """Known columns that are masked in another way."""
    known: Sequence[ComparedColumn]
    reaches: Sequence[Relation] = ()
    """Of swaps of such columns."""

    def knowledge(self) -> str:
        """What the intruder knows and does."""
        fitted = any(part.law.law.levels is not None for part in self.parts)
        said = [
            "the original values of one person in these columns, the method, its parameters"
            + (" and what it measured on the original table" if fitted else "")
        ]
        if self.equal:
            said.append("a column that is not masked must be equal")
        if self.others:
            said.append("a column that is masked in another way decides between equally likely records, by distance")
        if self.reaches:
            said.append("a record out of reach of a swap is excluded")
        n_linked = [len(part.directed) if part.law.law.mixing is not None else 0 for part in self.parts]
        if any(part.directed != part.places for part in self.parts):
            said.append("noise that is directed by an unknown value is averaged over those that go with the known one")
        if max(n_linked, default=0) > 2:
            said.append("noise of more than two columns is followed along its strongest correlations")
        said.append("posteriors are of single cells, before which the frequencies of the original table are believed")
        return "; ".join(said)

    # ---------------------------------------------------------------------------------------- persons

    def _keys(self) -> list[Codes]:
        return [
            *(column.original for column in self.known),
            *(part.law.level_of_row for part in self.parts if part.law.has_levels_of_rows),
            *(relation.persons for relation in self.reaches),
        ]

    def _released_keys(self) -> list[Codes]:
        of_reaches = [numbers for relation in self.reaches for numbers in relation.released]
        return [*(column.masked for column in self.known), *of_reaches]

    def affordable(self, persons: Longs, rng: np.random.Generator) -> Longs:
        """The persons, or as many as can be attacked in the time."""
        if not persons.size:
            return persons
        n_targets = distinct_rows([codes[persons] for codes in self._keys()])[0].shape[0]
        n_released = distinct_rows(self._released_keys())[0].shape[0]
        time = n_released * TIME_OF_A_CELL * len(self.known)
        for part in self.parts:
            law = part.law.law
            of_numbers = [place for place in part.places if isinstance(law.columns[place], NumberNoise)]
            time += TIME_OF_A_NUMBER * sum(part.law.n_released[place] for place in of_numbers)
            n_sizes = law_kernels.noise_sizes(law.laplace)[0].size
            for a, b, _ in part.pairs(int(np.argmin(_n_missing(part)))):
                n_pairs = min(n_released, _n_classes(part.law, a) * _n_classes(part.law, b))
                time += n_pairs * TIME_OF_A_PAIR * n_sizes
        most = max(FEWEST_PERSONS, int(MOST_TIME / time))
        return persons if n_targets <= most else np.sort(rng.choice(persons, most, replace=False))

    def hits(self, persons: Longs) -> tuple[Floats, int]:
        """For each person the probability that the record taken for hers is hers; and whose record cannot be hers."""
        if not persons.size:
            return np.empty(0), 0
        targets, of_person = _firsts([codes[persons] for codes in self._keys()])
        targets = persons[targets]
        released, record_of = _firsts(self._released_keys())
        amounts = counted(record_of, released.size, self.known[0].amounts.masked)
        patterns = distinct_rows(
            [(part.law.codes[place] < 0)[targets].astype(np.int32) for part in self.parts for place in part.places]
        )[1]
        by_pattern = np.argsort(patterns, kind="stable")
        place_of = np.empty(targets.size, dtype=np.int64)
        place_of[by_pattern] = np.arange(targets.size)
        targets, patterns = targets[by_pattern], patterns[by_pattern]
        order = np.argsort(place_of[of_person], kind="stable")
        target_of, own = place_of[of_person][order], record_of[persons][order].astype(np.int32)
        found, own_scores = np.empty(persons.size), np.empty(persons.size)
        far = _Others.of(self.others, targets, released)

        def attack(part: slice) -> None:
            scores = self._scores(targets[part], released)
            mine = slice(*np.searchsorted(target_of, [part.start, part.stop]))
            rows = target_of[mine] - part.start
            own_scores[mine] = scores[rows, own[mine]]
            far.link(part, (scores, amounts, rows, own[mine]), found[mine])

        ends = np.flatnonzero(np.diff(patterns, append=-1)) + 1
        paired = sum(part.law.n_released[place] for part in self.parts for place in part.directed if part.are_paired)
        size = max(8, NUMBERS_AT_ONCE // (released.size + 6 * paired))
        starts = np.concatenate([[0], ends[:-1]])
        in_threads(attack, [one for a, b in zip(starts, ends, strict=True) for one in slices(int(a), int(b), size)])
        hits = np.empty(persons.size)
        hits[order] = found
        return hits, int(np.count_nonzero(own_scores == -np.inf))

    # ---------------------------------------------------------------------------------------- scores

    def _scores(self, targets: Longs, released: Longs) -> Floats:
        """Logarithms of likelihoods: targets, which have the same columns missing, × released records."""
        scores = np.zeros((targets.size, released.size))
        for column in self.equal:
            likelihood_kernels.add_equal(scores, column.original[targets], column.masked[released])
        for part in self.parts:
            _add_part(scores, part, targets, released)
        for relation in self.reaches:
            allowed = relation.allowed(relation.persons[targets])
            for numbers in numbers_in(relation):
                scores[~allowed[:, numbers[released]]] = -np.inf
        return scores


def _add_part(scores: Floats, part: _Part, targets: Longs, released: Longs) -> None:
    known, law = part.law, part.law.law
    pairs = part.pairs(int(targets[0]))
    of_pairs = {}
    for place in part.places:
        cells = known.released[place][released]
        n_pairs = sum(place in pair[:2] for pair in pairs)
        if known.codes[place][targets[0]] < 0:
            likelihood_kernels.add_equal(scores, np.full(targets.size, known.n_released[place], np.int32), cells)
            continue
        if not n_pairs:
            found = known.probabilities(place, targets, average=not part.knows_partner(place))
            likelihood_kernels.add_cells(scores, _logarithms(found), cells, 1.0)
            continue
        of_pairs[place] = stretched = known.stretched(place, targets)
        if n_pairs > 1:
            alone = _logarithms(stretched.probabilities(laplace=law.laplace))
            likelihood_kernels.add_cells(scores, alone, cells, 1.0 - n_pairs)
    roots, shares = law_kernels.noise_sizes(law.laplace)
    for a, b, correlation in pairs:
        of_a, of_b = of_pairs[a].stretches, of_pairs[b].stretches
        class_a, class_b = (_with_missing(of_pairs[place].classes) for place in (a, b))
        cells_a, cells_b = (known.released[place][released] for place in (a, b))
        shape = (targets.size, of_a[0].shape[1], of_b[0].shape[1])
        if shape[1] * shape[2] <= released.size:
            tables = np.empty(shape)
            likelihood_kernels.pair_tables(of_a, of_b, correlation, roots, shares, tables)
            likelihood_kernels.add_from_tables(scores, tables, class_a, class_b, cells_a, cells_b)
        else:
            likelihood_kernels.add_pairs(
                scores, of_a, of_b, class_a, class_b, cells_a, cells_b, correlation, roots, shares
            )


def _logarithms(probabilities: Floats) -> Floats:
    """With a column behind for a cell that is missing, which a value never becomes."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(probabilities)
    return np.concatenate([logarithms, np.full((logarithms.shape[0], 1), -np.inf)], axis=1)


def _with_missing(classes: Codes) -> Codes:
    return np.concatenate([classes, np.full((classes.shape[0], 1), -1, dtype=np.int32)], axis=1)


def _firsts(columns: Sequence[Codes]) -> tuple[Longs, Codes]:
    """A row of each distinct combination, and for each row which combination it has."""
    number = distinct_rows(columns)[1]
    return np.unique(number, return_index=True)[1], number


def _n_missing(part: _Part) -> Longs:
    return np.asarray(sum((part.law.codes[place] < 0).astype(np.int64) for place in part.places))


def _n_classes(law: KnownLaw, place: int) -> int:
    """Of a column under noise, about: a third of the classes of concepts lies on neither side."""
    of_column = law.law.columns[place]
    if isinstance(of_column, ConceptNoise):
        return min(2 * int(np.diff(of_column.replacements.levels.offsets).max()), law.n_released[place])
    return law.n_released[place]


@dataclass(frozen=True, slots=True)
class _Others:
    """Known columns that decide by distance, as the kernels take them."""

    targets: Codes
    target_numbers: Floats
    rest: tuple[Codes, Floats, Floats, Longs, Longs]

    @classmethod
    def of(cls, columns: Sequence[ComparedColumn], targets: Longs, released: Longs) -> _Others:
        if not columns:
            nothing, none = np.empty((0, 0), dtype=np.int32), np.empty(0, dtype=np.int64)
            empty = np.empty((targets.size, 0))
            return cls(empty.astype(np.int32), empty, (nothing, np.empty((0, 0)), np.empty(0), none, none))
        space = Space.of(columns)
        codes = np.stack([column.original[targets] for column in columns], axis=1)
        of_released = np.stack([column.masked[released] for column in columns], axis=1)
        numbers = space.numbers_of(codes), space.numbers_of(of_released)
        rest = of_released, numbers[1], space.tables, space.offsets, space.widths
        return cls(space.rows_of(codes), numbers[0], rest)

    def link(self, part: slice, scored: tuple[Floats, Longs, Longs, Codes], hits: Floats) -> None:
        """Link the persons of a block of targets."""
        scores, amounts, persons, own = scored
        released, numbers, tables, offsets, widths = self.rest
        likelihood_kernels.link(
            scores,
            amounts,
            persons,
            own,
            self.targets[part],
            self.target_numbers[part],
            released,
            numbers,
            tables,
            offsets,
            widths,
            hits,
        )
