"""The gate that every number passes on its way into an edition of a report.

The internal edition gets each number as it is. The public edition is read by intruders too, so the gate asks what kind
of number it is:

- *known*: anybody can tell it who has the release, the ontologies and the published part of the plan;
- *parameter* and *promise*: published by the rules of `anonto.report.editions`, an ε rounded up;
- *measured*: it follows from the original, and from a second masking whose chance has nothing to do with the release.
  It is about columns that an intruder is assumed to know of everybody, those of one step or the quasi-identifiers, so
  that it tells her nothing new: what such a column has to do with another one would help her to match the release with
  what she knows. Against those who know less, it is rounded to a step of at least 10 persons, and hidden where fewer
  than 100 stand behind it.

There is no kind for figures about the way from the original to the release itself: with the release at hand, they tell
among all ways in which chance could have made it the one that it took. `require_passed` refuses public data with a
number that did not come through the gate.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from anonto.attacks.shares import PassedFloat, PassedInt, percent
from anonto.errors import InternalError
from anonto.report.counts import NOT_SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonto.report.editions import Edition

    Number = TypeVar("Number", int, float)

FEWEST_PERSONS = 100
"""No measured figure about fewer persons or cells is published."""
PERSONS_A_STEP = 10
"""A published figure is rounded to a step that is at least so many persons."""
STEPS = (0.01, 0.02, 0.05, 0.1)
"""The steps, finest first; the last one is right for the fewest persons."""
FEW = f"< {PERSONS_A_STEP}"
"""Shown instead of a count below a step."""


def step_of(n: int) -> float | None:
    """The step that shares of n persons are rounded to; None where they are too few."""
    return None if n < FEWEST_PERSONS else next(step for step in STEPS if n * step > PERSONS_A_STEP - 1e-9)


class Gate:
    """The gate of one edition.

    Args:
        edition: Of the report.
        has_measured: Whether the public edition has measured figures at all: only where a second masking was made.
        steps: The columns of each step, whether something is proved for it, and the other columns that it looks at.
        quasi: The quasi-identifiers.
    """

    def __init__(
        self,
        edition: Edition,
        *,
        has_measured: bool = True,
        steps: Iterable[tuple[Iterable[str], bool, Iterable[str]]] = (),
        quasi: Iterable[str] = (),
    ) -> None:
        self.edition: Edition = edition
        self.is_internal = edition == "internal"
        self.has_measured = has_measured
        self._steps = [(frozenset(columns), proved, frozenset(also_needed)) for columns, proved, also_needed in steps]
        self._quasi = frozenset(quasi)

    def known(self, number: Number) -> Number:
        """A number that follows from the release, the ontologies or the published part of the plan."""
        return number if self.is_internal else _pass(number)

    def parameters(self, published: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters that the edition shows."""
        return dict(published) if self.is_internal else {name: _pass_all(value) for name, value in published.items()}

    def promise(self, guarantee: Mapping[str, Any], published: Mapping[str, Any]) -> dict[str, Any]:
        """A guarantee; in public its ε is rounded up to two digits, unless it is a published parameter.

        In full precision, the ε of a method would reveal a parameter that is kept back.
        """
        if self.is_internal:
            return dict(guarantee)
        rounded = dict(guarantee)
        if "epsilon" in rounded and "epsilon" not in published:
            rounded["epsilon"] = round_up(rounded["epsilon"])
        return self.parameters(rounded)

    def about(self, columns: Iterable[str], *, alone: bool = True) -> MeasuredGate:
        """The gate of figures that were measured on some columns.

        Args:
            columns: The columns that a figure is about.
            alone: Whether it is about no other column.
        """
        is_open = self.has_measured and alone and self._tells_nothing_new(frozenset(columns))
        return MeasuredGate(self.is_internal, is_open)

    def _tells_nothing_new(self, columns: frozenset[str]) -> bool:
        """Return whether an intruder is assumed to know all that a figure follows from.

        Where a step masks one of the columns, what it made of them follows from all of its columns and from those that
        it also looks at. And a proof about a step is about an intruder who knows the columns of that step alone.
        """
        all_of_them = columns.union(*(step | also_needed for step, _, also_needed in self._steps if step & columns))
        of_one_step = any(all_of_them <= step for step, _, _ in self._steps)
        is_cut = any(proved and step & all_of_them and not all_of_them <= step for step, proved, _ in self._steps)
        return of_one_step or (all_of_them <= self._quasi and not is_cut)


