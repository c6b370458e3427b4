"""An original and its release, wherever they are, to one comparison."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anonto.comparing.in_memory import compared_in_memory, of_files, opened
from anonto.errors import NotForClustersError, OnlyForClustersError, UncheckedRowsError
from anonto.plan import plan_of
from anonto.private_record import PrivateRecord
from anonto.table.door import is_spark_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from anonto.plan import Plan
    from anonto.risk.comparison import Comparison


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Given:
    """A release as somebody hands it over: its table, its plan and, if it is there, its private record."""

    table: Any
    plan: Plan
    record: PrivateRecord | None = None

    @classmethod
    def of(
        cls,
        table: Any,
        plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
        private: str | os.PathLike[str] | None,
    ) -> Given:
        """With the blocks in the plan that the private record says."""
        if private is None:
            return cls(table, plan_of(plan))
        record = PrivateRecord.read(private)
        return cls(table, record.in_blocks(plan_of(plan)), record)


def compare(
    original: Any,
    release: Given,
    second: Given | None,
    *,
    memory: int | None,
    same_order: bool,
    rng: np.random.Generator,
) -> tuple[Comparison, Any]:
    """Compare a release with its original; and that original as a table of this machine, if it is one.

    Args:
        original: The table that was masked.
        release: Its release.
        second: Another release of it, if there is one.
        memory: For Spark DataFrames: what may be taken of this machine, in bytes; by default half of it.
        same_order: Whether the rows are said to be in the order of the original.
        rng: What persons are drawn with, where rows are only counted.
    """
    masked, plan = release.table, release.plan
    on_cluster = is_spark_frame(original) and is_spark_frame(masked)
    if memory is not None and not on_cluster:
        raise OnlyForClustersError("memory")
    if is_spark_frame(masked) and release.record is None and not same_order:
        _require_a_witness(plan)
    unnamed = _unnamed(original, masked, plan) if on_cluster else ()
    brought: tuple[str, ...] = ()
    if is_too_large(original, masked, plan, memory):
        if second is not None:
            raise NotForClustersError("second")
        from anonto.comparing.on_cluster import compared_on_cluster

        found = compared_on_cluster(
            original,
            masked,
            plan,
            release.record,
            memory=memory,
            rng=rng,
            same_order=same_order,
            stored=_is_stored(masked),
        )
    else:
        if not is_too_large(original, masked, plan, memory, unnamed):
            brought, unnamed = unnamed, ()
        original = of_files(_brought_here(original, plan, memory, brought), plan)
        before = opened(original, plan)
        found, *others = (
            compared_in_memory(
                before,
                _brought_here(one.table, one.plan, memory, brought),
                one.plan,
                one.record,
                same_order=same_order,
                stored=_is_stored(one.table),
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
    """Whether two tables are on a cluster and cannot be brought together on this machine."""
    if not (is_spark_frame(original) and is_spark_frame(masked)):
        return False
    from anonto.comparing.on_cluster import fit_here

    return not fit_here([original, masked], plan, memory, also)


def _unnamed(original: Any, masked: Any, plan: Plan) -> tuple[str, ...]:
    """Columns of two tables on a cluster that leave and that the plan does not name; of others all are read anyway."""
    from anonto.comparing.on_cluster import unnamed_in_both

    return unnamed_in_both(original, masked, plan)


def _brought_here(table: Any, plan: Plan, memory: int | None, also: Sequence[str]) -> Any:
    """The columns of a Spark DataFrame that are looked at; other tables as they are."""
    if not is_spark_frame(table):
        return table
    from anonto.comparing.on_cluster import to_compare

    return to_compare(table, plan, memory, also)


def _is_stored(table: Any) -> bool:
    """Whether a table is as it was saved, and not one in memory, whose rows are in order for use in the house."""
    if not is_spark_frame(table):
        return isinstance(table, str | os.PathLike)
    from anonto.comparing.on_cluster import is_stored

    return is_stored(table)


def _require_a_witness(plan: Plan) -> None:
    """Refuse a release on a cluster whose order no column that is looked at can show."""
    if all(name in plan.masked or one.role == "identifier" for name, one in plan.columns.items()):
        raise UncheckedRowsError
