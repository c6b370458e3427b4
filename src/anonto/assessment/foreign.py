"""A release that another tool made: attacks that need no plan, on the columns that it shares with the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.assessment.held_out import nobody_held_out
from anonto.assessment.in_memory import EncodedTable, open_encoded
from anonto.attacks.compute.foreign_search import search
from anonto.attacks.findings import FEW, describe_membership
from anonto.attacks.foreign_release import ForeignNumbers, ForeignRelease, ForeignTexts
from anonto.attacks.foreign_situation import ForeignSituation
from anonto.attacks.registry import attacks
from anonto.encoding.frame_adapter import is_spark_frame
from anonto.encoding.generalised_cells import read_intervals, values_covered
from anonto.encoding.series import as_text_series
from anonto.engine.refusals import not_for_clusters
from anonto.errors import ColumnError
from anonto.masking.plan import plan_of
from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.attacks.rate import Risk
    from anonto.random.streams import Seed

MOST_PERSONS = 1_000
"""Persons who are attacked one by one, and as many of those held out."""
WITHOUT_CONTROL = (
    "No persons held out were given: what is inferred of a person may be what the release tells of people like her, "
    "and whether the release tells who is in the table was not tried; give some with held_out (--held-out)."
)
READABLE = 0.5
"""A column of numbers must be released as numbers, intervals or stars in this share of its cells, or it is text."""


def open_foreign(original: Any, released: Any, held_out: Any) -> tuple[ForeignRelease, dict[str, Any]]:
    """The tables in the columns that they share, and facts about them."""
    if any(is_spark_frame(table) for table in (original, released, held_out)):
        raise not_for_clusters("an assessment without a plan")
    plan = plan_of({})
    before, after = open_encoded(original, plan), open_encoded(released, plan)
    others = None if held_out is None else open_encoded(held_out, plan)
    shared = [name for name in before.names if name in after.names]
    if not shared:
        raise nothing_shared(len(before.names))
    if others is not None:
        lacking = [name for name in shared if name not in others.names]
        if lacking:
            raise held_out_without(lacking)
        if not len(others):
            raise nobody_held_out()
    columns = tuple(_column(name, before, after, others) for name in shared)
    n_others = 0 if others is None else len(others)
    release = ForeignRelease(columns, len(before), len(after), n_others)
    facts = {
        "records": len(after),
        "persons": len(before),
        "held_out": n_others,
        "columns": list(release.names),
        "only_in_original": [name for name in before.names if name not in after.names],
        "only_in_release": len(after.names) - len(shared),
    }
    return release, facts


def attack_foreign(release: ForeignRelease, seed: Seed) -> tuple[Risk, ...]:
    """The results of all attacks that need no plan."""
    if not (release.n_released and release.n_original):
        return ()
    members = _draw(release.n_original, MOST_PERSONS, seed, "members")
    order = seed.stream("held out").permutation(release.n_held_out)
    half = release.n_held_out // 2
    strangers, reference = np.sort(order[:half][:MOST_PERSONS]), np.sort(order[half:])
    situation = ForeignSituation(
        release,
        seed,
        members,
        strangers,
        reference,
        search(release, "original", members),
        search(release, "held_out", strangers) if strangers.size else None,
    )
    return tuple(risk for attack in attacks().values() for risk in attack.run_on_foreign(situation))


def losses_in_foreign(release: ForeignRelease) -> dict[str, Any]:
    """How much of each column is suppressed or generalised, and how far the frequencies of exact cells moved."""
    return {"columns": {one.name: _losses(one) for one in release.columns}, "pairs": [], "table": {}}


def foreign_findings(release: ForeignRelease, risk: Sequence[Risk]) -> tuple[str, ...]:
    """Sentences about copies, about values that are inferred, and about who is in the table."""
    found = [
        f"{one.attack}: a released record equals that of {_percent(one.rate)} of persons in all "
        f"{count_of(len(one.columns), 'shared column')}."
        for one in risk
        if "warning" in one.details and one.low > FEW
    ]
    inferred = [one for one in risk if "inferred" in one.details and one.control is not None and one.low > FEW]
    if inferred:
        worst = max(inferred, key=lambda one: one.rate)
        found.append(
            f"{worst.attack} reads {count_of(len(inferred), 'column')} of persons better than of others; most of all "
            f"{worst.details['inferred']!r}, right for {_percent(worst.details['success'])} of persons and for "
            f"{_percent(float(worst.control or 0.0))} of others."
        )
    if not release.n_held_out:
        found.append(WITHOUT_CONTROL)
    return (*found, *describe_membership(risk))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _losses(column: Any) -> dict[str, float]:
    exact = column.is_exact
    if column.is_numeric:
        suppressed = np.isinf(column.low) & np.isinf(column.high)
        missing = np.isnan(column.low)
    else:
        counts = column.covered.sum(axis=1)
        missing = column.released < 0
        suppressed = ~missing & (counts == column.covered.shape[1])[column.released]
    n = max(1, exact.size)
    generalised = np.count_nonzero(~exact & ~suppressed & ~missing)
    return {"suppressed": float(np.count_nonzero(suppressed) / n), "generalised": float(generalised / n)}


def _draw(n: int, most: int, seed: Seed, name: str) -> Longs:
    if n <= most:
        return np.arange(n)
    return np.sort(seed.stream(name).choice(n, most, replace=False))


def _column(name: str, before: EncodedTable, after: EncodedTable, others: EncodedTable | None) -> Any:
    """A shared column: numbers where the original has nothing else, and the release numbers or intervals of them."""
    tables = [before, after] if others is None else [before, after, others]
    texts = [as_text_series(table.series(name)).cast(pl.String) for table in tables]
    own, released = texts[0], texts[1]
    further = texts[2] if others is not None else own.clear()
    numbers, of_others = _numbers(own), _numbers(further)
    if numbers is not None and of_others is not None:
        distinct = released.unique().drop_nulls().to_list()
        found = read_intervals(distinct)
        place = {text: number for number, text in enumerate(distinct)}
        unreadable = {text for text, low in zip(distinct, found.low.tolist(), strict=True) if np.isnan(low)}
        n_unreadable = int(released.is_in(list(unreadable)).sum())
        if n_unreadable <= (1 - READABLE) * max(1, len(released) - released.null_count()):
            rows = np.array([place.get(text, -1) for text in released.to_list()], dtype=np.int64)
            low, high = (np.append(side, np.nan)[rows] for side in (found.low, found.high))
            present = numbers[~np.isnan(numbers)]
            extent = float(np.ptp(present)) if present.size else 0.0
            if not np.isnan(numbers).any():  # then a cell that is missing in the release was suppressed
                low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
            return ForeignNumbers(name, numbers, of_others, low, high, extent)
    return _texts(name, own, further, released)


def _texts(name: str, own: pl.Series, further: pl.Series, released: pl.Series) -> ForeignTexts:
    """A column of texts: the values of persons first, then those that only the release has."""
    values = sorted({*own.drop_nulls().unique().to_list(), *further.drop_nulls().unique().to_list()})
    cells = sorted(released.drop_nulls().unique().to_list())
    suppresses = bool(released.null_count()) and not own.null_count()
    more = [text for text in cells if text not in set(values) and values_covered(text, []) is None]
    place = {text: number for number, text in enumerate([*values, *more])}
    rows = {text: number for number, text in enumerate(cells)}
    covered = np.zeros((len(cells) + suppresses, len(values) + len(more)), dtype=np.bool_)
    for text, row in rows.items():
        if text in place:
            covered[row, place[text]] = True
        else:
            covered[row, : len(values)] = values_covered(text, values)
    if suppresses:
        covered[-1, : len(values)] = True
    missing = len(cells) if suppresses else -1
    codes = [np.array([place.get(text, -1) for text in side.to_list()], dtype=np.int64) for side in (own, further)]
    of_rows = np.array([rows[text] if text is not None else missing for text in released.to_list()], dtype=np.int64)
    return ForeignTexts(name, codes[0], codes[1], of_rows, covered)


def _numbers(texts: pl.Series) -> Floats | None:
    """A column as numbers, NaN where it is missing; None if some cell is no number, or a code such as 007."""
    stripped = texts.str.strip_chars()
    stripped = stripped.set(stripped == "", None)
    numbers = stripped.cast(pl.Float64, strict=False)
    if numbers.null_count() > stripped.null_count() or bool(stripped.str.contains(r"^[+-]?0[0-9]").any()):
        return None
    return np.asarray(numbers.fill_null(np.nan).to_numpy(), dtype=np.float64)


def nothing_shared(n_columns: int) -> ColumnError:
    """An original and a release without a column in common."""
    return ColumnError(
        f"The release has none of the {count_of(n_columns, 'column')} of the original; give the release of this "
        "original, with the same names in its first line."
    )


def held_out_without(columns: Sequence[str]) -> ColumnError:
    """Persons held out whose table lacks columns that the original and the release share."""
    return ColumnError(
        f"The table of persons held out lacks {list_names(map(repr, columns))}; give a table with the columns of the "
        "original."
    )
