"""The facts that frames are filled from: the data of a report, and what became of every column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.findings import GUESSABLE_SEED
from anonto.report.frames.frame import ColumnFate, FrameFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.report.frames.frame import Fate, Secrecy


def facts_of(
    report: Mapping[str, Any],
    plan: Mapping[str, Any],
    findings: Sequence[str],
    detected: Mapping[str, Sequence[str]] | None,
) -> FrameFacts:
    """The facts of one edition.

    Args:
        report: The data of the report in that edition.
        plan: The plan as its author wrote it, as far as the edition shows it.
        findings: Those of the release; the public edition does not tell what they say of its seed.
        detected: For each column the letters of the identifiers of HIPAA that were found in it, if anybody looked.
    """
    seed: Secrecy = "unknown"
    if report["checked"] and report["edition"] == "internal" and report["table"]["records"]:
        seed = "guessable" if GUESSABLE_SEED in findings else "secret"
    return FrameFacts(report=report, columns=_columns(report, plan), seed=seed, detected=detected)


def _columns(report: Mapping[str, Any], plan: Mapping[str, Any]) -> tuple[ColumnFate, ...]:
    """What became of each column: first those that are released."""
    table, described = report["table"], plan["columns"]
    methods = {name: step["method"] for step in report["steps"] for name in step["columns"]}
    fates: dict[str, Fate] = {
        **dict.fromkeys((one["name"] for one in report.get("recoded", ())), "released"),
        **dict.fromkeys(table["masked"], "masked"),
        **dict.fromkeys((one["name"] for one in table["released_as_is"]), "released"),
        **dict.fromkeys(table["dropped_columns"], "dropped"),
        **{name: "pseudonym" for name, one in described.items() if one.get("role") == "pseudonym"},
    }
    return tuple(
        ColumnFate(
            name=name,
            role=described.get(name, {}).get("role", "quasi-identifier" if fate == "masked" else None),
            fate=fate,
            method=methods.get(name),
            kind=described.get(name, {}).get("kind"),
            recode=described.get(name, {}).get("recode", {}),
        )
        for name, fate in fates.items()
    )
