"""The frames of laws and guidelines: each point is measured or says that it is not, and none claims too much."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.attacks.criteria import CRITERIA, INFERENCE, LINKABILITY, SINGLING_OUT
from anonto.attacks.registry import attacks, is_linkage, measured_by
from anonto.errors import ParameterError
from anonto.report.frames.frame import BY_HOUSE, BY_NOTHING, NOTICE, ColumnFate, FrameFacts
from anonto.report.frames.identifiers import IDENTIFIERS, suggested_by_name
from anonto.report.frames.registry import OWN, frames, frames_named, limit_named

NAMES = [one.name for one in OWN]
CLINICAL = [one.name for one in OWN if one.max_risk is not None]
LINKAGE = next(name for name in attacks() if is_linkage(name))
GUARANTEE = {"kind": "probabilistic k-anonymity", "k": 20, "proved": True, "conditions": "the seed stays secret"}
NO_GUARANTEE = {"kind": "none", "proved": False, "conditions": "nothing is proved for this method"}


def row(attack: str = LINKAGE, *, rate: float | None, low: float | None, high: float | None, **more: Any) -> Any:
    return {
        "attack": attack,
        "columns": ["age", "zip"],
        "about": None,
        "knowledge": "The values of one person.",
        "rate": rate,
        "low": low,
        "high": high,
        "shown": "not shown" if rate is None else f"{rate:.3f}",
        "baseline": 0.001,
        "n": 1000,
        "reading": "Some persons are linked.",
        "whole_rows": False,
        "k_proved": None,
        "beyond_k": None,
        **more,
    }


def facts(
    rows: Any = (),
    *,
    on: str = "release",
    guarantee: dict[str, Any] | None = None,
    columns: tuple[ColumnFate, ...] = (),
    kept_back: Any = (),
    checked: bool = True,
    **more: Any,
) -> FrameFacts:
    steps = [] if guarantee is None else [
        {"method": "a-method", "columns": ["age", "zip"], "what": "Values were shuffled.", "guarantee": guarantee}
    ]  # fmt: skip
    report = {
        "edition": "internal",
        "checked": checked,
        "measured": {"on": on, "because": "", "kept_back": list(kept_back)},
        "table": {"records": 1000, "not_attacked": [], "dropped_columns": [], "masked": [], "released_as_is": []},
        "steps": steps,
        "attacks": list(rows),
        "limits": ["A cleverer intruder may reach more."],
        "verdict": {"utility": "The analyst keeps everything."},
    }
    return FrameFacts(report=report, columns=columns, **more)


def statements(name: str, given: FrameFacts) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = frames()[name].page(given)["statements"]
    return found


def about(name: str, words: str, given: FrameFacts) -> dict[str, Any]:
    (found,) = [one for one in statements(name, given) if words in one["asks"]]
    return found


# ------------------------------------------------------------------------------------------------ every frame


@pytest.mark.parametrize("name", NAMES)
def test_a_frame_says_that_it_is_evidence_and_by_what_each_point_was_measured(name: str) -> None:
    page = frames()[name].page(facts([row(rate=0.2, low=0.1, high=0.3)], guarantee=GUARANTEE))
    assert page["notice"] == NOTICE
    assert "not legal advice" in NOTICE
    assert page["rule"]
    assert page["fields"]
    for one in page["statements"]:
        assert one["measured_by"]
        assert (one["status"] == "not measured") == (one["measured_by"] == BY_NOTHING)
        assert (one["status"] == "to be filled in") == (one["measured_by"] == BY_HOUSE)
        assert all(result["attack"] in one["measured_by"] for result in one["results"])


@pytest.mark.parametrize("name", NAMES)
def test_without_attacks_and_proofs_nothing_is_met(name: str) -> None:
    given = facts(on="nothing", checked=False)
    assert {one["status"] for one in statements(name, given)} <= {
        "stated", "not measured", "to be filled in", "not checkable",
    }  # fmt: skip
    assert "The figures are not published" in str(statements(name, given)) or name == "hipaa-safe-harbor"


shares = st.floats(0, 1)
ends = st.tuples(shares, shares, shares).map(sorted)
hidden = st.sampled_from([(), ("rate", "low"), ("rate", "high"), ("rate", "low", "high")])


@given(
    rates=st.lists(st.tuples(ends, hidden), max_size=4),
    k=st.integers(2, 40),
    proved=st.booleans(),
    checked=st.booleans(),
    keeps_back=st.booleans(),
)
def test_no_frame_claims_more_than_the_assessment_says(
    rates: Any, k: int, proved: bool, checked: bool, keeps_back: bool
) -> None:
    rows = []
    for (low, rate, high), gone in rates:
        known = {"rate": rate, "low": low, "high": high} | dict.fromkeys(gone)
        rows.append(row(**known))
    given = facts(
        rows,
        guarantee={**GUARANTEE, "k": k, "proved": proved},
        checked=checked,
        kept_back=[{"attack": LINKAGE, "columns": ["age"]}] if keeps_back else (),
    )
    for name in NAMES:
        limit = frames()[name].max_risk
        for one in statements(name, given):
            if one["status"] != "met":
                continue
            assert limit is not None
            if one["results"]:
                assert rows
                assert not keeps_back
                assert all(each["high"] is not None and each["high"] <= limit for each in rows)
            else:
                assert proved
                assert checked
                assert 1 / k <= limit
        if not proved:
            assert "Proved:" not in str(statements(name, given))
            assert ": proved:" not in str(statements(name, given))


# ------------------------------------------------------------------------------------------------ clinical data


@pytest.mark.parametrize("name", CLINICAL)
@pytest.mark.parametrize(
    ("low", "high", "status"), [(0.01, 0.08, "met"), (0.05, 0.12, "undecided"), (0.1, 0.2, "not met")]
)
def test_the_interval_of_the_worst_linkage_is_compared_with_the_threshold(
    name: str, low: float, high: float, status: str
) -> None:
    given = facts([row(rate=(low + high) / 2, low=low, high=high), row(rate=0.001, low=0.0, high=0.002)])
    found = about(name, "share of the persons", given)
    assert found["status"] == status
    assert found["results"][0]["high"] == high


@pytest.mark.parametrize("name", CLINICAL)
def test_a_linkage_that_was_not_tried_is_not_measured(name: str) -> None:
    assert about(name, "share of the persons", facts())["status"] == "not measured"
    nobody = [row(rate=0.0, low=0.0, high=1.0, n=0)]
    assert about(name, "share of the persons", facts(nobody))["status"] == "not measured"


@pytest.mark.parametrize("name", CLINICAL)
@pytest.mark.parametrize(("k", "status"), [(11, "not met"), (12, "met")])
def test_the_highest_risk_is_met_by_a_proof_alone(name: str, k: int, status: str) -> None:
    words = "highest probability"
    low = [row(rate=0.0, low=0.0, high=0.001)]
    assert about(name, words, facts(low, guarantee=NO_GUARANTEE))["status"] == "not measured"
    assert about(name, words, facts(low, guarantee={**GUARANTEE, "proved": False}))["status"] == "not measured"
    assert about(name, words, facts(low, guarantee={**GUARANTEE, "k": k}))["status"] == status
    contradicted = [row(rate=0.5, low=0.4, high=0.6, k_proved=True, beyond_k="above")]
    assert about(name, words, facts(contradicted, guarantee=GUARANTEE))["status"] == "undecided"


def test_rows_that_are_read_whole_count_against_the_threshold() -> None:
    attack = next(name for name, one in attacks().items() if one.of_few_columns)
    given = facts([row(attack, rate=0.5, low=0.4, high=0.6, whole_rows=True)])
    assert about(CLINICAL[0], "share of the persons", given)["status"] == "not met"


def test_a_column_that_nobody_was_given_leaves_the_threshold_undecided() -> None:
    given = facts([row(rate=0.01, low=0.0, high=0.02)])
    given.report["table"]["not_attacked"].append("town")
    found = about(CLINICAL[0], "share of the persons", given)
    assert found["status"] == "undecided"
    assert "nobody was given town" in found["says"]


@pytest.mark.parametrize("name", CLINICAL)
def test_the_threshold_of_a_frame_is_a_limit_by_its_name(name: str) -> None:
    assert limit_named(name) == frames()[name].max_risk == 0.09
    assert limit_named(" 0.05 ") == 0.05
    with pytest.raises(ParameterError, match=rf"did you mean '{name}'"):
        limit_named(name[:-1])
    with pytest.raises(ParameterError, match=f"one of {', '.join(CLINICAL)}"):
        limit_named("wp29")


def test_the_population_is_not_measured_unless_the_report_has_an_estimate() -> None:
    words, given = "unique in the population", facts()
    assert about(CLINICAL[0], words, given)["status"] == "not measured"
    estimate = {"model": "pitman", "low": 0.1, "high": 0.2, "assumption": "classes came about by chance"}
    estimate["share"] = {"before": 0.145, "after": None}
    population = {"people": 1.2e6, "estimated_from": "the weights", "chosen": "pitman", "unique": [estimate]}
    given.report["disclosure"] = {"population": population}
    found = about(CLINICAL[0], words, given)
    assert found["status"] == "stated"
    assert "14.5 % (95 % interval 10.0 % to 20.0 %)" in found["says"]
    assert found["measured_by"] == "the estimate pitman for 1,200,000 people, from the weights"
    estimate["share"]["before"] = None
    assert about(CLINICAL[0], words, given)["status"] == "not measured"


# ------------------------------------------------------------------------------------------------ WP29


def test_every_attack_is_evidence_on_the_criteria_of_what_it_measures() -> None:
    for name, one in attacks().items():
        assert set(one.criteria) <= set(CRITERIA)
        if is_linkage(name):
            assert one.criteria == (SINGLING_OUT, LINKABILITY)
        if one.measures in {"secrets", "cells"}:
            assert one.criteria == (INFERENCE,)
    answered = {criterion for one in attacks().values() for criterion in one.criteria}
    assert answered == set(CRITERIA)


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda one: one.name)
def test_a_criterion_is_not_met_where_an_attack_does_better_than_chance_and_never_met(criterion: Any) -> None:
    attack = next(
        name for name, one in attacks().items() if criterion in one.criteria and measured_by(name) != "classes"
    )
    asks = criterion.name.capitalize()
    for low, status in ((0.1, "not met"), (0.0005, "undecided"), (None, "undecided")):
        found = about("wp29", asks, facts([row(attack, rate=0.2, low=low, high=0.3)]))
        assert found["status"] == status
        assert [one["attack"] for one in found["results"]] == [attack]
    unmeasured = about("wp29", asks, facts())
    assert unmeasured["status"] == "not measured"
    assert attack in unmeasured["says"]


def test_records_that_are_alone_decide_nothing_by_themselves() -> None:
    attack = next(name for name in attacks() if measured_by(name) == "classes")
    found = about("wp29", "Singling out", facts([row(attack, rate=0.9, low=0.8, high=0.95)]))
    assert found["status"] == "undecided"
    assert "decides nothing" in found["says"]


# ------------------------------------------------------------------------------------------------ Safe Harbor


def column(name: str, fate: Any = "released", **more: Any) -> ColumnFate:
    return ColumnFate(name=name, role=more.pop("role", "quasi-identifier"), fate=fate, **more)


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("patient_name", "A"), ("lastName", "A"), ("drug_name", ""), ("hospital_name", ""), ("zip", "B"),
        ("home_address", "B"), ("email_address", "F"), ("ip_address", "O"), ("birth_date", "C"), ("Age", "C"),
        ("phone", "D"), ("fax number", "E"), ("ssn", "G"), ("mrn", "H"), ("patient_id", "H"), ("member_id", "I"),
        ("account", "J"), ("license_no", "K"), ("vin", "L"), ("device_serial", "M"), ("url", "N"), ("retina", "P"),
        ("photo", "Q"), ("person_id", "R"), ("gender_concept_id", ""), ("state", ""), ("diagnosis", ""), ("year", ""),
    ],
)  # fmt: skip
def test_the_name_of_a_column_suggests_an_identifier(name: str, letters: str) -> None:
    assert suggested_by_name(column(name)) == tuple(letters)


def test_a_column_that_the_plan_calls_an_identifier_is_one() -> None:
    assert suggested_by_name(column("x", "dropped", role="identifier")) == ("R",)


def test_there_are_18_identifiers_each_with_a_point() -> None:
    assert "".join(IDENTIFIERS) == "ABCDEFGHIJKLMNOPQR"
    assert len(statements("hipaa-safe-harbor", facts())) == 19


@pytest.mark.parametrize(
    ("held", "status"),
    [
        (column("phone", "dropped"), "removed"),
        (column("phone", "pseudonym"), "removed"),
        (column("phone", "released"), "found"),
        (column("phone", "masked", method="a-method"), "found"),
        (column("phone", "masked", recode={"prefix": 3, "at_least": 20_000}), "found"),
        (column("zip", "masked", recode={"prefix": 3, "at_least": 20_000}), "generalised"),
        (column("zip", "released", recode={"prefix": 3}), "found"),
        (column("zip", "released", recode={"prefix": 4, "at_least": 20_000}), "found"),
        (column("age", "released", recode={"top": 90}), "generalised"),
        (column("age", "released", recode={"top": 95}), "found"),
        (column("age", "released", recode={"bands": [18, 65, 90]}), "generalised"),
        (column("age", "released", recode={"round": 5}), "found"),
        (column("admission_date", "released", recode={"to": "year"}), "generalised"),
        (column("admission_date", "released", recode={"to": "month"}), "found"),
        (column("admission_date", "released", recode={"to": "year", "keep": "season"}), "found"),
        (column("came", "released", kind="date"), "found"),
        (column("came", "released", kind="date", recode={"to": "year"}), "generalised"),
    ],
)
def test_an_identifier_is_removed_generalised_as_demanded_or_found(held: ColumnFate, status: str) -> None:
    given = facts(columns=(held,))
    (letter,) = suggested_by_name(held)
    assert about("hipaa-safe-harbor", f"({letter})", given)["status"] == status
    (shown,) = frames()["hipaa-safe-harbor"].page(given)["columns"]
    assert shown["status"] == status


def test_one_column_that_still_has_an_identifier_counts() -> None:
    given = facts(columns=(column("phone", "dropped"), column("telephone", "released")))
    assert about("hipaa-safe-harbor", "(D)", given)["status"] == "found"


def test_what_nobody_recognised_is_not_checkable() -> None:
    given = facts(columns=(column("remarks"),))
    assert about("hipaa-safe-harbor", "(A)", given)["status"] == "not checkable"
    assert "no cell was looked at" in about("hipaa-safe-harbor", "(A)", given)["measured_by"]
    assert frames()["hipaa-safe-harbor"].page(given)["columns"][0]["status"] == "not checkable"


def test_identifiers_that_were_detected_in_cells_take_the_place_of_names() -> None:
    given = facts(columns=(column("x1"), column("phone")), detected={"x1": ("F",), "phone": ()})
    found = about("hipaa-safe-harbor", "(F)", given)
    assert found["status"] == "found"
    assert found["measured_by"].startswith("the cells")
    assert about("hipaa-safe-harbor", "(D)", given)["status"] == "not checkable"


# ------------------------------------------------------------------------------------------------ the others


def test_the_expert_gets_figures_methods_and_a_place_for_a_signature_but_no_judgement() -> None:
    given = facts([row(rate=0.2, low=0.1, high=0.3)], guarantee=GUARANTEE)
    found = statements("hipaa-expert", given)
    assert {one["status"] for one in found} <= {"stated", "not measured", "to be filled in"}
    assert "Values were shuffled" in about("hipaa-expert", "By which methods", given)["says"]
    assert "Date and signature" in frames()["hipaa-expert"].fields
    assert about("hipaa-expert", "very small", given)["status"] == "to be filled in"
    assert about("hipaa-expert", "By which methods", facts())["status"] == "not measured"


def test_the_context_is_a_form_and_the_adversarial_test_is_done_only_with_attacks() -> None:
    assert about("iso-27559", "Context", facts())["status"] == "to be filled in"
    assert about("iso-27559", "Adversarial", facts())["status"] == "not measured"
    done = about("iso-27559", "Adversarial", facts([row(rate=0.2, low=0.1, high=0.3)]))
    assert done["status"] == "stated"
    assert done["says"].startswith("Yes: 1 attack")


@pytest.mark.parametrize(("seed", "status"), [("secret", "met"), ("guessable", "not met"), ("unknown", "not measured")])
def test_the_secret_is_judged_by_the_private_record_alone(seed: Any, status: str) -> None:
    assert about("edpb-01-2025", "secret of the transformation", facts(seed=seed))["status"] == status


def test_pseudonymised_columns_are_told_from_dropped_ones() -> None:
    given = facts(columns=(column("name", "dropped"), column("id", "pseudonym")))
    says = about("edpb-01-2025", "direct identifiers", given)["says"]
    assert "Dropped: name." in says
    assert "random in every release and follow from no cell: id." in says


# ------------------------------------------------------------------------------------------------ by name


def test_frames_are_taken_by_name_several_in_a_text_each_once() -> None:
    first, second = NAMES[:2]
    for asked in ([f"{first}, {second}"], [first, second, first], f"{first},{second}"):
        assert [one.name for one in frames_named(asked)] == [first, second]
    assert frames_named(()) == []


def test_an_unknown_frame_is_refused_with_near_names() -> None:
    with pytest.raises(ParameterError, match=r"did you mean 'hipaa-expert'.*got 'hipaa-experts'\.$"):
        frames_named(["wp29,hipaa-experts"])
    for empty in ("", "wp29,"):
        with pytest.raises(ParameterError, match="must be one of wp29"):
            frames_named(empty)


def test_names_are_different_and_have_no_blank() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(" " not in one and "," not in one for one in NAMES)
    assert all(one.title != other.title for one, other in product(OWN, OWN) if one is not other)
