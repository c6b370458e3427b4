"""An original and its release on a cluster are compared from counts that are those of one machine."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
from anonto.assessment import on_cluster
from anonto.assessment.on_cluster import count_on_cluster
from anonto.encoding.prepare import opener
from anonto.engine.spark.compare import BYTES_PER_CELL
from anonto.engine.spark.digest import digests
from anonto.engine.spark.pairs import (
    AFTER,
    BEFORE,
    FIRST_PAIRS,
    SEEN,
    AddingTask,
    PairingTask,
    PairQuery,
    RowParts,
    rows_by_group,
)
from anonto.engine.spark.table import by_name
from anonto.errors import ClusterError, ColumnError, MemoryLimitError, ReleaseError
from anonto.masking.plan import plan_of
from anonto.random.streams import Seed

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.encoding.comparison import BothCells
    from anonto.engine.spark.compare import CountedComparison

SEED = Seed(1 << 100)
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "illness": {"ontology": anonto.read_ontology("illnesses"), "na": ["?"], "unmatched": "drop"},
    "age": {"kind": "numeric"},
    "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
    "weight": {"kind": "numeric", "missing": "drop"},
    "ward": {},
    "seen": {"role": "other"},
}
PLAN = plan_of(
    {
        "columns": COLUMNS,
        "steps": [
            {"method": "rank-swap", "columns": ["illness", "pain"], "k": 5},
            {"method": "semantic-noise", "columns": ["age"], "noise_level": 0.2},
        ],
    }
)
EXCHANGING = plan_of(
    {
        "columns": COLUMNS,
        "steps": [
            {"method": "equi-width-swap", "columns": ["illness", "age"], "bins": 2},
            {"method": "random-swap", "columns": ["pain"]},
        ],
    }
)
NAMES = ("illness", "age", "pain", "weight", "ward")


def patients(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    illness = rng.choice(["flu", "measles", "burn", "fracture", "unheard of", "?", None], n).tolist()
    age = np.where(rng.random(n) < 0.1, math.nan, rng.integers(0, 90, n)).tolist()
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "illness": pl.Series(illness, dtype=pl.String),
            "age": [None if i % 17 == 3 else one for i, one in enumerate(age)],
            "beside": np.arange(n),
            "pain": rng.choice(["low", "mid", "high"], n),
            "weight": [None if i % 23 == 5 else i % 3 / 2 for i in range(n)],
            "ward": rng.choice([*(f"W{i}" for i in range(9)), None], n).tolist(),
            "seen": pl.Series(rng.integers(18_000, 18_090, n)).cast(pl.Int32).cast(pl.Date),
        }
    )


def that_stay(frame: pl.DataFrame) -> pl.DataFrame:
    drops = (pl.col("illness") == "unheard of").fill_null(value=False) | pl.col("weight").is_null()
    return frame.filter(~drops)


def read_back(folder: Path) -> pl.DataFrame:
    files = sorted(folder.glob("*.parquet"), key=lambda one: by_name(str(one)))
    return pl.concat([pl.read_parquet(file) for file in files])


def number_of(cell: Any) -> int:
    """Some different cells have the same number, one of them that of a null."""
    return -1 if plain(cell) in {None, "no number"} else sum(map(ord, str(cell))) % 7 - 1


def numbered(name: str, cells: BothCells, plan: anonto.Plan, _: Any) -> tuple[Any, Any]:
    """Stands in for numbers by meaning."""
    assert name in plan.masked
    one, other = (np.array([number_of(cell) for cell in own], dtype=np.int32) for own in cells.written)
    return one, other


def compared(original: Any, masked: Any, plan: anonto.Plan = PLAN, **given: Any) -> CountedComparison:
    return count_on_cluster(
        original,
        masked,
        plan,
        **{
            "seed": None,
            "n_persons": 40,
            "rng": np.random.default_rng(1),
            "open_once": opener(plan.folder),
            **given,
        },
    )


def plain(cell: Any) -> Any:
    return "no number" if isinstance(cell, float) and math.isnan(cell) else cell


def rows_of(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(map(plain, row)) for row in frame.select(NAMES).iter_rows()]


def decoded(codes: Any, found: CountedComparison, side: int) -> list[tuple[Any, ...]]:
    cells = [[*map(plain, found.cells[name][side].to_list()), None] for name in found.names]
    return [tuple(own[code] for own, code in zip(cells, row, strict=True)) for row in codes.tolist()]


def require_right(found: CountedComparison, before: pl.DataFrame, after: pl.DataFrame, plan: anonto.Plan) -> None:
    """The counts are those of two tables with their rows in the same order."""
    assert (found.n_before, found.n_records) == (300, before.height)
    assert (found.names, found.others, found.identifiers) == (NAMES, ("seen",), ("name",))
    rows = rows_of(before), rows_of(after)
    for side, (codes, counts) in enumerate((found.originals, found.released)):
        assert Counter(dict(zip(decoded(codes, found, side), counts.tolist(), strict=True))) == Counter(rows[side])
        assert len(set(map(tuple, codes.tolist()))) == codes.shape[0]
        for name in NAMES:
            assert found.cells[name][side].null_count() == 0
    assert list(found.pairs) == [name for name in NAMES if name in plan.masked]
    for name, (own, new, counts) in found.pairs.items():
        cells = [[*map(plain, one.to_list()), None] for one in found.cells[name]]
        place = NAMES.index(name)
        pairs = [(cells[0][i], cells[1][j]) for i, j in zip(own.tolist(), new.tolist(), strict=True)]
        wanted = Counter((one[place], other[place]) for one, other in zip(*rows, strict=True))
        assert Counter(dict(zip(pairs, counts.tolist(), strict=True))) == wanted
        assert len(set(pairs)) == len(pairs)
    both = [*zip(before.select(NAMES).iter_rows(), after.select(NAMES).iter_rows(), strict=True)]
    for step, unchanged in zip(plan.steps, found.unchanged, strict=True):
        places = [NAMES.index(name) for name in step.columns]
        same = (all(number_of(one[place]) == number_of(other[place]) for place in places) for one, other in both)
        assert unchanged == sum(same)
    drawn = np.sort(np.random.default_rng(1).choice(before.height, 40, replace=False, shuffle=False))
    assert decoded(found.persons[0], found, 0) == [rows[0][i] for i in drawn]
    assert decoded(found.persons[1], found, 1) == [rows[1][i] for i in drawn]
    seen = [before["seen"][int(i)] for i in drawn]
    assert len(set(zip(seen, map(tuple, found.witnesses.tolist()), strict=True))) == len(set(seen))
    assert len(set(map(tuple, found.witnesses.tolist()))) == len(set(seen))


@pytest.fixture(scope="module")
def folder(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An original in several files, and two releases of it, each with its order kept and shuffled."""
    here = tmp_path_factory.mktemp("comparing")
    (here / "in.parquet").mkdir()
    for number, (first, last) in enumerate([(0, 20), (20, 230), (230, 300)]):
        patients()[first:last].write_parquet(here / "in.parquet" / f"{number}.parquet", row_group_size=64)
    for name, plan in (("plain", PLAN), ("exchanged", EXCHANGING)):
        release = anonto.mask(spark.read.parquet(str(here / "in.parquet")), plan, seed=SEED.number)
        release.save(here / f"{name} kept.parquet", keep_order=True, private=False)
        release.save(here / f"{name} shuffled.parquet", private=False)
    return here


