"""A table in two parts: persons to mask, and persons held out, with whom attacks on the release are calibrated."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.memory.units import adapter_of
from anonto.errors import AnontoWarning, InputError, ParameterError
from anonto.io.atomic_write import pending_files, require_free
from anonto.io.stat_files import released_origin
from anonto.io.table import Table
from anonto.io.writing import output_format, warn_of_changed_types, write_to
from anonto.masking.plan import Plan, plan_of
from anonto.masking.units import Units
from anonto.random.streams import row_order, seed_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.arrays import Longs
    from anonto.encoding.frame_adapter import FrameAdapter

    GivenPlan = Plan | Mapping[str, Any] | str | os.PathLike[str] | None


def split(
    table: Any,
    share: float = 0.2,
    *,
    person: str | None = None,
    plan: GivenPlan = None,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Split a table into persons to mask and persons held out, drawn at random.

    Args:
        table: A pandas, polars or pyarrow table, or the path of a file.
        share: The share of persons who are held out; at least one is, and at least one is not.
        person: The column that says whose rows these are; without it, or a plan that names one, each row is a person.
        plan: The plan of the release, for its person column and for how the file is read.
        seed: Leave it out: a fresh secret is taken from the operating system. With a seed the same table gives the same
            parts.

    Returns:
        The rows to mask and the rows held out, each in the order of the table and of the caller's kind (polars for a
        file).
    """
    rows, to_mask, held_out = _split(table, share, person, plan, seed)
    return rows.select_rows(to_mask).table, rows.select_rows(held_out).table


def split_file(
    table: str | os.PathLike[str],
    to_mask: str | os.PathLike[str],
    held_out: str | os.PathLike[str],
    share: float = 0.2,
    *,
    person: str | None = None,
    plan: GivenPlan = None,
    seed: int | None = None,
    force: bool = False,
) -> dict[str, int]:
    """Split a table file into two files; both appear, or neither.

    Args:
        table: The file.
        to_mask: The file of the rows to mask.
        held_out: The file of the rows held out.
        share: As in `split`.
        person: As in `split`.
        plan: As in `split`.
        seed: As in `split`.
        force: Whether files that are there are replaced.

    Returns:
        The number of rows of both.
    """
    outputs = [Path(to_mask), Path(held_out)]
    read = [Path(table), *([Path(plan)] if isinstance(plan, str | os.PathLike) else [])]
    for output in outputs:
        output_format(output)
    require_free(read, outputs, force=force)
    rows, *parts = _split(table, share, person, plan, seed)
    with pending_files() as files:
        for output, part in zip(outputs, parts, strict=True):
            write_to(
                files.add(output, force=force),
                Table(rows.table[part], released_origin(rows.origin, rows.table)),
                output.name,
            )
    for output in outputs:
        warn_of_changed_types(rows.origin, rows.names, output.name)
    return {"to_mask": parts[0].size, "held_out": parts[1].size}


def _split(
    table: Any, share: float, person: str | None, plan: GivenPlan, seed: int | None
) -> tuple[FrameAdapter, Longs, Longs]:
    """The table, and the rows of both parts in ascending order."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise ParameterError("share", "a number above 0 and below 1", share)
    if person is not None and plan is not None:
        raise ParameterError("person", "left out where a plan is given", person)
    chosen = plan_of({} if plan is None else plan)
    if person is not None:
        chosen = plan_of({"table": {"person": person}})
    secret = seed_of(seed)
    if secret.can_be_guessed:
        warnings.warn(guessable_parts(), stacklevel=3)
    rows = adapter_of(table, chosen)
    persons = np.arange(len(rows)) if chosen.person is None else Units(rows, chosen).person_of_rows
    n_persons = int(persons.max(initial=-1)) + 1
    if n_persons < 2:
        raise too_few_to_split(n_persons)
    n_out = min(max(1, math.floor(share * n_persons + 0.5)), n_persons - 1)
    is_out = np.zeros(n_persons, dtype=np.bool_)
    is_out[row_order(secret, "persons held out", n_persons).part(0, n_out)] = True
    out = is_out[persons]
    return rows, np.flatnonzero(~out), np.flatnonzero(out)


def guessable_parts() -> AnontoWarning:
    """A seed of a split that can be found by trying."""
    return AnontoWarning(
        "The seed is short and can be guessed; whoever finds it, and knows the order of the table, knows who was held "
        "out: leave it out."
    )


def too_few_to_split(n_persons: int) -> InputError:
    """A table with less than two persons."""
    return InputError(
        f"The table has {n_persons} {'person' if n_persons == 1 else 'persons'}, and two are needed: one to mask and "
        "one to hold out."
    )
