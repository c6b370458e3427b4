"""A limit to memory is kept: estimates are no smaller than what is measured, and what cannot fit is refused."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import anonto
from anonto.engine import run
from anonto.engine.files import bins as bins_on_disk
from anonto.engine.files import sink as ordering
from anonto.engine.files.sorted_runs import SortedRuns
from anonto.errors import AnontoWarning, MemoryLimitError, ReleaseError, TooFewRecordsError
from anonto.io.batches import FEWEST_ROWS, TIMES_HELD, ParquetBatches, bytes_in_memory, bytes_of_frame
from anonto.io.csv_batches import CsvBatches, text_size
from anonto.masking.plan import plan_of
from anonto.methods.memory import BYTES_PER_RECORD
from anonto.runtime.memory_limit import MemoryLimit
from budget import examples

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")]

SEED = 1 << 100
TooLarge = Callable[..., None]
Steps = Callable[[int], None]


def plan_of_numbers(method: str, *columns: str, **parameters: Any) -> dict[str, Any]:
    return {
        "columns": {name: {"kind": "numeric"} for name in columns},
        "steps": [{"method": method, "columns": list(columns), **parameters}],
    }


@pytest.fixture
def for_step(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Limit the bytes in which steps are fitted."""
    return lambda n_bytes: monkeypatch.setattr(MemoryLimit, "for_step", property(lambda _: n_bytes))


def parquet(frame: pl.DataFrame, path: Path, **options: Any) -> Path:
    frame.write_parquet(path, **options)
    return path


# ------------------------------------------------------------------------------------------------ estimates

