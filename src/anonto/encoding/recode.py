"""The key `recode` of a column: how its cells are made coarser before anything is counted and before any step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

from anonto.encoding.refusals import unknown_key
from anonto.errors import ParameterError
from anonto.wording import count_of

KEYS_OF_KIND: Mapping[str, tuple[str, ...]] = {
    "numeric": ("bottom", "top", "round", "bands", "labels"),
    "text": ("prefix", "population", "at_least", "other"),
    "concept": ("generalise",),
    "date": ("to", "keep", "shift", "days", "person"),
}
"""The keys for a column of each kind; a nominal column is one of concepts if it has an ontology, else one of texts."""
PERIODS = ("day", "week", "month", "quarter", "year")
SHIFTS = ("person", "record")
STEPS = {None: 1, "weekday": 7, "season": 364}
"""What a shift of dates keeps: it is a multiple of so many days."""
MOST_DAYS = 36_525
"""A hundred years."""
OTHER = "000"
"""The prefix of all small areas, as the rule of HIPAA writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recode:
    """How the cells of a column are recoded; checks itself."""

    bottom: float | None = None
    """Of numbers: smaller ones become this one."""
    top: float | None = None
    """Of numbers: larger ones become this one."""
    round: float | None = None
    """Of numbers: each becomes the nearest multiple of this one; halves go up."""
    bands: tuple[float, ...] = ()
    """Of numbers: each begins a new band. Two give three bands: below the first, from it to the second, and above."""
    labels: tuple[str, ...] = ()
    """The texts of the bands, lowest first; without bands those of bottom and top codes."""
    prefix: int | None = None
    """Of texts: how many characters stay."""
    population: str | None = None
    """A CSV file of prefixes and the people who live there."""
    at_least: float | None = None
    """A prefix with fewer people becomes `other`."""
    other: str = OTHER
    """The text of all small areas."""
    generalise: int | str | None = None
    """Of concepts: each becomes its ancestor at a depth (a root has 1), or at a named level such as `"chapter"`."""

    to: str | None = None
    """Of dates: each becomes the first day of its `"week"`, `"month"`, `"quarter"` or `"year"`, or loses its time with
    `"day"`."""
    keep: str | None = None
    """Of dates: `"weekday"` or `"season"` stays the same."""
    shift: str | None = None
    """Of dates: by `"person"` or by `"record"`, by a secret number of days."""
    days: int | None = None
    """The most days that a date is shifted by."""
    person: str | None = None
    """The column that says whose dates these are, if the table section names none."""

    @classmethod
    def from_mapping(cls, where: str, given: Any) -> Recode:
        """From the keys of a plan; every message names the column."""
        if isinstance(given, Recode):
            return given
        if not isinstance(given, Mapping) or not given:
            raise ParameterError(f"recode of {where}", "a table of keys such as top or prefix", type(given))
        known = [one.name for one in fields(cls)]
        for key in given:
            if key not in known:
                raise unknown_key(str(key), f"recode of {where}", known)
        values: dict[str, Any] = {str(key): tuple(one) if isinstance(one, list) else one for key, one in given.items()}
        found = cls(**values)
        found.check(f"recode of {where}")
        return found

    def to_mapping(self) -> dict[str, Any]:
        """The keys that are set, as in a plan."""
        set_keys = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in set_keys.items()}

    def check(self, where: str) -> None:
        """Refuse values that no key may have."""
        for key in ("bottom", "top", "round", "at_least"):
            _require_number(getattr(self, key), f"{key} of {where}")
        for key in ("bands", "labels"):
            if not isinstance(getattr(self, key), tuple):
                raise ParameterError(f"{key} of {where}", "a list", getattr(self, key))
        for cut in self.bands:
            _require_number(cut, f"bands of {where}")
        self._check_numbers(where)
        self._check_labels(where)
        self._check_prefix(where)
        self._check_dates(where)
        if self.generalise is not None:
            is_depth = isinstance(self.generalise, int) and not isinstance(self.generalise, bool)
            if not (self.generalise >= 1 if is_depth else isinstance(self.generalise, str) and self.generalise):  # type: ignore[operator]
                must = "a depth, 1 or more, or the name of a level such as 'chapter'"
                raise ParameterError(f"generalise of {where}", must, self.generalise)

    def _check_numbers(self, where: str) -> None:
        if self.round is not None and self.round <= 0:
            raise ParameterError(f"round of {where}", "a number above 0", self.round)
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise ParameterError(f"bottom of {where}", f"less than top, {self.top}", self.bottom)
        if any(low >= high for low, high in pairwise(self.bands)):
            raise ParameterError(f"bands of {where}", "numbers in ascending order", list(self.bands))
        if self.bands and (self.bottom, self.top, self.round) != (None, None, None):
            raise ParameterError(f"bands of {where}", "without bottom, top and round", list(self.bands))

    def _check_labels(self, where: str) -> None:
        if not self.labels:
            return
        if not all(isinstance(one, str) and one for one in self.labels) or len(set(self.labels)) < len(self.labels):
            raise ParameterError(f"labels of {where}", "a list of different texts", list(self.labels))
        codes = [one for one in (self.bottom, self.top) if one is not None]
        n_needed = len(self.bands) + 1 if self.bands else len(codes)
        if len(self.labels) != n_needed:
            what = "one text for each band" if self.bands else "one text for each of bottom and top"
            raise ParameterError(f"labels of {where}", f"{what}: {n_needed}", list(self.labels))

    def _check_prefix(self, where: str) -> None:
        if self.prefix is not None and (
            isinstance(self.prefix, bool) or not isinstance(self.prefix, int) or self.prefix < 1
        ):
            raise ParameterError(f"prefix of {where}", "a whole number of characters, 1 or more", self.prefix)
        if self.population is not None and not isinstance(self.population, str):
            raise ParameterError(f"population of {where}", "the path of a CSV file", self.population)
        if (self.population is None) != (self.at_least is None):
            raise ParameterError(f"population of {where}", "given together with at_least", self.population)
        if self.population is not None and self.prefix is None:
            raise ParameterError(f"prefix of {where}", "given where population is", None)
        if not isinstance(self.other, str) or not self.other:
            raise ParameterError(f"other of {where}", "a text", self.other)

    def _check_dates(self, where: str) -> None:
        for key, known in (("to", PERIODS), ("shift", SHIFTS), ("keep", ("weekday", "season"))):
            value = getattr(self, key)
            if value is not None and value not in known:
                raise ParameterError(f"{key} of {where}", f"one of {', '.join(known)}", value)
        if self.to is not None and self.shift is not None:
            raise ParameterError(f"shift of {where}", "left out where dates are cut with to", self.shift)
        least = STEPS[self.keep]
        if (self.shift is None) != (self.days is None):
            raise ParameterError(f"days of {where}", "given together with shift", self.days)
        is_whole = isinstance(self.days, int) and not isinstance(self.days, bool)
        if self.days is not None and not (is_whole and least <= self.days <= MOST_DAYS):
            raise ParameterError(f"days of {where}", f"a whole number from {least} to {MOST_DAYS:,}", self.days)
        if self.person is not None and (self.shift != "person" or not isinstance(self.person, str)):
            raise ParameterError(f"person of {where}", "the name of a column, with shift = 'person'", self.person)
        fitting = {None: PERIODS, "weekday": PERIODS[2:], "season": ("year",)}[self.keep]
        if self.keep is not None and self.shift is None and self.to not in fitting:
            must = f"left out, or given with shift or with to as one of {', '.join(fitting)}"
            raise ParameterError(f"keep of {where}", must, self.keep)

    def require_kind(self, kind: str, where: str) -> None:
        """Refuse keys that are for columns of another kind."""
        own = KEYS_OF_KIND.get(kind, ())
        wrong = [key for key in self.to_mapping() if key not in own]
        if wrong:
            of = {key: one for one, keys in KEYS_OF_KIND.items() for key in keys}
            needed = {
                **{one: f"kind = {one!r}" for one in ("numeric", "date")},
                "text": "a nominal column without an ontology",
            }
            must = f"left out: it is for {needed.get(of[wrong[0]], 'a nominal column with an ontology')}"
            raise ParameterError(f"{wrong[0]} of recode of {where}", must, self.to_mapping()[wrong[0]])

    @property
    def has_labels(self) -> bool:
        """Whether numbers are released as texts: labels or bands."""
        return bool(self.bands or self.labels)

    @property
    def band_labels(self) -> tuple[str, ...]:
        """The texts of the bands; without labels as ``<18``, ``[18,65)`` and ``>=65``."""
        if self.labels or not self.bands:
            return self.labels
        cuts = [f"{cut:.15g}" for cut in self.bands]
        return (f"<{cuts[0]}", *(f"[{low},{high})" for low, high in pairwise(cuts)), f">={cuts[-1]}")

    @property
    def label_numbers(self) -> dict[str, float]:
        """The number that each label counts as: the middle of a band, of an open one its only end; or the code."""
        if self.bands:
            middles = [low / 2 + high / 2 for low, high in pairwise(self.bands)]
            numbers = [self.bands[0], *middles, self.bands[-1]]
        else:
            numbers = [one for one in (self.bottom, self.top) if one is not None]
        return dict(zip(self.band_labels, map(float, numbers), strict=False))

    @property
    def words(self) -> str:
        """The changes to the cells in words."""
        said = []
        if self.round is not None:
            said.append(f"rounded to multiples of {self.round:g}")
        labels = dict(zip(self.label_numbers.values(), self.label_numbers, strict=True)) if not self.bands else {}
        for code, place, reach, word in (
            (self.bottom, "below", "or less", "bottom"),
            (self.top, "above", "or more", "top"),
        ):
            if code is not None and (label := labels.get(float(code))):
                said.append(f"{word}-coded: numbers of {code:g} {reach} become {label!r}")
            elif code is not None:
                said.append(f"{word}-coded: numbers {place} {code:g} become {code:g}")
        if self.bands:
            said.append(f"put into {len(self.bands) + 1} bands: {', '.join(self.band_labels)}")
        if self.prefix is not None:
            said.append(f"cut to the first {count_of(self.prefix, 'character')}")
        if self.at_least is not None:
            said.append(f"areas of fewer than {self.at_least:,g} people become {self.other!r}")
        if self.to is not None:
            said.append(f"dates become the first day of their {self.to}" if self.to != "day" else "times are cut off")
        if self.shift is not None:
            said.append(f"shifted by up to {count_of(self.days or 0, 'day')} alike in all dates of a {self.shift}")
        if self.keep is not None:
            said.append(f"the {self.keep} stays")
        if self.generalise is not None:
            level = f"level {self.generalise!r}" if isinstance(self.generalise, str) else f"depth {self.generalise}"
            said.append(f"each concept becomes its ancestor at {level}")
        return "; ".join(said)


def recode_schema() -> dict[str, Any]:
    """The JSON Schema of the key."""
    number = {"type": "number"}
    properties: dict[str, Any] = {
        **dict.fromkeys(("bottom", "top", "at_least"), number),
        "round": {"type": "number", "exclusiveMinimum": 0},
        "bands": {"type": "array", "items": number, "minItems": 1},
        "labels": {"type": "array", "items": {"type": "string"}},
        "prefix": {"type": "integer", "minimum": 1},
        "population": {"type": "string"},
        "other": {"type": "string", "minLength": 1, "default": OTHER},
        "to": {"enum": list(PERIODS)},
        "keep": {"enum": ["weekday", "season"]},
        "shift": {"enum": list(SHIFTS)},
        "days": {"type": "integer", "minimum": 1, "maximum": MOST_DAYS},
        "person": {"type": "string"},
        "generalise": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "minLength": 1}]},
    }
    return {"type": "object", "properties": properties, "additionalProperties": False, "minProperties": 1}


def _require_number(given: Any, what: str) -> None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
    if given is not None and not is_number:
        raise ParameterError(what, "a number", given)
