"""The attacks of an assessment as rows of a report: what the intruder knows, what she reaches, and what that means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonto.report.counts import NOT_SHOWN
from anonto.report.editions import PassedFloat, percent
from anonto.risk.row_order import NAME as ROW_ORDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonto.report.gate import Gate, Measured
    from anonto.risk.rate import Risk

KNOWLEDGE = {
    "distance-linkage": "The original values of one person in these columns; nothing of the method.",
    "global-linkage": "The original values of many persons in these columns; nothing of the method.",
    "method-aware-linkage": "The original values of persons in these columns, the method and its parameters.",
    "likelihood-linkage": "The original values of persons in these columns, the method and its parameters.",
    "permutation-distance": "The original values of one person in these columns.",
    "real-k": "The released values of a record in these columns.",
    "uniqueness": "That a person is in the table, and unique in these columns.",
    "attribute-inference": "The original values of one person in these columns.",
    "interval-disclosure": "Which released cell of this column is whose.",
    ROW_ORDER: "The order of the original rows.",
    "composition": "Two releases of the same table, and the original values of persons in these columns.",
    "partial-knowledge": "The original values of one person in these few of the columns that leave.",
}
"""What an intruder knows, in words that name no parameter."""
WHAT = {
    "distance-linkage": "Takes the released record that is nearest in meaning for the person’s.",
    "global-linkage": "Matches many persons to released records at once, each to one.",
    "method-aware-linkage": "Leaves out what the method cannot have made, and takes the nearest of the rest.",
    "likelihood-linkage": "Takes the record that the method most probably makes of the person’s values.",
    "permutation-distance": "Looks for a released record with exactly the person’s ranks.",
    "real-k": "Counts released records that share all these values with no other.",
    "uniqueness": "Counts records that were alone in the original and still are.",
    "attribute-inference": "Reads a confidential value off the nearest released records.",
    "interval-disclosure": "Looks at how near a released cell lies to the original one.",
    ROW_ORDER: "Takes the row at the place of the person in the original.",
    "composition": "Keeps the candidates that both releases allow.",
    "partial-knowledge": "Finds the one released row with just these cells, and reads the person’s other cells off it.",
}
"""What an intruder does."""
ALL_ATTACKS = tuple(name for name in WHAT if name != ROW_ORDER)
"""Attacks that may be tried; the order of the rows is looked at and needs no trial."""
OF_KNOWN_COLUMNS = (
    "distance-linkage",
    "global-linkage",
    "method-aware-linkage",
    "likelihood-linkage",
    "permutation-distance",
    "real-k",
    "uniqueness",
    "interval-disclosure",
)
"""Attacks whose rate follows from the columns that are known of a person alone; the public edition shows no other."""
SAID = ("inferred", "within", "matching", "whole_rows")
"""Details that are told elsewhere."""


def is_linkage(attack: str) -> bool:
    """Whether an attack takes released records for those of persons."""
    return attack.endswith("linkage") or attack in {"composition", ROW_ORDER}


def is_shown(one: Risk, gate: Gate) -> bool:
    """Whether an edition shows an attack; that the rows stand in order, everybody can see who has the original."""
    return one.attack == ROW_ORDER or _figures(one, gate).shows(one.n)


def _figures(one: Risk, gate: Gate) -> Measured:
    """The gate of what an attack reached."""
    return gate.about(one.columns, alone=one.attack in OF_KNOWN_COLUMNS)


def _rate(one: Risk, gate: Gate) -> dict[str, Any]:
    """The rate and its interval; that of the order of rows is 1 whatever the records are."""
    if one.attack != ROW_ORDER:
        return _figures(one, gate).rate(one.rate, one.low, one.high, one.n)
    ends = {name: gate.known(value) for name, value in (("rate", one.rate), ("low", one.low), ("high", one.high))}
    return {**ends, "shown": percent(one.rate)}


def attack_row(one: Risk, gate: Gate) -> dict[str, Any]:
    """One attack as a report shows it."""
    figures = _figures(one, gate)
    about = one.details.get("inferred") or one.details.get("within")
    row: dict[str, Any] = {
        "attack": one.attack,
        "columns": list(one.columns),
        "about": str(about) if about else None,
        "matching": one.details.get("matching"),
        "what": WHAT.get(one.attack, ""),
        "knowledge": _sentence(one.knowledge) if gate.is_internal else KNOWLEDGE.get(one.attack, NOT_SHOWN),
        **_rate(one, gate),
        "baseline": _baseline(one, gate),
        "control": None if one.control is None else figures.share(one.control, one.n),
        "n": figures.size(one.n),
        "whole_rows": bool(one.details.get("whole_rows")),
    }
    details = _finite(dict(one.details)) if gate.is_internal else {}
    row["reading"] = _reading(row, details)
    if gate.is_internal:
        row["details"] = {name: value for name, value in details.items() if name not in SAID}
    return row


def _finite(value: Any) -> Any:
    """Plain data without numbers that JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _baseline(one: Risk, gate: Gate) -> float | None:
    """What chance reaches; of a linkage it is one in as many as there are records, which the release tells."""
    if is_linkage(one.attack) and one.baseline and math.isclose(1 / one.baseline, round(1 / one.baseline)):
        return gate.known(one.baseline if gate.is_internal else round(one.baseline, 6))
    return _figures(one, gate).share(one.baseline, one.n)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


