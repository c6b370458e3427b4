"""Sentences about plans that contradict themselves, and about columns that a plan releases unmasked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.errors import AnontoWarning, FileError, PlanError, ReleasedAsIsWarning
from anonto.methods.registry import METHODS
from anonto.wording import clip, count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Sequence


def not_a_plan(name: str, fault: str) -> FileError:
    """A plan file of a size or depth that no plan has."""
    return FileError(f"{name!r} is not a plan: {fault}; write one with `anonto init`.")


def masked_twice(column: str, first: int, second: int) -> PlanError:
    """A column in two steps."""
    return PlanError(f"Column {column!r} is masked by step {first} and again by step {second}; mask each column once.")


def masked_identifier(number: int, column: str) -> PlanError:
    """An identifier in a step."""
    return PlanError(f"Step {number} masks the identifier {column!r}; identifiers are dropped anyway.")


def masked_and_needed(number: int, column: str, masked_by: int) -> PlanError:
    """A column that one step needs as it is released, and another masks."""
    return PlanError(
        f"Step {number} looks at column {column!r} as it is released, but step {masked_by} masks it; name a column "
        "that no step masks."
    )


def method_without_sets(number: int, method: str, column: str) -> PlanError:
    """A set in a step whose method cannot mask it."""
    able = [name for name, one in METHODS.items() if one.takes_sets or one.masks_elements]
    return PlanError(
        f"Step {number} masks column {column!r}, whose cells are sets, with {method}; use one of {list_names(able)}."
    )


def elements_with_others(number: int, method: str, column: str) -> PlanError:
    """A set beside other columns in a step that masks its elements one by one."""
    return PlanError(
        f"Step {number} masks the elements of the set {column!r} one by one with {method}, and other columns too; give "
        "the set a step of its own."
    )


def parameters_without_sets(number: int, method: str, parameters: str, column: str) -> PlanError:
    """A set in a step whose method masks sets, but not with these parameters."""
    return PlanError(
        f"Step {number} masks column {column!r}, whose cells are sets, with {method} and {parameters}, which is for "
        "columns of single values only; leave that out, or the column."
    )


def joined_and_described(source: str, column: str) -> PlanError:
    """A column that is part of a set and something else too."""
    return PlanError(
        f"Column {source!r} is part of the set {column!r}; it can be in no step, no other set and have no description "
        "of its own."
    )


def masked_person(column: str) -> PlanError:
    """A person column that is masked or part of a set."""
    return PlanError(
        f"Column {column!r} says whose rows these are (person); it is dropped, or released as a pseudonym, so no step "
        "and no set may name it."
    )


def masked_weight(column: str) -> PlanError:
    """A weight that is something else too."""
    return PlanError(
        f"Column {column!r} says how many people a record stands for (weight); it is dropped, or released as it is if "
        "it has a role, so no step may mask it, and it cannot be a set, a part of one, or the person column."
    )


def used_order(column: str) -> PlanError:
    """An order that is something else too."""
    return PlanError(
        f"Column {column!r} says in which order the rows of a person are (order); the place of each row is released "
        "instead, so no step and no set may name it, and it needs no description."
    )


def order_of_nothing(column: str) -> PlanError:
    """An order where no set is released."""
    return PlanError(
        f"Column {column!r} says in which order the rows of a person are (order), but no set is released; give the "
        'columns that vary kind = "set", or leave order out.'
    )


def method_without_order(number: int, method: str, column: str) -> PlanError:
    """A set of a person whose rows have an order, in a step that makes new sets."""
    able = [name for name, one in METHODS.items() if one.takes_sets and one.is_swap]
    return PlanError(
        f"The rows of a person have an order ({column!r}), and step {number} makes new sets with {method}, which have "
        f"none; use one of {list_names(able)}, or leave order out."
    )


def released_weight(column: str) -> ReleasedAsIsWarning:
    """A weight that leaves."""
    return ReleasedAsIsWarning(
        f"The weights in {column!r} are released as they are: rare weights single out records, and weights show how a "
        "sample was drawn; look at the attacks that know this column, or leave out its role, which drops it."
    )


def pseudonym_of_nobody(column: str) -> PlanError:
    """Pseudonyms of a column that is part of a set, or with a key file for the person column."""
    return PlanError(
        f"Column {column!r} cannot have these pseudonyms: the elements of a set have none, and the numbers of the "
        "person column are random in every release; leave the role, or key_file, out."
    )


def needed_identifier(number: int, column: str) -> PlanError:
    """An identifier that a step looks at."""
    return PlanError(f"Step {number} looks at the identifier {column!r}, which is dropped; name another column.")


def strata_of_sets(number: int, column: str) -> PlanError:
    """Strata given by a column of sets."""
    return PlanError(f"Step {number} is within {column!r}, a column of sets; name columns with one value in each row.")


def repeated_column(number: int) -> PlanError:
    """A column twice in one step."""
    return PlanError(f"Step {number} names a column twice; name each once.")


def released_as_is(unnamed: Sequence[str], unmasked: Sequence[str]) -> ReleasedAsIsWarning:
    """Columns that are released unmasked, perhaps by mistake."""
    parts = []
    if unnamed:
        parts.append(f"released as they are because the plan does not name them: {list_names(map(clip, unnamed))}")
    if unmasked:
        parts.append(f"quasi-identifiers that no step masks: {list_names(map(clip, unmasked))}")
    sentence = "; ".join(parts)
    return ReleasedAsIsWarning(sentence[0].upper() + sentence[1:] + ".")


def nothing_masked(n_columns: int) -> ReleasedAsIsWarning:
    """A plan without a step."""
    return ReleasedAsIsWarning(
        f"The plan has no step: {count_of(n_columns, 'column is', 'columns are')} released as in the table, and "
        "nothing is masked; add steps to the plan."
    )


def unreviewed_columns(columns: Sequence[str]) -> AnontoWarning:
    """Released columns whose description nobody has confirmed."""
    return AnontoWarning(
        f"Nobody has confirmed the plan's description of {count_of(len(columns), 'released column')}, so no guarantee "
        f"is proved: {list_names(map(clip, columns))}; check each, and remove review = true from its description."
    )


def shift_of_nobody(column: str) -> PlanError:
    """Dates that are shifted by person, and no column that says whose they are."""
    return PlanError(
        f"Column {column!r} is shifted by person, but the plan does not say whose dates these are; name the column of "
        "the persons, with person in recode or in the table section.",
        settings=("recode",),
    )


def released_texts(columns: Sequence[str]) -> ReleasedAsIsWarning:
    """Free texts that the plan keeps."""
    return ReleasedAsIsWarning(
        f"Free texts are released as they are: {list_names([clip(name) for name in columns])}; a text may name a "
        "person, and no method masks it, so read them all, or leave keep out."
    )
