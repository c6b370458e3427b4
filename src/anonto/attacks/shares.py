"""Numbers in words: shares as people count them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class PassedFloat(float):
    """A number that came through the gate of the public edition."""

    __slots__ = ()


class PassedInt(int):
    """A whole number that came through the gate of the public edition."""


def percent(share: float) -> str:
    """'9.6 %', '0.02 %', '99.96 %', '100 %': a share with as many digits as it deserves."""
    if share in (0.0, 1.0) or (isinstance(share, PassedFloat) and share == round(share, 2)):
        return f"{100 * share:.0f} %"
    apart = min(abs(share), abs(1 - share))
    if apart < 0.0001:
        return "less than 0.01 %" if share < 0.5 else "more than 99.99 %"
    return f"{100 * share:.2f} %" if apart < 0.01 else f"{100 * share:.1f} %"


def in_thousand(share: float) -> str:
    """'96 in 1,000': a share as people count; '20 in 100' where it is rounded to whole per cent."""
    if isinstance(share, PassedFloat) and share == round(share, 2):
        return f"{100 * share:.0f} in 100"
    number = 1000 * (round(share, 3) if share >= 0.01 else share)
    if share and number < 0.1:
        return f"1 in {round(1 / share):,}"
    return f"{number:.0f} in 1,000" if number >= 10 or number == round(number) else f"{number:.1f} in 1,000"


def share_of_persons(row: Mapping[str, Any]) -> str:
    """The share of persons as people count, or the bound that is shown instead."""
    if row["rate"] is None:
        return f"{row['shown']} of the persons"
    return {0.0: "no persons", 1.0: "all persons"}.get(row["rate"], f"{in_thousand(row['rate'])} persons")


def where_near(about: str) -> str:
    """'within distance 0.1', 'in the same branch below the root': where cells count as near."""
    return f"{'within' if about.startswith('distance') else 'in'} {about}"


def capital(text: str) -> str:
    """The text with a capital letter."""
    return text[:1].upper() + text[1:]
