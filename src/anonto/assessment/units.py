"""A release of persons or of sets, and its original, as the records that were masked, so that these are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anonto.assessment.in_memory import EncodedTable, open_encoded, release_again, unchecked_rows
from anonto.encoding.frame_adapter import FrameAdapter, is_spark_frame
from anonto.encoding.series import as_text_series
from anonto.engine.memory.recode import recode_as_known
from anonto.engine.memory.units import FOR_LOOKING, MaskedUnits, units_of
from anonto.engine.refusals import units_assessed_in_memory
from anonto.errors import InternalError, ReleaseError
from anonto.masking.plan import ROWS_OF_PERSON
from anonto.masking.private_record import foreign_record
from anonto.masking.units import plan_of_release
from anonto.wording import count_of

if TYPE_CHECKING:
    from anonto.assessment.compare import GivenRelease


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparableRecords:
    """The records of a release, in the order of the original ones."""

    original: EncodedTable
    release: GivenRelease
    """The masked records with their own plan; it has no private record, because that speaks of rows."""
    facts: dict[str, Any]
    """Findings of masking again, for the report."""


def as_records(original: Any, given: GivenRelease, *, same_order: bool, stored: bool) -> ComparableRecords:
    """The records of an original and of its release.

    With the private record the original is masked again, and the release must have the same rows. Without it the
    records must show in the rows of the release: by the pseudonym of each person, or because each row is a record.

    Args:
        original: The rows that were masked.
        given: The release.
        same_order: Whether the caller says that the rows are in the order of the original.
        stored: Whether the release was saved: its order is then the order that others see.
    """
    plan, record = given.plan, given.record
    if is_spark_frame(original) or is_spark_frame(given.table):
        raise units_assessed_in_memory()
    before, after = open_encoded(original, plan), open_encoded(given.table, plan)
    source, recoded = (before, plan), {}
    if plan.recoded:
        table, recoding = recode_as_known(before, plan, None if record is None else record.seed)
        before = EncodedTable(table.table, before.origin)
        after = EncodedTable(after.without([name for name in plan.recoded if plan.has_pseudonyms(name)]), after.origin)
        plan = recoding.plan
        recoded = {"recoded": recoding.evidence}
    units = units_of(before, plan, FOR_LOOKING if record is None else record.seed)
    records = EncodedTable(units.records, before.origin)
    joined = plan.pseudonym is not None
    rows_released: dict[str, Any] = dict(recoded)
    if plan.person is not None:
        rows_released |= {"released_rows": len(after), "rows_are_joined": joined}
    if record is None:
        if plan.person is not None and not joined:
            raise persons_unknown(plan.person)
        if units.limit is not None and units.limit.n_left_out:
            raise rows_unknown(units.limit.n_persons)
        if stored and plan.person is not None:
            raise pseudonyms_in_random_order(plan.person)
        if stored and not same_order:
            raise unchecked_rows()
        released = units_of(after, plan_of_release(plan), FOR_LOOKING).records
        made = [name for name in (plan.person, ROWS_OF_PERSON) if name in units.plan.identifiers(released.columns)]
        table = EncodedTable(released.drop(made), after.origin)
        facts = {**rows_released, "kept_order": stored}
        return ComparableRecords(records, replace(given, table=table, plan=units.plan), facts)
    release = release_again(*source, record.seed)
    rows = release.masked_rows
    if not isinstance(rows, MaskedUnits):
        raise InternalError("Records of persons were masked as rows.")
    made, found = _rows_of(FrameAdapter(release.table, origin=after.origin)), _rows_of(after)
    if sorted(made) != sorted(found):
        raise foreign_record(record.other_input_than(before.origin))
    kept_order = stored and made == found and len(found) > 1
    settings = [replace(one, rows_in_order=kept_order) for one in release.settings]
    guarantees = [step.method.guarantee(one).to_dict() for step, one in zip(plan.steps, settings, strict=True)]
    masked = EncodedTable(rows.records(release.identifiers, units.plan.scales), before.origin)
    return ComparableRecords(
        records,
        replace(given, table=masked, plan=units.plan, record=None),
        {**rows_released, "kept_order": kept_order, "made_anew": True, "settings": settings, "guarantees": guarantees},
    )


def _rows_of(table: FrameAdapter) -> list[str]:
    """Each row as one text, whatever the order of the columns."""
    cells = [as_text_series(table.series(name)).to_list() for name in sorted(table.names)]
    return [repr((sorted(table.names), row)) for row in zip(*cells, strict=True)]


def persons_unknown(person: str) -> ReleaseError:
    """A release in which nothing says which rows belong to one person."""
    return ReleaseError(
        f"Nothing in the release says which rows belong to one person, because {person!r} was dropped; give its "
        "private record (--private, private=)."
    )


def pseudonyms_in_random_order(person: str) -> ReleaseError:
    """A saved release in which nothing says which pseudonym is whose."""
    return ReleaseError(
        f"The rows of a saved release are in random order, so nothing says which person has which pseudonym in "
        f"{person!r}; give its private record (--private, private=)."
    )


def rows_unknown(n_persons: int) -> ReleaseError:
    """A release in which nothing says which rows of its persons were used."""
    return ReleaseError(
        f"The plan uses only some rows of {count_of(n_persons, 'person')} (at_most), drawn with the seed; give the "
        "private record of the release (--private, private=)."
    )
