"""Errors that several engines, or an engine and its callers, share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.errors import ClusterError, FileError, InputError, MemoryLimitError, OntologyError, PlanError, ReleaseError
from anonto.wording import clip, count_of, list_names, quote_names

if TYPE_CHECKING:
    from collections.abc import Sequence


def too_large_to_assess(number: int, what: str, needed: int, allowed: int) -> MemoryLimitError:
    """Tables on a cluster with more distinct data than the driver can hold."""
    return MemoryLimitError(
        f"Assessing {number:,} {what} needs about {needed / 1e9:.1f} GB on the driver's machine, which may "
        f"use {allowed / 1e9:.1f} GB; allow more memory, describe fewer columns or columns with fewer distinct "
        "values, or start Spark from a larger machine."
    )


def not_in_batches(name: str, memory: int) -> MemoryLimitError:
    """A table that does not fit into memory, in a format that is read or written as a whole."""
    return MemoryLimitError(
        f"{name!r} cannot be read or written in batches, and the table does not fit into {memory / 1e9:.1f} GB of "
        "memory; use CSV or Parquet, or allow more memory."
    )


def not_for_streams(method: str, known: Sequence[str]) -> PlanError:
    """A method that must see all records at once."""
    return PlanError(
        f"{method} must see all records before it masks one, so it cannot mask a stream; methods that can are "
        f"{list_names(known)}."
    )


def no_strata_in_streams(method: str, within: Sequence[str]) -> PlanError:
    """Strata in a plan for records that come later, which may be in a stratum that the reference does not have."""
    return PlanError(
        f"Records that come later may be in a stratum of {quote_names(within)} that the reference does not have, so "
        f"{method} cannot mask a stream within strata; leave within out, or fit a plan for each stratum.",
        settings=("within",),
    )


def not_a_fitted_plan(path: str, why: str) -> FileError:
    """A file that does not contain a fitted plan."""
    return FileError(f"{path!r} is not a fitted plan: {why}; give a file that FittedPlan.save wrote.")


def ontology_in_memory() -> OntologyError:
    """A fitted plan to save, with an ontology that has no file."""
    return OntologyError(
        "A fitted plan is saved with the paths or names of its ontologies, and one of them is in memory only; "
        "name its file in the plan."
    )


def foreign_columns(missing: Sequence[str], values: Sequence[str]) -> ReleaseError:
    """A release with other columns than the plan leaves: some are missing, others are too many.

    The names of the latter may be cells of a release without a header, and are on ``values``.
    """
    parts = []
    if missing:
        parts.append(f"lacks {list_names(map(clip, missing))}")
    if values:
        parts.append(f"has {count_of(len(values), 'further column')}")
    return ReleaseError(
        f"The masked table {' and '.join(parts)}; give the release of this original and the plan of that release.",
        values=values,
    )


def wrong_row_count(found: int, expected: int) -> ReleaseError:
    """A release with another number of rows than the plan leaves."""
    return ReleaseError(
        f"The masked table has {count_of(found, 'row')} where this original and plan leave {expected:,}; give the "
        "release of this original, and the plan it was masked with."
    )


def shuffled_rows(column: str) -> ReleaseError:
    """A column that was released as it is and differs row by row."""
    return ReleaseError(
        f"Column {clip(column)!r}, which no step masks, differs between the two tables row by row; a saved "
        "release has its rows in random order: give its private record, or in Python the table of the release."
    )


def only_for_clusters(name: str) -> ClusterError:
    """An argument for tables on a cluster, given for another table."""
    return ClusterError(f"{name} is for tables on a Spark cluster only; leave it out.")


def not_for_clusters(name: str) -> ClusterError:
    """An option of this machine, given for a cluster."""
    return ClusterError(f"{name} is for work on this machine; leave it out, or leave out --engine spark.")


def only_parquet(name: str) -> ClusterError:
    """Another format than Parquet, to be read or written on a cluster."""
    return ClusterError(
        f"On a cluster tables are read from and written to Parquet, and {name!r} does not end in .parquet; give a "
        "path that does, or leave out --engine spark."
    )


def no_private_place(output: str) -> ClusterError:
    """An output that is not on this machine, so no private record can be put beside it."""
    return ClusterError(
        f"The private record cannot be put beside {clip(output)!r}, which is not a folder of this machine; say with "
        "--private (private=…) where to write it."
    )


def weights_only_in_memory(what: str) -> InputError:
    """A plan with weights, for statistics from counts."""
    return InputError(
        f"The plan names weights, and {what} on a cluster counts each record once; give a table that fits into memory, "
        "or leave weight out of the plan (masking needs no weights)."
    )


def units_assessed_in_memory() -> InputError:
    """A plan with a person column or sets, for tables on a cluster that are compared or described."""
    return InputError(
        "The plan names a person column or sets; tables of these are masked on a cluster, but assessed and profiled in "
        "memory only: give them as files or as tables in memory."
    )


def elements_only_in_memory() -> InputError:
    """Steps on elements of sets, for a table that is not masked in memory."""
    return InputError(
        "The plan has a method that masks the elements of sets one by one, which works in memory only; allow more "
        "memory, give the table as one file, or choose another method for its sets."
    )


def recoded_assessed_in_memory(columns: Sequence[str]) -> ClusterError:
    """A release of a cluster whose plan recodes columns, and rows that do not fit into memory."""
    return ClusterError(
        f"A release with recoded columns ({quote_names(columns)}) is assessed where its rows fit into memory; allow "
        "more memory (--memory, memory=), or assess a sample of its persons."
    )


def not_with_recoding(what: str, columns: Sequence[str]) -> PlanError:
    """Work on a table as it is, with a plan that recodes it first."""
    return PlanError(
        f"{what} takes a table as it is, but the plan recodes {quote_names(columns)} first; recode the table once with "
        "a plan without steps, and leave recode out.",
        settings=("recode",),
    )


def unknown_shifts(columns: Sequence[str]) -> ReleaseError:
    """A release whose steps masked dates that were shifted before, without its seed."""
    return ReleaseError(
        f"The steps masked dates that were shifted before ({quote_names(columns)}), by numbers of days that only the "
        "seed tells; give the private record of the release (--private, private=)."
    )
