"""Errors and warnings that several methods share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.errors import AnontoWarning, ColumnError, PlanError, TooFewRecordsError
from anonto.wording import count_of, quote_names

if TYPE_CHECKING:
    from collections.abc import Sequence


def too_few_for_groups(found: int, k: int, columns: Sequence[str] = ()) -> TooFewRecordsError:
    """Fewer records than one group must have."""
    where = f" of {quote_names(columns)}" if columns else ""
    smaller = f"choose a k of {found:,} or less, or " if found > 1 else ""
    return TooFewRecordsError(
        f"{count_of(found, 'record')}{where} cannot form a group of k = {k:,}; {smaller}mask more records at once."
    )


def too_few_for_risk(found: int, k: int, average_risk: float) -> TooFewRecordsError:
    """Fewer records than a group must have, or than an average risk needs even if all are one group."""
    return TooFewRecordsError(
        f"{count_of(found, 'record')} cannot form a group with k = {k:,} and average_risk = {average_risk:g}: in one "
        f"group of all the chance is 1/{found:,}; choose a smaller k, a larger average_risk, or mask more "
        "records at once.",
        settings=("k", "average_risk"),
    )


def small_strata(
    n_small: int, n_strata: int, n_records: int, least: int, purpose: str = "swap among themselves"
) -> TooFewRecordsError:
    """Too few records that lack the same cells to be masked among themselves."""
    return TooFewRecordsError(
        f"{n_small:,} of the {n_strata:,} patterns of missing cells {'has' if n_small == 1 else 'have'} fewer than "
        f"{least:,} records to {purpose} ({n_records:,} in all); set missing = 'drop' for a column "
        "that is often missing, or leave it out of the step.",
        settings=("missing", "columns"),
    )


def not_diverse(column: str, n_records: int) -> TooFewRecordsError:
    """Records whose confidential values are not diverse enough even together."""
    return TooFewRecordsError(
        f"The values of {count_of(n_records, 'record')} in {column!r} are not diverse enough even as one group; choose "
        "a smaller l, or set missing = 'drop' for a column that is often missing.",
        settings=("missing", "l"),
    )


def not_close(column: str, n_records: int, distance: float | None, t: float) -> TooFewRecordsError:
    """Records that lack the same cells and are too different from all others; None for not diverse enough."""
    if distance is None:
        return not_diverse(column, n_records)
    return TooFewRecordsError(
        f"{count_of(n_records, 'record')} with one pattern of missing cells cannot be brought within t = {t:g} of "
        f"the whole table in {column!r}: even as one group they are at {distance:.3f}; choose a larger t, or set "
        "missing = 'drop' for a column that is often missing.",
        settings=("missing", "t"),
        closeness=(column, distance, t),
    )


def not_close_in_blocks(column: str, n_records: int, distance: float, t: float) -> TooFewRecordsError:
    """A block of records that is too different from the whole table, though groups of the whole might not be."""
    return TooFewRecordsError(
        f"The table is masked in blocks, and groups of one block of {count_of(n_records, 'record')} cannot be "
        f"brought within t = {t:g} of the whole table in {column!r}: they are at {distance:.3f}; choose a larger "
        "t, larger blocks (block_rows) or more memory.",
        settings=("t", "block_rows"),
    )


ONE_BIN = "all of them form one bin"
"""Part of the warning `one_bin`, to filter it."""


def one_bin(k: int, n_records: int) -> AnontoWarning:
    """A k that leaves all records in one bin."""
    return AnontoWarning(f"k = {k:,} is not below the {count_of(n_records, 'record')}; {ONE_BIN}.")


def small_bins(n_small: int, n_strata: int, n_records: int, k: int) -> AnontoWarning:
    """Records that lack the same cells and are too few to fill a bin."""
    return AnontoWarning(
        f"{n_small:,} of the {n_strata:,} patterns of missing cells {'has' if n_small == 1 else 'have'} fewer than "
        f"k = {k:,} records ({n_records:,} in all), which only exchange among themselves, in bins smaller than k; "
        "set missing = 'drop' for a column that is often missing, or leave it out of the step."
    )


def no_variance(column: str, *, is_large: bool) -> ColumnError:
    """A column of different numbers whose variance underflows or overflows."""
    apart, how = ("far apart", "down") if is_large else ("close together", "up")
    return ColumnError(
        f"The numbers of column {column!r} are too {apart} for their variance to be computed; scale them {how}."
    )


def needs_one_ontology(column: str, method: str, found: str) -> PlanError:
    """A column whose values a method cannot place in one taxonomy."""
    return PlanError(
        f"{method} needs column {column!r} to be nominal with one ontology, but it {found}; give it one in the "
        "plan, or choose another method for it.",
        settings=("kind", "ontology"),
    )
