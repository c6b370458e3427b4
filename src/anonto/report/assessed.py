"""The content of the report of an assessed release, as plain data: the page and the JSON file are made from it.

Its shape is described by ``schema.json`` in this folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from anonto.attacks.findings import against_k, count_linkages, counts_as_risk
from anonto.attacks.shares import percent
from anonto.methods.parameters import STEP_KEYS
from anonto.report.attacks import attack_row, is_shown
from anonto.report.counts import NOT_SHOWN
from anonto.report.data import recoded_columns
from anonto.report.disclosure import disclosure_of
from anonto.report.editions import edition_of, has_widths, parameters_shown, plan_shown, public_parameters, words_for
from anonto.report.frames.facts import facts_of
from anonto.report.frames.registry import frames_named
from anonto.report.gate import FEWEST_PERSONS, PERSONS_A_STEP, Gate, require_passed
from anonto.report.known_codes import known_codes_curves
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
from anonto.utility.score import AtRandom, utility_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anonto.attacks.rate import Risk
    from anonto.report.editions import Edition
    from anonto.report.gate import MeasuredGate

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
PUBLISHED_OF_THE_TABLE = ("pmse_ratio", "prediction")
COARSE_BINS = 4
"""Bins of the distances moved in the public edition."""


class AssessmentLike(Protocol):
    """The part of an assessment that a report needs."""

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
        """Findings that must not be overlooked."""
        ...

    @property
    def plan(self) -> Any:
        """The plan of the release."""
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """Further counts and facts."""
        ...

    @property
    def second_masking(self) -> Callable[[], AssessmentLike] | None:
        """Assesses a second masking with another seed; None where there can be none."""
        ...


def assessed_data(
    found: AssessmentLike, edition: str = "internal", sweep: Any = None, frames: Iterable[str] | str = ()
) -> dict[str, Any]:
    """Everything that the report of an assessed release says.

    Args:
        found: The assessment.
        edition: ``"internal"`` or ``"public"``.
        sweep: Other plans for the map of risk and utility.
        frames: Names of laws and guidelines that it gives evidence for, each in a section.
    """
    chosen, asked = edition_of(edition), frames_named(frames)
    detected = found.facts.get("identifiers")
    measured, found = _choose_measured(found) if chosen == "public" else (ON_THE_RELEASE, found)
    gate = _gate(chosen, measured, found)
    facts, plan = found.facts, found.plan.to_dict()
    proved = [step for step, told in zip(plan["steps"], facts["guarantees"], strict=True) if told["proved"]]
    # A proof holds for whoever knows the columns of its strata: they need not be masked.
    roles = {name: one.get("role") for name, one in plan["columns"].items()}
    roles |= {name: "stratum" for step in proved for name in step.get("within", ())}
    released = [{"name": name, "role": roles.get(name)} for name in facts["released_as_is"]]
    masked = [name for step in plan["steps"] for name in step["columns"]]
    recoded = recoded_columns(facts.get("recoded", {}), plan["columns"], with_counts=gate.is_internal)
    only_recoded = [one for one in recoded if one["name"] not in masked]
    data: dict[str, Any] = {
        "format": FORMAT,
        "edition": chosen,
        "checked": facts["made_anew"],
        "table": {
            "records": gate.known(facts["records"]),
            **({"rows": gate.known(facts["released_rows"])} if "released_rows" in facts else {}),
            "dropped_records": gate.about(()).count(facts["dropped_records"]) if _drops(plan) else gate.known(0),
            "columns": gate.known(len(masked) + len(released) + len(only_recoded) + len(facts["dropped_columns"])),
            "masked": masked,
            "dropped_columns": list(facts["dropped_columns"]),
            "released_as_is": released,
            "not_attacked": list(facts["not_attacked"]),
            **({"weight": facts["weight"]} if "weight" in facts else {}),
        },
        "warnings": released_warnings([*released, *only_recoded], facts.get("weight")),
        **({"recoded": recoded} if recoded else {}),
        "steps": [_step(number, step, facts, gate) for number, step in enumerate(plan["steps"])],
        "columns": [_column(name, step, found, gate) for step in plan["steps"] for name in step["columns"]],
        "attacks": [_attack(one, found, gate) for one in found.risk if is_shown(one, gate)],
        "pairs": [one for pair in found.utility["pairs"] if (one := _pair(pair, found, gate)) is not None],
        "whole_table": _whole_table(found, gate),
        "classes": _classes(facts["pictures"]["classes"], facts["records"], gate),
        "known_codes": known_codes_curves(found.risk, gate),
        "disclosure": disclosure_of(facts, gate),
    }
    data["measured"] = {**measured, "kept_back": _list_kept_back(found.risk, gate)}
    data["findings"] = list(found.findings) if chosen == "internal" else public_findings(data["attacks"])
    data["map"] = map_points(sweep, _own_point(found), _unmasked_point(found), chosen)
    data["verdict"] = verdict(data)
    data["limits"] = limits(data, {one.attack for one in found.risk})
    given = found.plan.as_given.to_dict()
    data["provenance"] = provenance(given, facts["pictures"]["ontologies"], gate)
    data["plan"] = canonical(given, chosen)
    framed = facts_of(data, plan_shown(given, chosen), found.findings, detected)
    data["frames"] = [one.page(framed) for one in asked]
    if chosen == "public":
        require_passed(data)
    return data


ON_THE_RELEASE = {"on": "release", "because": "Every figure was measured on the release itself."}
ON_A_SECOND_MASKING = {
    "on": "second masking",
    "because": "Every figure about risk and use was measured on a second masking of the same table, with the same plan "
    "and another secret seed; it is about the columns of one step or the quasi-identifiers alone, and rounded to a "
    f"step of at least {PERSONS_A_STEP} persons. None tells how chance made the release itself, which may have come "
    "out a little better or worse.",
}
NOTHING_MEASURED = "Figures about risk and use are not published: "
OF_FEW = {"on": "nothing", "because": f"{NOTHING_MEASURED}the release has fewer than {FEWEST_PERSONS} records."}
UNCHECKED = {
    "on": "nothing",
    "because": f"{NOTHING_MEASURED}they would come from a second masking with the same plan, and without the private "
    "record nobody has checked that this plan made the release.",
}
FROM_COUNTS = {
    "on": "nothing",
    "because": f"{NOTHING_MEASURED}they would come from a second masking, and none is made of a table that was "
    "attacked from counts on a cluster.",
}


def _choose_measured(found: AssessmentLike) -> tuple[dict[str, str], AssessmentLike]:
    """The object on which the figures of the public edition are measured, and its assessment.

    The assessment of the release itself is returned only where nothing of it can pass the gate.
    """
    if found.facts["records"] < FEWEST_PERSONS:
        return OF_FEW, found
    if found.second_masking is None:
        return FROM_COUNTS if found.facts["made_anew"] else UNCHECKED, found
    return ON_A_SECOND_MASKING, found.second_masking()


def _gate(edition: Edition, measured: Mapping[str, str], found: AssessmentLike) -> Gate:
    """The gate of an edition, with what intruders are assumed to know."""
    plan, guarantees = found.plan, found.facts["guarantees"]
    return Gate(
        edition,
        has_measured=measured["on"] != "nothing",
        steps=[
            (step.columns, told["proved"], step.also_needs) for step, told in zip(plan.steps, guarantees, strict=True)
        ],
        quasi=[name for name in {**plan.columns, **dict.fromkeys(plan.masked)} if _is_quasi_identifier(plan, name)],
    )


def _is_quasi_identifier(plan: Any, name: str) -> bool:
    return bool(plan.description(name).role == "quasi-identifier")


def _list_kept_back(risk: Sequence[Risk], gate: Gate) -> list[dict[str, Any]]:
    """The attacks that an edition does not show, each once."""
    hidden = dict.fromkeys((one.attack, one.columns) for one in risk if not is_shown(one, gate))
    return [{"attack": attack, "columns": list(columns)} for attack, columns in hidden]


def _drops(plan: Mapping[str, Any]) -> bool:
    """Return whether a plan drops records."""
    return any("drop" in (one.get("missing"), one.get("unmatched")) for one in plan["columns"].values())


# ------------------------------------------------------------------------------------------------ what was done


def _step(number: int, step: Mapping[str, Any], facts: Mapping[str, Any], gate: Gate) -> dict[str, Any]:
    method = step["method"]
    parameters = {name: value for name, value in step.items() if name not in STEP_KEYS}
    open_to_all = parameters_shown(method, parameters, gate.edition)
    guarantee = gate.promise(facts["guarantees"][number], open_to_all)
    unchanged = facts["pictures"]["unchanged_records"][number]
    return {
        "method": method,
        "columns": list(step["columns"]),
        "parameters": gate.parameters(open_to_all),
        "kept_back": [name for name in parameters if name not in open_to_all],
        "what": method_sentence(
            method,
            words_for(method, parameters, gate.edition),
            step.get("within", ()),
            step.get("small_strata", "refuse"),
        ),
        "guarantee": guarantee,
        "promise": guarantee_sentence(guarantee, attacked=True),
        "promise_below": True,
        "unchanged_records": _whole(unchanged, facts["records"]) if gate.is_internal else None,
    }


def _whole(count: int, total: int) -> dict[str, Any]:
    """A count with its share, as those may see it who may see the original."""
    return {"count": count, "share": f"{count / total:.1%}" if total else "–"}


def _column(name: str, step: Mapping[str, Any], found: AssessmentLike, gate: Gate) -> dict[str, Any]:
    records, picture = found.facts["records"], found.facts["pictures"]["columns"][name]
    losses = found.utility["columns"][name]
    description = found.plan.description(name)
    n_values = records - picture["missing"]["before"]
    figures, hidden = gate.about([name]), _hardly_varies(name, found, gate)
    column: dict[str, Any] = {
        "name": name,
        "kind": description.kind,
        "role": description.role,
        "method": step["method"],
        "changed": _describe_changed(picture["changed"], n_values, figures),
        "missing": {when: figures.count(count) for when, count in picture["missing"].items()},
        "same_frequencies": picture["same_frequencies"] if figures.shows(n_values) else None,
        "how_to_read": distance_sentence(description.kind, has_ontology=bool(picture["levels"])),
        "moved": None if hidden else _moved_bins(picture, step["method"], figures),
        "ontologies": [
            _levels(name, one, n_values, gate, same=picture["same_frequencies"]) for one in picture["levels"]
        ],
        "statement": "" if picture["levels"] else no_levels_sentence(description.kind, step["method"]),
    }
    rounding = {"rmse": figures.root, "hellinger": figures.root, "il1s": figures.ratio}
    column |= {
        key: None if hidden else rounding.get(key, figures.share)(losses[key], n_values)
        for key in MEASURES
        if key in losses
    }
    if gate.is_internal:
        column["losses"] = {key: losses[key] for key in INSIDE if key in losses}
    return column


def _hardly_varies(name: str, found: AssessmentLike, gate: Gate) -> bool:
    """True if so few cells of a column differ from its most frequent value that public figures would be about them."""
    return not gate.is_internal and found.facts["pictures"]["varied"][name] < PERSONS_A_STEP


def _describe_changed(changed: int, n_values: int, figures: MeasuredGate) -> dict[str, Any]:
    """How many cells that had a value are others; in public about which share, for counts stay inside."""
    if figures.is_internal:
        return _whole(changed, n_values)
    share = figures.share(changed / n_values if n_values else 0.0, n_values)
    return {"count": NOT_SHOWN, "share": NOT_SHOWN if share is None else f"about {percent(share)}"}


def _moved_bins(picture: Mapping[str, Any], method: str, figures: MeasuredGate) -> dict[str, Any] | None:
    """How many cells with a value moved how far."""
    if figures.is_internal:
        bins = [{"distance": moved_bin(place), "cells": count} for place, count in enumerate(picture["moved"])]
        return {"median": picture["median_moved"], "bins": bins}
    at_once, total = MOVED_BINS // COARSE_BINS, sum(picture["moved"])
    if has_widths(method) or figures.step(total) is None:
        return None
    counts = [sum(picture["moved"][start : start + at_once]) for start in range(0, MOVED_BINS, at_once)]
    bins = [
        {"distance": moved_bin(place, COARSE_BINS), "cells": figures.per_cent(count, total)}
        for place, count in enumerate(counts)
    ]
    return {"median": figures.share(round(picture["median_moved"], 1), total), "bins": bins}


def _levels(name: str, ontology: Mapping[str, Any], n_values: int, gate: Gate, *, same: bool) -> dict[str, Any]:
    """The levels of an ontology; in public the upper one alone, without rows that are single values or not the same."""
    if gate.is_internal:
        return dict(ontology)
    upper, figures = ontology["levels"][0], gate.about([name])
    rows = [
        {**row, **{when: figures.per_cent(row[when], n_values) for when in ("before", "after")}}
        for row in upper["rows"]
        if figures.shows(n_values) and same and not row["is_value"]
    ]
    change = figures.share(upper["change"], n_values)
    level = {**upper, "depth": gate.known(upper["depth"]), "rows": rows, "further": None, "change": change}
    return {"ontology": ontology["ontology"], "levels": [level]}


# ------------------------------------------------------------------------------------------------ what it is worth


def _attack(one: Risk, found: AssessmentLike, gate: Gate) -> dict[str, Any]:
    """An attack, whether it knows declared quasi-identifiers alone, and how it compares with 1/k."""
    declared = found.plan.are_declared(one.columns)
    return {**attack_row(one, gate), "declared": declared, **_against_k(one, found, gate)}


def _against_k(one: Risk, found: AssessmentLike, gate: Gate) -> dict[str, Any]:
    """How a linkage compares with 1/k, which is shown if k may be; whether 1/k is proved, and the odds against it."""
    bound = against_k(
        found.plan.steps, one, found.facts["records"], count_linkages(found.risk), found.facts["settings"]
    )
    if bound is None:
        return {"beyond_k": None, "one_in_k": None, "k_proved": None, "draws": None}
    is_shown = gate.is_internal or "k" in public_parameters(bound.step.method.name)
    return {
        "beyond_k": bound.beyond,
        "one_in_k": gate.known(1 / bound.k) if is_shown else None,
        "k_proved": bound.proved,
        "draws": gate.about(one.columns).odds(bound.draws) if bound.proved and bound.beyond == "above" else None,
    }


def _pair(pair: Mapping[str, Any], found: AssessmentLike, gate: Gate) -> dict[str, Any] | None:
    """A pair of columns; None where its figures are hidden."""
    figures, n = gate.about(pair["columns"]), pair["n"]
    if not figures.shows(n) or any(_hardly_varies(name, found, gate) for name in pair["columns"]):
        return None
    before, after = (pair["distance_correlation"][which] for which in ("original", "masked"))
    told: dict[str, Any] = {
        "columns": list(pair["columns"]),
        "distance_correlation": {"original": figures.share(before, n), "masked": figures.share(after, n)},
        "change": figures.share(after - before, n),
        "n": figures.size(n),
    }
    if gate.is_internal:
        told |= {key: pair[key] for key in ("pearson", "cramers_v", "cross_table_bias") if key in pair}
    return told


def _whole_table(found: AssessmentLike, gate: Gate) -> dict[str, Any]:
    table, n = found.utility["table"], found.facts["records"]
    if gate.is_internal:
        return {key: table[key] for key in OF_THE_TABLE if key in table}
    figures = gate.about(found.facts["pictures"]["varied"])
    if not figures.shows(n):
        return {}

    def round_numbers(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: round_numbers(one) for key, one in value.items()}
        return figures.ratio(value, n) if isinstance(value, float) else value

    return {key: round_numbers(table[key]) for key in PUBLISHED_OF_THE_TABLE if key in table}


def _classes(classes: Mapping[str, Any] | None, records: int, gate: Gate) -> dict[str, Any] | None:
    """Records in classes of each size; in public as shares."""
    if classes is None or not gate.about(classes["columns"]).shows(records):
        return None
    figures = gate.about(classes["columns"])
    parts = [[figures.per_cent(count, records) for count in classes[when]] for when in ("before", "after")]
    bins = [
        {"size": class_bin(place), "before": one, "after": other}
        for place, (one, other) in enumerate(zip(*parts, strict=True))
    ]
    return {"columns": list(classes["columns"]), "bins": bins}


def _own_point(found: AssessmentLike) -> dict[str, Any] | None:
    reached = [one for one in found.risk if counts_as_risk(one)]
    if not reached or not found.facts["pictures"]["columns"]:
        return None
    worst = max(reached, key=lambda one: one.rate)
    at_random = AtRandom(**found.facts["pictures"]["at_random"])
    return {
        "label": OWN,
        "method": " + ".join(dict.fromkeys(step.method.name for step in found.plan.steps)),
        "risk": worst.rate,
        "utility": utility_of(found.utility, at_random, found.plan.masked)["utility"],
        "on_front": True,
        "risk_low": worst.low,
        "risk_high": worst.high,
    }


def _unmasked_point(found: AssessmentLike) -> dict[str, Any] | None:
    """The table as it was: whose record is whose is known as far as records differ."""
    if not found.facts["distinct_records"] or not found.facts["records"]:
        return None
    risk = found.facts["distinct_records"] / found.facts["records"]
    return {"label": UNMASKED, "method": "none", "risk": risk, "utility": 1.0, "on_front": True}
