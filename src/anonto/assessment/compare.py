"""Compares a release with its original, wherever their rows are."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anonto.assessment.in_memory import compare_in_memory, open_encoded, read_parquet_files, unchecked_rows
from anonto.encoding.frame_adapter import is_spark_frame
from anonto.engine.refusals import not_for_clusters, only_for_clusters, recoded_assessed_in_memory
from anonto.masking.plan import plan_of
from anonto.masking.private_record import PrivateRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from anonto.attacks.comparison import Comparison
    from anonto.masking.plan import Plan


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GivenRelease:
    """A release to assess: its table, its plan and, if it is known, its private record."""

    table: Any
    plan: Plan
    record: PrivateRecord | None = None

    @classmethod
    def of(
        cls,
        table: Any,
        plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
        private: str | os.PathLike[str] | None,
    ) -> GivenRelease:
        """The plan gets the blocks that the private record names."""
        if private is None:
            return cls(table, plan_of(plan))
        record = PrivateRecord.read(private)
        return cls(table, record.in_blocks(plan_of(plan)), record)


def compare(
    original: Any,
    release: GivenRelease,
    second: GivenRelease | None,
    *,
    memory: int | None,
    same_order: bool,
    rng: np.random.Generator,
) -> tuple[Comparison, Any]:
    """Compare a release with its original; also returns the original, brought to this machine if its rows fit.

    Args:
        original: The table that was masked.
        release: Its release.
        second: Another release of it, if there is one.
        memory: For Spark DataFrames: bytes that may be used on this machine; by default half of it.
        same_order: Whether the caller says that the rows are in the order of the original.
        rng: Draws persons where rows are only counted.
    """
    masked, plan = release.table, release.plan
    on_cluster = is_spark_frame(original) and is_spark_frame(masked)
    if memory is not None and not on_cluster:
        raise only_for_clusters("memory")
    if is_spark_frame(masked) and release.record is None and not same_order:
        _require_a_witness(plan)
    unnamed: tuple[str, ...] = ()
    if on_cluster:  # elsewhere all columns are read anyway
        released = set(masked.columns).difference(plan.named)
        unnamed = tuple(name for name in original.columns if name in released)
    brought: tuple[str, ...] = ()
    if is_too_large(original, masked, plan, memory):
        if second is not None:
            raise not_for_clusters("second")
        if plan.recoded:
            raise recoded_assessed_in_memory(plan.recoded)
        from anonto.assessment.on_cluster import compare_on_cluster

        found = compare_on_cluster(
            original,
            masked,
            plan,
            release.record,
            memory=memory,
            rng=rng,
            same_order=same_order,
            stored=is_stored(masked),
        )
    else:
        if not is_too_large(original, masked, plan, memory, unnamed):
            brought, unnamed = unnamed, ()
        original = read_parquet_files(_bring_here(original, plan, memory, brought), plan)
        before = open_encoded(original, plan)
        found, *others = (
            compare_in_memory(
                before,
                _bring_here(one.table, one.plan, memory, brought),
                one.plan,
                one.record,
                same_order=same_order,
                stored=is_stored(one.table),
                names=list(masked.columns) if one is release and is_spark_frame(masked) else None,
            )
            for one in (release, second)
            if one is not None
        )
        if others:
            found = replace(found, second=others[0])
            found.facts["kept_order"] |= others[0].facts["kept_order"]
    for name in ("released_as_is", "not_attacked"):
        found.facts[name] += unnamed
    return found, original


def is_too_large(original: Any, masked: Any, plan: Plan, memory: int | None, also: Sequence[str] = ()) -> bool:
    """Return whether two tables are on a cluster and do not fit into the memory of this machine."""
    if not (is_spark_frame(original) and is_spark_frame(masked)):
        return False
    from anonto.assessment.on_cluster import fit_here

    return not fit_here([original, masked], plan, memory, also)


def _bring_here(table: Any, plan: Plan, memory: int | None, also: Sequence[str]) -> Any:
    """The columns of a Spark DataFrame that an assessment uses; other tables as they are."""
    if not is_spark_frame(table):
        return table
    from anonto.assessment.on_cluster import collect_to_compare

    return collect_to_compare(table, plan, memory, also)


def is_stored(table: Any) -> bool:
    """Return whether a table was saved, and not only kept in memory, where rows keep their order for internal use."""
    if not is_spark_frame(table):
        return isinstance(table, str | os.PathLike)
    from anonto.assessment import on_cluster

    return on_cluster.is_stored(table)


def _require_a_witness(plan: Plan) -> None:
    """Refuse a release on a cluster if no column that is compared can show its order."""
    if all(name in plan.masked or one.is_dropped for name, one in plan.columns.items()):
        raise unchecked_rows()