MEASURED = """
import resource, sys, warnings
from pathlib import Path
import anonto
from anonto.io.batches import bytes_in_memory

def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

warnings.simplefilter("ignore")
small, large = Path(sys.argv[1]), Path(sys.argv[2])
plan = {"steps": [{"method": "random-swap", "columns": ["a"]}]}
before = 0
for source in (small, large):
    before = held()
    anonto.mask(source, plan, seed=1 << 100).save(source.with_name(f"masked{source.suffix}"))
print(held() - before, bytes_in_memory(large, 1))
"""


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_masking_at_once_takes_no_more_memory_than_was_estimated(suffix: str, tmp_path: Path) -> None:
    """Cells of one or two digits take many times their text."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.integers(0, 50, 400_000).astype(str) for name in "abcdef"})
    for name, part in (("small", frame[:1000]), ("large", frame)):
        path = tmp_path / f"{name}{suffix}"
        _ = part.write_csv(path) if suffix == ".csv" else part.write_parquet(path)
    given = [sys.executable, "-c", MEASURED, str(tmp_path / f"small{suffix}"), str(tmp_path / f"large{suffix}")]
    done = subprocess.run(given, capture_output=True, text=True, check=True)
    measured, estimated = (float(one) for one in done.stdout.split())
    assert measured <= 1.2 * estimated


def test_a_packed_file_counts_as_what_it_is_when_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"a,b,note\n" + b"1,2,the same words again and again and again\n" * 60_000
    (tmp_path / "t.csv").write_bytes(text)
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(text))
    assert packed.stat().st_size * 50 < len(text)
    assert bytes_in_memory(packed, 1) == bytes_in_memory(tmp_path / "t.csv", 1) > 3 * len(text)
    assert CsvBatches(packed).bytes_per_row() > len(text) / 60_001
    plan = plan_of(plan_of_numbers("random-swap", "a"))
    monkeypatch.setattr(MemoryLimit, "for_data", property(lambda _: 8 * len(text)))
    assert run._fits(packed, plan, 500_000_000)
    monkeypatch.setattr(MemoryLimit, "for_data", property(lambda _: 3 * len(text)))
    assert not run._fits(packed, plan, 500_000_000)


def test_text_is_counted_only_up_to_the_last_complete_record_needed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a;b;c\r\n" + b"1;2;3\r\n" * 5)
    assert text_size(path) == (42, 7, 3)
    path.write_bytes(b"\n\na^b^c^d\n")
    assert text_size(path, delimiter="^")[2] == 4
    path.write_bytes(b"")
    assert text_size(path) == (0, 1, 1)
    path.write_bytes(gzip.compress(b"a,b\n" * 1000)[:-9])
    assert text_size(path).n_columns <= 2
    path.write_bytes(gzip.compress(bytes(40 << 20)))
    assert text_size(path, enough=1).n_bytes < 20 << 20


def late_notes(n: int = 20_000) -> pl.DataFrame:
    """Nothing in the first rows, and long texts in the last."""
    notes = [None if i < n * 3 // 4 else f"{i} " * 300 for i in range(n)]
    return pl.DataFrame({"a": np.arange(n) % 50, "note": pl.Series(notes, dtype=pl.String)})


def test_wide_cells_that_come_late_are_counted(tmp_path: Path) -> None:
    frame = late_notes()
    path = parquet(frame, tmp_path / "t.parquet", row_group_size=1000)
    whole = bytes_of_frame(frame)
    assert whole > frame["note"].str.len_bytes().sum()
    assert bytes_in_memory(path, 0) == pytest.approx(TIMES_HELD * whole, rel=0.05)
    assert ParquetBatches([path], "t").bytes_per_row() == pytest.approx(whole / frame.height, rel=0.5)
    part = tmp_path / "parts"
    part.mkdir()
    files = [parquet(frame[i * 500 : (i + 1) * 500], part / f"{i:02}.parquet") for i in range(40)]
    assert ParquetBatches(files, "t").bytes_per_row() == pytest.approx(whole / frame.height, rel=0.5)


def test_a_table_without_rows_takes_nothing(tmp_path: Path) -> None:
    path = parquet(late_notes(8)[:0], tmp_path / "t.parquet")
    assert bytes_in_memory(path, 2, 100.0) == 0
    assert ParquetBatches([path], "t").bytes_per_row() == 0


def test_a_short_text_takes_more_than_its_characters() -> None:
    assert bytes_of_frame(pl.DataFrame({"a": ["x"] * 1000})) >= 16_000
    assert bytes_of_frame(pl.DataFrame({"a": np.arange(1000)})) == 8_000


def test_what_a_step_takes_is_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 10_000
    path = parquet(pl.DataFrame({"a": np.arange(n), "b": np.arange(n)}), tmp_path / "t.parquet")
    monkeypatch.setattr(MemoryLimit, "for_data", property(lambda _: 150 * n))
    assert run._fits(path, plan_of(plan_of_numbers("random-swap", "a", "b")), 500_000_000)
    assert not run._fits(path, plan_of(plan_of_numbers("microaggregate", "a", "b", k=3)), 500_000_000)


# ------------------------------------------------------------------------------------------------ stretches


@hypothesis.settings(max_examples=examples(10), suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(rows=st.sampled_from([64, 1000, 1 << 18]), n_bytes=st.sampled_from([100, 100_000, 1e9]))
def test_batches_get_shorter_as_rows_get_wider(
    rows: int, n_bytes: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    frame = late_notes(4000)
    path = parquet(frame, tmp_path_factory.mktemp("wide") / "t.parquet", row_group_size=1500)
    batches = list(ParquetBatches([path], "t").read(["note", "a"], rows, n_bytes))
    assert_frame_equal(pl.concat(batches), frame.select("note", "a"))
    assert all(bytes_of_frame(one) <= n_bytes or one.height <= FEWEST_ROWS for one in batches)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_rows_that_wait_are_put_in_order_in_the_same_room_however_wide_the_last_are(
    name: str, tmp_path: Path, too_large: TooLarge, monkeypatch: pytest.MonkeyPatch
) -> None:
    most_bytes = 200_000
    too_large(100, most_bytes, bytes_of_csv=20_000)
    seen: list[int] = []
    buckets = SortedRuns.buckets

    def watched(runs: Any) -> Any:
        for bucket in buckets(runs):
            seen.append(bytes_of_frame(bucket))
            yield bucket

    monkeypatch.setattr(SortedRuns, "buckets", watched)
    frame, source = late_notes(8000), tmp_path / name
    _ = frame.write_csv(source) if source.suffix == ".csv" else frame.write_parquet(source, row_group_size=500)
    plan = plan_of_numbers("random-swap", "a")
    anonto.mask_file(source, plan, tmp_path / f"out-{name}", memory="500MB", seed=SEED)
    anonto.mask(source, plan, seed=SEED).save(tmp_path / f"at-once-{name}")
    if source.suffix == ".csv":
        assert (tmp_path / f"out-{name}").read_bytes() == (tmp_path / f"at-once-{name}").read_bytes()
    else:
        assert_frame_equal(pl.read_parquet(tmp_path / f"out-{name}"), pl.read_parquet(tmp_path / f"at-once-{name}"))
    assert len(seen) > 10
    assert max(seen) < 2 * most_bytes / ordering.PIECES


# ------------------------------------------------------------------------------------------------ steps


def refused(folder: Path, source: Path, plan: dict[str, Any], error: type[Exception], words: str) -> str:
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(error, match=words) as found:
        anonto.mask_file(source, plan, folder / "out.parquet", memory="500MB", seed=SEED)
    assert sorted(path.name for path in folder.iterdir()) == before
    return str(found.value)


def test_bins_that_do_not_fit_with_all_others_are_exchanged_on_disk_with_the_same_outcome(
    tmp_path: Path, too_large: TooLarge, for_step: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_large(500)
    numbers = np.arange(4000) % 97
    source = parquet(pl.DataFrame({"a": numbers}), tmp_path / "t.parquet")
    plan = plan_of_numbers("equi-width-swap", "a", width=10.0)
    at_once = anonto.mask(source, plan, seed=SEED)
    at_once.save(tmp_path / "at-once.parquet")
    on_disk = []
    masker = bins_on_disk.BinsOnDisk.masker
    monkeypatch.setattr(bins_on_disk.BinsOnDisk, "masker", lambda *given: on_disk.append(True) or masker(*given))
    for room, is_on_disk in (
        (97 * BYTES_PER_RECORD + 4000 * (30 + 64), False),
        (97 * BYTES_PER_RECORD + 4000 * 93, True),
    ):
        for_step(room)
        on_disk.clear()
        evidence = anonto.mask_file(
            source, plan, tmp_path / "out.parquet", memory="500MB", seed=SEED, force=True
        ).evidence
        assert bool(on_disk) == is_on_disk
        assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet"), pl.read_parquet(tmp_path / "at-once.parquet"))
        assert evidence["steps"][0] == at_once.evidence["steps"][0]


@pytest.mark.parametrize(
    ("step", "what"),
    [
        ({"method": "semantic-noise", "noise_level": 0.2}, "concepts that their values may become"),
        ({"method": "taxonomy-exponential", "epsilon": 2.0}, "concepts that their values may become"),
        ({"method": "microaggregate", "k": 3}, "the distances of their values"),
    ],
)
def test_what_an_ontology_takes_is_kept_within_the_limit_however_few_rows_there_are(
    step: dict[str, Any], what: str, tmp_path: Path
) -> None:
    codes = [code for code in anonto.read_ontology("icd10cm").ids if len(code) > 4][::20]
    source = parquet(pl.DataFrame({"a": codes}), tmp_path / "t.parquet")
    plan = {"columns": {"a": {"ontology": "icd10cm"}}, "steps": [{**step, "columns": ["a"]}]}
    said = refused(tmp_path, source, plan, MemoryLimitError, "of memory may be used")
    assert what in said
    found = re.search(r"needs about (\d+\.\d) GB in all", said)
    assert found is not None
    assert float(found[1]) > 0.5


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("n_values", [40, 3000])
def test_equi_width_swapping_takes_no_more_memory_than_is_checked(n_values: int) -> None:
    """In a process of its own, as compiled code allocates what Python does not see."""
    code = f"""