@pytest.fixture(autouse=True)
def by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of masked columns are the same if their numbers are."""
    monkeypatch.setattr(on_cluster, "numbers_by_meaning", numbered)


@pytest.fixture(autouse=True)
def without_room_for_others(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns without a role are compared only, as where their values do not fit the driver."""
    if "with_room" not in request.fixturenames:
        monkeypatch.setattr(on_cluster, "choose_counted", lambda _, __, names, others, ___: (names, others))


@pytest.fixture
def with_room() -> None:
    """Nothing is changed."""


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonto.engine.spark.pairs.CELLS_OF_A_PART", 400)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("made", "plan", "order", "seed"),
    [
        ("plain", PLAN, "kept", None),
        ("plain", PLAN, "shuffled", SEED),
        ("exchanged", EXCHANGING, "kept", SEED),
        ("exchanged", EXCHANGING, "shuffled", SEED),
    ],
)
def test_counts_pairs_and_persons_are_those_of_one_machine(
    made: str, plan: anonto.Plan, order: str, seed: Seed | None, spark: Any, folder: Path
) -> None:
    original = spark.read.parquet(str(folder / "in.parquet"))
    found = compared(original, spark.read.parquet(str(folder / f"{made} {order}.parquet")), plan, seed=seed)
    require_right(found, that_stay(patients()), read_back(folder / f"{made} kept.parquet"), plan)
    assert found.shuffled is (order == "shuffled")
    assert (found.settings is None) == (seed is None)
    if found.settings is not None:
        assert len(found.settings) == len(plan.steps)


