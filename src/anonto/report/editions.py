"""The two editions of a report, and what the public one keeps back.

The internal edition is for those who may see the original. The public one goes out with the release, so an intruder
reads it too. It says the same in fewer numbers:

- a parameter is published where the method's guarantee holds against someone who knows it, and kept back elsewhere;
- no count of records from 1 to 4, and none that would tell one by subtraction;
- no share of fewer than 5 persons, none of fewer than 20, and shares rounded to a tenth of a per cent;
- nothing of a single value: no count of one, no mean that is one, no greatest distance, no smallest class;
- no frequency of the original that the release itself does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from anonto.errors import ParameterError
from anonto.report.counts import NOT_SHOWN, SMALLEST_SHOWN
from anonto.risk.rate import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

Edition = Literal["internal", "public"]
EDITIONS: tuple[Edition, ...] = ("internal", "public")

PUBLISHED: Mapping[str, tuple[str, ...]] = {
    "random-swap": (),
    "frequency-swap": (),
    "rank-swap-fixed": (),
    "rank-swap": (),
    "rank-swap-joint": (),
    "group-swap": ("k", "move", "refine"),
    "equi-depth-swap": (),
    "equi-width-swap": (),
    "invariant-swap": (),
    "microaggregate": ("k", "aggregate"),
    "semantic-noise": (),
    "semantic-noise-joint": (),
    "taxonomy-exponential": ("epsilon", "metric"),
}
"""The parameters of each method that may be published.

The proof of ``group-swap`` allows the intruder the method, k and the groups; the k of ``microaggregate`` can be counted
in the release; a mechanism with ε is made to be public. The ε of ``invariant-swap`` is published, but not the rate:
both together would tell the size of the largest bin. Swaps without a proof keep k and widths back, because an intruder
who knows them links more; noise keeps its level back for the same reason.
"""
STAND_INS = {"k": "k", "rate": "p", "epsilon": "ε"}
"""What a sentence says in place of a parameter that is kept back."""
FEWEST_PERSONS = 20
"""Shares of fewer persons are not published."""


def edition_of(name: str) -> Edition:
    """An edition by its name."""
    for edition in EDITIONS:
        if name == edition:
            return edition
    raise ParameterError("edition", f"one of {', '.join(EDITIONS)}", name)


def parameters_shown(method: str, parameters: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    """The parameters of a step that an edition shows."""
    if edition == "internal":
        return dict(parameters)
    return {name: value for name, value in parameters.items() if name in PUBLISHED.get(method, ())}


def words_for(method: str, parameters: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    """What stands for each parameter in a sentence."""
    return {**{name: STAND_INS.get(name, name) for name in parameters}, **parameters_shown(method, parameters, edition)}


def plan_shown(plan: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    """A plan with the parameters that an edition shows; descriptions without the cells that they may list."""
    if edition == "internal":
        return dict(plan)
    steps = [
        {
            **{key: step[key] for key in ("method", "columns")},
            **parameters_shown(
                step["method"], {k: v for k, v in step.items() if k not in ("method", "columns")}, edition
            ),
        }
        for step in plan["steps"]
    ]
    columns = {
        name: {key: value for key, value in description.items() if key not in ("order", "na")}
        for name, description in plan["columns"].items()
    }
    return {"columns": columns, "steps": steps}


def rate_shown(
    rate: float, low: float, high: float, n: int, edition: Edition, *, hits: float | None = None
) -> dict[str, Any]:
    """A rate with its interval as numbers, None for what is hidden, and as a text.

    Of fewer than 5 hits, or fewer than 5 misses, the public edition gives a bound.

    Args:
        rate: The share of persons or cells.
        low: The lower end of its interval.
        high: The upper end.
        n: How many were attacked.
        edition: Of the report.
        hits: How many were met, where it is not the rate that counts them.
    """
    if edition == "internal":
        return {"rate": rate, "low": low, "high": high, "shown": percent(rate)}
    met = rate * n if hits is None else hits
    if n < FEWEST_PERSONS or (hits is not None and _is_small(met, n)):
        return {"rate": None, "low": None, "high": None, "shown": NOT_SHOWN}
    if 0 < met < SMALLEST_SHOWN:
        upper = rounded(wilson_interval(SMALLEST_SHOWN, n)[1])
        return {"rate": None, "low": None, "high": upper, "shown": f"less than {percent(SMALLEST_SHOWN / n)}"}
    if _is_small(met, n):
        lower = rounded(wilson_interval(n - SMALLEST_SHOWN, n)[0])
        return {"rate": None, "low": lower, "high": None, "shown": f"more than {percent(1 - SMALLEST_SHOWN / n)}"}
    return {"rate": rounded(rate), "low": rounded(low), "high": rounded(high), "shown": percent(rounded(rate))}


def _is_small(met: float, n: int) -> bool:
    """Whether those who were met, or those who were not, are few."""
    return 0 < met < SMALLEST_SHOWN or 0 < n - met < SMALLEST_SHOWN


def number_shown(number: float, edition: Edition) -> float:
    """A number that is no share of persons."""
    return number if edition == "internal" else rounded(number)


def size_shown(n: int, edition: Edition) -> int:
    """How many were attacked; in public to two digits, so that nobody can count the missing cells."""
    return n if edition == "internal" else round(n, min(-1, 2 - len(str(n))))


def rounded(share: float) -> float:
    """A share to a tenth of a per cent."""
    return round(share, 3)


def percent(share: float) -> str:
    """'9.6 %', '0.02 %', '99.96 %', '100 %': a share with as many digits as it deserves."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    apart = min(abs(share), abs(1 - share))
    if apart < 0.0001:
        return "less than 0.01 %" if share < 0.5 else "more than 99.99 %"
    return f"{100 * share:.2f} %" if apart < 0.01 else f"{100 * share:.1f} %"
