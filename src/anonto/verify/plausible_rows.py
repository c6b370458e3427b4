"""The released rows that a method could have put in the place of a person's, computed from the release alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.missing_cells import missing_in
from anonto.encoding.prepare import codes_with_missing, encode_described, prepare
from anonto.encoding.records import distinct_records
from anonto.wording import list_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Bools
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.frame_adapter import FrameAdapter
    from anonto.encoding.prepare import Opener
    from anonto.masking.plan import Plan
    from anonto.masking.plan_sections import Step
    from anonto.methods.support import Partition
    from anonto.verify.own_record import ComparedCell


@dataclass(frozen=True, slots=True, eq=False)
class PlausibleRows:
    """A step and the released rows that it could have put in her place; None where the release is not enough."""

    step: Step
    rows: Bools | None
    how: str
    at_least: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "method": self.step.method.name,
            "columns": list(self.step.columns),
            "candidates": number_of(self.rows),
            "how": self.how,
        }


BY_VALUES = "column by column: values that the method could have put in place of yours, from the published frequencies"
BY_GROUPS = "records that the method could have exchanged with yours: its groups follow from the released records"
AT_ONCE = f"{BY_GROUPS}, if the table was masked at once: where it was masked in blocks, the plan must say block_rows"
IN_A_GROUP = "your record is in a group of {k} or more; which they are, the release does not show"
NOT_TOLD = "what the method could have done depends on all original records, which the release does not show"
IN_A_STRATUM = "records of your stratum: values are only exchanged among records that are equal in its columns"
ANY_STRATUM = "every released record: your record does not say in which stratum you are"
ANYTHING = "the method draws new values, so every released record could be yours; some are more likely than others"


def find_plausible_rows(
    step: Step, looked: Mapping[str, ComparedCell], released: FrameAdapter, plan: Plan, open_once: Opener
) -> PlausibleRows:
    """The released rows that a step could have put in the place of a person's."""
    method = step.method
    if not method.is_swap:
        if method.makes_equal:
            k = method.k_among(len(released))
            return PlausibleRows(step, None, IN_A_GROUP.format(k=k), _promised_group(step, len(released)))
        return PlausibleRows(step, np.ones(len(released), dtype=np.bool_), ANYTHING)
    if step.within and not (method.together and not method.moves_whole_records):
        everywhere = np.ones(len(released), dtype=np.bool_)
        same = [looked[name].same_text for name in step.within if name in looked]
        return PlausibleRows(step, np.logical_and.reduce([everywhere, *same]), IN_A_STRATUM if same else ANY_STRATUM)
    if not method.together:
        rows = [_rows_by_value(step, looked[name], released, plan, open_once) for name in step.columns]
        return PlausibleRows(step, np.logical_and.reduce(rows), BY_VALUES)
    if not method.moves_whole_records:
        promised = _promised_group(step, len(released))
        return PlausibleRows(step, None, NOT_TOLD if promised is None else IN_A_GROUP.format(k=promised), promised)
    how = AT_ONCE if method.could_be_cut(len(released)) else BY_GROUPS
    return PlausibleRows(step, _rows_by_group(step, looked, released, plan, open_once), how)


def why_no_promise(
    steps: Sequence[PlausibleRows], looked: Sequence[ComparedCell], plan: Plan, released: Sequence[str]
) -> str | None:
    """Why groups of k records do not make k records that could be hers; None where they do, or there are no groups.

    The groups of several steps are not the same, and a quasi-identifier that no step masks distinguishes their members:
    then fewer are left, at worst one.
    """
    if not any(one.at_least is not None for one in steps):
        return None
    if len(steps) > 1:
        return "the groups of several steps are not the same, and together they may leave you alone"
    step = steps[0].step
    setting = plan.setting(step, released, {one.name for one in looked if one.has_unmatched})
    if step.method.guarantee(setting).proved:
        return None
    if setting.left_out:
        return f"the step leaves out {list_names(setting.left_out)}, which may tell you from all others of your group"
    return "; ".join(setting.why_not_proved(limits_linking=True)) or "a group of one record hides nobody"


def keeps_values(step: Step) -> bool:
    """Return whether every value occurs as often after a step as before."""
    return step.method.is_swap


def _promised_group(step: Step, n_records: int) -> int | None:
    k = step.method.least_group
    return None if k is None else min(k, n_records)


def _rows_by_value(step: Step, looked: ComparedCell, released: FrameAdapter, plan: Plan, open_once: Opener) -> Bools:
    """The rows whose value is in the support of hers; a cell that takes no part stayed where it was."""
    if looked.compared.original[0] < 0 or not looked.occurs:
        return looked.same_text
    description = _tolerant(plan.description(looked.name))
    encoded = encode_described(looked.name, released.series(looked.name), description)
    prepared = prepare(looked.name, encoded, description, open_once)
    codes = prepared.column.codes
    own = np.unique(codes[looked.is_equal]).astype(np.int32)
    partners = step.method.support(prepared.value_space).partners(own).any(axis=0)
    return np.asarray(np.append(partners, False)[codes])


def _rows_by_group(
    step: Step, looked: Mapping[str, ComparedCell], released: FrameAdapter, plan: Plan, open_once: Opener
) -> Bools:
    """The rows whose record is in a group with one that reads like hers."""
    like_hers: Bools = np.logical_and.reduce([looked[name].is_equal for name in step.columns])
    if not like_hers.any():
        return like_hers
    value_spaces, codes = [], []
    for name in step.columns:
        description = _tolerant(plan.description(name))
        encoded = encode_described(name, released.series(name), description)
        prepared = prepare(name, encoded, description, open_once)
        value_space, own = (
            codes_with_missing(prepared, encoded, missing_in(released, name, encoded))
            if step.method.moves_missing
            else (prepared.value_space, prepared.column.codes)
        )
        value_spaces.append(value_space)
        codes.append(own)
    records, record_of = distinct_records(step.columns, value_spaces, codes)
    own_records = np.unique(record_of[like_hers])
    partition: Partition = step.method.support(records)
    is_own = np.zeros(records.counts.size, dtype=np.bool_)
    is_own[own_records] = True
    in_group = np.isin(partition.groups, np.unique(partition.groups[is_own[partition.members]]))
    could_be = is_own.copy()
    could_be[partition.members[in_group]] = True
    return could_be[record_of]


def _tolerant(description: ColumnDescription) -> ColumnDescription:
    """A description that accepts every cell: what a run refused or dropped is not in the release."""
    unmatched = "keep" if description.unmatched in {"refuse", "drop"} else description.unmatched
    return replace(description, missing="keep", unmatched=unmatched)


def number_of(rows: Bools | None) -> int | None:
    """The number of rows, if they are known."""
    return None if rows is None else int(np.count_nonzero(rows))
