"""The report of an assessed release: what it says, and what its public edition keeps back."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import anonto
from anonto.attacks.findings import OF_A_PROOF, findings_of
from anonto.attacks.rate import wilson_interval
from anonto.attacks.registry import is_linkage, is_of_unknown_columns
from anonto.encoding.prepare import opener
from anonto.errors import InputError
from anonto.methods.registry import METHODS
from anonto.report.assessed import assessed_data
from anonto.report.editions import EDITIONS, public_parameters
from anonto.report.gate import PERSONS_A_STEP
from anonto.report.page import assessed_html
from anonto.sweep.unit import measure_random_swap
from anonto.utility.score import utility_of

if TYPE_CHECKING:
    from anonto.assessment.assess import Assessment
    from anonto.attacks.rate import Risk

    Written = dict[tuple[str, str], tuple[dict[str, Any], str]]

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[3] / "docs"
SEED = 0xC0FFEE_0DDBA11_5EED_5EED_1234567890
ODD = "<script>alert('x')</script> & “x” 🤧"
SECRET_CELLS = ("zq-north", "zq-south", "zq-rare", "flu", "measles", "fracture", "burn")
PARAMETERS: dict[str, dict[str, Any]] = {
    "random-swap": {},
    "frequency-swap": {"k": 37},
    "rank-swap-fixed": {"k": 37},
    "rank-swap": {"percent": 7.413},
    "rank-swap-joint": {"k": 37},
    "group-swap": {"k": 7},
    "equi-depth-swap": {"k": 37},
    "equi-width-swap": {"width": [2, 7.413]},
    "invariant-swap": {"rate": 0.7413, "k": 37},
    "microaggregate": {"k": 7},
    "semantic-noise": {"noise_level": 0.7413},
    "semantic-noise-joint": {"noise_level": 0.7413},
    "taxonomy-exponential": {"epsilon": 3.7413},
    "generalise": {"k": 7},
    "suppress": {"k": 7, "combinations": 2},
}
MASKED = {
    "equi-width-swap": ["illness", "age"],
    "semantic-noise": ["illness"],
    "semantic-noise-joint": ["illness", "age"],
    "taxonomy-exponential": ["illness"],
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    n = 300
    illnesses: list[str | None] = rng.choice(
        ["flu", "measles", "burn", "fracture"], n, p=[0.5, 0.3, 0.16, 0.04]
    ).tolist()
    illnesses[3] = illnesses[11] = illnesses[200] = None
    towns = rng.choice(["zq-north", "zq-south"], n).tolist()
    towns[7] = towns[31] = "zq-rare"
    return pl.DataFrame(
        {
            "person": [f"person {i}" for i in range(n)],
            "illness": illnesses,
            "age": rng.integers(20, 80, n),
            ODD: towns,
            "stay": rng.integers(1, 30, n),
        }
    )


def plan_of(method: str) -> dict[str, Any]:
    columns = MASKED.get(method, ["illness", "age", ODD])
    return {
        "columns": {
            "person": {"role": "identifier"},
            "illness": {"ontology": "illnesses", "missing": "drop" if method == "microaggregate" else "keep"},
            "age": {"kind": "numeric"},
            ODD: {},
            "stay": {"kind": "numeric", "role": "confidential"},
        },
        "steps": [{"method": method, "columns": columns, **PARAMETERS[method]}],
    }


@pytest.fixture(scope="module")
def assessed(table: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Assessment]:
    """One release of every method, attacked with its private record."""
    found = {}
    folder = tmp_path_factory.mktemp("secret-folder")
    for method in METHODS:
        plan = plan_of(method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", anonto.AnontoWarning)
            anonto.mask(table, plan, seed=SEED).save(folder / f"{method}.parquet")
            found[method] = anonto.assess(
                table, folder / f"{method}.parquet", plan, private=folder / f"{method}.parquet.private.json"
            )
    return found


@pytest.fixture(scope="module")
def written(assessed: dict[str, Assessment]) -> Written:
    """Both editions of every method: the data, and the page."""
    data = {
        (method, edition): assessed_data(found, edition) for method, found in assessed.items() for edition in EDITIONS
    }
    return {which: (one, assessed_html(one)) for which, one in data.items()}


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(files("anonto.report").joinpath("schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def leaves(part: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(part, dict):
        return [leaf for key, value in part.items() for leaf in leaves(value, (*path, key))]
    if isinstance(part, list):
        return [leaf for value in part for leaf in leaves(value, path)]
    return [(path, part)]


# ------------------------------------------------------------------------------------------------ both editions


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_report_fits_its_schema(
    assessed: dict[str, Assessment],
    validator: jsonschema.Draft202012Validator,
    tmp_path: Path,
    method: str,
    edition: str,
) -> None:
    assessed[method].to_json(tmp_path / "report.json", edition=edition)
    validator.validate(json.loads((tmp_path / "report.json").read_text(encoding="utf-8")))


def test_the_schema_refuses_what_the_public_edition_must_not_have(
    assessed: dict[str, Assessment], validator: jsonschema.Draft202012Validator
) -> None:
    inside = assessed_data(assessed["rank-swap-joint"])
    assert validator.is_valid(json.loads(json.dumps(inside)))
    assert not validator.is_valid({**json.loads(json.dumps(inside)), "edition": "public"})


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_the_folder_and_the_cells_are_in_no_edition(written: Written, method: str) -> None:
    for edition in EDITIONS:
        data, page = written[method, edition]
        for text in (json.dumps(data, ensure_ascii=False), page):
            assert str(SEED) not in text
            assert f"{SEED:x}" not in text.lower()
            for secret in ("secret-folder", "person 1", *SECRET_CELLS[:3]):
                assert secret not in text
        assert "<script>" not in page


def test_the_report_is_the_same_each_time_and_says_which_edition_it_is(
    assessed: dict[str, Assessment], written: Written, tmp_path: Path
) -> None:
    found = assessed["group-swap"]
    for edition in EDITIONS:
        found.to_html(tmp_path / "report.html", edition=edition)
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert page == written["group-swap", edition][1]
        assert f"{edition.capitalize()} edition" in page
    with pytest.raises(anonto.InputError, match="exists already"):
        found.to_html(tmp_path / "report.html", force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(anonto.InputError, match="internal, public"):
        assessed_data(found, "pubic")


def test_every_key_of_the_data_is_described(assessed: dict[str, Assessment]) -> None:
    page = (DOCS / "reference" / "report-schema.md").read_text(encoding="utf-8")
    assert [key for key in assessed_data(assessed["group-swap"]) if f"| `{key}` |" not in page] == []


# ------------------------------------------------------------------------------------------------ the public edition


@pytest.mark.parametrize("method", METHODS)
def test_what_is_published_of_a_method_is_documented(method: str) -> None:
    page = (DOCS / "how-to" / "read-the-report.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| [^|]*`{method}`[^|]*\|([^|]*)\|", page, re.MULTILINE)
    assert row is not None
    assert re.findall(r"`(\w+)`", row[1]) == list(public_parameters(method))


def test_nothing_is_published_of_a_method_that_is_not_known() -> None:
    assert public_parameters("another-method") == ()


@pytest.mark.parametrize("method", METHODS)
def test_no_parameter_that_is_kept_back_is_in_the_public_edition(written: Written, method: str) -> None:
    data, page = written[method, "public"]
    texts = [json.dumps(data, ensure_ascii=False), page]
    step = data["steps"][0]
    hidden = {name: value for name, value in plan_of(method)["steps"][0].items() if name not in {"method", "columns"}}
    for name in public_parameters(method):
        hidden.pop(name, None)
    assert set(hidden) <= set(step["kept_back"])
    for name, value in hidden.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, float):
                assert all(str(each) not in text for text in texts)
            if name == "k":
                assert all(not re.search(rf"k = {each}\b|1 in {each}\b|1/k = ", text) for text in texts)
                assert all(value not in (each, 1 / each) for _, value in leaves(data) if not isinstance(value, bool))
    if hidden:
        assert "plan_sha256" not in data["provenance"]
        assert all(one["one_in_k"] is None for one in data["attacks"]) or "k" in public_parameters(method)


@pytest.mark.parametrize("method", METHODS)
def test_no_small_count_and_no_detail_is_in_the_public_edition(assessed: dict[str, Assessment], method: str) -> None:
    data = assessed_data(assessed[method], "public")
    assert data["measured"]["on"] == "second masking"
    counts = ("count", "before", "after", "cells", "dropped_records", "n")
    assert not [
        (path, value)
        for path, value in leaves(data)
        if path[-1] in counts and isinstance(value, int) and 0 < value < PERSONS_A_STEP
    ]
    for row in data["attacks"]:
        assert "details" not in row
        assert row["n"] % 10 == 0
        assert row["rate"] is None or (row["rate"] / 0.05) == pytest.approx(round(row["rate"] / 0.05))


@pytest.mark.parametrize("method", METHODS)
def test_no_cell_is_in_the_public_edition(written: Written, method: str) -> None:
    data, page = written[method, "public"]
    words = set(re.findall(r"[\w-]+", f"{json.dumps(data, ensure_ascii=False)} {page}"))
    assert words.isdisjoint(SECRET_CELLS)
    assert all("losses" not in column for column in data["columns"])


def test_frequencies_of_the_original_are_published_only_where_the_release_has_the_same(
    assessed: dict[str, Assessment],
) -> None:
    def upper(method: str) -> dict[str, Any]:
        column = next(one for one in assessed_data(assessed[method], "public")["columns"] if one["name"] == "illness")
        level: dict[str, Any] = column["ontologies"][0]["levels"][0]
        return level

    assert [row["concept"] for row in upper("group-swap")["rows"]] == ["infection", "injury"]
    assert upper("group-swap")["change"] == 0
    assert upper("taxonomy-exponential")["rows"] == []
    assert upper("taxonomy-exponential")["change"] > 0


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.widths_by])
def test_distances_that_would_reveal_a_width_are_withheld(assessed: dict[str, Assessment], method: str) -> None:
    assert all(column["moved"] is None for column in assessed_data(assessed[method], "public")["columns"])
    assert all(column["moved"] is not None for column in assessed_data(assessed[method])["columns"])


def test_the_hash_of_the_published_plan_ties_both_editions_together(assessed: dict[str, Assessment]) -> None:
    origins = [assessed_data(assessed["rank-swap"], edition)["provenance"] for edition in EDITIONS]
    assert origins[0]["published_plan_sha256"] == origins[1]["published_plan_sha256"]
    assert origins[0]["plan_sha256"] != origins[0]["published_plan_sha256"]
    assert [one["name"] for one in origins[0]["ontologies"]] == ["illnesses.csv"]


# ------------------------------------------------------------------------------------------------ what it says


def test_the_verdict_with_and_without_a_proof(assessed: dict[str, Assessment]) -> None:
    grouped = assessed_data(assessed["group-swap"])["verdict"]
    assert "1/k = 14.3 %" in grouped["risk"]
    assert "the exact frequency of every value" in grouped["utility"]
    assert grouped["guarantee"].startswith("Proved: probabilistic k-anonymity, k = 7")
    noisy = assessed_data(assessed["semantic-noise"])["verdict"]
    assert "1/k" not in noisy["risk"]
    assert "Hellinger" in noisy["utility"]
    assert noisy["guarantee"].startswith("No guarantee is proved for this release (semantic-noise)")
    assert "mask or drop age" in noisy["guarantee"]


def test_a_release_beyond_1_in_k_is_called_so_in_both_editions(table: pl.DataFrame) -> None:
    plan = plan_of("rank-swap-joint")
    found = anonto.assess(table, table.drop("person"), plan)
    found = replace(found, second_masking=lambda: found)
    assert found.findings
    inside, outside = (assessed_data(found, edition) for edition in EDITIONS)
    assert "the rate is above 1/k = 2.7 %" in inside["verdict"]["risk"]
    assert "do not release it as it is" in inside["verdict"]["guarantee"]
    assert inside["findings"] == list(found.findings)
    assert "above 1 in k (k is not published)" in outside["verdict"]["risk"]
    assert outside["findings"]
    assert not any(re.search(r"\b37\b", sentence) for sentence in outside["findings"])
    page = unescape(assessed_html(inside)).replace("\N{NO-BREAK SPACE}", " ")
    assert all(sentence in page for sentence in found.findings)


def test_rates_are_compared_by_intervals_that_hold_for_all_linkages_together(assessed: dict[str, Assessment]) -> None:
    for found in assessed.values():
        data = assessed_data(found)
        n_linkages = sum(is_linkage(one.attack) for one in found.risk)
        for row, one in zip(data["attacks"], found.risk, strict=True):
            if row["beyond_k"] is not None:
                low, high = wilson_interval(one.rate * one.n, one.n, n_linkages)
                assert low < one.low
                expected = "above" if low > row["one_in_k"] else "below" if high < row["one_in_k"] else "equal"
                assert row["beyond_k"] == expected
        compared = any(row["beyond_k"] is not None for row in data["attacks"])
        assert compared == any("Bonferroni" in sentence for sentence in data["limits"])


def with_rate(found: Assessment, rate: float) -> Assessment:
    """The same with another rate of the linkages that proofs are about, also of a second masking."""
    proved = [is_linkage(one.attack) and not is_of_unknown_columns(one.attack) for one in found.risk]
    risk = tuple(_with_rate(one, rate) if mine else one for one, mine in zip(found.risk, proved, strict=True))
    changed = replace(found, risk=risk)
    return replace(changed, second_masking=lambda: changed)


def _with_rate(one: Risk, rate: float) -> Risk:
    low, high = wilson_interval(rate * one.n, one.n)
    return replace(one, rate=rate, low=low, high=high)


def test_a_draw_above_a_proved_bound_is_not_called_its_failure(assessed: dict[str, Assessment]) -> None:
    found = assessed["group-swap"]
    lucky = with_rate(found, 0.19)
    assert found.second_masking is not None
    assert lucky.risk[0].low > 1 / 7
    assert not findings_of(found.plan.steps, lucky.risk, 300)  # type: ignore[union-attr]
    for edition in EDITIONS:
        told = assessed_data(lucky, edition)
        assert told["findings"] == []
        assert "does not differ significantly from 1/k" in told["verdict"]["risk"]
    high = with_rate(found, 0.24)
    high = replace(high, findings=findings_of(found.plan.steps, high.risk, 300))  # type: ignore[union-attr]
    assert high.findings
    for edition in EDITIONS:
        told = assessed_data(high, edition)
        page = assessed_html(told)
        assert told["findings"]
        assert all(OF_A_PROOF in one for one in (*told["findings"], told["verdict"]["risk"]))
        assert "surely" not in page
        assert "does not bound" not in page
        assert "known weakness" not in page
    assert "with a new seed" in assessed_data(high)["verdict"]["guarantee"]
    assert "can be chance" in assessed_data(high, "public")["verdict"]["guarantee"]


def test_a_second_release_is_said_to_break_the_condition_of_one(table: pl.DataFrame) -> None:
    plan = plan_of("group-swap")
    first, second = (anonto.mask(table, plan, seed=SEED + more).table for more in (0, 1))
    data = assessed_data(anonto.assess(table, first, plan, second=(second, plan)))
    assert "while there are two" in data["verdict"]["guarantee"]
    assert not any("composition" in sentence for sentence in data["limits"])


WHO = {"internal": "The worst intruder tried, who knows a and b", "public": "How many persons an intruder links is not"}


@pytest.mark.parametrize("n", [0, 5])
def test_a_plan_that_masks_nothing_and_an_empty_table_have_a_verdict(n: int) -> None:
    rows = pl.DataFrame({"a": ["x"] * n, "b": list(range(n))}, schema={"a": pl.String, "b": pl.Int64})
    with pytest.warns(anonto.AnontoWarning):
        release = anonto.mask(rows, {}, seed=SEED)
    found = anonto.assess(rows, release.table, {})
    for edition in EDITIONS:
        data = assessed_data(found, edition)
        assert data["verdict"]["utility"] == "No column was masked, so the analyst keeps everything."
        assert data["table"]["records"] == n
        assert ("No attack was tried" in assessed_html(data)) is (n == 0 and edition == "internal")
        assert data["verdict"]["risk"].startswith("Nobody could be attacked" if n == 0 else WHO[edition])


def test_the_limits_name_what_was_not_tried_and_what_was_not_known(assessed: dict[str, Assessment]) -> None:
    limits = " ".join(assessed_data(assessed["group-swap"])["limits"])
    assert "composition" in limits
    assert "No intruder was given cells of stay" in limits
    assert "masked again" in limits
    public = " ".join(assessed_data(assessed["group-swap"], "public")["limits"])
    assert "no proof covers it" in public
    assert "Not tried: likelihood-linkage" in public
    withheld = public.partition("not published because the figures could help an intruder: ")[2]
    assert withheld.startswith("association-linkage")
    assert "attribute-inference" in withheld


def test_without_the_private_record_the_report_says_that_nothing_was_checked(table: pl.DataFrame) -> None:
    plan = plan_of("invariant-swap")
    with pytest.warns(anonto.AnontoWarning):
        release = anonto.mask(table, plan, seed=SEED)
    data = assessed_data(anonto.assess(table, release.table, plan))
    assert not data["checked"]
    assert not data["steps"][0]["guarantee"]["proved"]
    assert any("No private record was given" in sentence for sentence in data["limits"])


def test_the_public_edition_says_only_what_is_so_of_parameters_and_of_the_plan(table: pl.DataFrame) -> None:
    plan = plan_of("group-swap")
    data = assessed_data(anonto.assess(table, anonto.mask(table, plan, seed=SEED).table, plan), "public")
    page = assessed_html(data)
    assert "k = 7" in page
    assert "parameters that an intruder could use are kept back" not in page
    assert "allows an intruder to know" in page
    assert "taken as given" in data["verdict"]["guarantee"]


def test_a_quasi_identifier_outside_the_step_breaks_the_proof_also_without_the_record(table: pl.DataFrame) -> None:
    plan = plan_of("group-swap")
    plan["steps"][0]["columns"] = ["illness", "age"]
    with pytest.warns(anonto.AnontoWarning):
        release = anonto.mask(table, plan, seed=SEED)
    data = assessed_data(anonto.assess(table, release.table, plan))
    assert not data["steps"][0]["guarantee"]["proved"]
    assert data["steps"][0]["guarantee"] == release.evidence["steps"][0]["guarantee"]


# ------------------------------------------------------------------------------------------------ the map


def test_without_a_sweep_the_map_has_this_release_and_the_table_unmasked(assessed: dict[str, Assessment]) -> None:
    own, unmasked = assessed_data(assessed["group-swap"])["map"]["points"]
    worst = assessed["group-swap"].worst
    assert worst is not None
    assert own["risk"] == worst.rate
    assert 0 < own["utility"] < 1
    assert unmasked["utility"] == 1
    assert own["risk"] < unmasked["risk"] <= 1


def test_the_utility_is_that_of_a_sweep(assessed: dict[str, Assessment], table: pl.DataFrame) -> None:
    for method in ("group-swap", "semantic-noise-joint"):
        found = assessed[method]
        plan = anonto.Plan.from_dict(plan_of(method))
        stays = {name: one for name, one in plan.columns.items() if one.role != "identifier"}
        at_random = measure_random_swap(
            table.drop("person"), anonto.Plan(stays, plan.steps), plan.masked, opener(plan.folder)
        )
        swept = utility_of(found.utility, at_random, plan.masked)["utility"]
        assert assessed_data(found)["map"]["points"][0]["utility"] == pytest.approx(swept, abs=1e-9)


def test_changed_is_of_the_cells_that_had_a_value(table: pl.DataFrame) -> None:
    holes = table.with_columns(illness=pl.when(pl.int_range(300) % 2 == 0).then("illness"))
    plan = plan_of("group-swap")
    release = anonto.mask(holes, plan, seed=SEED)
    step = release.evidence["steps"][0]
    n_values = 300 - step["missing"]["illness"]
    column = assessed_data(anonto.assess(holes, release.table, plan))["columns"][0]
    assert column["changed"]["count"] == n_values - step["unchanged"]["illness"]
    assert column["changed"]["share"] == f"{1 - step['unchanged']['illness'] / n_values:.1%}"


def test_figures_of_a_column_that_hardly_varies_are_not_published(
    table: pl.DataFrame, validator: jsonschema.Draft202012Validator, tmp_path: Path
) -> None:
    plan = plan_of("group-swap")
    rare = table.with_columns(age=pl.when(pl.int_range(table.height) < 9).then(79).otherwise(30))
    anonto.mask(rare, plan, seed=SEED).save(tmp_path / "masked.csv")
    found = anonto.assess(rare, tmp_path / "masked.csv", plan, private=tmp_path / "masked.csv.private.json")
    data = assessed_data(found, "public")
    validator.validate(json.loads(json.dumps(data)))
    age = next(one for one in data["columns"] if one["name"] == "age")
    assert [age[key] for key in ("rmse", "mean_distance", "hellinger", "moved")] == [None] * 4
    assert not [pair for pair in data["pairs"] if "age" in pair["columns"]]
    assert re.search("Not published of [^.]*<code>age</code>", assessed_html(data))
    assert assessed_data(found)["columns"][1]["rmse"] is not None


def test_the_table_itself_keeps_all_utility(table: pl.DataFrame) -> None:
    found = anonto.assess(table, table.drop("person"), plan_of("group-swap"))
    own, unmasked = assessed_data(found)["map"]["points"]
    assert own["utility"] == pytest.approx(1, abs=0.02)
    assert own["risk"] >= unmasked["risk"] * 0.9


def test_plans_of_a_sweep_are_drawn_beside_the_release(
    assessed: dict[str, Assessment],
) -> None:
    points = [
        {"label": "rank-swap (k = 37)", "method": "rank-swap", "risk": 0.5, "utility": 0.95, "on_front": True},
        {"label": "random-swap", "method": "random-swap", "risk": 0.001, "utility": 0.05, "on_front": True, "low": 0.0},
    ]
    inside = assessed_data(assessed["group-swap"], sweep={"points": points})["map"]
    assert [one["label"] for one in inside["points"]] == ["rank-swap (k = 37)", "random-swap", "this release"]
    assert inside["from_sweep"]
    assert "rank-swap (k = 37)" in assessed_html(assessed_data(assessed["group-swap"], sweep=points))


@pytest.mark.parametrize("wrong", [{"answer": 1}, "points", [1], [{"label": "a", "method": "b", "risk": "high"}]])
def test_points_that_cannot_be_drawn_are_refused(assessed: dict[str, Assessment], wrong: Any) -> None:
    with pytest.raises(InputError, match="A map of risk and utility"):
        assessed_data(assessed["group-swap"], sweep=wrong)