# ------------------------------------------------------------------------------------------------ in plain words


def where_near(about: str) -> str:
    """'within distance 0.1', 'in the same branch below the root': where cells count as near."""
    return f"{'within' if about.startswith('distance') else 'in'} {about}"


def in_thousand(share: float) -> str:
    """'96 in 1,000': a share as people count; '20 in 100' where it is rounded to whole per cent."""
    if isinstance(share, PassedFloat) and share == round(share, 2):
        return f"{100 * share:.0f} in 100"
    number = 1000 * (round(share, 3) if share >= 0.01 else share)
    if share and number < 0.1:
        return f"1 in {round(1 / share):,}"
    return f"{number:.0f} in 1,000" if number >= 10 or number == round(number) else f"{number:.1f} in 1,000"


def _reading(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    if row["shown"] == NOT_SHOWN:
        return "Too few were attacked, or met, to publish how many."
    if not row["n"]:
        return "Nobody could be attacked: there is no such record."
    reading = _READINGS.get(row["attack"]) or (_linkage if is_linkage(row["attack"]) else _other)
    return reading(row, details)


def _share(row: Mapping[str, Any]) -> str:
    """The share as people count, or the bound that stands for it."""
    if row["rate"] is None:
        return f"{row['shown']} of the persons"
    return {0.0: "no persons", 1.0: "all persons"}.get(row["rate"], f"{in_thousand(row['rate'])} persons")


def _linkage(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    proven = details.get("proven_share")
    said = f" For {percent(proven)} the link is proved: no other record is possible." if proven else ""
    return (
        f"{_capital(_share(row))} are linked to their own record; blind guessing links {in_thousand(row['baseline'])}."
        f"{said}"
    )


def _permutation(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    half = details.get("quantiles_of_records", {}).get("0.5")
    further = f" Half of the persons find none within {percent(half)} of the ranks." if half else ""
    return (
        f"For {_share(row)} a released record, perhaps another’s, has exactly their ranks; if every column were dealt "
        f"out by chance, for {in_thousand(row['baseline'])}.{further}"
    )


def _real_k(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    smallest = f" The smallest class has {details['real_k']:,}." if details.get("real_k") else ""
    if row["rate"] == 0:
        return f"No released record is alone: each shares all these values with others.{smallest}"
    return (
        f"{_capital(row['shown'])} of the released records are alone with their values in these columns.{smallest} "
        "Classes protect nobody who is alone; not knowing whose record it is may: in a swapped table this is no alarm."
    )


def _uniqueness(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    before, chance = details.get("share_alone_in_original"), row["baseline"]
    further = "" if before is None else f" In the original {percent(before)} were alone."
    if chance is not None:
        further += f" With every column dealt out by chance, it would be {percent(chance)}."
    return (
        f"{_capital(row['shown'])} of the persons were alone with their values, and their released records are."
        f"{further}"
    )


def _partial(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    whole = " Rows of the original leave whole." if row["whole_rows"] else ""
    if not details:
        return f"{_capital(row['shown'])} of the persons’ other cells are found and read right.{whole}"
    return (
        f"{_capital(percent(details['singled_out']))} of the persons are singled out: one released row has just these "
        f"cells. Of their other cells {percent(details['read_right'])} are read off it right; the most frequent "
        f"values would be right for {percent(details['guessed_right'])}.{whole}"
    )


def _inference(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    ways = []
    if "success" in details:
        ways.append(f"for {percent(details['success'])} of the persons")
    if row["control"] is not None:
        ways.append(f"for {percent(row['control'])} of persons who are not in the release")
    told = f"It is read right {', and '.join(ways)}." if ways else ""
    if row["rate"] is not None and row["low"] > 0:
        return f"{told} A person’s own record adds {percent(row['rate'])} of what was left to learn.".strip()
    return f"{told} What a person’s own record adds cannot be told from nothing.".strip()


def _interval(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    del details
    near = where_near(row["about"])
    near += " of the original one" if near.startswith("within") else ""
    met, chance = _capital(row["shown"]), percent(row["baseline"])
    return f"{met} of the released cells are {near}; of two cells picked at random {chance}."


def _other(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    del details
    return f"It succeeds for {_share(row)}; chance alone for {in_thousand(row['baseline'])}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_READINGS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], str]] = {
    "permutation-distance": _permutation,
    "real-k": _real_k,
    "uniqueness": _uniqueness,
    "attribute-inference": _inference,
    "interval-disclosure": _interval,
    "partial-knowledge": _partial,
}
