"""What the report of an assessed release says, as plain data: the page and the JSON file have the same content.

Its shape is described by ``schema.json`` in this folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from anonto.report.attacks import attack_row, is_linkage
from anonto.report.counts import NOT_SHOWN, SMALLEST_SHOWN, shown, shown_parts
from anonto.report.editions import (
    PUBLISHED,
    edition_of,
    number_shown,
    parameters_shown,
    rounded,
    size_shown,
    words_for,
)
from anonto.report.limits import limits
from anonto.report.map_points import OWN, UNMASKED, map_points
from anonto.report.pictures import MOVED_BINS, class_bin, moved_bin
from anonto.report.provenance import canonical, provenance
from anonto.report.verdict import public_findings, verdict
from anonto.report.words import (
    distance_sentence,
    guarantee_sentence,
    method_sentence,
    no_levels_sentence,
    released_warnings,
)
from anonto.risk.findings import against_k, count_linkages
from anonto.utility.score import AtRandom, utility_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.report.editions import Edition
    from anonto.risk.rate import Risk

FORMAT = "anonto-report/1"
MEASURES = ("rmse", "mean_distance", "hellinger", "mean_shift", "il1s")
INSIDE = (
    "farthest",
    "mean",
    "standard_deviation",
    "semantic_mean",
    "semantic_variance",
    "distance_variance",
    "frequency_change",
)
"""Losses of a column that may tell single values: in the internal edition alone."""
OF_THE_TABLE = ("mean_rmse", "pmse", "pmse_at_random", "pmse_ratio", "prediction")
COARSE_BINS = 4
"""Bins of the distances moved in the public edition."""
TELL_THE_WIDTH = ("equi-width-swap", "invariant-swap")
"""Methods of which the distances moved would tell a width that is kept back."""


class AssessmentLike(Protocol):
    """What a report asks of an assessment."""

    @property
    def risk(self) -> Sequence[Risk]:
        """The attacks."""
        ...

    @property
    def utility(self) -> Mapping[str, Any]:
        """The losses."""
        ...

    @property
    def findings(self) -> Sequence[str]:
        """What must not be overlooked."""
        ...

    @property
    def plan(self) -> Any:
        """The plan of the release."""
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """What else was counted."""
        ...


def assessed_data(found: AssessmentLike, edition: str = "internal", sweep: Any = None) -> dict[str, Any]:
    """Everything that the report of an assessed release says.

    Args:
        found: The assessment.
        edition: ``"internal"`` or ``"public"``.
        sweep: Other plans for the map of risk and utility.
    """
    chosen = edition_of(edition)
    facts, plan = found.facts, found.plan.to_dict()
    released = [{"name": name, "role": plan["columns"].get(name, {}).get("role")} for name in facts["released_as_is"]]
    masked = [name for step in plan["steps"] for name in step["columns"]]
    data: dict[str, Any] = {
        "format": FORMAT,
        "edition": chosen,
        "checked": facts["made_anew"],
        "table": {
            "records": facts["records"],
            "dropped_records": facts["dropped_records"] if chosen == "internal" else shown(facts["dropped_records"]),
            "columns": len(masked) + len(released) + len(facts["dropped_columns"]),
            "masked": masked,
            "dropped_columns": list(facts["dropped_columns"]),
            "released_as_is": released,
        },
        "warnings": released_warnings(released),
        "steps": [_step(number, step, facts, chosen) for number, step in enumerate(plan["steps"])],
        "columns": [_column(name, step, found, chosen) for step in plan["steps"] for name in step["columns"]],
        "attacks": [{**attack_row(one, chosen), **_against_k(one, found, chosen)} for one in found.risk],
        "pairs": [_pair(one, chosen) for one in found.utility["pairs"]],
        "whole_table": _whole_table(found, chosen),
        "classes": _classes(facts["pictures"]["classes"], facts["records"], chosen),
    }
    data["findings"] = list(found.findings) if chosen == "internal" else public_findings(data["attacks"])
    data["map"] = map_points(sweep, _own_point(found), _unmasked_point(found), facts["records"], chosen)
    data["verdict"] = verdict(data)
    data["limits"] = limits(data)
    data["provenance"] = provenance(plan, facts["pictures"]["ontologies"], chosen)
    data["plan"] = canonical(plan, chosen)
    return data


# ------------------------------------------------------------------------------------------------ what was done


def _step(number: int, step: Mapping[str, Any], facts: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    method = step["method"]
    parameters = {name: value for name, value in step.items() if name not in {"method", "columns"}}
    open_to_all = parameters_shown(method, parameters, edition)
    guarantee = facts["guarantees"][number]
    unchanged = facts["pictures"]["unchanged_records"][number]
    return {
        "method": method,
        "columns": list(step["columns"]),
        "parameters": open_to_all,
        "kept_back": [name for name in parameters if name not in open_to_all],
        "what": method_sentence(method, words_for(method, parameters, edition)),
        "guarantee": dict(guarantee),
        "promise": guarantee_sentence(guarantee, attacked=True),
        "promise_below": True,
        "unchanged_records": _whole(unchanged, facts["records"]) if edition == "internal" else None,
    }


def _whole(count: int, total: int) -> dict[str, Any]:
    """A count with its share, as those may see it who may see the original."""
    return {"count": count, "share": f"{count / total:.1%}" if total else "–"}


def _column(name: str, step: Mapping[str, Any], found: AssessmentLike, edition: Edition) -> dict[str, Any]:
    records, picture = found.facts["records"], found.facts["pictures"]["columns"][name]
    losses = found.utility["columns"][name]
    description = found.plan.description(name)
    levels = picture["levels"]
    n_values = records - picture["missing"]["before"]
    few = _is_few(picture, edition)
    if edition == "public":
        levels = [_published_levels(one, n_values, same=picture["same_frequencies"]) for one in levels]
    column: dict[str, Any] = {
        "name": name,
        "kind": description.kind,
        "role": description.role,
        "method": step["method"],
        "changed": _changed(picture["changed"], n_values, edition),
        "missing": picture["missing"] if edition == "internal" else _shown_missing(picture["missing"]),
        "same_frequencies": picture["same_frequencies"],
        "how_to_read": distance_sentence(description.kind, has_ontology=bool(picture["levels"])),
        "moved": None if few else _moved(picture, step["method"], edition),
        "ontologies": levels,
        "statement": "" if picture["levels"] else no_levels_sentence(description.kind, step["method"]),
    }
    column |= {key: None if few else number_shown(losses[key], edition) for key in MEASURES if key in losses}
    if edition == "internal":
        column["losses"] = {key: losses[key] for key in INSIDE if key in losses}
    return column


def _is_few(picture: Mapping[str, Any], edition: Edition) -> bool:
    """Whether so few cells of a column moved that how far they moved would tell how many."""
    return edition == "public" and 0 < sum(picture["moved"]) < SMALLEST_SHOWN


def _changed(changed: int, n_values: int, edition: Edition) -> dict[str, Any]:
    """How many cells that had a value are others; in public about which share, for counts stay inside."""
    if edition == "internal":
        return _whole(changed, n_values)
    is_open = n_values and shown_parts([changed, n_values - changed], n_values)[0] == changed
    return {"count": NOT_SHOWN, "share": f"about {round(100 * changed / n_values)} %" if is_open else NOT_SHOWN}


def _shown_missing(missing: Mapping[str, int]) -> dict[str, int | str]:
    return {when: shown(count) for when, count in missing.items()}


def _moved(picture: Mapping[str, Any], method: str, edition: Edition) -> dict[str, Any] | None:
    """How many cells with a value moved how far."""
    if edition == "internal":
        bins = [{"distance": moved_bin(place), "cells": count} for place, count in enumerate(picture["moved"])]
        return {"median": picture["median_moved"], "bins": bins}
    if method in TELL_THE_WIDTH:
        return None
    at_once = MOVED_BINS // COARSE_BINS
    counts = [sum(picture["moved"][start : start + at_once]) for start in range(0, MOVED_BINS, at_once)]
    total = sum(counts)
    parts = [_in_percent(part, total, digits=0) for part in shown_parts(counts, total)]
    bins = [{"distance": moved_bin(place, COARSE_BINS), "cells": part} for place, part in enumerate(parts)]
    return {"median": round(picture["median_moved"], 1), "bins": bins}


def _published_levels(ontology: Mapping[str, Any], n_values: int, *, same: bool) -> dict[str, Any]:
    """The upper level alone, in per cent, without rows that are single values; no rows where the release differs."""
    upper = ontology["levels"][0]
    rows = [
        {**row, **{when: _in_percent(row[when], n_values) for when in ("before", "after")}}
        for row in upper["rows"]
        if same and not row["is_value"]
    ]
    few = 0 < upper["change"] * n_values < SMALLEST_SHOWN
    level = {**upper, "rows": rows, "further": None, "change": None if few else rounded(upper["change"])}
    return {"ontology": ontology["ontology"], "levels": [level]}


def _in_percent(count: int | str, total: int, digits: int = 1) -> float | str:
    if isinstance(count, str):
        return NOT_SHOWN
    return round(100 * count / total, digits) if total else 0.0


# ------------------------------------------------------------------------------------------------ what it is worth


def _against_k(one: Risk, found: AssessmentLike, edition: Edition) -> dict[str, Any]:
    """Whether a linkage is above 1/k, below it, or cannot be told from it; 1/k if k may be shown; if it is proved."""
    beside = against_k(found.plan.steps, one, found.facts["records"], count_linkages(found.risk))
    if beside is None:
        return {"beyond_k": None, "one_in_k": None, "k_proved": None, "draws": None}
    is_shown = edition == "internal" or "k" in PUBLISHED.get(beside.step.method.name, ())
    return {
        "beyond_k": beside.beyond,
        "one_in_k": 1 / beside.k if is_shown else None,
        "k_proved": beside.proved,
        "draws": beside.draws if beside.proved and beside.beyond == "above" else None,
    }


def _pair(pair: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    both = {which: number_shown(pair["distance_correlation"][which], edition) for which in ("original", "masked")}
    told: dict[str, Any] = {
        "columns": list(pair["columns"]),
        "distance_correlation": both,
        "change": both["masked"] - both["original"]
        if edition == "internal"
        else rounded(both["masked"] - both["original"]),
        "n": size_shown(pair["n"], edition),
    }
    if edition == "internal":
        told |= {key: pair[key] for key in ("pearson", "cramers_v", "cross_table_bias") if key in pair}
    return told


def _whole_table(found: AssessmentLike, edition: Edition) -> dict[str, Any]:
    table, columns = found.utility["table"], found.facts["pictures"]["columns"].values()
    hidden = ("mean_rmse",) if any(_is_few(one, edition) for one in columns) else ()

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return number_shown(value, edition)
        return {key: plain(one) for key, one in value.items()} if isinstance(value, dict) else value

    return {key: plain(table[key]) for key in OF_THE_TABLE if key in table and key not in hidden}


def _classes(classes: Mapping[str, Any] | None, records: int, edition: Edition) -> dict[str, Any] | None:
    """Records in classes of each size; in public as shares, without small ones."""
    if classes is None:
        return None
    parts: list[Sequence[Any]] = [classes[when] for when in ("before", "after")]
    if edition == "public":
        parts = [[_in_percent(one, records) for one in shown_parts(each, records)] for each in parts]
    bins = [
        {"size": class_bin(place), "before": one, "after": other}
        for place, (one, other) in enumerate(zip(*parts, strict=True))
    ]
    return {"columns": list(classes["columns"]), "bins": bins}


def _own_point(found: AssessmentLike) -> dict[str, Any] | None:
    linkages = [one for one in found.risk if is_linkage(one.attack)]
    if not linkages or not found.facts["pictures"]["columns"]:
        return None
    worst = max(linkages, key=lambda one: one.rate)
    at_random = AtRandom(**found.facts["pictures"]["at_random"])
    return {
        "label": OWN,
        "method": " + ".join(dict.fromkeys(step.method.name for step in found.plan.steps)),
        "risk": worst.rate,
        "utility": utility_of(found.utility, at_random, found.plan.masked)["utility"],
        "on_front": True,
        "risk_low": worst.low,
        "risk_high": worst.high,
        "n": worst.n,
    }


def _unmasked_point(found: AssessmentLike) -> dict[str, Any] | None:
    """The table as it was: whose record is whose is known as far as records differ."""
    classes = found.facts["pictures"]["classes"]
    if classes is None or not found.facts["records"]:
        return None
    risk = classes["distinct_before"] / found.facts["records"]
    return {"label": UNMASKED, "method": "none", "risk": risk, "utility": 1.0, "on_front": True}
