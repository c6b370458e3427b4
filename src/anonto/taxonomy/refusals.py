"""Errors about concepts, roots and measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.errors import ColumnError, OntologyError
from anonto.wording import clip, count_of, did_you_mean, list_names, quote_value

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def unknown_concepts(values: Sequence[object], taxonomy: str) -> OntologyError:
    """Ids that no concept of the taxonomy has."""
    verb = "names" if len(values) == 1 else "name"
    return OntologyError(
        f"{count_of(len(values), 'id')} {verb} no concept of taxonomy {taxonomy!r}; see the exception's .values, or "
        "match them first with anonto.match.",
        values=values,
    )


def absent_root(taxonomy: str, roots: Sequence[str], policies: Sequence[str] = ()) -> OntologyError:
    """A root that is not in the taxonomy."""
    wanted = " or ".join(filter(None, [", ".join(repr(policy) for policy in policies), "a concept id"]))
    return OntologyError(
        f"The given root is not a concept of taxonomy {taxonomy!r}; give {wanted} "
        f"(its own roots: {list_names([clip(root) for root in roots], 3)}).",
        settings=("root",),
    )


def values_outside_root(values: Sequence[str], root: str) -> OntologyError:
    """Values that are not below the declared root."""
    count = count_of(len(values), "distinct value is", "distinct values are")
    return OntologyError(
        f"{count} outside the declared root {root!r}; see the exception's .values, or choose a root above them.",
        values=values,
        settings=("root",),
    )


def not_a_column(found: str) -> ColumnError:
    """Something that is not a column of values."""
    return ColumnError(f"A {found} is not a column; give a list, a numpy array, or a pandas, polars or pyarrow column.")


def unknown_measure(name: object, known: Collection[str]) -> OntologyError:
    """A measure that does not exist."""
    return OntologyError(
        f"There is no measure {quote_value(name)}{did_you_mean(name, known)}; known are {list_names(known)}."
    )
