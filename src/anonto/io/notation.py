"""The notation of a column's numbers, by which texts are parsed and new numbers are written.

All texts of a column have the same notation. The point is the decimal sign and the comma separates thousands, unless
some text can only be read the other way round, like ``12,5``, ``0,125`` or ``1.000,5``. If all texts are ambiguous,
like ``1,234``, the comma separates thousands; the plan can override this.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from anonto.arrays import Floats


DECIMALS = (".", ",")
MANY_TEXTS = 1 << 14
"""From this many on, plain numbers are parsed all at once."""
DIGITS = 15
"""Decimal digits that a floating-point number preserves."""
EXACT = 2.0**53
MOST_DECIMALS = 290
"""Powers of ten up to this exponent, and products with them, do not overflow."""
ENOUGH_OF_RANGE = 1e-6
"""The error that numbers may have, as a share of their range."""
_PLAIN = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"


def _pattern(decimal: str, thousands: str) -> str:
    point, comma = re.escape(decimal), re.escape(thousands)
    return rf"[+-]?(?:[1-9]\d{{0,2}}(?:{comma}\d{{3}})+|\d*)(?:{point}\d*)?(?:[eE][+-]?\d+)?"


_PATTERNS = {decimal: _pattern(decimal, thousands) for decimal, thousands in (DECIMALS, DECIMALS[::-1])}
_COMPILED = {decimal: re.compile(pattern) for decimal, pattern in _PATTERNS.items()}


@dataclass(frozen=True, slots=True)
class Notation:
    """The signs of a column's numbers, and how many decimals they have."""

    decimal: str = "."
    is_grouped: bool = False
    """True if some number separates its thousands; new numbers then do, too."""
    decimals: int = 0
    """The most decimals of any number, without trailing zeros."""

    @property
    def thousands(self) -> str:
        """The character that may separate thousands."""
        return "," if self.decimal == "." else "."

    def plain(self, text: str) -> str:
        """A text with a decimal point and without separators."""
        return text.strip().replace(self.thousands, "").replace(self.decimal, ".")

    def numbers(self, texts: Sequence[str]) -> Floats:
        """Texts as numbers; NaN for other texts."""
        if len(texts) < MANY_TEXTS:
            return np.array([self._number(text) for text in texts], dtype=np.float64)
        import polars as pl

        series = pl.Series(texts, dtype=pl.String)
        canonical = series
        if self.decimal != "." or any("," in text for text in texts):
            is_number = series.str.contains(f"^(?:{_PATTERNS[self.decimal]})$")
            canonical = series.str.replace_all(self.thousands, "", literal=True).set(~is_number, "")
            canonical = canonical.str.replace_all(self.decimal, ".", literal=True)
        is_plain = canonical.str.contains(_PLAIN)
        numbers = canonical.set(~is_plain, None).cast(pl.Float64).fill_null(math.nan).to_numpy(writable=True)
        for place in (~is_plain).arg_true().to_list():
            numbers[place] = self._number(texts[place])
        return numbers

    def _number(self, text: str) -> float:
        if not _COMPILED[self.decimal].fullmatch(text.strip()):
            return math.nan
        try:
            return float(self.plain(text))
        except ValueError:
            return math.nan

    def round_numbers(self, numbers: Floats) -> Floats:
        """Numbers rounded to the decimals of the column if they have as many, without negative zeros."""
        if self.decimals <= DIGITS:
            return np.asarray(np.round(numbers, self.decimals) + 0.0)
        if self.decimals > MOST_DECIMALS:
            return np.asarray(numbers + 0.0)
        import polars as pl

        is_rounded = np.abs(numbers) < EXACT * 10.0**-self.decimals
        whole = pl.Series(np.rint(numbers[is_rounded] * 10.0**self.decimals).astype(np.int64))
        out = np.array(numbers + 0.0)
        out[is_rounded] = (whole.cast(pl.String) + f"e-{self.decimals}").cast(pl.Float64).to_numpy()
        return out

    def format_numbers(self, cells: pl.Series) -> pl.Series:
        """Numbers as texts in this notation."""
        import polars as pl

        texts = cells.cast(pl.String)
        if self.is_grouped:
            parts = texts.str.extract_groups(r"^(-?)([0-9]+)(.*)$").struct
            turned = parts.field("2").str.reverse().str.replace_all(r"([0-9]{3})", "$1,")
            digits = turned.str.reverse().str.strip_chars_start(",").str.replace_all(",", self.thousands, literal=True)
            behind = parts.field("3").str.replace(".", self.decimal, literal=True)
            return (parts.field("1") + digits + behind).alias(texts.name)
        return texts if self.decimal == "." else texts.str.replace(".", self.decimal, literal=True)


