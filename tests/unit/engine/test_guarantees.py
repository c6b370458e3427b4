"""A guarantee is called proved only where it holds for the released bytes."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.attacks.row_order import FINDING
from anonto.cli.main import run
from anonto.errors import AnontoWarning
from anonto.methods.guarantee import IN_ORDER, Setting
from anonto.methods.registry import METHODS, method_of
from anonto.report.assessed import assessed_data
from anonto.runtime.memory_limit import DEFAULT

if TYPE_CHECKING:
    from pathlib import Path

SEED = 2**100
CODES = ["flu", "measles", "burn", "fracture", "infection"]
LINKING = ["group-swap", "microaggregate", "generalise", "suppress"]
OF_VALUES = ["invariant-swap", "taxonomy-exponential"]
PARAMETERS: dict[str, dict[str, Any]] = {
    "group-swap": {"k": 5},
    "microaggregate": {"k": 5},
    "generalise": {"k": 5},
    "suppress": {"k": 5, "combinations": 2},
    "invariant-swap": {"k": 5, "rate": 0.9},
    "taxonomy-exponential": {"epsilon": 2.0},
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*are released unchanged:anonto.errors.AnontoWarning"),
]


def people(n: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "illness": rng.choice(CODES, n).tolist(),
            "second": rng.choice(CODES, n).tolist(),
            "stay": rng.integers(1, 90, n).tolist(),
        }
    )


def plan_for(method: str, **stay: Any) -> dict[str, Any]:
    illness = {"ontology": "illnesses"}
    return {
        "columns": {
            "illness": illness,
            "second": illness,
            "stay": {"kind": "numeric", "role": "confidential", **stay},
        },
        "steps": [{"method": method, "columns": ["illness", "second"], **PARAMETERS[method]}],
    }


def guarantee_of(evidence: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = evidence["steps"][0]["guarantee"]
    return found


def promise(table: pl.DataFrame, plan: dict[str, Any], seed: int = SEED) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return guarantee_of(anonto.mask(table, plan, seed=seed).evidence)


@pytest.mark.parametrize("method", [*LINKING, *OF_VALUES])
def test_the_guarantee_is_proved_if_all_conditions_hold(method: str) -> None:
    assert promise(people(), plan_for(method))["proved"]


def test_methods_that_promise_are_the_ones_tested_here() -> None:
    parameters = {**{name: {} for name in METHODS}, **PARAMETERS}
    kinds = {}
    for name in METHODS:
        try:
            kinds[name] = method_of(name, parameters[name]).guarantee(Setting()).kind
        except anonto.InputError:
            kinds[name] = "none"
    assert {name for name, kind in kinds.items() if kind != "none"} == {*LINKING, *OF_VALUES}


# ------------------------------------------------------------------------------------------------ the order of rows


@pytest.mark.parametrize("method", LINKING)
def test_no_limit_to_linking_is_proved_of_rows_in_order(method: str, tmp_path: Path) -> None:
    release = anonto.mask(people(), plan_for(method), seed=SEED)
    shuffled = release.save(tmp_path / "out.csv", report=tmp_path / "out.html")
    assert shuffled == release.evidence
    assert (shuffled["rows_in_order"], guarantee_of(shuffled)["proved"]) == (False, True)
    kept = release.save(tmp_path / "kept.csv", keep_order=True, report=tmp_path / "kept.html")
    assert (kept["rows_in_order"], guarantee_of(kept)["proved"]) == (True, False)
    assert guarantee_of(kept)["conditions"].startswith(IN_ORDER)
    pages = {name: (tmp_path / f"{name}.html").read_text() for name in ("out", "kept")}
    assert "Not proved" not in pages["out"]
    assert "Not proved" in pages["kept"]
    assert IN_ORDER in pages["kept"]
    assert guarantee_of(release.evidence)["proved"], "the evidence of a release is about what save writes by default"


@pytest.mark.parametrize("method", OF_VALUES)
def test_an_epsilon_of_values_holds_in_any_order(method: str, tmp_path: Path) -> None:
    kept = anonto.mask(people(), plan_for(method), seed=SEED).save(tmp_path / "kept.csv", keep_order=True)
    assert guarantee_of(kept)["proved"]
    assert "any order" in guarantee_of(kept)["conditions"]


@pytest.mark.parametrize("memory", [None, "500MB"])
def test_masking_a_file_in_order_returns_and_reports_that_nothing_is_proved(
    memory: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people().write_parquet(tmp_path / "in.parquet")
    if memory is not None:
        monkeypatch.setattr("anonto.engine.run._fits", lambda *_: False)
    for keep_order in (True, False):
        evidence = anonto.mask_file(
            tmp_path / "in.parquet",
            plan_for("group-swap"),
            tmp_path / "out.parquet",
            seed=SEED,
            memory=memory,
            keep_order=keep_order,
            report=tmp_path / "out.html",
            force=True,
        ).evidence
        assert evidence["rows_in_order"] is keep_order
        assert guarantee_of(evidence)["proved"] is not keep_order
        assert (IN_ORDER in (tmp_path / "out.html").read_text()) is keep_order


@pytest.mark.parametrize("memory", [[], ["--memory", str(DEFAULT)]])
def test_the_command_line_says_that_nothing_is_proved_of_rows_in_order(
    memory: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people().write_csv(tmp_path / "in.csv")
    (tmp_path / "plan.toml").write_text(anonto.Plan.from_dict(plan_for("group-swap")).to_toml())
    words = ["mask", str(tmp_path / "in.csv"), "--plan", str(tmp_path / "plan.toml")]
    words += ["--output", str(tmp_path / "out.csv"), "--force", *memory]
    assert run(words) == 0
    assert "k = 5: proved, if" in " ".join(capsys.readouterr().out.split())
    assert run([*words, "--keep-order"]) == 0
    assert f"k = 5: not proved, because {IN_ORDER}" in " ".join(capsys.readouterr().out.split())
    assert run([*words, "--keep-order", "--json"]) == 0
    assert not guarantee_of(json.loads(capsys.readouterr().out))["proved"]


@pytest.mark.parametrize("with_record", [True, False])
@pytest.mark.parametrize("method", [*LINKING, "random-swap"])
def test_assess_finds_that_the_rows_of_a_file_are_in_order(method: str, with_record: bool, tmp_path: Path) -> None:
    table, plan = people(), plan_for("group-swap")
    if method == "random-swap":
        plan["steps"] = [{"method": method, "columns": ["illness", "second"]}]
    else:
        plan = plan_for(method)
    path = tmp_path / "kept.csv"
    anonto.mask(table, plan, seed=SEED).save(path, keep_order=True)
    found = anonto.assess(table, path, plan, private=f"{path}.private.json" if with_record else None)
    (linked,) = [one for one in found.risk if one.attack == "row-order"]
    assert (linked.rate, linked.high, linked.n, linked.baseline) == (1.0, 1.0, 200, 1 / 200)
    assert 0.97 < linked.low < 1
    assert linked.knowledge == "the order of the original rows"
    assert found.worst is not None
    assert found.worst.rate == 1
    assert found.findings[0] == FINDING
    assert not any(one["proved"] for one in found.facts["guarantees"])
    for edition in ("internal", "public"):
        said = assessed_data(found, edition)
        assert FINDING in said["findings"]
        assert "No guarantee is proved" in said["verdict"]["guarantee"]
        assert "order of the original" in said["verdict"]["risk"] + said["verdict"]["guarantee"]
    found.to_html(tmp_path / "report.html")
    assert "row-order" in (tmp_path / "report.html").read_text()


def test_the_command_line_shows_what_the_order_gives_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people().write_csv(tmp_path / "in.csv")
    plan = plan_for("group-swap")
    (tmp_path / "plan.toml").write_text(anonto.Plan.from_dict(plan).to_toml())
    anonto.mask(tmp_path / "in.csv", plan, seed=SEED).save(tmp_path / "out.csv", keep_order=True)
    capsys.readouterr()
    words = [str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--plan", str(tmp_path / "plan.toml")]
    assert run(["assess", *words]) == 0
    said = capsys.readouterr().out
    assert said.startswith(FINDING)
    assert "the order of the original rows" in said


def test_assess_does_not_find_it_of_shuffled_files_and_of_tables_in_memory(tmp_path: Path) -> None:
    table, plan = people(), plan_for("group-swap")
    release = anonto.mask(table, plan, seed=SEED)
    release.save(tmp_path / "out.csv")
    record = tmp_path / "out.csv.private.json"
    in_memory = anonto.assess(table, release.table, plan)
    from_file = anonto.assess(table, tmp_path / "out.csv", plan, private=record)
    with_record = anonto.assess(table, release.table, plan, private=record)
    for found in (in_memory, from_file, with_record):
        assert "row-order" not in {one.attack for one in found.risk}
        assert FINDING not in found.findings
        assert [one["proved"] for one in found.facts["guarantees"]] == [True]


def test_with_few_rows_only_the_private_record_shows_that_the_order_was_kept(tmp_path: Path) -> None:
    table, plan = people(6), plan_for("group-swap")
    release = anonto.mask(table, plan, seed=SEED)
    for keep_order in (True, False):
        path = tmp_path / f"{keep_order}.csv"
        release.save(path, keep_order=keep_order)
        found = anonto.assess(table, path, plan, private=f"{path}.private.json")
        assert (FINDING in found.findings) is keep_order


def test_rows_that_look_alike_in_any_order_are_not_called_in_order(tmp_path: Path) -> None:
    table = pl.DataFrame({"illness": ["flu"] * 40, "second": ["burn"] * 40, "stay": [1] * 40})
    plan = plan_for("group-swap")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anonto.mask(table, plan, seed=SEED).save(tmp_path / "out.csv", keep_order=True)
    found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert FINDING not in found.findings


def test_a_second_release_in_order_is_found_too(tmp_path: Path) -> None:
    table, plan = people(), plan_for("group-swap")
    anonto.mask(table, plan, seed=SEED + 1).save(tmp_path / "second.csv", keep_order=True)
    first = anonto.mask(table, plan, seed=SEED).table
    found = anonto.assess(table, first, plan, second=(tmp_path / "second.csv", plan))
    assert found.findings[0] == FINDING


# ------------------------------------------------------------------------------------------------ other columns


@pytest.mark.parametrize("method", LINKING)
@pytest.mark.parametrize(
    "described", [None, {}, {"role": "other"}, {"role": "quasi-identifier"}], ids=["unnamed", "bare", "other", "quasi"]
)
def test_a_column_outside_the_step_that_is_not_confidential_may_be_known(
    method: str, described: dict[str, Any] | None
) -> None:
    table = people().with_columns(ssn=pl.arange(200).cast(pl.String))
    plan = plan_for(method)
    if described is not None:
        plan["columns"]["ssn"] = described
    found = promise(table, plan)
    assert not found["proved"]
    assert "the step leaves out 'ssn', by which a person could be recognised too" in found["conditions"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked = anonto.mask(table, plan, seed=SEED).table
    (assessed,) = anonto.assess(table, masked, plan).facts["guarantees"]
    assert not assessed["proved"]
    assert "'ssn'" in assessed["conditions"]


@pytest.mark.parametrize("method", LINKING)
@pytest.mark.parametrize("role", ["confidential", "identifier"])
def test_a_column_that_nobody_knows_or_that_is_dropped_breaks_no_proof(method: str, role: str) -> None:
    table = people().with_columns(ssn=pl.arange(200).cast(pl.String))
    plan = plan_for(method)
    plan["columns"]["ssn"] = {"role": role}
    assert promise(table, plan)["proved"]


@pytest.mark.parametrize("method", LINKING)
def test_a_column_that_another_step_masks_is_left_out_too(method: str) -> None:
    plan = plan_for(method, role="other")
    plan["steps"].append({"method": "random-swap", "columns": ["stay"]})
    assert "leaves out 'stay'" in promise(people(), plan)["conditions"]


@pytest.mark.parametrize("method", OF_VALUES)
def test_an_epsilon_of_values_names_the_columns_that_it_does_not_protect(method: str) -> None:
    found = promise(people().with_columns(ssn=pl.arange(200).cast(pl.String)), plan_for(method))
    assert found["proved"]
    assert "columns outside the step ('ssn') are not protected" in found["conditions"]


def test_the_same_columns_are_left_out_when_a_table_is_read_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anonto.engine.run._fits", lambda *_: False)
    people().with_columns(ssn=pl.arange(200).cast(pl.String)).write_parquet(tmp_path / "in.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence = anonto.mask_file(
            tmp_path / "in.parquet", plan_for("group-swap"), tmp_path / "out.parquet", seed=SEED, memory="500MB"
        ).evidence
    assert "leaves out 'ssn'" in guarantee_of(evidence)["conditions"]


# ------------------------------------------------------------------------------------------------ cells that stay


def with_odd_texts(keep: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    cells = people()
    odd = pl.Series("illness", ["positive, Mr Smith" if n % 40 == 3 else one for n, one in enumerate(cells["illness"])])
    table = cells.with_columns(odd)
    plan = plan_for("taxonomy-exponential")
    plan["columns"]["illness"] = {"ontology": "illnesses", "unmatched": keep}
    return table, plan


@pytest.mark.parametrize("method", ["microaggregate", *OF_VALUES])
def test_nothing_is_proved_where_cells_without_a_concept_stay(method: str) -> None:
    table, plan = with_odd_texts("keep")
    plan["steps"] = plan_for(method)["steps"]
    found = promise(table, plan)
    assert not found["proved"]
    assert "cells of 'illness' that have no concept stay as they are" in found["conditions"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked = anonto.mask(table, plan, seed=SEED).table
    stays = (table["illness"] == "positive, Mr Smith") == (masked["illness"] == "positive, Mr Smith")
    assert stays.all()
    assert not anonto.assess(table, masked, plan).facts["guarantees"][0]["proved"]


@pytest.mark.parametrize("move", ["apart", "together"])
def test_group_swap_permutes_cells_without_a_concept_like_values_and_stays_proved(move: str) -> None:
    """Behind an odd text stands each person of its group equally often."""
    table = pl.DataFrame({"illness": ["odd one", "flu", "flu", "burn", "burn"], "stay": [1, 2, 3, 4, 5]})
    plan = {
        "columns": {
            "illness": {"ontology": "illnesses", "unmatched": "keep"},
            "stay": {"kind": "numeric", "role": "confidential"},
        },
        "steps": [{"method": "group-swap", "columns": ["illness"], "k": 5, "move": move}],
    }
    behind: Counter[int] = Counter()
    for number in range(400):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = anonto.mask(table, plan, seed=SEED + number)
        assert guarantee_of(release.evidence)["proved"]
        behind.update(release.table.filter(pl.col("illness") == "odd one")["stay"])
    assert sum(behind.values()) == 400
    assert all(50 < behind[person] < 115 for person in range(1, 6))


def test_a_text_that_counts_as_its_nearest_ancestor_never_leaves_by_the_exponential_mechanism(tmp_path: Path) -> None:
    (tmp_path / "causes.csv").write_text("id,parent\nall,\n250,all\n250.0,250\n428,all\n428.0,428\n")
    own = ["250.0", "250.03 Mr Smith", "428.0", "428.22 Mrs Doe", "428", "250"] * 20
    plan = {
        "columns": {"code": {"ontology": str(tmp_path / "causes.csv"), "unmatched": "nearest-ancestor"}},
        "steps": [{"method": "taxonomy-exponential", "columns": ["code"], "epsilon": 20.0}],
    }
    release = anonto.mask(pl.DataFrame({"code": own}), plan, seed=SEED)
    assert guarantee_of(release.evidence)["proved"]
    assert set(release.table["code"]) <= {"all", "250", "250.0", "428", "428.0"}


# ------------------------------------------------------------------------------------------------ seed and review


@pytest.mark.parametrize("method", [*LINKING, *OF_VALUES])
def test_a_seed_that_can_be_guessed_leaves_nothing_proved(method: str) -> None:
    """It tells the order of the rows, also where the cells do not depend on it."""
    found = promise(people(), plan_for(method), seed=7)
    assert not found["proved"]
    assert found["conditions"].startswith("the seed can be guessed")


@pytest.mark.parametrize("method", [*LINKING, *OF_VALUES])
def test_nothing_is_proved_while_a_column_that_leaves_must_be_confirmed(method: str, tmp_path: Path) -> None:
    table, plan = people(), plan_for(method, review=True)
    with pytest.warns(
        AnontoWarning, match="confirmed the plan's description of 1 released column, .*: stay; check"
    ) as told:
        release = anonto.mask(table, plan, seed=SEED)
    assert sum("Nobody has confirmed" in str(one.message) for one in told) == 1
    found = guarantee_of(release.evidence)
    assert not found["proved"]
    assert "nobody has confirmed yet what the plan says of 'stay'" in found["conditions"]
    release.save(tmp_path / "out.csv")
    for record in (None, tmp_path / "out.csv.private.json"):
        (assessed,) = anonto.assess(table, release.table, plan, private=record).facts["guarantees"]
        assert not assessed["proved"]


def test_one_warning_names_all_columns_to_confirm_in_every_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_for("group-swap", review=True)
    plan["columns"]["second"] = {"ontology": "illnesses", "review": True}
    people().write_parquet(tmp_path / "in.parquet")
    for fits in (True, False):
        monkeypatch.setattr("anonto.engine.run._fits", lambda *_, fits=fits: fits)
        with pytest.warns(
            AnontoWarning, match="confirmed the plan's description of 2 released columns, .*: second, stay; "
        ) as told:
            anonto.mask_file(
                tmp_path / "in.parquet", plan, tmp_path / "out.parquet", seed=SEED, memory="500MB", force=True
            )
        assert sum("Nobody has confirmed" in str(one.message) for one in told) == 1


def test_an_identifier_to_confirm_is_dropped_and_does_not_matter(recwarn: pytest.WarningsRecorder) -> None:
    plan = plan_for("group-swap", role="identifier", review=True)
    assert guarantee_of(anonto.mask(people(), plan, seed=SEED).evidence)["proved"]
    assert not [one for one in recwarn if "Nobody has confirmed" in str(one.message)]


def test_all_failed_conditions_of_a_proof_are_listed_at_once() -> None:
    setting = Setting(
        left_out=("a",), unmatched=("b",), unreviewed=("c",), rows_in_order=True, guessable_seed=True, facts={}
    )
    conditions = method_of("microaggregate", {"k": 1, "aggregate": "synthetic"}).guarantee(setting).conditions
    for reason in (
        "one by one",
        "groups of one",
        "be guessed",
        IN_ORDER,
        "leaves out 'a'",
        "cells of 'b'",
        "says of 'c'",
    ):
        assert reason in conditions
