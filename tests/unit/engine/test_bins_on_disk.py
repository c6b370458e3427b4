"""Records that are exchanged on disk become what they become in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import anonto
from anonto.engine.files import bins as bins_on_disk
from anonto.engine.files.bins import BinsOnDisk
from anonto.errors import MemoryLimitError, TooFewRecordsError
from anonto.methods.memory import BYTES_PER_RECORD
from anonto.runtime.memory_limit import MemoryLimit

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")

SEED = 1 << 100
N = 12_000
TooLarge = Callable[..., None]


def table(n: int = N) -> pl.DataFrame:
    """Three columns of which almost all combinations are rare, but one that many rows have."""
    rng = np.random.default_rng(0)
    numbers = {name: rng.integers(0, 40, n) for name in "abc"}
    often = rng.random(n) < 0.1
    frame = pl.DataFrame({name: np.where(often, 7, own) for name, own in numbers.items()})
    lacking = [pl.when(pl.Series(rng.random(n) > 0.1)).then(name).alias(name) for name in "abc"]
    return frame.with_columns(lacking).with_columns(d=rng.integers(0, 5, n), note=pl.int_range(n).cast(pl.String))


def plan(**options: Any) -> dict[str, Any]:
    return {
        "columns": {"d": {"kind": "numeric", "role": "confidential"}} | {name: {"kind": "numeric"} for name in "abc"},
        "steps": [{"method": "equi-width-swap", "columns": ["a", "b", "c"], "bins": 3, **options}],
    }


@pytest.fixture
def on_disk(too_large: TooLarge, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Limit memory to few records; return a list that grows by the parts of each step that is done on disk."""
    too_large(700, 100_000)
    monkeypatch.setattr(MemoryLimit, "for_step", property(lambda _: 500_000))
    monkeypatch.setattr(bins_on_disk, "CELL_BITS", 12)
    seen: list[int] = []
    exchanged = BinsOnDisk._exchange

    def watched(self: BinsOnDisk, *given: Any) -> Any:
        seen.append(given[3])
        return exchanged(self, *given)

    monkeypatch.setattr(BinsOnDisk, "_exchange", watched)
    return seen


@pytest.mark.parametrize("odd", ["stay", "cycle3"])
@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
@pytest.mark.parametrize("missing", ["keep", "drop"])
def test_records_exchanged_on_disk_are_those_exchanged_in_memory(
    odd: str, name: str, missing: str, tmp_path: Path, on_disk: list[int]
) -> None:
    source, chosen = tmp_path / name, plan(odd=odd)
    chosen["columns"]["a"]["missing"] = missing
    _ = table().write_csv(source) if source.suffix == ".csv" else table().write_parquet(source)
    release = anonto.mask(source, chosen, seed=SEED)
    release.save(tmp_path / f"at-once-{name}")
    evidence = anonto.mask_file(source, chosen, tmp_path / f"out-{name}", seed=SEED, memory="500MB").evidence
    assert on_disk[0] > 3
    if source.suffix == ".csv":
        assert (tmp_path / f"out-{name}").read_bytes() == (tmp_path / f"at-once-{name}").read_bytes()
    else:
        assert_frame_equal(pl.read_parquet(tmp_path / f"out-{name}"), pl.read_parquet(tmp_path / f"at-once-{name}"))
    step, wanted = evidence["steps"][0], release.evidence["steps"][0]
    assert list(step) == list(wanted)
    for key, value in step.items():
        assert value == (pytest.approx(wanted[key]) if key in {"rmse", "farthest"} else wanted[key])
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".anonto")]


def test_a_pattern_that_one_record_has_is_refused_on_disk_too(tmp_path: Path, on_disk: list[int]) -> None:
    frame = table().drop_nulls()
    alone = frame.with_columns(pl.when(pl.int_range(pl.len()) != 17).then("b").alias("b"))
    alone.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(TooFewRecordsError, match="patterns of missing cells") as at_once:
        anonto.mask(tmp_path / "t.parquet", plan(), seed=SEED)
    with pytest.raises(TooFewRecordsError, match="patterns of missing cells") as refused:
        anonto.mask_file(tmp_path / "t.parquet", plan(), tmp_path / "out.parquet", seed=SEED, memory="500MB")
    assert str(refused.value) == str(at_once.value)
    assert not on_disk
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_bin_that_does_not_fit_is_refused_on_disk_too(tmp_path: Path, on_disk: list[int]) -> None:
    table().write_parquet(tmp_path / "t.parquet")
    with pytest.raises(MemoryLimitError, match=r"bins of.*of memory may be used"):
        anonto.mask_file(tmp_path / "t.parquet", plan(bins=1), tmp_path / "out.parquet", seed=SEED, memory="500MB")
    assert not on_disk
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_rows_without_any_value_are_in_no_bin(tmp_path: Path, on_disk: list[int]) -> None:
    """However many they are: no bin of the others is as large."""
    there = np.random.default_rng(3).random(60_000) < 0.1
    frame = pl.DataFrame({name: pl.Series(np.arange(60_000) % 97) for name in "abc"}).with_columns(
        [pl.when(pl.Series(there)).then(name).alias(name) for name in "abc"]
    )
    frame.write_parquet(tmp_path / "t.parquet")
    chosen = plan(bins=30)
    del chosen["columns"]["d"]
    release = anonto.mask(frame, chosen, seed=SEED)
    release.save(tmp_path / "at-once.parquet")
    evidence = anonto.mask_file(
        tmp_path / "t.parquet", chosen, tmp_path / "out.parquet", seed=SEED, memory="500MB"
    ).evidence
    assert on_disk
    assert evidence["steps"][0] == release.evidence["steps"][0]
    assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet"), pl.read_parquet(tmp_path / "at-once.parquet"))


def test_pairs_of_values_that_do_not_fit_are_refused(tmp_path: Path, on_disk: list[int]) -> None:
    """The evidence knows what became of each value: among many values of wide bins almost anything."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 1500, 8000), "b": rng.integers(0, 10, 8000), "c": np.arange(8000) % 10})
    frame.write_parquet(tmp_path / "t.parquet")
    chosen = plan(bins=[3, 10, 10])
    del chosen["columns"]["d"]
    with pytest.raises(MemoryLimitError, match=r"values.*of memory may be used"):
        anonto.mask_file(tmp_path / "t.parquet", chosen, tmp_path / "out.parquet", seed=SEED, memory="500MB")
    assert on_disk
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_the_table_of_these_tests_does_not_fit_in_memory() -> None:
    assert table().select("a", "b", "c").n_unique() * BYTES_PER_RECORD > 500_000


@hypothesis.given(st.lists(st.integers(0, 20), min_size=1, max_size=40), st.integers(1, 50))
def test_files_are_full_but_never_too_full(rows: list[int], most: int) -> None:
    files = bins_on_disk.files_of_cells(np.array(rows), most)
    assert files[0] == 0
    assert set(np.diff(files).tolist()) <= {0, 1}
    sizes = np.bincount(files, weights=rows)
    for file in range(sizes.size):
        assert sizes[file] <= most or np.count_nonzero(files == file) == 1
        assert file == 0 or sizes[file - 1] + rows[int(np.flatnonzero(files == file)[0])] > most