import numpy as np
from anonto.methods.equi_width_swap import BYTES_PER_ROW, EquiWidthSwap
from anonto.methods.memory import BYTES_PER_MOVE, BYTES_PER_RECORD
from anonto.encoding.value_space import NumericSpace
from anonto.encoding.records import Records

def taken(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1]) * 1024

def records(n):
    codes = np.stack([np.repeat(np.arange({n_values}), 10), np.tile(np.arange(10), {n_values})], axis=1)
    counts = np.full(codes.shape[0], n // codes.shape[0])
    attributes = [
        NumericSpace(np.arange(size, dtype=float), np.full(size, counts.sum() // size)) for size in ({n_values}, 10)
    ]
    return Records(("a", "b"), tuple(attributes), codes.astype(np.int32), counts)

def fit(one):
    done = EquiWidthSwap(bins=2).fit(one, np.random.default_rng(1))
    return [done.moves(one, column) for column in range(2)]

fit(records({n_values} * 10))
one = records(6_000_000)
before = taken("VmRSS")
kept = fit(one)
n_moves = sum(min(one.n_rows, each.counts.size ** 2) for each in one.value_spaces)
allowed = BYTES_PER_ROW * one.n_rows + BYTES_PER_RECORD * one.counts.size + BYTES_PER_MOVE * n_moves
print((taken("VmHWM") - before) / allowed)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.0


def test_a_bin_that_cannot_fit_is_refused(tmp_path: Path, too_large: TooLarge, for_step: Steps) -> None:
    too_large(500)
    numbers = np.where(np.arange(4000) % 10 < 6, 7, np.arange(4000) % 97)
    source = parquet(pl.DataFrame({"a": numbers}), tmp_path / "t.parquet")
    for_step(97 * BYTES_PER_RECORD + 2400 * 20)
    said = refused(
        tmp_path, source, plan_of_numbers("equi-width-swap", "a", width=1.0), MemoryLimitError, "of memory may be used"
    )
    assert "bins of 2,4" in said


def test_equal_rows_that_are_exchanged_jointly_take_few_bytes(
    tmp_path: Path, too_large: TooLarge, for_step: Steps
) -> None:
    too_large(5000)
    numbers = np.arange(40_000) ** 2 % 12
    source = parquet(pl.DataFrame({"a": numbers % 4, "b": numbers % 3}), tmp_path / "t.parquet")
    plan = plan_of_numbers("rank-swap-joint", "a", "b", k=5)
    for_step(12 * 300 + 40_000 * 3)
    anonto.mask_file(source, plan, tmp_path / "out.parquet", memory="500MB", seed=SEED)
    anonto.mask(source, plan, seed=SEED).save(tmp_path / "at-once.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet"), pl.read_parquet(tmp_path / "at-once.parquet"))
    for path in tmp_path.glob("out.*"):
        path.unlink()
    for_step(40_000 * 2)
    assert "40,000 records of which" in refused(tmp_path, source, plan, MemoryLimitError, "of memory may be used")


def test_what_becomes_of_records_that_are_exchanged_jointly_must_fit_too(
    tmp_path: Path, too_large: TooLarge, for_step: Steps
) -> None:
    too_large(5000)
    source = parquet(pl.DataFrame({"a": np.arange(20_000) % 200}), tmp_path / "t.parquet")
    for_step(200 * 300 + 20_000 * 2 + 8 * 10_000)
    plan = plan_of_numbers("rank-swap-joint", "a", k=10_000)
    assert "what becomes of 20,000 records" in refused(
        tmp_path, source, plan, MemoryLimitError, "of memory may be used"
    )


def test_tables_of_distances_count_before_cells_are_exchanged(
    tmp_path: Path, too_large: TooLarge, for_step: Steps
) -> None:
    too_large(500)
    names = [f"v{n}" for n in range(400)]
    source = parquet(pl.DataFrame({"a": [names[n % 400] for n in range(800)]}), tmp_path / "t.parquet")
    (tmp_path / "tree.csv").write_text("child,parent\n" + "".join(f"{name},top\n" for name in names), encoding="utf-8")
    plan = {
        "columns": {"a": {"ontology": str(tmp_path / "tree.csv")}},
        "steps": [{"method": "rank-swap-joint", "columns": ["a"], "k": 3}],
    }
    for_step(400 * 300 + 800 * 3)
    refused(tmp_path, source, plan, MemoryLimitError, "of memory may be used")
    for_step(400 * 300 + 800 * 3 + 2 * 400 * 1300)
    anonto.mask_file(source, plan, tmp_path / "out.parquet", memory="500MB", seed=SEED)


def test_a_block_that_cannot_be_made_small_enough_is_refused(
    tmp_path: Path, too_large: TooLarge, for_step: Steps
) -> None:
    too_large(500)
    rng = np.random.default_rng(0)
    source = parquet(pl.DataFrame({"a": rng.integers(0, 50, 4000)}), tmp_path / "t.parquet")
    for_step(50 * BYTES_PER_RECORD + 2000 * 144)
    assert "a block of" in refused(
        tmp_path, source, plan_of_numbers("equi-depth-swap", "a", k=30), MemoryLimitError, "of memory may be used"
    )
    one = np.where(np.arange(4000) % 10 < 8, 7, np.arange(4000) % 50)
    source = parquet(pl.DataFrame({"a": one}), tmp_path / "t.parquet")
    assert "a block of 4,000" in refused(
        tmp_path, source, plan_of_numbers("microaggregate", "a", k=2), MemoryLimitError, "of memory may be used"
    )
    for_step(50 * BYTES_PER_RECORD + 1)
    refused(tmp_path, source, plan_of_numbers("group-swap", "a", k=2), MemoryLimitError, "of memory may be used")


def test_a_plan_that_says_the_blocks_gives_the_same_with_any_memory(
    tmp_path: Path, too_large: TooLarge, for_step: Steps
) -> None:
    too_large(500)
    source = parquet(pl.DataFrame({"a": np.arange(4000) % 50}), tmp_path / "t.parquet")
    plan = plan_of_numbers("equi-depth-swap", "a", k=2)
    options: dict[str, Any] = {"memory": "500MB", "seed": SEED, "force": True}
    step = anonto.mask_file(source, plan, tmp_path / "out.parquet", **options).evidence["steps"][0]
    assert "blocks" not in step
    for_step(50 * BYTES_PER_RECORD + 2000 * 144)
    with pytest.warns(AnontoWarning, match="Step 1 was fitted in . blocks") as told:
        step = anonto.mask_file(source, plan, tmp_path / "out.parquet", **options).evidence["steps"][0]
    assert step["blocks"] > 1
    rows = step["block_rows"]
    assert any(f"block_rows = {rows} into" in str(one.message) for one in told)
    said = plan_of_numbers("equi-depth-swap", "a", k=2, block_rows=rows)
    again = anonto.mask_file(source, said, tmp_path / "again.parquet", **options).evidence["steps"][0]
    at_once = anonto.mask(source, said, seed=SEED)
    at_once.save(tmp_path / "at once.parquet")
    assert again["blocks"] == at_once.evidence["steps"][0]["blocks"] == step["blocks"]
    masked = [pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("out", "again", "at once")]
    assert masked[0].equals(masked[1])
    assert masked[0].equals(masked[2])


@pytest.mark.parametrize("method", ["equi-depth-swap", "group-swap", "microaggregate"])
@pytest.mark.parametrize("keep_order", [False, True])
def test_a_release_that_was_masked_in_blocks_can_be_assessed(
    method: str, keep_order: bool, tmp_path: Path, too_large: TooLarge, for_step: Steps
) -> None:
    too_large(500)
    for_step(50 * BYTES_PER_RECORD + 2000 * 144)
    source = parquet(pl.DataFrame({"a": (np.arange(4000) * 7) % 50}), tmp_path / "t.parquet")
    plan, output = plan_of_numbers(method, "a", k=2), tmp_path / "out.parquet"
    with pytest.warns(AnontoWarning, match="was fitted in"):
        evidence = anonto.mask_file(source, plan, output, memory="500MB", seed=SEED, keep_order=keep_order).evidence
    record = tmp_path / "out.parquet.private.json"
    rows = evidence["steps"][0]["block_rows"]
    assert json.loads(record.read_text(encoding="utf-8"))["block_rows"] == {"1": rows}
    found = anonto.assess(source, output, plan, private=record)
    assert found.n_records == 4000
    if keep_order:
        said = plan_of_numbers(method, "a", k=2, block_rows=rows)
        assert anonto.assess(source, output, said, same_order=True).n_records == 4000
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({**json.loads(record.read_text(encoding="utf-8")), "block_rows": {"2": rows}}))
    with pytest.raises(ReleaseError, match="does not give the masked table"):
        anonto.assess(source, output, plan, private=wrong)


@pytest.mark.parametrize(("method", "k"), [("equi-depth-swap", 2), ("microaggregate", 3)])
def test_a_pattern_of_missing_cells_that_few_have_is_refused_in_blocks_as_at_once(
    method: str, k: int, tmp_path: Path, too_large: TooLarge, for_step: Steps
) -> None:
    too_large(500)
    for_step(1000 * BYTES_PER_RECORD)
    frame = pl.DataFrame({"a": np.arange(4000) % 30, "b": np.arange(4000) % 20})
    alone = frame.with_columns(pl.when(pl.int_range(pl.len()) != 17).then("b").alias("b"))
    source = parquet(alone, tmp_path / "t.parquet")
    plan = plan_of_numbers(method, "a", "b", k=k)
    with pytest.raises(TooFewRecordsError, match="patterns of missing cells") as at_once:
        anonto.mask(source, plan, seed=SEED)
    assert refused(tmp_path, source, plan, TooFewRecordsError, "patterns of missing cells") == str(at_once.value)


def test_a_small_block_with_the_same_missing_cells_is_not_merged_into_one_bin(
    tmp_path: Path, too_large: TooLarge, for_step: Steps
) -> None:
    too_large(500)
    for_step(2500 * BYTES_PER_RECORD)
    frame = pl.DataFrame({"a": np.arange(4000) % 30, "b": np.arange(4000) % 20})
    few = frame.with_columns(pl.when(pl.int_range(pl.len()) >= 4).then("b").alias("b"))
    source = parquet(few, tmp_path / "t.parquet")
    plan = plan_of_numbers("equi-depth-swap", "a", "b", k=5)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        evidence = anonto.mask_file(source, plan, tmp_path / "out.parquet", memory="500MB", seed=SEED).evidence
    assert evidence["steps"][0]["smallest_block"] == 4
    assert not [one for one in told if "all of them form one bin" in str(one.message)]