PLAIN = Notation()


@dataclass(frozen=True, slots=True, eq=False)
class ReadNumbers:
    """The numbers of a column's texts."""

    notation: Notation
    numbers: Floats
    """NaN for a text that is not a number in this notation."""
    n_other: int
    """The number of texts that are only numbers in the other notation."""


def read_numbers(texts: Sequence[str], decimal: str | None = None) -> ReadNumbers:
    """Detect the notation of the distinct texts of a column, unless the decimal sign is known, and parse them."""
    chosen = decimal or ("," if any("," in text and _is_only(",", text.strip()) for text in texts) else ".")
    notation = Notation(chosen)
    numbers = notation.numbers(texts)
    unread = [texts[place].strip() for place in np.flatnonzero(np.isnan(numbers)).tolist()]
    n_other = sum(_is_only(notation.thousands, text) for text in unread)
    grouped = any(notation.thousands in text for text in texts)
    decimals = _most_decimals(texts, notation)
    sizes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0.0)])
    zeros = max(0, -math.floor(math.log10(sizes.min())) - 1) if sizes.size and decimals > DIGITS else 0
    return ReadNumbers(Notation(chosen, grouped, min(decimals, DIGITS + zeros)), numbers, n_other)


def numbers_of(texts: Sequence[str], decimal: str | None = None) -> Floats:
    """Texts as numbers in their common notation; NaN for other texts."""
    return read_numbers(texts, decimal).numbers


def _is_only(decimal: str, text: str) -> bool:
    """Return whether a text is a number with one decimal sign and not with the other."""
    own, other = (_COMPILED[sign].fullmatch(text) for sign in (decimal, "," if decimal == "." else "."))
    return own is not None and other is None


def _most_decimals(texts: Sequence[str], notation: Notation) -> int:
    if len(texts) < MANY_TEXTS:
        return max((_decimals(notation.plain(text)) for text in texts), default=0)
    import polars as pl

    series = pl.Series(texts, dtype=pl.String).str.strip_chars()
    has_exponent = series.str.contains_any(["e", "E"])
    stripped = series.filter(~has_exponent).str.strip_chars_end("0")
    behind = stripped.str.len_bytes().cast(pl.Int64) - stripped.str.find(notation.decimal, literal=True).cast(pl.Int64)
    others = (_decimals(notation.plain(text)) for text in series.filter(has_exponent))
    return max([int(behind.max() or 1) - 1, *others])  # type: ignore[arg-type]


def _decimals(text: str) -> int:
    """The number of decimals without trailing zeros; an exponent shifts the point."""
    digits, _, exponent = text.lower().partition("e")
    behind = digits.partition(".")[2].rstrip("0")
    shift = int(exponent) if exponent.lstrip("+-").isdigit() else 0
    return max(0, len(behind) - shift)


# ------------------------------------------------------------------------------------------------ exactness


def lost_texts(texts: Sequence[str], read: ReadNumbers) -> list[str]:
    """Texts of numbers with more digits than floating-point numbers have, if that matters.

    It matters if another text of the column becomes the same number, or if all numbers are so close to each other that
    their distances would be wrong.
    """
    numbers = read.numbers
    if not numbers.size:
        return []
    distinct, place, times = np.unique(numbers, return_inverse=True, return_counts=True)
    is_tiny = np.abs(numbers) < np.finfo(np.float64).smallest_normal
    suspect = (times[place] > 1) | is_tiny
    # Both are halved, because the range of large numbers may overflow.
    off, extent = np.spacing(np.abs(distinct[[0, -1]]).max()) / 4.0, distinct[-1] / 2.0 - distinct[0] / 2.0
    if off > ENOUGH_OF_RANGE * extent > 0.0:
        suspect[:] = True
    looked_at = np.flatnonzero(suspect).tolist()
    return [texts[n] for n in looked_at if not _is_exact(texts[n], numbers[n], read.notation)]


_EXACTLY = Context(prec=1200)


def _is_exact(text: str, number: float, notation: Notation) -> bool:
    """Return whether a text is a floating-point number, rounded to as many digits as the text has."""
    exact = Decimal(notation.plain(text))
    with suppress(InvalidOperation):
        return bool(Decimal(float(number)).quantize(exact, context=_EXACTLY) == exact)
    return False  # More digits, or a smaller exponent, than any floating-point number has.
