"""Parts that can be checked without a browser: folders, sessions, workers, words, sizes and comparisons."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.attacks.findings import NO_RECORDS
from anonto.cli.serve import size_in_bytes
from anonto.encoding.description import KINDS, MISSING_POLICIES, ROLES, UNMATCHED_POLICIES
from anonto.encoding.set_space import SET_DISTANCES
from anonto.errors import AnontoWarning, InputError, ParameterError, StoppedWorkError
from anonto.methods.parameters import SMALL_STRATA
from anonto.methods.registry import METHODS, method_of
from anonto.taxonomy.taxonomy import Taxonomy
from anonto.web import inputs, words
from anonto.web.drafts import EMPTY_DRAFT, files_of_plan
from anonto.web.folders import KEPT_FOR, SessionStore, leftovers, working_folder
from anonto.web.jobs import BackgroundJob
from anonto.web.pages.columns import change_role, confirm
from anonto.web.pages.parameters import first_parameters, part_numbers
from anonto.web.pages.risk import why_not_attacked
from anonto.web.parts import tag
from anonto.web.processes import Worker
from anonto.web.run import run as run_task
from anonto.web.session import Session, Sessions
from anonto.web.tasks import TASKS


def told(progress: dict[str, Any]) -> None:
    del progress


# ------------------------------------------------------------------------------------------------ words


def test_every_method_has_a_card_and_every_parameter_is_explained() -> None:
    known = TASKS["methods"]({}, told)["methods"]
    assert set(known) == set(METHODS)
    for card in known.values():
        assert all(card[key] for key in ("title", "summary", "does", "keeps", "proves"))
        assert all(one["label"] and one["why"].endswith(".") for one in card["parameters"])


def test_every_choice_of_a_column_has_words() -> None:
    assert set(words.KINDS) == set(KINDS)
    assert set(words.ROLES) == set(ROLES)
    assert set(words.PERSON_ROLES) == {"identifier", "pseudonym"}
    assert set(words.SET_DISTANCES) == set(SET_DISTANCES)
    assert set(words.SMALL_STRATA) == set(SMALL_STRATA)
    assert set(words.MISSING) == set(MISSING_POLICIES)
    assert set(words.UNMATCHED) == set(UNMATCHED_POLICIES)
    assert set(words.MEASURES) == set(anonto.MEASURES)


@pytest.mark.parametrize("method", METHODS)
def test_the_parameters_that_a_method_starts_with_are_accepted(method: str) -> None:
    known = TASKS["methods"]({}, told)["methods"]
    assert method_of(method, first_parameters(known[method], {})).name == method


@pytest.mark.parametrize("method", METHODS)
def test_what_is_proved_is_said_of_the_methods_that_prove_something(method: str) -> None:
    can_prove = {"group-swap", "microaggregate", "generalise", "suppress", "invariant-swap", "taxonomy-exponential"}
    words_of = METHODS[method].words
    assert bool(words_of.proved) == (words_of.proves != "nothing") == (method in can_prove)


def test_texts_in_markup_are_escaped_wherever_they_stand() -> None:
    made = tag("a", "<script>", tag("b", "&"), title='"><img>')
    assert made == '<a title="&quot;&gt;&lt;img&gt;">&lt;script&gt;<b>&amp;</b></a>'


# ------------------------------------------------------------------------------------------------ folders and sessions


def test_a_working_folder_is_for_its_owner_alone_and_gone_afterwards(tmp_path: Path) -> None:
    with working_folder(tmp_path) as folder:
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "table").write_text("x", encoding="utf-8")
        assert leftovers(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_server_that_runs_stays_and_that_of_a_dead_one_goes(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from anonto.web.folders import working_folder\n"
        "with working_folder(Path(sys.argv[1])) as folder: print(folder, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        folder = Path(server.stdout.readline().strip())
        try:
            with working_folder(tmp_path):
                assert folder.is_dir()
        finally:
            server.kill()
            server.wait()
    assert folder.is_dir()
    with pytest.warns(AnontoWarning, match="the remains of runs that were killed"), working_folder(tmp_path):
        assert not folder.exists()


def test_a_record_is_found_by_its_key_alone_and_forgotten_after_a_month(tmp_path: Path) -> None:
    records = SessionStore(tmp_path / "state")
    records.write("secret key", {"draft": {}})
    (file,) = (tmp_path / "state").iterdir()
    assert "secret" not in file.name
    assert file.stat().st_mode & 0o077 == 0
    assert records.read("secret key") == {"draft": {}}
    assert records.read("another key") is None
    old = time.time() - KEPT_FOR - 60
    os.utime(file, (old, old))
    assert SessionStore(tmp_path / "state").read("secret key") is None


def test_a_damaged_record_is_none(tmp_path: Path) -> None:
    records = SessionStore(tmp_path / "state")
    records.write("key", {})
    next((tmp_path / "state").iterdir()).write_text("[1, 2", encoding="utf-8")
    assert records.read("key") is None


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session("key", tmp_path / "session", SessionStore(tmp_path / "state"))


def test_changes_are_undone_and_made_again_in_order(session: Session) -> None:
    for number in range(3):
        with session.change(f"change {number}") as draft:
            draft["plan"]["columns"][f"column {number}"] = {"kind": "nominal", "role": "other"}
    assert [session.undo(), session.undo()] == ["change 2", "change 1"]
    assert list(session.plan["columns"]) == ["column 0"]
    assert session.redo() == "change 1"
    assert list(session.plan["columns"]) == ["column 0", "column 1"]
    with session.change("another way") as draft:
        draft["plan"]["columns"].clear()
    assert session.redo() is None
    assert session.undo() == "another way"


def test_a_change_that_fails_or_changes_nothing_leaves_no_trace(session: Session) -> None:
    change = session.change("fails")
    change.__enter__()["plan"]["columns"]["x"] = {}
    change.__exit__(ValueError, ValueError(), None)
    with session.change("nothing"):
        pass
    assert session.history == []
    assert session.plan["columns"] == {}


def test_a_session_is_the_same_after_a_restart_but_for_its_files(tmp_path: Path) -> None:
    records = SessionStore(tmp_path / "state")
    (tmp_path / "first").mkdir()
    first = Sessions(tmp_path / "first", records)
    key = first.begin()
    one = first.of(key)
    path = str(one.folder / "demo" / "procedures.csv")
    with one.change("ontology") as draft:
        draft["plan"] = one.take_plan({"columns": {"a": {"ontology": path}}, "steps": []})
    one.add_run({"number": 1, "files": True})
    (tmp_path / "second").mkdir()
    second = Sessions(tmp_path / "second", records)
    assert second.knows(key)
    assert not second.knows("another")
    again = second.of(key)
    assert [change["what"] for change in again.history] == ["ontology"]
    assert again.task_input()["plan"]["columns"]["a"]["ontology"] == str(again.folder / "demo" / "procedures.csv")
    assert [run["files"] for run in again.runs] == [False]


def test_progress_never_runs_backwards_and_never_reaches_the_end_by_itself() -> None:
    job = BackgroundJob("run", {"reading": 1.0, "masking": 0.01, "attacking": 5.0}, EMPTY_DRAFT)
    seen = [job.done]
    job.listen({"phase": "masking"})
    for _ in range(5):
        time.sleep(0.02)
        seen.append(job.done)
    job.listen({"phase": "attacking"})
    seen.append(job.done)
    assert seen == sorted(seen)
    assert seen[-1] < 1
    assert job.seconds_left > 0
    job.end("done")
    assert job.done == 1.0


def test_a_job_says_what_it_does_until_the_next_phase() -> None:
    job = BackgroundJob("run", {"attacking": 5.0, "reporting": 1.0}, EMPTY_DRAFT)
    job.listen({"phase": "attacking", "now": "real-k, 2 columns known"})
    job.listen({"phase": "attacking"})
    assert job.now == "real-k, 2 columns known"
    job.listen({"phase": "reporting"})
    assert not job.now


@pytest.mark.parametrize(("text", "size"), [("2GB", 2 * 10**9), ("500 mb", 5 * 10**8), ("1.5K", 1500), ("7", 7)])
def test_a_size_is_read(text: str, size: int) -> None:
    assert size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", "2XB", "1e9"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="must be a size"):
        size_in_bytes(text)


# ------------------------------------------------------------------------------------------------ workers


def test_a_worker_answers_refuses_and_is_killed_in_the_middle(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("age,sex\n30,f\n40,m\n", encoding="utf-8")

    async def work() -> None:
        worker = Worker()
        seen = await worker.call("open", {"table": {"path": str(table)}})
        assert [one["name"] for one in seen["columns"]] == ["age", "sex"]
        with pytest.raises(InputError, match=r"nothing\.csv"):
            await worker.call("open", {"table": {"path": str(tmp_path / "nothing.csv")}})
        pid = worker.pid
        assert pid is not None
        asked = asyncio.create_task(worker.call("demo", {"folder": str(tmp_path / "demo")}))
        await asyncio.sleep(0.2)
        worker.stop()
        with pytest.raises(StoppedWorkError):
            await asked
        await worker.wait_until_ended()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        # It starts again when it is asked again.
        assert (await worker.call("open", {"table": {"path": str(table)}}))["n_records"] == 2
        worker.stop()
        await worker.wait_until_ended()

    asyncio.run(work())


# ------------------------------------------------------------------------------------------------ tasks


@pytest.fixture
def ran(tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run on a small table with missing cells, one of which drops its record."""
    frame = pl.DataFrame(
        {
            "number": [str(n) for n in range(60)],
            "age": [None if n == 7 else 20 + n % 30 for n in range(60)],
            "town": ["Ulm" if n % 4 else "<b>Köln</b>" for n in range(60)],
            "pay": [100 + n for n in range(60)],
        }
    )
    frame.write_csv(tmp_path / "table.csv")
    plan = {
        "columns": {
            "number": {"kind": "nominal", "role": "identifier"},
            "age": {"kind": "numeric", "role": "quasi-identifier", "missing": "drop"},
            "town": {"kind": "nominal", "role": "quasi-identifier"},
            "pay": {"kind": "numeric", "role": "confidential"},
        },
        "steps": [{"method": "group-swap", "columns": ["age", "town"], "k": 3}],
    }
    given = {"table": {"path": str(tmp_path / "table.csv")}, "plan": plan, "folder": str(tmp_path / "run")}
    return given, run_task(given, told)


