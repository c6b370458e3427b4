"""How much likelier a release is with a person than without her, where noise was drawn for each record.

If the other records of a release of n are independent draws from p, the ratio of its likelihoods with and without a
person x is the mean over released records y of f(y | x) / p(y), where f is the law of the method. p is the mean of f
over persons who were not masked, and one more from whom y is as likely as from anybody: so a record that none of them
could have become is rare, but not impossible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute.likelihood import fit_likelihood
from anonto.attacks.compute.plausible_records import codes_held_out
from anonto.attacks.known import AS_ONE
from anonto.encoding.comparison import Amounts
from anonto.encoding.records import distinct_rows
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.attacks.comparison import Comparison
    from anonto.attacks.compute.likelihood import StepLikelihood
    from anonto.attacks.compute.plausible_records import SearchedPersons
    from anonto.encoding.comparison import ComparedColumn

PERSONS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """The law of one column: a probability for each kind of person and each kind of released cell."""

    table: Floats
    of_person: Codes
    """The kind of each person, those of the original first."""
    released: Codes

    def probabilities(self, persons: Longs, records: Longs) -> Floats:
        """Persons × records, by a row of the release for each record."""
        return np.asarray(self.table[self.of_person[persons]][:, self.released[records]])


def likelihood_ratios(
    compared: Comparison, known: Sequence[ComparedColumn], searched: SearchedPersons, reference: Longs
) -> Floats | None:
    """The ratio of each person; None where no known column is under noise.

    Args:
        compared: The original and its release.
        known: The known columns, in values that the persons held out share.
        searched: The persons.
        reference: Further persons who were not masked, by their places among those held out.
    """
    names = [column.name for column in known]
    laws = [
        law
        for step in compared.likelihoods
        if not step.has_levels_of_rows and set(step.names) & set(names)
        for law in _laws_of_step(compared, step, names)
    ]
    if not laws:
        return None
    laws += [_equality(column) for column in known if column.name == AS_ONE or column.name not in compared.masked]
    kinds, record_of = distinct_rows([law.released for law in laws])
    amounts = np.bincount(record_of, minlength=kinds.shape[0])
    records = np.zeros(kinds.shape[0], dtype=np.int64)
    records[record_of] = np.arange(record_of.size)
    n_rows = known[0].original.size
    persons = np.concatenate([searched.members, n_rows + searched.strangers])
    of_others, most = np.zeros(records.size), np.zeros(records.size)
    for group in (n_rows + reference, persons):
        for part in slices(0, group.size, PERSONS_AT_ONCE):
            found = _joint(laws, group[part], records)
            most = np.maximum(most, found.max(axis=0))
            if group is not persons:
                of_others += found.sum(axis=0)
    before = (of_others + most) / (reference.size + 1)
    shares = np.divide(amounts / record_of.size, before, out=np.zeros(records.size), where=before > 0)
    ratios = np.empty(persons.size)
    for part in slices(0, persons.size, PERSONS_AT_ONCE):
        ratios[part] = _joint(laws, persons[part], records) @ shares
    return ratios


def _joint(laws: Sequence[_Law], persons: Longs, records: Longs) -> Floats:
    """The product over the columns."""
    return np.asarray(np.prod([law.probabilities(persons, records) for law in laws], axis=0))


def _equality(column: ComparedColumn) -> _Law:
    """A column that no step masks: released as it is."""
    values, number = np.unique(
        np.concatenate([column.original, codes_held_out(column), column.masked]), return_inverse=True
    )
    n_released = column.masked.size
    kinds, released = np.unique(number[-n_released:], return_inverse=True)
    table = np.equal.outer(np.arange(values.size), kinds).astype(np.float64)
    return _Law(table, number[:-n_released].astype(np.int32), released.astype(np.int32))


def _laws_of_step(compared: Comparison, step: StepLikelihood, names: Sequence[str]) -> list[_Law]:
    """The laws of the known columns of a step, fitted to the original, also for values that only others have."""
    held_out = compared.held_out
    if held_out is None:
        return []
    columns = [held_out.columns[name] for name in step.names]
    n_rows, n_others = columns[0].original.size, codes_held_out(columns[0]).size
    counts = np.concatenate([columns[0].amounts.original, np.zeros(n_others, dtype=np.int64)])
    amounts = Amounts(counts, columns[0].amounts.masked, n_rows)
    wide = [
        replace(one, original=np.concatenate([one.original, codes_held_out(one)]), amounts=amounts) for one in columns
    ]
    fitted = fit_likelihood(step.method, wide, compared.open_once)
    if fitted is None:
        return []
    return [_law(fitted, place, names) for place, name in enumerate(step.names) if name in names]


def _law(step: StepLikelihood, place: int, names: Sequence[str]) -> _Law:
    """The law of one column; a cell without a value stays without one."""
    codes = step.codes[place]
    partner = step.likelihood.partners[place]
    knows_partner = partner is None or step.names[partner] in names
    references = step.references(place, np.arange(codes.size)) if knows_partner else np.zeros_like(codes)
    kinds, of_person = distinct_rows([codes, references])
    first = np.zeros(kinds.shape[0], dtype=np.int64)
    first[of_person] = np.arange(of_person.size)
    table = np.zeros((kinds.shape[0], step.n_released[place] + 1))
    has_value = kinds[:, 0] >= 0
    table[~has_value, -1] = 1.0
    if has_value.any():
        table[has_value, :-1] = step.probabilities(place, first[has_value], average=not knows_partner)
    return _Law(table, of_person, step.released[place])
