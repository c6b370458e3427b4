"""Numbers are released in the notation they came in: read back by it, they are those of a table in plain notation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.engine import run
from anonto.io.notation import Notation

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
SEED = 1 << 90
NOTATIONS = [Notation(decimal, is_grouped) for decimal in (".", ",") for is_grouped in (False, True)]
STEPS: list[dict[str, Any]] = [
    {"method": "microaggregate", "k": 3},
    {"method": "microaggregate", "k": 3, "aggregate": "synthetic"},
    {"method": "semantic-noise", "noise_level": 0.5},
    {"method": "rank-swap", "k": 3},
    {"method": "equi-width-swap", "width": 0.2},
    {"method": "equi-depth-swap", "k": 4},
    {"method": "group-swap", "k": 3},
]


def texts(notation: Notation, decimals: int, scale: float = 1.0) -> list[str]:
    """Numbers of equally many digits, so that their texts are in the same order in every notation."""
    rng = np.random.default_rng(3)
    numbers = np.unique(rng.integers(1_000_000, 10_000_000, 60)) * scale
    rng.shuffle(numbers)
    plain = [f"{number / 1000:.{decimals}f}" for number in numbers]
    whole = [text.partition(".")[0] for text in plain]
    grouped = [f"{one[:-3]}{notation.thousands}{one[-3:]}" if notation.is_grouped else one for one in whole]
    behind = [text.partition(".")[2] for text in plain]
    return [one + (notation.decimal + two if two else "") for one, two in zip(grouped, behind, strict=True)]


def written(path: Path, cells: list[str], delimiter: str, quote: str) -> Path:
    table = pl.DataFrame({"row": [str(n) for n in range(len(cells))], "x": cells})
    table.write_csv(path, separator=delimiter, quote_style=quote)  # type: ignore[arg-type]
    return path


def masked(folder: Path, cells: list[str], step: dict[str, Any], delimiter: str, quote: str, decimal: str) -> list[str]:
    plan = {
        "columns": {"x": {"kind": "numeric", "decimal": decimal}, "row": {"role": "other"}},
        "steps": [{**step, "columns": ["x"]}],
    }
    source = written(folder / "in.csv", cells, delimiter, quote)
    anonto.mask_file(source, plan, folder / "out.csv", seed=SEED, memory="500MB", keep_order=True, force=True)
    return pl.read_csv(folder / "out.csv", separator=delimiter, infer_schema=False)["x"].to_list()


@pytest.mark.parametrize("fits", [True, False], ids=["in memory", "in batches"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: "-".join(map(str, step.values())))
def test_released_numbers_are_those_of_the_plain_table(
    step: dict[str, Any], fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_fits", lambda *_: fits)
    for decimals in (0, 2):
        plain = masked(tmp_path, texts(Notation(), decimals), step, ",", "necessary", ".")
        expected = Notation().numbers(plain)
        for notation, delimiter, quote in (
            (NOTATIONS[1], ",", "necessary"),
            (NOTATIONS[1], ";", "always"),
            (NOTATIONS[2], ";", "necessary"),
            (NOTATIONS[3], "\t", "necessary"),
            (NOTATIONS[3], ",", "always"),
        ):
            released = masked(tmp_path, texts(notation, decimals), step, delimiter, quote, notation.decimal)
            assert notation.numbers(released).tolist() == expected.tolist()
            if notation.is_grouped:
                assert all(
                    (notation.thousands in text) == (abs(number) >= 1000)
                    for text, number in zip(released, expected.tolist(), strict=True)
                )


def test_a_mean_of_thousands_is_in_thousands() -> None:
    table = pl.DataFrame({"x": ["1,000", "1,037", "1,074", "1,111"]})
    plan = {"columns": {"x": {"kind": "numeric"}}, "steps": [{"method": "microaggregate", "columns": ["x"], "k": 2}]}
    assert anonto.mask(table, plan, seed=SEED).table["x"].to_list() == ["1,018", "1,018", "1,092", "1,092"]


@pytest.mark.parametrize("method", ["rank-swap", "equi-depth-swap"])
def test_whole_numbers_beyond_the_exact_ones_are_refused(method: str) -> None:
    table = pl.DataFrame({"x": [2**60 + i for i in range(1000)]})
    plan = {"columns": {"x": {"kind": "numeric"}}, "steps": [{"method": method, "columns": ["x"], "k": 3}]}
    with pytest.raises(anonto.errors.ColumnError, match="distinct numbers of column 'x'"):
        anonto.mask(table, plan, seed=SEED)


def test_numbers_far_below_one_do_not_become_zero() -> None:
    table = pl.DataFrame({"x": [1e-17, 3e-17, 5e-17, 7e-17]})
    plan = {"columns": {"x": {"kind": "numeric"}}, "steps": [{"method": "microaggregate", "columns": ["x"], "k": 2}]}
    assert anonto.mask(table, plan, seed=SEED).table["x"].to_list() == [2e-17, 2e-17, 6e-17, 6e-17]


def test_a_stream_reads_batches_in_the_notation_of_its_reference() -> None:
    """The batch alone would be read as thousands."""
    plan = {
        "columns": {"x": {"kind": "numeric"}},
        "steps": [{"method": "semantic-noise", "columns": ["x"], "noise_level": 0.1}],
    }
    reference = pl.DataFrame({"x": ["1,234", "2,5", "3,75", "9,125"]})
    stream = anonto.stream(reference, plan, seed=SEED)
    released = stream.mask(reference[:1])["x"].to_list()
    assert abs(Notation(",").numbers(released)[0] - 1.234) < 5
    assert released == anonto.mask(reference, plan, seed=SEED).table["x"].to_list()[:1]
