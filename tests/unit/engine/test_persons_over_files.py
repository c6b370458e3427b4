"""Persons and sets in tables larger than memory: the same release as in memory, however the table is cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import anonto
from anonto.errors import InputError, MemoryLimitError, ReleaseError
from anonto.methods.memory import BYTES_PER_RECORD, BYTES_PER_SET_DISTANCE
from anonto.runtime.memory_limit import MemoryLimit
from budget import examples

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")

TooLarge = Callable[..., None]
ILLS = anonto.read_ontology("illnesses")
CODES = sorted(ILLS.ids)
SEED = 1 << 100 | 7
METHODS = {"group-swap": {"k": 3}, "random-swap": {}}


def visits(n_persons: int = 40, sizes: tuple[int, ...] = (1, 3, 2, 1, 6)) -> pl.DataFrame:
    """Rows of persons that are not next to each other, with a code or none, another code, and a number."""
    rows = [
        (
            f"p{person}",
            "fm"[person % 2],
            None if (person + row) % 7 == 3 else CODES[(3 * person + row * row) % len(CODES)],
            CODES[(person * row) % 5],
            person % 9,
            f"visit {person}/{row}",
        )
        for row in range(max(sizes))
        for person in range(n_persons)
        if row < sizes[person % len(sizes)]
    ]
    names = ["pid", "sex", "dx1", "dx2", "age", "place"]
    return pl.DataFrame(rows, schema=names, orient="row")


def plan_for(method: str = "group-swap", **changes: Any) -> dict[str, Any]:
    within = {"within": changes.pop("within")} if "within" in changes else {}
    move = {"move": changes.pop("move")} if "move" in changes else {}
    table = {key: changes.pop(key) for key in ("at_most", "order") if key in changes}
    return {
        "table": {"person": "pid", **table},
        "columns": {
            "dx": {"kind": "set", "from": ["dx1", "dx2"], "ontology": ILLS},
            "sex": {},
            "age": {"kind": "numeric"},
            "place": {"role": "identifier"},
            **changes,
        },
        "steps": [{"method": method, "columns": ["dx", "age"], **METHODS[method], **within, **move}],
    }


def both_ways(
    folder: Path, source: Path, plan: dict[str, Any], *, keep_order: bool = False, whole: Path | None = None
) -> None:
    """The files, and what the evidence says, of masking at once and over files are the same."""
    ending = (whole or source).suffix
    at_once, over_files = folder / f"at-once{ending}", folder / f"over-files{ending}"
    said = anonto.mask(whole or source, plan, seed=SEED).save(at_once, keep_order=keep_order)
    found = anonto.mask_file(source, plan, over_files, seed=SEED, memory="500MB", keep_order=keep_order, force=True)
    assert json.dumps(found.evidence, default=str) == json.dumps(said, default=str)
    if ending == ".parquet":  # says what differs
        assert_frame_equal(pl.read_parquet(over_files), pl.read_parquet(at_once))
    assert over_files.read_bytes() == at_once.read_bytes()
    assert not [one.name for one in folder.iterdir() if one.name.startswith(".anonto")]


def write(table: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        table.write_csv(path)
    else:
        table.write_parquet(path, row_group_size=17)
    return path


PERSONS = st.builds(visits, st.integers(6, 40), st.lists(st.integers(1, 5), min_size=1, max_size=5).map(tuple))


@hypothesis.settings(max_examples=examples(15), suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(
    table=PERSONS,
    rows=st.integers(1, 30),
    bytes_of_table=st.sampled_from([600, 4000, 1 << 40]),
    name=st.sampled_from(["t.csv", "t.parquet"]),
    method=st.sampled_from(sorted(METHODS)),
    keep_order=st.booleans(),
    role=st.sampled_from(["identifier", "pseudonym"]),
    in_strata=st.booleans(),
)
def test_any_batches_give_the_release_of_persons_that_memory_gives(
    table: pl.DataFrame,
    rows: int,
    bytes_of_table: int,
    name: str,
    method: str,
    keep_order: bool,
    role: str,
    in_strata: bool,
    tmp_path_factory: pytest.TempPathFactory,
    too_large: TooLarge,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    too_large(rows, bytes_of_table)
    plan = plan_for(method, pid={"role": role}, **({"within": ["sex"]} if in_strata else {}))
    both_ways(folder, write(table, folder / name), plan, keep_order=keep_order)


def of_lists(table: pl.DataFrame) -> pl.DataFrame:
    lists = pl.concat_list(pl.col("dx1", "dx2")).list.drop_nulls()
    return table.select("pid", "sex", "age", dx=pl.when(pl.col("dx1").is_null()).then(None).otherwise(lists))


@pytest.mark.parametrize("move", ["apart", "together"])
@pytest.mark.parametrize(
    ("table", "changes"),
    [
        (visits(), {}),
        (visits().with_columns(dx1=pl.col("dx1").fill_null("?")), {"na": ["?"]}),
        (visits().with_columns(pl.col("dx1", "dx2").cast(pl.Categorical), pid=pl.col("age") * 0.5), {}),
        (of_lists(visits()), {"from": None}),
        (visits().with_columns(dx=pl.concat_str("dx2", "dx1", separator="; ", ignore_nulls=True)), {"separator": ";"}),
    ],
    ids=["from", "na", "categories", "lists", "separator"],
)
def test_every_form_of_a_set_leaves_persons_as_in_memory(
    table: pl.DataFrame, changes: dict[str, Any], move: str, tmp_path: Path, too_large: TooLarge
) -> None:
    too_large(7, 2000)
    table = table.with_columns(age=pl.lit(1) if "pid" in changes else "age")
    plan = plan_for(move=move)
    if table["pid"].dtype == pl.Float64:  # the persons of an age are one
        table = table.drop("sex", "place")
        plan["columns"] = {name: one for name, one in plan["columns"].items() if name not in {"sex", "place"}}
    described = plan["columns"]["dx"] | changes
    if changes.keys() & {"from", "separator"}:
        described.pop("from")
        table = table.drop("dx1", "dx2", "place", strict=False)
        plan["columns"].pop("place", None)
    plan["columns"]["dx"] = described
    both_ways(tmp_path, write(table, tmp_path / "t.parquet"), plan)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_sets_in_single_rows_leave_as_in_memory(name: str, tmp_path: Path, too_large: TooLarge) -> None:
    too_large(11, 900)
    plan = plan_for()
    plan["table"] = {}
    plan["columns"]["pid"] = {"role": "identifier"}
    both_ways(tmp_path, write(visits(), tmp_path / name), plan)


@pytest.mark.parametrize("at_most", [1, 3])
def test_the_rows_that_memory_draws_of_a_person_are_drawn_over_files(
    at_most: int, tmp_path: Path, too_large: TooLarge
) -> None:
    too_large(20, 4000)
    plan = plan_for(pid={"role": "pseudonym"}, at_most=at_most)
    both_ways(tmp_path, write(visits(), tmp_path / "t.csv"), plan)


@pytest.mark.parametrize("changes", [{}, {"move": "together"}, {"at_most": 3}], ids=["apart", "together", "at most"])
def test_rows_that_have_an_order_leave_as_in_memory(
    changes: dict[str, Any], tmp_path: Path, too_large: TooLarge
) -> None:
    too_large(20, 4000)
    dates = pl.Series([f"2005-0{1 + row % 9}-1{row % 7}" for row in range(visits().height)])
    table = visits().with_columns(place=dates)
    plan = plan_for(pid={"role": "pseudonym"}, order="place", **changes)
    both_ways(tmp_path, write(table, tmp_path / "t.csv"), plan)


def test_two_sets_of_different_donors_leave_as_in_memory(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(5, 900)
    plan = plan_for(dx={"kind": "set", "from": ["dx1"], "ontology": ILLS}, dx2={"kind": "set"})
    plan["steps"].append({"method": "group-swap", "columns": ["dx2"], "k": 2})
    both_ways(tmp_path, write(visits(), tmp_path / "t.parquet"), plan)


@pytest.mark.parametrize("columns", [["sex"], ["sex", "number of rows"]])
def test_equal_rows_of_a_person_leave_as_in_memory(columns: list[str], tmp_path: Path, too_large: TooLarge) -> None:
    too_large(5, 900)
    plan = {
        "table": {"person": "pid"},
        "columns": {"age": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": columns, "k": 3}],
    }
    both_ways(tmp_path, write(visits().drop("dx1", "dx2", "place"), tmp_path / "t.csv"), plan)


def test_several_parquet_files_are_one_table_of_persons(tmp_path: Path) -> None:
    table = visits()
    (tmp_path / "parts").mkdir()
    whole = write(table, tmp_path / "t.parquet")
    for number in range(3):
        table[40 * number : 40 * (number + 1) if number < 2 else None].write_parquet(
            tmp_path / "parts" / f"{number}.parquet"
        )
    both_ways(tmp_path, tmp_path / "parts", plan_for(), whole=whole)


def test_records_that_a_policy_drops_take_all_rows_of_their_person(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(9, 900)
    table = visits().with_columns(age=pl.when(pl.col("pid").is_in(["p3", "p4"])).then(None).otherwise("age"))
    plan = plan_for(age={"kind": "numeric", "missing": "drop"}, pid={"role": "pseudonym"})
    both_ways(tmp_path, write(table, tmp_path / "t.csv"), plan)


def test_a_table_of_persons_without_rows_leaves_its_columns(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(9)
    both_ways(tmp_path, write(visits().clear(), tmp_path / "t.parquet"), plan_for("random-swap"))


@pytest.mark.parametrize("changes", [{}, {"at_most": 2}, {"order": "place"}], ids=["all rows", "two rows", "in order"])
@pytest.mark.parametrize(
    "change",
    [
        {"pid": pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("pid")},
        {"sex": pl.when(pl.int_range(pl.len()) % 9 == 0).then(pl.lit("x")).otherwise("sex")},
        {"dx1": pl.lit("a␟b")},
        {"dx": pl.lit("c")},
        {"dx1": pl.lit("no illness at all")},
    ],
    ids=["missing person", "varying", "marks", "name in use", "unknown code"],
)
def test_bad_input_gives_the_sentence_that_it_gives_in_memory(
    change: dict[str, Any], changes: dict[str, Any], tmp_path: Path, too_large: TooLarge
) -> None:
    too_large(9, 900)
    source = write(visits().with_columns(**change), tmp_path / "t.parquet")
    with pytest.raises(InputError) as in_memory:
        anonto.mask(source, plan_for(**changes), seed=SEED)
    with pytest.raises(InputError) as over_files:
        anonto.mask_file(source, plan_for(**changes), tmp_path / "out.parquet", memory="500MB", seed=SEED)
    assert str(over_files.value) == str(in_memory.value)
    assert [one.name for one in tmp_path.iterdir()] == ["t.parquet"]


def test_a_person_with_more_rows_than_fit_into_memory_is_refused(
    tmp_path: Path, too_large: TooLarge, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_large(9, 900)
    monkeypatch.setattr(MemoryLimit, "for_data", property(lambda _: 2000))
    source = write(visits().with_columns(pid=pl.lit("x"), sex=pl.lit("f"), age=pl.lit(1)), tmp_path / "t.parquet")
    with pytest.raises(MemoryLimitError, match=r"'pid' needs about .* the rows of one person"):
        anonto.mask_file(source, plan_for(), tmp_path / "out.parquet", memory="500MB", seed=SEED)


def test_sets_whose_distances_exceed_the_memory_are_grouped_in_blocks(
    tmp_path: Path, too_large: TooLarge, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_large(500)
    table, rng = visits(3000, (3, 5, 4)), np.random.default_rng(3)
    table = table.with_columns(dx1=pl.Series(rng.choice(CODES, table.height)))
    source = write(table, tmp_path / "t.parquet")
    n_bytes = 3000 * BYTES_PER_RECORD + 2000 * 2000 * BYTES_PER_SET_DISTANCE
    monkeypatch.setattr(MemoryLimit, "for_step", property(lambda _: n_bytes))
    release = anonto.mask_file(source, plan_for(), tmp_path / "in-blocks.parquet", memory="500MB", seed=SEED)
    said = release.evidence["steps"][0]
    assert said["blocks"] > 1
    assert said["largest_block"] < 2000
    assert said["block_sample"] < 2000  # fitted a second time, with a table of distances
    plan = plan_for()
    plan["steps"][0]["block_rows"] = said["block_rows"]
    anonto.mask(source, plan, seed=SEED).save(tmp_path / "as-said.parquet")
    assert (tmp_path / "in-blocks.parquet").read_bytes() == (tmp_path / "as-said.parquet").read_bytes()
    plan["steps"][0]["block_rows"] = 2500
    with pytest.raises(MemoryLimitError, match="a block of"):
        anonto.mask_file(source, plan, tmp_path / "out.parquet", memory="500MB", seed=SEED)


def test_a_release_of_persons_made_over_files_is_assessed_in_memory(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(9, 900)
    source, out = write(visits(), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    anonto.mask_file(source, plan_for(), out, memory="500MB", seed=SEED)
    found = anonto.assess(source, out, plan_for(), private=tmp_path / "out.parquet.private.json")
    assert found.n_records == 40


def test_rows_of_persons_that_were_not_in_memory_are_read_from_the_output(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(9, 900)
    source = write(visits(), tmp_path / "t.parquet")
    release = anonto.mask_file(source, plan_for(), tmp_path / "out.parquet", memory="500MB", seed=SEED)
    for ask in (lambda: release.table, lambda: release.rows, lambda: release.save(tmp_path / "again.parquet")):
        with pytest.raises(ReleaseError, match="without being in memory"):
            ask()
