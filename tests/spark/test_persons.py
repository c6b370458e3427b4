"""Persons and sets on a cluster: the same release and evidence as in memory."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import anonto
from anonto.engine.spark import table, units
from anonto.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


def loaded(path: str) -> Any:
    """A module of other tests."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, Path(__file__).parents[1] / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


persons = loaded("unit/engine/test_persons_over_files.py")
golden = loaded("contract/test_golden_releases.py")


@pytest.fixture(scope="module")
def session(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The session, with a folder for records."""
    context = spark.sparkContext
    context.setCheckpointDir(str(tmp_path_factory.mktemp("records")))
    yield spark
    getattr(context._jsc.sc(), "checkpointDir_$eq")(spark._jvm.scala.Option.empty())


def saved(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(part) for part in sorted(folder.glob("*.parquet"))])


@pytest.mark.parametrize(
    ("method", "changes", "keep_order"),
    [
        ("group-swap", {"within": ["sex"]}, True),
        ("group-swap", {"pid": {"role": "pseudonym"}, "move": "together"}, False),
        ("random-swap", {}, False),
        ("group-swap", {"at_most": 2}, False),
        ("group-swap", {"order": "place"}, False),
    ],
)
def test_a_cluster_masks_persons_as_memory_does(
    method: str,
    changes: dict[str, Any],
    keep_order: bool,
    session: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module, name in ((units, "ROWS_OF_A_TASK"), (units, "RECORDS_OF_A_BLOCK"), (table, "ROWS_OF_A_TASK")):
        monkeypatch.setattr(module, name, 13)  # several tasks and blocks
    rows = persons.visits().with_columns(place=7 * pl.int_range(pl.len()) % 11)
    source, plan = persons.write(rows, tmp_path / "t.parquet"), persons.plan_for(method, **changes)
    here = anonto.mask(source, plan, seed=persons.SEED)
    said = here.save(tmp_path / "here.parquet", keep_order=keep_order)
    there = anonto.mask(session.read.parquet(str(source)), plan, seed=persons.SEED)
    found = there.save(str(tmp_path / "there.parquet"), keep_order=keep_order)
    assert_frame_equal(saved(tmp_path / "there.parquet"), pl.read_parquet(tmp_path / "here.parquet"))
    assert json.dumps(found, default=str) == json.dumps(said, default=str)
    record = json.loads((tmp_path / "there.parquet.private.json").read_text(encoding="utf-8"))
    assert record == json.loads((tmp_path / "here.parquet.private.json").read_text(encoding="utf-8"))
    assert_frame_equal(pl.DataFrame(there.table.toArrow()), here.table)


@pytest.mark.parametrize("engine", ["files", "spark"])
@pytest.mark.parametrize("method", [name for name in golden.METHODS if golden.REGISTERED[name].takes_sets])
def test_every_engine_saves_the_release_of_persons_that_is_written_down(
    method: str, engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    rows, parts = golden.rows_of_persons(["burn", "flu", "fracture", "measles"]), tmp_path / "parts"
    parts.mkdir()
    for number in range(2):
        rows[100 * number : 100 + 1000 * number].write_parquet(parts / f"{number}.parquet")
    plan = golden.plan_of_persons(method, golden.METHODS[method], ontology="illnesses")
    out = tmp_path / "out.parquet"
    if engine == "files":
        evidence = anonto.mask_file(parts, plan, out, seed=golden.SEED, private=False).evidence
    else:
        frame = request.getfixturevalue("session").read.parquet(str(parts))
        evidence = anonto.mask(frame, plan, seed=golden.SEED).save(str(out), private=False)
    released = saved(out) if out.is_dir() else pl.read_parquet(out)
    written = json.loads(golden.GOLDEN.read_text())[method]["persons in memory, parquet"]
    assert golden.digest_of_cells(released, evidence) == written


def test_rows_of_a_person_are_drawn_from_those_that_a_filter_leaves(session: Any, tmp_path: Path) -> None:
    for number, part in enumerate((persons.visits()[:50], persons.visits()[50:])):
        persons.write(part, tmp_path / f"{number}.parquet")
    plan = persons.plan_for(at_most=1)
    there = anonto.mask(session.read.parquet(str(tmp_path)).where("age > 2"), plan, seed=persons.SEED)
    here = anonto.mask(persons.visits().filter(pl.col("age") > 2), plan, seed=persons.SEED)
    assert there.evidence == here.evidence
    assert_frame_equal(pl.DataFrame(there.table.toArrow()), here.table)


def test_a_cluster_masks_sets_of_single_rows_and_equal_rows_of_persons(session: Any, tmp_path: Path) -> None:
    lists = persons.of_lists(persons.visits()).drop("pid")
    step = {"method": "group-swap", "columns": ["dx", "age"], "k": 3}
    of_sets = {"columns": {"dx": {"kind": "set"}, "age": {"kind": "numeric"}, "sex": {}}, "steps": [step]}
    equal = persons.visits().select("pid", "sex", "age")
    of_numbers = {
        "table": {"person": "pid"},
        "columns": {"age": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["sex", "number of rows"], "k": 3}],
    }
    for rows, plan in ((lists, of_sets), (equal, of_numbers)):
        source = persons.write(rows, tmp_path / "t.parquet")
        here = anonto.mask(source, plan, seed=persons.SEED)
        there = anonto.mask(session.read.parquet(str(source)).repartition(3), plan, seed=persons.SEED)
        assert there.evidence["n_records"] == here.evidence["n_records"]
        there = anonto.mask(session.read.parquet(str(source)), plan, seed=persons.SEED)
        assert there.evidence == here.evidence
        assert_frame_equal(pl.DataFrame(there.table.toArrow()), here.table)


def test_bad_input_gives_the_sentence_that_it_gives_in_memory(session: Any, tmp_path: Path) -> None:
    every_ninth = pl.int_range(pl.len()) % 9 == 0
    for number, change in enumerate(
        [
            {"pid": pl.when(every_ninth).then(None).otherwise("pid")},
            {"sex": pl.when(every_ninth).then(pl.lit("x")).otherwise("sex")},
            {"dx1": pl.lit("a␟b")},
        ]
    ):
        source = persons.write(persons.visits().with_columns(**change), tmp_path / f"{number}.parquet")
        with pytest.raises(InputError) as here:
            anonto.mask(source, persons.plan_for(), seed=persons.SEED)
        with pytest.raises(InputError) as there:
            anonto.mask(session.read.parquet(str(source)), persons.plan_for(), seed=persons.SEED)
        assert str(there.value) == str(here.value)


def test_assessing_persons_on_a_cluster_is_refused_in_one_sentence(session: Any, tmp_path: Path) -> None:
    source = persons.write(persons.visits(), tmp_path / "t.parquet")
    frame = session.read.parquet(str(source))
    with pytest.raises(InputError, match="assessed and profiled in memory only"):
        anonto.assess(frame, frame, persons.plan_for())