def test_an_in_memory_table_is_compared_and_leaves_no_files(
    spark: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = spark.read.parquet(str(folder / "in.parquet"))
    release = anonto.mask(original, PLAN, seed=SEED.number)
    monkeypatch.setattr(type(spark.sparkContext), "getCheckpointDir", lambda _: None)
    with pytest.raises(ClusterError, match="has to be written to some first"):
        compared(original, release.table)
    monkeypatch.setattr(type(spark.sparkContext), "getCheckpointDir", lambda _: f"file:{tmp_path}/{uuid4()}")
    found = compared(original, release.table, seed=SEED)
    require_right(found, that_stay(patients()), read_back(folder / "plain kept.parquet"), PLAN)
    with pytest.raises(ReleaseError, match="does not give the masked table") as told:
        compared(original, release.table, seed=Seed(7 << 90))
    assert not [*tmp_path.iterdir()], told


def test_tables_that_do_not_belong_together_are_refused(spark: Any, folder: Path, tmp_path: Path) -> None:
    original = spark.read.parquet(str(folder / "in.parquet"))
    kept = spark.read.parquet(str(folder / "plain kept.parquet"))
    with pytest.raises(ColumnError, match=r"The table has no column.*age"):
        compared(original.drop("age"), kept)
    with pytest.raises(ReleaseError, match="The masked table lacks ward;") as told:
        compared(original, kept.drop("ward", "beside"))
    assert told.value.values == ()
    with pytest.raises(ReleaseError, match="The masked table has 1 further column"):
        compared(original, original)
    shuffled = spark.read.parquet(str(folder / "plain shuffled.parquet"))
    with pytest.raises(ReleaseError, match=r"'weight'.*differs between the two tables row by row"):
        compared(original, shuffled)
    later = read_back(folder / "plain kept.parquet").with_columns(pl.col("seen") + pl.duration(days=1))
    later.write_parquet(tmp_path / "later.parquet")
    with pytest.raises(ReleaseError, match=r"'seen'.*differs between the two tables row by row"):
        compared(original, spark.read.parquet(str(tmp_path / "later.parquet")))
    with pytest.raises(ReleaseError, match="where this original and plan leave"):
        compared(original, kept.where("ward is null or ward <> 'W3'"))
    changed = read_back(folder / "plain kept.parquet")
    low, high = (changed["pain"].to_list().index(one) for one in ("low", "high"))
    pain = changed["pain"].scatter([low, high], ["high", "low"])
    changed.with_columns(pain).write_parquet(tmp_path / "changed.parquet")
    with pytest.raises(ReleaseError, match="does not give the masked table"):
        compared(original, spark.read.parquet(str(tmp_path / "changed.parquet")), seed=SEED)


def test_what_the_driver_cannot_hold_is_not_brought_there(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, kept = (spark.read.parquet(str(folder / f"{one}.parquet")) for one in ("in", "plain kept"))
    found = compared(original, kept, n_persons=1000)
    assert found.persons[0].shape == found.persons[1].shape == (found.n_records, len(NAMES))
    n_distinct = found.originals[1].size + found.released[1].size
    n_pairs = sum(counts.size for _, _, counts in found.pairs.values())
    needed = BYTES_PER_CELL * 5 * n_distinct
    with pytest.raises(
        MemoryLimitError, match=r"different values of 5 columns, most of them in 'age', needs.*on the driver's machine"
    ):
        compared(original, kept, memory=1000)
    with pytest.raises(
        MemoryLimitError, match=f"^Assessing {n_distinct} distinct records of 5 columns needs.*on the driver's machine"
    ):
        compared(original, kept, memory=needed - 1)
    monkeypatch.setattr(on_cluster, "driver_memory", lambda: needed)
    with pytest.raises(
        MemoryLimitError, match=f"^Assessing {n_pairs} distinct pairs of cells .* in 3 columns.*on the driver's machine"
    ):
        compared(original, kept)


@pytest.mark.usefixtures("with_room")
def test_a_column_without_a_role_is_counted_where_the_driver_can_hold_it(spark: Any, folder: Path) -> None:
    original, kept = (spark.read.parquet(str(folder / f"{one}.parquet")) for one in ("in", "plain kept"))
    found = compared(original, kept)
    assert (found.names, found.others) == ((*NAMES, "seen"), ())
    assert set(found.cells["seen"][0]) == set(that_stay(patients())["seen"])
    assert found.originals[1].sum() == found.n_records
    little = BYTES_PER_CELL * 6 * (found.originals[1].size + found.released[1].size) - 1
    assert compared(original, kept, memory=little).others == ("seen",)


def test_no_rows_and_no_columns_are_compared_too(spark: Any, folder: Path) -> None:
    original, kept = (spark.read.parquet(str(folder / f"{one}.parquet")) for one in ("in", "plain kept"))
    nobody = compared(original.where("beside < 0"), kept.where("beside < 0"))
    assert (nobody.n_before, nobody.n_records, nobody.unchanged) == (0, 0, (0, 0))
    assert nobody.originals[0].shape == nobody.released[0].shape == nobody.persons[0].shape == (0, len(NAMES))
    assert all(counts.size == 0 for _, _, counts in nobody.pairs.values())
    nothing = compared(kept, kept, plan_of({}))
    assert (nothing.names, nothing.originals[1].tolist()) == ((), [nothing.n_before])


# ------------------------------------------------------------------------------------------------ without Java


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[Any, Any, int]:
    n = draw(st.integers(1, 40))
    rows = st.lists(st.lists(st.integers(-1, 3), min_size=5, max_size=5), min_size=n, max_size=n)
    before, after = (np.array(draw(rows), dtype=np.int32).T for _ in range(2))
    return before, after, draw(st.integers(1, n))


def packed(cut: RowParts, tables: tuple[Any, Any], shuffling: Any) -> list[Any]:
    """Rows as `CodingTask` hands them on, some at a time, in any order."""
    found = []
    for side, codes in enumerate(tables):
        for rows in np.array_split(shuffling.permutation(codes.shape[1]), 3):
            for part, own in rows_by_group(cut.parts(rows)):
                found.append((part, pickle.dumps((side, rows[own], codes[:, rows[own]]))))
    order = shuffling.permutation(len(found))
    parts, contents = zip(*(found[i] for i in order), strict=True)
    return [pa.RecordBatch.from_arrays([pa.array(parts, pa.int32()), pa.array(contents, pa.binary())], ["p", "c"])]


@given(two_tables(), st.integers(0, 5))
def test_rows_in_any_order_are_paired_and_counted(tables: tuple[Any, Any, int], seed: int) -> None:
    before, after, n_parts = tables
    cut = RowParts(before.shape[1], n_parts)
    plain_numbers = np.array([0, 1, 2, 3, -1], dtype=np.int32)
    asked = PairQuery(
        n_columns=3,
        masked=(0, 2),
        steps=((0, 2),),
        alike={0: (plain_numbers, plain_numbers), 2: (plain_numbers, plain_numbers)},
        texts={1: (plain_numbers, plain_numbers)},
        persons=np.arange(0, cut.n_records, 3),
    )
    paired = PairingTask(asked, cut)(packed(cut, (before, after), np.random.default_rng(seed)))
    found: dict[int, list[Any]] = {}
    for batch in AddingTask()(paired):
        what, size, content = (column[0].as_py() for column in batch.columns)
        found.setdefault(what, []).append(pickle.loads(content))  # noqa: S301 - our own tasks wrote it
        assert what == SEEN or size == found[what][-1].counts.size
    wanted = {
        BEFORE: before[:3],
        AFTER: after[:3],
        FIRST_PAIRS: [before[0], after[0]],
        FIRST_PAIRS + 1: [before[2], after[2]],
    }
    for what, columns in wanted.items():
        [records] = found[what]
        counts = dict(zip(map(tuple, records.codes.tolist()), records.counts.tolist(), strict=True))
        assert counts == Counter(zip(*(column.tolist() for column in columns), strict=True))
    seen = sorted(found[SEEN], key=lambda one: int(one.persons[0]) if one.persons.size else -1)
    assert sum(one.unchanged[0] for one in seen) == np.count_nonzero((before == after)[[0, 2]].all(axis=0))
    differs = before != after
    wanted_differing = {column for column, own in ((1, differs[1]), (3, differs[3:])) if own.any()}
    assert {column for one in seen for column in one.differing} == wanted_differing
    assert np.concatenate([one.before for one in seen], axis=1).tolist() == before[:, ::3].tolist()
    assert np.concatenate([one.after for one in seen], axis=1).tolist() == after[:, ::3].tolist()


def test_a_row_that_comes_twice_or_never_is_refused() -> None:
    cut, codes = RowParts(4, 1), np.zeros((1, 4), dtype=np.int32)
    asked = PairQuery(1, (), (), {}, {}, np.empty(0, dtype=np.int64))
    whole = packed(cut, (codes, codes), np.random.default_rng(0))
    lacking = [whole[0].slice(1)]
    with pytest.raises(ClusterError, match="changed between two reads"):
        list(PairingTask(asked, cut)(lacking))
    with pytest.raises(ClusterError, match="changed between two reads"):
        list(PairingTask(asked, cut)([whole[0].slice(0, 1), *whole]))


@given(st.integers(1, 500), st.integers(1, 40))
def test_parts_follow_each_other_and_have_all_rows(n_records: int, n_parts: int) -> None:
    cut = RowParts(n_records, min(n_parts, n_records))
    parts = cut.parts(np.arange(n_records))
    assert [cut.first(part) for part in range(cut.n_parts + 1)] == [
        *np.searchsorted(parts, np.arange(cut.n_parts)).tolist(),
        n_records,
    ]


def test_a_digest_detects_rows_that_moved_but_not_their_arrival_order() -> None:
    keys = np.array([1, 1 << 63], dtype=np.uint64)
    codes, numbers = np.array([[0, 1, -1], [5, 5, 5]], dtype=np.int32), np.arange(3)
    whole = digests([*codes], [numbers], keys)
    turned = digests([*codes[:, ::-1]], [numbers[::-1].copy()], keys)
    assert whole.tolist() == turned.tolist()
    assert whole.tolist() != digests([*codes[:, ::-1]], [numbers], keys).tolist()
    parts = digests([*codes[:, :1]], [numbers[:1]], keys) + digests([*codes[:, 1:]], [numbers[1:]], keys)
    assert whole.tolist() == parts.tolist()
