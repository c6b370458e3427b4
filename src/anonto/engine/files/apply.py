"""Raw codes on disk to masked ones: for each masked column places in its palette, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.methods.memory import BYTES_PER_MOVE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonto.engine.files.count import CodesOnDisk
    from anonto.engine.files.spilling import Spilled
    from anonto.engine.room import Room
    from anonto.masking.fitted import FittedSteps
    from anonto.masking.released import StepTally, Tallies


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaskedCodes:
    """What became of the rows that stay."""

    places: Mapping[str, Spilled]
    """For each masked column places in its palette."""
    numbers: Mapping[str, Spilled]
    """For columns of which any cell may be a new number, these."""
    kept: Spilled | None
    """Which rows stay; None for all."""


def apply_to_batches(
    fitted: FittedSteps, codes: CodesOnDisk, new_file: Callable[[str], Spilled], room: Room
) -> tuple[MaskedCodes, Tallies]:
    """Mask all batches into further files, and tell what became of the rows."""
    places = {name: new_file(f"places-{place}") for place, name in enumerate(fitted.columns)}
    numbers = {name: new_file(f"numbers-{place}") for place, name in enumerate(fitted.numbers)}
    kept = None if codes.dropping is None else new_file("kept")
    tallies = fitted.tallies()
    batches = codes.batches if fitted.steps or kept is not None else []
    for batch, out, found, rows in fitted.apply_all(batches, codes.read):
        for name, (own, further) in out.items():
            places[name].append(own)
            if further is not None:
                numbers[name].append(further)
        tallies.add(found)
        if kept is not None:
            kept.append(codes.stays(batch, rows))
        _require_few_moves(tallies.steps, room)
    for file in (*places.values(), *numbers.values(), *([] if kept is None else [kept])):
        file.finish()
    return MaskedCodes(places, numbers, kept), tallies


def _require_few_moves(tallies: Sequence[StepTally], room: Room) -> None:
    """Refuse columns in which what became what alone fills the memory."""
    for tally in tallies:
        moved = {name: one.moved for name, one in tally.columns.items() if one.moved is not None}
        if BYTES_PER_MOVE * sum(one.n_held for one in moved.values()) <= room.of_step:
            continue
        needed = BYTES_PER_MOVE * sum(one.counted().counts.size for one in moved.values())
        if needed > room.of_step:
            raise room.too_small("Masking", list(moved), needed, "what becomes of their values")
