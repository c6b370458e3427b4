"""Damaged Parquet, Excel, SPSS, Stata and SAS files: whatever the bytes, a command ends well or in one sentence."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from fuzz.harness import Apart, all_hold, fault_of, mutated, rng_of

if TYPE_CHECKING:
    from collections.abc import Iterator

N_ROWS = 60
MARK = "xkcdq"
"""Part of every cell of a column, which no message may show."""
SHEET = "xl/worksheets/sheet1.xml"
COMMANDS = ("mask", "profile", "init")


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    with Apart(seconds=120) as process:
        yield process


def test_damaged_parquet_files_end_in_one_sentence(tmp_path, apart):
    _all_end_well("Parquet files", "parquet", 180, tmp_path, apart)


def test_damaged_workbooks_end_in_one_sentence(tmp_path, apart):
    _all_end_well("Excel workbooks", "xlsx", 50, tmp_path, apart)


@pytest.mark.parametrize(("kind", "subject"), [("sav", "SPSS files"), ("dta", "Stata files"), ("xpt", "SAS files")])
def test_damaged_files_of_statistics_packages_end_in_one_sentence(tmp_path, apart, kind, subject):
    _all_end_well(subject, kind, 24, tmp_path, apart)


def _all_end_well(subject: str, kind: str, n_cases: int, folder, apart: Apart) -> None:
    plan, out = folder / "plan.toml", folder / "out.csv"
    plan.write_text('[[steps]]\nmethod = "random-swap"\ncolumns = ["sex"]\n')

    def fault(number: int) -> str | None:
        rng = rng_of(subject, number)
        table = folder / f"{number}.{kind}"
        content = damaged(kind, rng)
        table.write_bytes(content)
        arguments = {
            "mask": ["mask", str(table), "-p", str(plan), "-o", str(out), "--force", "--seed", "1"],
            "profile": ["profile", str(table)],
            "init": ["init", str(table), "-o", str(folder / "made.toml"), "--force"],
        }[COMMANDS[number % len(COMMANDS)]]
        try:
            seen = apart.outcome(arguments)
            if table.read_bytes() != content:
                return "the input was changed"
            return fault_of(seen, [MARK])
        finally:
            table.unlink()
            out.unlink(missing_ok=True)

    all_hold(subject, n_cases, fault)


# ---------------------------------------------------------------------------------------------- cases


def damaged(kind: str, rng: np.random.Generator) -> bytes:
    """A file with some wrong bytes, where they do most: at the end of Parquet, inside the parts of a workbook."""
    content = sound(kind, int(rng.integers(3)))
    if kind == "parquet" and rng.integers(10) < 8:
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        start, end = (footer, len(content) - 8) if rng.integers(2) else (4, footer)
        return content[:start] + pierced(content[start:end], rng) + content[end:]
    if kind == "xlsx" and rng.integers(10) < 7:
        return _with_damaged_part(content, rng)
    return pierced(content, rng) if rng.integers(2) else mutated(content, rng)


def pierced(content: bytes, rng: np.random.Generator) -> bytes:
    """Bytes of the same length of which a few are others: random, extreme or from elsewhere."""
    changed = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 4, 8]))):
        place, width = int(rng.integers(len(changed))), int(rng.choice([1, 1, 4, 8]))
        width = min(width, len(changed) - place)
        other = int(rng.integers(len(changed) - width + 1))
        values = (
            bytes(rng.integers(0, 256, width, dtype=np.uint8)),
            bytes([int(rng.choice([0, 127, 128, 255]))]) * width,
            bytes(changed[other : other + width]),
            bytes([changed[place] ^ 1 << int(rng.integers(8))]) + bytes(changed[place + 1 : place + width]),
        )
        changed[place : place + width] = values[int(rng.integers(len(values)))]
    return bytes(changed)


def _with_damaged_part(content: bytes, rng: np.random.Generator) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as sound_one, zipfile.ZipFile(packed, "w") as archive:
        names = sound_one.namelist()
        chosen = SHEET if rng.integers(2) else names[int(rng.integers(len(names)))]
        for name in names:
            part = sound_one.read(name)
            archive.writestr(name, mutated(part, rng) if name == chosen else part)
    return packed.getvalue()


@cache
def sound(kind: str, variant: int) -> bytes:
    """A small file of the format, in one of three ways to store it."""
    frame = _frame()
    stream = io.BytesIO()
    if kind == "parquet":
        _write_parquet(frame, stream, variant)
        return stream.getvalue()
    frame = frame.drop("codes", "kind", "amount", "at")
    if kind == "xlsx":
        frame.write_excel(stream)
        return stream.getvalue()
    return _written_by_pyreadstat(frame, kind, variant)


def _write_parquet(frame: pl.DataFrame, stream: io.BytesIO, variant: int) -> None:
    import pyarrow.parquet as pq

    if variant == 0:
        frame.write_parquet(stream, compression="uncompressed")
    elif variant == 1:
        frame.write_parquet(stream, compression="zstd", row_group_size=20)
    else:
        pq.write_table(frame.to_arrow(), stream, compression="none", data_page_version="2.0", use_dictionary=False)


def _written_by_pyreadstat(frame: pl.DataFrame, kind: str, variant: int) -> bytes:
    import tempfile
    from pathlib import Path

    import pyreadstat

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{kind}"
        labels = {"age": {1.0: "one", 2.0: "two"}}
        if kind == "sav":
            pyreadstat.write_sav(
                frame, path, variable_value_labels=labels, compress=variant == 1, row_compress=variant == 2
            )
        elif kind == "dta":
            pyreadstat.write_dta(frame, path, variable_value_labels=labels, version=(15, 13, 10)[variant])
        else:
            pyreadstat.write_xport(frame, path, file_format_version=(5, 8, 8)[variant])
        return path.read_bytes()


def _frame() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    day = dt.date(2001, 2, 3)
    return pl.DataFrame(
        {
            "name": [f"{MARK}{row}" for row in range(N_ROWS)],
            "sex": pl.Series(rng.choice(["male", "female", ""], N_ROWS)).replace("", None),
            "age": rng.integers(0, 100, N_ROWS).astype(float),
            "day": [day + dt.timedelta(days=int(n)) for n in rng.integers(0, 5_000, N_ROWS)],
            "at": [dt.datetime(2001, 2, 3) + dt.timedelta(seconds=int(n)) for n in rng.integers(0, 1 << 28, N_ROWS)],  # noqa: DTZ001
            "kind": pl.Series(rng.choice(["a", "b", "c"], N_ROWS)).cast(pl.Categorical),
            "amount": pl.Series([f"{n}.50" for n in rng.integers(0, 100, N_ROWS)]).cast(pl.Decimal(10, 2)),
            "codes": [["x", "y"][: int(n)] for n in rng.integers(0, 3, N_ROWS)],
        }
    )
