"""Guesses which texts of a column mean missing, and whether its values are nominal, ordinal, numeric or dates."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from anonto.io.cell_texts import MISSING_SIGNS, says_unknown
from anonto.io.date_notation import ReadDates, read_dates
from anonto.io.notation import numbers_of
from anonto.ontology.matching import words
from anonto.profile.column_profile import word_set
from anonto.profile.shapes import are_dates
from anonto.profile.vocabulary import CONFIDENTIAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.profile.column_profile import ColumnProfile

LONGEST_SIGN = 8
CODE_WORDS = word_set(
    """id code cd type class category cat group status flag level key drg zip zipcode zcta postcode postal plz icd dx
    diag px proc cpt ndc ccs atc ward unit sex gender race ethnicity region state county country district province
    marital religion occupation job payer payor insurance specialty specialism department concept source"""
)
MEASURE_WORDS = word_set(
    """num number count total sum n age year years month months day days hour hours minute minutes time length stay los
    size weight wgt height bmi duration score rate percent pressure dose"""
).union(CONFIDENTIAL["an amount of money"].split())
SCALES = (
    ("very low", "low", "medium|mid|moderate|middle|normal|average", "high", "very high"),
    ("none|absent", "mild|slight|light", "moderate|medium", "severe|strong|heavy", "very severe|extreme|critical"),
    ("never", "rarely|seldom", "sometimes|occasionally", "often|frequently|usually", "always"),
    ("very poor", "poor|bad", "fair|average", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neutral|neither agree nor disagree", "agree", "strongly agree"),
    ("extra small|xs", "small|s", "medium|m", "large|l", "extra large|xl"),
)
MOST_STEPS = 60
FEWEST_STEPS = 3
ID_WIDTH = 5
ID_DISTINCT = 20
COUNTRY_CODES = 20
TRIED_FIRST = 100

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_UNIT = r"\s*[A-Za-z%€$£]*"
_RANGE = re.compile(rf"[\[(]?\s*{_NUMBER}\s*(?:-|–|,|;|\.\.|to)\s*{_NUMBER}{_UNIT}\s*[\])]?")
_BELOW = re.compile(rf"(?:<=?|≤|under|below|up to|less than)\s*{_NUMBER}{_UNIT}", re.IGNORECASE)
_ABOVE = re.compile(rf"(?:>=?|≥|over|above|more than)\s*{_NUMBER}{_UNIT}", re.IGNORECASE)
_AND_ABOVE = re.compile(rf"{_NUMBER}{_UNIT}\s*(?:\+|and over|and older|and above|or more|plus)", re.IGNORECASE)
_LEADING_ZERO = re.compile(r"\s*[+-]?0\d")


@dataclass(frozen=True, slots=True)
class KindGuess:
    """The kind of a column, its order if it has one, and why."""

    kind: str
    reason: str
    order: tuple[str, ...] = ()
    dates: str = ""
    """Of the kind ``date``: ``date``, also with a time, ``time`` or ``duration``."""


# ------------------------------------------------------------------------------------------------ missing


def missing_texts(column: ColumnProfile) -> tuple[str, ...]:
    """The texts of a column that mean missing.

    Signs such as a question mark always do, unless they are codes; a word such as "unknown" only if all other values
    are numbers.
    """
    signs = [value for value in column.values if _is_a_sign(value)]
    others = column.without(signs).values
    if "+" in others:
        signs = [value for value in signs if value.strip() != "-"]
    if len(others) >= COUNTRY_CODES and all(len(value) == 2 and value.isalpha() for value in others):
        signs = [value for value in signs if value != "NA"]
    unknown = [value for value in others if says_unknown(value)]
    if unknown:
        rest = tuple(value for value in others if not says_unknown(value))
        if rest and are_numbers(rest):
            signs += unknown
    return tuple(signs)


def _is_a_sign(value: str) -> bool:
    return (len(value) <= LONGEST_SIGN or value.isspace()) and value.strip().casefold() in MISSING_SIGNS


# ------------------------------------------------------------------------------------------------ kind


def kind_of(column: ColumnProfile) -> KindGuess:
    """The kind of a column without its missing texts."""
    if not column.n_records:
        return _kind_by_name(column.words)
    if not column.values:
        return KindGuess("nominal", "it has no value")
    dates = _dates_of(column)
    if dates is not None and dates.moments is not None:
        found = dates.notation.kind
        return KindGuess("date", f"all its values are {_NAMES_OF_DATES[found]}", dates=found)
    order = order_of(column.values)
    if order:
        return KindGuess("ordinal", f"its {len(order)} values are steps of a scale", order)
    if not are_numbers(column.values):
        return KindGuess("nominal", "its values are not all numbers" if dates is None else _why_not_dates(dates))
    return _kind_of_numbers(column)


def _kind_of_numbers(column: ColumnProfile) -> KindGuess:
    """Amounts, or codes made of digits."""
    code = _why_a_code(column)
    if code:
        return KindGuess("nominal", f"its values are numbers, but codes: {code}")
    return KindGuess("numeric", "all its values are numbers")


_NAMES_OF_DATES = {"date": "dates in one notation", "time": "times of day", "duration": "durations"}


def _dates_of(column: ColumnProfile) -> ReadDates | None:
    """The values read as dates, with the fault where they look like dates but cannot be read; None for other values.

    Eight digits are only read as dates from 1900 to 2099.
    """
    few = column.values[:: max(1, len(column.values) // TRIED_FIRST)]
    read = read_dates(few)
    if not read.wrong:
        settled = read.moments is not None
        known = read.notation.known_pattern if settled else None
        read = read_dates(column.values, known)
        if known is not None and read.moments is None:
            read = read_dates(column.values)
    if read.wrong:
        return read if are_dates(column) else None
    return None if read.notation.pattern == "Ymd" and not are_dates(column) else read


def _why_not_dates(read: ReadDates) -> str:
    """Why values that look like dates are not proposed as such."""
    if read.ambiguous:
        either = " or ".join(f"notation = {one!r}" for one in read.ambiguous)
        return f"its values look like dates, but can be read in two ways: with kind = 'date', say {either}"
    if read.mixed:
        return "its values look like dates in more than one notation: with kind = 'date', all must have the same"
    return "its values look like dates, but not all of them exist, or are in a notation that can be read"


def _kind_by_name(name: Sequence[str]) -> KindGuess:
    """The guess for a table without records, by name."""
    measures = [word for word in name if word in MEASURE_WORDS]
    if measures and not _is_named_like_codes(name):
        return KindGuess("numeric", f"there are no records, but its name has the word {measures[-1]!r}")
    return KindGuess("nominal", "there are no records to infer its kind from")


def are_numbers(values: tuple[str, ...]) -> bool:
    """Return whether all texts are finite numbers; a few are tried first, because most long columns of text are not."""
    few = values[:: max(1, len(values) // TRIED_FIRST)]
    return bool(np.isfinite(numbers_of(few)).all() and np.isfinite(numbers_of(values)).all())


def _why_a_code(column: ColumnProfile) -> str:
    """Why numbers are codes rather than amounts; empty if they are amounts."""
    signs = (
        (column.has_labels, "the file gives them labels"),
        (any(_LEADING_ZERO.match(value) for value in column.values), "some start with a zero"),
        (len(column.values) <= 2, "there are at most two"),
        (_is_named_like_codes(column.words), "the name of the column suggests codes"),
        (_have_one_width(column), "all have the same number of digits"),
    )
    return next((reason for holds, reason in signs if holds), "")


def _is_named_like_codes(name: Sequence[str]) -> bool:
    """The last word decides, as in ``age_group``; otherwise a word for an amount, as in ``number_diagnoses``."""
    if name and name[-1] in CODE_WORDS:
        return True
    return MEASURE_WORDS.isdisjoint(name) and not CODE_WORDS.isdisjoint(name)


def _have_one_width(column: ColumnProfile) -> bool:
    width = len(column.values[0])
    if width < ID_WIDTH or len(column.values) < ID_DISTINCT or not MEASURE_WORDS.isdisjoint(column.words):
        return False
    return all(value.isdigit() and len(value) == width for value in column.values)


# ------------------------------------------------------------------------------------------------ order


def order_of(values: Sequence[str]) -> tuple[str, ...]:
    """The values from lowest to highest, if they are ranges of numbers or steps of a usual scale; otherwise empty."""
    if not FEWEST_STEPS <= len(values) <= MOST_STEPS:
        return ()
    return _order_of_bands(values) or _order_of_steps(values)


def _order_of_bands(values: Sequence[str]) -> tuple[str, ...]:
    bands = [_band(value.strip()) for value in values]
    known = [band for band in bands if band is not None]
    if len(known) < len(values) or sum(low < high for low, high in known) < FEWEST_STEPS - 1:
        return ()
    ordered = sorted(zip(known, values, strict=True))
    for ((low, high), _), ((next_low, _), _) in pairwise(ordered):
        if low > high or high > next_low:
            return ()
    return tuple(value for _, value in ordered)


def _band(value: str) -> tuple[float, float] | None:
    """The ends of a range such as ``[10-20)``, ``< 5`` or ``85+``; a number is a range of one."""
    if found := _RANGE.fullmatch(value):
        low, high = float(found[1]), float(found[2])
        return (low, high) if low < high else None
    if found := _BELOW.fullmatch(value):
        return -math.inf, float(found[1])
    if found := _ABOVE.fullmatch(value) or _AND_ABOVE.fullmatch(value):
        return float(found[1]), math.inf
    return (float(value), float(value)) if re.fullmatch(_NUMBER, value) else None


def _order_of_steps(values: Sequence[str]) -> tuple[str, ...]:
    for scale in SCALES:
        step_of = {text: step for step, texts in enumerate(scale) for text in texts.split("|")}
        steps = [step_of.get(words(value.replace("_", " ")), -1) for value in values]
        if -1 not in steps and len(set(steps)) == len(steps):
            return tuple(value for _, value in sorted(zip(steps, values, strict=True)))
    return ()