def test_a_run_leaves_table_reports_and_record_and_says_what_was_found(
    ran: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    given, found = ran
    folder = Path(given["folder"])
    assert {one.name for one in folder.iterdir()} >= {
        "masked.csv",
        "report.html",
        "report-internal.html",
        "private.json",
    }
    assert found["evidence"]["dropped_records"] == 1
    assert 0 <= found["utility"] <= 1
    assert found["worst"]["attack"].endswith("linkage")
    assert "number" not in pl.read_csv(folder / "masked.csv").columns


def test_both_reports_of_a_run_get_the_evidence_for_the_chosen_laws(
    ran: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    folder = Path(ran[0]["folder"])
    for chosen in (["wp29", "hipaa-safe-harbor"], ["hipaa-expert"]):
        TASKS["evidence"]({"folder": str(folder), "frames": chosen}, told)
        for name in ("report", "report-internal"):
            page = (folder / f"{name}-evidence.html").read_text(encoding="utf-8")
            assert page.count('class="frame"') == len(chosen)
            assert all(f'id="frame-{one}"' in page for one in chosen)
            without = (folder / f"{name}.html").read_text(encoding="utf-8")
            assert 'class="frame"' not in without
            begins = without.partition("<body>")[2].partition("</nav>")[0].rpartition("</ul>")[0]
            assert page.partition("<body>")[2].startswith(begins.rstrip())


def test_before_and_after_count_every_record_once(ran: tuple[dict[str, Any], dict[str, Any]]) -> None:
    given, _ = ran
    for column in ("age", "town", "pay"):
        counted = TASKS["compare"]({**given, "column": column, "depth": 2}, told)
        assert sum(counted["before"]) == sum(counted["after"]) == 59
    assert TASKS["compare"]({**given, "column": "town"}, told)["before"] == [44, 15]
    pair = TASKS["compare_pair"]({**given, "columns": ["age", "town"]}, told)
    assert np.sum(pair["before"]) == np.sum(pair["after"]) == 59
    assert np.shape(pair["before"]) == (len(pair["rows"]), len(pair["columns"]))


def test_the_raw_table_is_attacked_before_anything_is_masked(ran: tuple[dict[str, Any], dict[str, Any]]) -> None:
    given, _ = ran
    found = TASKS["risk"](given, told)
    assert found["quasi"] == ["age", "town"]
    assert {one["attack"] for one in found["assessment"]["risk"]} >= {"distance-linkage", "uniqueness", "real-k"}
    assert found["combinations"]


def test_an_estimate_has_risk_utility_and_how_long_it_will_take(ran: tuple[dict[str, Any], dict[str, Any]]) -> None:
    given, _ = ran
    found = TASKS["estimate"](given, told)
    assert found["sample"] == 60
    assert 0 <= found["worst"]["rate"] <= 1
    assert sum(found["expected"].values()) > 0


def test_repaired_codes_are_in_the_table_that_is_masked(ran: tuple[dict[str, Any], dict[str, Any]]) -> None:
    given, _ = ran
    repaired = {**given, "table": {**given["table"], "repairs": {"town": {"<b>Köln</b>": "Köln"}}}}
    run_task({**repaired, "folder": f"{given['folder']}-repaired"}, told)
    masked = pl.read_csv(Path(f"{given['folder']}-repaired") / "masked.csv")
    assert set(masked["town"]) == {"Ulm", "Köln"}


def test_persons_held_out_are_attacked_with_the_same_codes_repaired(ran: tuple[dict[str, Any], dict[str, Any]]) -> None:
    given, found = ran
    others = pl.DataFrame(
        {
            "number": [f"x{n}" for n in range(30)],
            "age": [25 + n % 30 for n in range(30)],
            "town": ["Ulm" if n % 3 else "<b>Köln</b>" for n in range(30)],
            "pay": [90 + n for n in range(30)],
        }
    )
    folder = Path(given["folder"])
    others.write_csv(folder.parent / "others.csv")
    assert not any(one["attack"] == "membership" for one in found["assessment"]["risk"])
    table = {**given["table"], "repairs": {"town": {"<b>Köln</b>": "Köln"}}}
    with_others = {**given, "table": table, "held_out": str(folder.parent / "others.csv"), "folder": f"{folder}-others"}
    risks = run_task(with_others, told)["assessment"]["risk"]
    assert any(one["attack"] == "membership" and 0 < one["strangers"] <= 30 for one in risks)
    repaired = pl.read_csv(Path(f"{folder}-others") / "repaired-held-out.csv")
    assert set(repaired["town"]) == {"Ulm", "Köln"}


def test_a_release_of_another_tool_is_attacked_and_both_reports_are_written(tmp_path: Path) -> None:
    original = pl.DataFrame({"age": [20 + n % 40 for n in range(80)], "town": ["Ulm", "Köln"] * 40})
    original.write_csv(tmp_path / "original.csv")
    original.with_columns(age=pl.format("[{},99]", "age")).write_csv(tmp_path / "release.csv")
    files = {name: str(tmp_path / f"{name}.csv") for name in ("original", "release")}
    report = TASKS["foreign"]({**files, "folder": str(tmp_path / "foreign")}, told)["report"]
    json.dumps(report, allow_nan=False)
    assert {one["attack"] for one in report["attacks"]} >= {"attribute-inference", "linkability", "copied-record"}
    assert report["losses"][0]["generalised"] > 0.9
    assert "give persons held out" in report["verdict"]["guarantee"]
    pages = {one.name: one.read_text(encoding="utf-8") for one in (tmp_path / "foreign").iterdir()}
    assert set(pages) == {"report.html", "report-internal.html"}
    assert "Public edition" in pages["report.html"]
    assert "Internal edition" in pages["report-internal.html"]


def test_the_front_is_that_of_a_sweep() -> None:
    points = [[0.1, 0.5], [0.2, 0.9], [0.3, 0.8], [0.1, 0.4]]
    assert set(TASKS["front"]({"points": points}, told)["front"]) == {0, 1}


def test_the_plan_that_is_taken_away_names_ontologies_as_the_reader_knows_them() -> None:
    plan = {"columns": {"a": {"ontology": "/tmp/x/1f"}, "b": {"ontology": ["icd10cm", "/tmp/x/1f"]}}, "steps": []}  # noqa: S108
    text = TASKS["plan_text"]({"plan": plan, "names": {"/tmp/x/1f": "own.csv"}, "heading": "Mine"}, told)["text"]  # noqa: S108
    assert text.startswith("# Mine")
    assert 'ontology = "own.csv"' in text
    assert 'ontology = ["icd10cm", "own.csv"]' in text


@pytest.mark.parametrize("n_records", [0, 1, 2])
def test_tables_of_hardly_any_records_can_be_opened_and_proposed_for(tmp_path: Path, n_records: int) -> None:
    path = tmp_path / "tiny.csv"
    path.write_text("age,sex\n" + "30,f\n" * n_records, encoding="utf-8")
    given = {"table": {"path": str(path)}}
    assert TASKS["open"](given, told)["n_records"] == n_records
    plan = TASKS["propose"](given, told)["plan"]
    assert set(plan["columns"]) == {"age", "sex"}
    found = TASKS["risk"]({**given, "plan": plan}, told)
    assert found["n_records"] == n_records
    assert ("has no record" in why_not_attacked(found)) is (n_records == 0)


def test_a_column_to_confirm_leaves_nothing_proved_until_it_is_confirmed_or_its_role_is_set(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"age": rng.integers(0, 90, 60), "stay": rng.integers(1, 30, 60)})
    table.write_csv(tmp_path / "in.csv")
    columns = {"age": {"kind": "numeric"}, "stay": {"kind": "numeric", "role": "confidential", "review": True}}
    draft: dict[str, Any] = {
        "plan": {"columns": columns, "steps": [{"method": "group-swap", "columns": ["age"], "k": 5}]}
    }
    frame: Any = SimpleNamespace(change=lambda _: nullcontext(draft))

    def is_proved() -> bool:
        given = {"table": {"path": str(tmp_path / "in.csv")}, "plan": draft["plan"]}
        (step,) = TASKS["estimate"](given, told)["steps"]
        return bool(step["guarantee"]["proved"])

    with pytest.warns(AnontoWarning, match="Nobody has confirmed"):
        assert not is_proved()
    confirm(frame, "stay")
    assert is_proved()
    columns["stay"]["review"] = True
    change_role(frame, "stay", "confidential")
    assert is_proved()


def test_a_table_without_records_is_run_with_a_warning_and_nothing_proved(tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text("age,sex\n", encoding="utf-8")
    given = {"table": {"path": str(tmp_path / "tiny.csv")}}
    given["plan"] = TASKS["propose"](given, told)["plan"]
    with pytest.warns(AnontoWarning, match="the release has column names only"):
        estimated = TASKS["estimate"](given, told)
    assert [one["guarantee"]["proved"] for one in estimated["steps"]] == [False]
    with pytest.warns(AnontoWarning, match="the release has column names only"):
        done = TASKS["run"]({**given, "folder": str(tmp_path / "run")}, told)
    assert done["assessment"]["findings"] == [NO_RECORDS]


@pytest.mark.parametrize("words", ["", "inf", "1, -inf", "nan, 2", "1, two", "1e999"])
def test_an_invalid_list_of_numbers_gives_none(words: str) -> None:
    assert part_numbers(words) == []


def test_numbers_are_whole_where_they_can_be() -> None:
    assert part_numbers("5, 0.5,1e2,") == [5, 0.5, 100]
    assert [type(one) for one in part_numbers("5, 0.5")] == [int, float]


def test_one_ontology_that_cannot_be_read_does_not_hide_how_much_the_others_know(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b,c\nx,x,1\ny,z,2\n", encoding="utf-8")
    (tmp_path / "own.csv").write_text("id,parent,label\nall,,\nx,all,\ny,all,\n", encoding="utf-8")
    described = {"kind": "nominal", "role": "quasi-identifier"}
    columns = {
        "a": {**described, "ontology": str(tmp_path / "own.csv")},
        "b": {**described, "ontology": str(tmp_path / "gone.csv")},
        "c": {"kind": "ordinal", "role": "other", "order": []},
    }
    steps: list[dict[str, Any]] = [{"method": "group-swap", "columns": []}]  # no plan could be made of this
    given = {"table": {"path": str(tmp_path / "table.csv")}, "plan": {"columns": columns, "steps": steps}}
    found = TASKS["coverage"](given, told)
    assert found["coverage"] == {"a": 1.0}
    assert "gone.csv" in found["unread"]["b"]
    assert set(found["unread"]) == {"b"}


def test_a_task_with_a_plan_of_persons_and_sets_reads_its_table_and_opens_the_ontologies_of_sets(
    tmp_path: Path,
) -> None:
    (tmp_path / "visits.csv").write_text("pid,ill\n1,flu\n1,burn\n2,flu\n", encoding="utf-8")
    (tmp_path / "codes.csv").write_text("child,parent\nflu,all\nburn,all\n", encoding="utf-8")
    ontology = str(tmp_path / "codes.csv")
    plan = {
        "table": {"person": "pid", "delimiter": ","},
        "columns": {"ill": {"kind": "set", "role": "quasi-identifier", "ontology": ontology}},
        "steps": [],
    }
    given = {"table": {"path": str(tmp_path / "visits.csv")}, "plan": plan}
    assert inputs.table_of(given).frame.shape == (3, 2)
    assert isinstance(inputs.open_plan(given).columns["ill"].ontology, Taxonomy)
    assert files_of_plan(plan) == [ontology]
