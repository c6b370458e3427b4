"""The notation of a column's dates, by which texts are parsed and new dates are written.

All texts of a column have one notation: dates, dates with a time, times of day, or durations. It is found from the
texts. Dates that could be read day first and month first are ambiguous, unless some date of the column decides. Dates
count in days since 1970, exactly to the microsecond from 1881 to 2059, times of day and durations in seconds.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs

PATTERNS = (
    *("Y-m-d", "Y/m/d", "Y.m.d", "Ymd", "d.m.Y", "d/m/Y", "m/d/Y", "d-m-Y", "m-d-Y"),
    *("d b Y", "d-b-Y", "d B Y", "b d, Y", "B d, Y"),
)
"""The notations of a date: Y is the year in four digits, m the month, d the day, b and B the month's name."""
SECOND, DAY = 1_000_000, 86_400_000_000
"""Microseconds."""
GRAINS = (DAY, 60 * SECOND, *(10**power for power in range(6, -1, -1)))
"""The grains of dates and times, in microseconds."""
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MONTH = {name[:length].lower(): number for number, name in enumerate(MONTHS, start=1) for length in (3, len(name))}
_EPOCH = dt.date(1970, 1, 1).toordinal()
FIRST, LAST = (
    (dt.date(1, 1, 1).toordinal() - _EPOCH) * DAY,
    (dt.date(10_000 - 1, 12, 31).toordinal() - _EPOCH + 1) * DAY,
)
_PARTS = {
    "Y": r"(?P<Y>\d{4})",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "b": r"(?P<b>[A-Za-z]{3})",
    "B": r"(?P<b>[A-Za-z]{3,9})",
}
_CLOCK = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:\.(?P<f>\d{1,9}))?)?"
_BEHIND = rf"(?:(?P<sep>[ T]){_CLOCK}(?P<zone> ?(?:Z|[+-]\d{{2}}:?\d{{2}}))?)?"
_TIME = re.compile(_CLOCK)
_DURATION = re.compile(
    r"(?P<sign>-?)P(?:(?P<D>\d+)D)?(?:T(?:(?P<H>\d+)H)?(?:(?P<M>\d+)M)?(?:(?P<S>\d+)(?:\.(?P<f>\d{1,9}))?S)?)?"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the texts of one notation have in common, apart from the order of day, month and year."""

    separator: str = ""
    """What stands between date and time."""
    clock: str = ""
    """``H:M`` or ``H:M:S``; empty for dates alone."""
    zone: str = ""


@dataclass(frozen=True, slots=True)
class DateNotation:
    """How the dates of a column are written."""

    kind: str = "date"
    """``date``, also with a time, ``time`` or ``duration``."""
    pattern: str = "Y-m-d"
    shape: Shape = Shape()
    digits: int = 0
    """Digits behind the second."""
    is_padded: bool = True
    """True if days and months below 10 begin with a zero."""
    step: int = DAY
    """Microseconds of the grain of its values: all are multiples of a day, a minute, a second, or a part of one."""

    @property
    def known_pattern(self) -> str | None:
        """The pattern by which further dates are read; None for times and durations, whose texts show what they are."""
        return self.pattern if self.kind == "date" else None

    @property
    def unit(self) -> int:
        """Microseconds of one unit of its numbers: a day, or a second."""
        return DAY if self.kind == "date" else SECOND

    def numbers(self, moments: Longs) -> Floats:
        """Microseconds as numbers of units."""
        return np.asarray(moments / self.unit, dtype=np.float64)

    def moments(self, numbers: Floats) -> Longs:
        """Numbers of units as microseconds, rounded to what the notation can write, within the calendar."""
        found = np.rint(np.asarray(numbers, dtype=np.float64) * (self.unit / self.step))
        low, high = (FIRST, LAST - self.step) if self.kind == "date" else (0, DAY - self.step)
        if self.kind == "duration":
            low, high = -LAST, LAST
        return np.clip(found, low // self.step, high // self.step).astype(np.int64) * self.step

    def round_numbers(self, numbers: Floats) -> Floats:
        """Numbers that the notation can write; NaN stays."""
        known = np.isfinite(numbers)
        return np.where(known, self.numbers(self.moments(np.where(known, numbers, 0.0))), np.nan)

    def texts(self, moments: Longs) -> list[str]:
        """Microseconds as texts."""
        return [self._text(moment) for moment in moments.tolist()]

    def _text(self, moment: int) -> str:
        if self.kind == "time":
            return self._clock(moment)
        if self.kind == "duration":
            return _duration_text(moment)
        days, rest = divmod(moment, DAY)
        return self._date(dt.date.fromordinal(days + _EPOCH)) + (
            self.shape.separator + self._clock(rest) + self.shape.zone if self.shape.clock else ""
        )

    def _date(self, day: dt.date) -> str:
        width = 2 if self.is_padded else 1
        month = MONTHS[day.month - 1]
        parts = {"Y": f"{day.year:04}", "m": f"{day.month:0{width}}", "d": f"{day.day:0{width}}"}
        parts |= {"b": month[:3], "B": month}
        return "".join(parts.get(sign, sign) for sign in self.pattern)

    def _clock(self, moment: int) -> str:
        seconds, fraction = divmod(moment, SECOND)
        hours, minutes = divmod(seconds // 60, 60)
        text = f"{hours:02}:{minutes:02}"
        if self.shape.clock == "H:M":
            return text
        behind = f".{fraction:06}000"[: 1 + self.digits] if self.digits else ""
        return f"{text}:{seconds % 60:02}{behind}"


@dataclass(frozen=True, slots=True, eq=False)
class ReadDates:
    """The dates of a column's texts; exactly one of the faults is filled if they have no common notation."""

    notation: DateNotation = DateNotation()
    moments: Longs | None = None
    """Microseconds since 1970, since midnight, or in all."""
    ambiguous: tuple[str, ...] = ()
    """The notations that fit all texts and give different dates."""
    mixed: tuple[str, ...] = ()
    """Texts in another notation than most."""
    wrong: tuple[str, ...] = ()
    """Texts that are no dates in any notation."""


def read_dates(texts: Sequence[str], pattern: str | None = None) -> ReadDates:
    """Find the notation of the distinct texts of a column, unless its order of day and month is known; parse them."""
    for kind, expression in (("time", _TIME), ("duration", _DURATION)):
        if pattern is None and expression.fullmatch(texts[0].strip()) and texts[0].strip() not in {"P", "PT"}:
            parsed = [_span(text.strip(), kind) for text in texts]
            return _settled(DateNotation(kind), texts, parsed)
    patterns = PATTERNS if pattern is None else (pattern,)
    found = {one: [_moment(text.strip(), one) for text in texts] for one in patterns}
    fitting = {one: parsed for one, parsed in found.items() if None not in parsed}
    if fitting:
        different = {tuple(one[0] for one in parsed if one is not None): name for name, parsed in fitting.items()}
        if len(different) > 1:
            return ReadDates(ambiguous=tuple(fitting))
        name = next(iter(fitting))
        return _settled(DateNotation(pattern=name), texts, fitting[name])
    n_read = {name: sum(one is not None for one in parsed) for name, parsed in found.items()}
    best = max(n_read, key=n_read.__getitem__)
    unread = [place for place, one in enumerate(found[best]) if one is None]
    nowhere = tuple(texts[place] for place in unread if all(parsed[place] is None for parsed in found.values()))
    return ReadDates(wrong=nowhere) if nowhere else ReadDates(mixed=tuple(texts[place] for place in unread))


def _settled(
    notation: DateNotation, texts: Sequence[str], parsed: Sequence[tuple[int, Shape, int] | None]
) -> ReadDates:
    """Dates with their notation; texts whose times are written in another way than most are mixed."""
    wrong = tuple(text for text, one in zip(texts, parsed, strict=True) if one is None)
    there = [one for one in parsed if one is not None]
    if wrong:
        return ReadDates(wrong=wrong)
    shapes = Counter(shape for _, shape, _ in there)
    shape = shapes.most_common(1)[0][0]
    mixed = tuple(text for text, one in zip(texts, there, strict=True) if one[1] != shape)
    if mixed and notation.kind != "duration":
        return ReadDates(mixed=mixed)
    padded = [text for text in texts if re.search(r"(?<!\d)0\d(?!\d)", text)]
    single = [text for text in texts if re.search(r"(?<![\d:.])[1-9](?![\d:])", text)]
    digits = max(digits for _, _, digits in there)
    moments = np.array([moment for moment, _, _ in there], dtype=np.int64)
    step = next(size for size in GRAINS if not (moments % size).any())
    own = DateNotation(notation.kind, notation.pattern, shape, digits, bool(padded) or not single, step)
    return ReadDates(own, moments)


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = dict(_PARTS)
    if pattern == "Ymd":
        parts |= {"m": r"(?P<m>\d{2})", "d": r"(?P<d>\d{2})"}
    return re.compile("".join(parts.get(sign) or re.escape(sign) for sign in pattern) + _BEHIND)


def _moment(text: str, pattern: str) -> tuple[int, Shape, int] | None:
    """A text as microseconds, its shape and the digits of its fraction; None if it is no date of the pattern."""
    found = _expression(pattern).fullmatch(text)
    if found is None:
        return None
    part = found.groupdict()
    month = int(part["m"]) if part.get("m") else _MONTH.get(str(part.get("b")).lower(), 0)
    try:
        days = dt.date(int(part["Y"]), month, int(part["d"])).toordinal() - _EPOCH
    except ValueError:
        return None
    if part["H"] is None:
        return days * DAY, Shape(), 0
    clock = _clock_of(part)
    if clock is None:
        return None
    shape = Shape(part["sep"], "H:M" if part["S"] is None else "H:M:S", part["zone"] or "")
    return days * DAY + clock, shape, len(part["f"] or "")


def _span(text: str, kind: str) -> tuple[int, Shape, int] | None:
    """A time of day or a duration as microseconds."""
    found = (_TIME if kind == "time" else _DURATION).fullmatch(text)
    if found is None:
        return None
    part = found.groupdict()
    if kind == "time":
        clock = _clock_of(part)
        shape = Shape("", "H:M" if part["S"] is None else "H:M:S")
        return None if clock is None else (clock, shape, len(part["f"] or ""))
    units = {"D": DAY, "H": 3600 * SECOND, "M": 60 * SECOND, "S": SECOND}
    total = sum(int(part[name] or 0) * size for name, size in units.items()) + _fraction(part["f"])
    return -total if part["sign"] else total, Shape(clock="H:M:S"), 6


def _clock_of(part: dict[str, str | None]) -> int | None:
    hours, minutes, seconds = (int(part[name] or 0) for name in ("H", "M", "S"))
    if hours > 23 or minutes > 59 or seconds > 59 or (part["f"] or "")[6:].strip("0"):
        return None
    return (hours * 3600 + minutes * 60 + seconds) * SECOND + _fraction(part["f"])


def _fraction(digits: str | None) -> int:
    return int((digits or "").ljust(6, "0")[:6])


def _duration_text(moment: int) -> str:
    """A duration as ISO 8601 writes it, as a column of durations does."""
    import polars as pl

    return str(pl.Series([moment], dtype=pl.Duration("us")).dt.to_string("iso").item())
