"""Masks raw codes on disk, batch by batch: for each masked column places in its palette."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.methods.memory import BYTES_PER_MOVE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonto.engine.files.count import CodesOnDisk
    from anonto.engine.files.spill import SpillFile
    from anonto.masking.fitted import FittedPlan
    from anonto.masking.released import StepTally, Tallies
    from anonto.runtime.memory_limit import MemoryLimit


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaskedCodes:
    """The masked codes of the rows that stay."""

    places: Mapping[str, SpillFile]
    """Places in the palette of each masked column."""
    numbers: Mapping[str, SpillFile]
    """New numbers, for the columns that may have some."""
    kept: SpillFile | None
    """Mask of the rows that stay; None for all."""


def apply_on_disk(
    fitted: FittedPlan, codes: CodesOnDisk, new_file: Callable[[str], SpillFile], limit: MemoryLimit
) -> tuple[MaskedCodes, Tallies]:
    """Mask all batches into further files and return the tallies of the rows."""
    places = {name: new_file(f"places-{place}") for place, name in enumerate(fitted.columns)}
    numbers = {name: new_file(f"numbers-{place}") for place, name in enumerate(fitted.numbers)}
    kept = None if codes.dropping is None else new_file("kept")
    tallies = fitted.tallies()
    batches = codes.batches if fitted.steps or kept is not None else []
    for batch, out, found, rows in fitted.apply_to_batches(batches, codes.read):
        for name, (own, further) in out.items():
            places[name].append(own)
            if further is not None:
                numbers[name].append(further)
        tallies.add(found)
        if kept is not None:
            kept.append(codes.stays(batch, rows))
        _require_few_moves(tallies.steps, limit)
    for file in (*places.values(), *numbers.values(), *([] if kept is None else [kept])):
        file.finish()
    return MaskedCodes(places, numbers, kept), tallies


def _require_few_moves(tallies: Sequence[StepTally], limit: MemoryLimit) -> None:
    """Refuse columns whose moves between values alone fill the memory."""
    for tally in tallies:
        moved = {name: one.moved for name, one in tally.columns.items() if one.moved is not None}
        if BYTES_PER_MOVE * sum(one.n_held for one in moved.values()) <= limit.for_step:
            continue
        needed = BYTES_PER_MOVE * sum(one.totals().counts.size for one in moved.values())
        if needed > limit.for_step:
            raise limit.too_small("Masking", list(moved), needed, "what becomes of their values")