class MeasuredGate:
    """The gate of figures that were measured on some columns.

    Args:
        is_internal: Whether every figure passes as it is.
        is_open: Whether figures about these columns are published.
    """

    def __init__(self, is_internal: bool, is_open: bool) -> None:
        self.is_internal = is_internal
        self.is_open = is_open

    def shows(self, n: int) -> bool:
        """Return whether a figure about n persons or cells is shown."""
        return self.is_internal or self.step(n) is not None

    def step(self, n: int) -> float | None:
        """The rounding step of a public figure about n persons or cells; None where it is hidden."""
        return step_of(n) if self.is_open else None

    def share(self, share: float, n: int) -> float | None:
        """A share of n persons or cells, or another number whose terms are at most 1/n for each of them."""
        if self.is_internal:
            return share
        step = self.step(n)
        return None if step is None else PassedFloat(_nearest(share, step))

    def root(self, number: float, n: int) -> float | None:
        """The root of a mean over n persons or cells, rounded as that mean: a single one can move a root far."""
        if self.is_internal:
            return number
        mean = self.share(number * number, n)
        return None if mean is None else PassedFloat(round(math.sqrt(mean), 2))

    def ratio(self, number: float, n: int) -> float | None:
        """A number that can be greater than 1: it has as many digits as a share."""
        if self.is_internal:
            return number
        step = self.step(n)
        if step is None:
            return None
        scale = 10.0 ** max(0, math.ceil(math.log10(abs(number)))) if number else 1.0
        return PassedFloat(_nearest(number, step * scale))

    def per_cent(self, count: int | str, n: int) -> float | int | str:
        """A count; in public as a share of n in per cent."""
        if self.is_internal:
            return count
        share = None if isinstance(count, str) else self.share(count / n if n else 0.0, n)
        return NOT_SHOWN if share is None else PassedFloat(round(100 * share))

    def count(self, count: int) -> int | str:
        """A count of persons or cells of the original; in public to two digits, none below 10, not even 0."""
        if self.is_internal:
            return count
        if not self.is_open:
            return NOT_SHOWN
        return FEW if count < PERSONS_A_STEP else self.size(count)

    def size(self, n: int) -> int:
        """How many were attacked; in public to two digits, and at least to tens."""
        return n if self.is_internal else _pass(round(n, min(-1, 2 - len(str(n)))))

    def odds(self, draws: int | None) -> int | None:
        """One over a chance; in public to a power of ten."""
        return draws if draws is None or self.is_internal else _pass(10 ** (len(str(draws)) - 1))

    def rate(self, rate: float, low: float, high: float, n: int) -> dict[str, Any]:
        """A rate with its interval as numbers, None for what is hidden, and as a text.

        Of a rate below one step, or of less than a step below 1, the public edition gives a bound.
        """
        if self.is_internal:
            return {"rate": rate, "low": low, "high": high, "shown": percent(rate)}
        step = self.step(n)
        if step is None:
            return {"rate": None, "low": None, "high": None, "shown": NOT_SHOWN}
        lower, upper = (_pass(min(1.0, max(0.0, _outward(end, step, up=up)))) for end, up in ((low, 0), (high, 1)))
        if rate < step:
            upper = max(upper, _pass(step))
            return {"rate": None, "low": None, "high": upper, "shown": f"less than {percent(_pass(step))}"}
        if rate > 1 - step:
            lower = min(lower, _pass(1 - step))
            return {"rate": None, "low": lower, "high": None, "shown": f"more than {percent(_pass(1 - step))}"}
        shown = _pass(_nearest(rate, step))
        return {"rate": shown, "low": min(lower, shown), "high": max(upper, shown), "shown": percent(shown)}


def require_passed(data: Any, path: str = "the report") -> None:
    """Refuse public data with a number that did not come through the gate."""
    if isinstance(data, dict):
        for key, value in data.items():
            require_passed(value, f"{path}, {key}")
    elif isinstance(data, list | tuple):
        for value in data:
            require_passed(value, path)
    elif isinstance(data, int | float) and not isinstance(data, bool | PassedFloat | PassedInt):
        raise ungated_number(path)


def round_up(number: float) -> float:
    """A number to two digits, never below itself."""
    if not number or not math.isfinite(number):
        return number
    exact = Decimal(number)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), rounding=ROUND_CEILING))


def _pass(number: Any) -> Any:
    """A number marked as one that came through the gate."""
    return PassedInt(number) if isinstance(number, int) else PassedFloat(number)


def _pass_all(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_pass_all(one) for one in value]
    return _pass(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _nearest(number: float, step: float) -> float:
    return round(round(number / step) * step, 2) + 0.0  # no minus before 0


def _outward(number: float, step: float, *, up: int) -> float:
    # A tenth of a digit that floats lose must not move an end by a whole step.
    steps = math.ceil(number / step - 1e-9) if up else math.floor(number / step + 1e-9)
    return round(steps * step, 2)


def ungated_number(where: str) -> InternalError:
    """A number of a public report that has not been cleared for publication."""
    return InternalError(
        f"A number in the public edition ({where}) did not pass its gate, so the report is not written, an internal "
        "error; please report it."
    )
