"""Bytes of CSV and TSV tables, changed at random, given to the commands that read a table.

Every cell of one column is a word that stands nowhere else: no message may have one of them.
"""

from __future__ import annotations

import csv
import gzip
import io
from contextlib import nullcontext
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from fuzz.harness import all_hold, fault_of, mutated, outcome, rng_of

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

MARK = "qzvx"
"""How the words begin."""
ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-be", "windows-1252", "iso-8859-1")
ENDS = ("\n", "\r\n", "\r")
ILLNESSES = ("flu", "measles", "burn", "fracture")
HEADER = ["patient", "illness", "age", "sex", "günter" * 3, "admitted"]
PLAN = """
[columns.patient]
role = "identifier"
[columns.illness]
ontology = "illnesses"
[columns.age]
kind = "numeric"
[columns.sex]
[[steps]]
method = "group-swap"
columns = ["illness", "age", "sex"]
k = 2
"""
COMMANDS = ("init", "mask", "mask", "mask in batches", "assess", "assess the original", "profile", "profile guessed")


def table_of(rng: np.random.Generator) -> list[list[str]]:
    n = int(rng.integers(0, 25))
    return [
        [
            f"{MARK}{rng.integers(1e9):09d}",
            str(rng.choice(ILLNESSES)),
            str(rng.integers(0, 99)) if rng.integers(9) else "",
            str(rng.choice(["F", "M"])),
            str(rng.choice(["Ärzte, und", 'say "x"', "line\nend", "", "plain"])),
            f"20{rng.integers(10, 25)}-0{rng.integers(1, 10)}-1{rng.integers(10)}",
        ]
        for _ in range(n)
    ]


def spelt(rows: list[list[str]], rng: np.random.Generator) -> bytes:
    """A table as the bytes of a file, in some dialect and encoding."""
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=str(rng.choice(list(",;\t|"))),
        lineterminator=str(rng.choice(ENDS)),
        quoting=csv.QUOTE_ALL if rng.integers(4) == 0 else csv.QUOTE_MINIMAL,
    )
    writer.writerows(rows)
    encoding = str(rng.choice(ENCODINGS))
    content = text.getvalue().encode(encoding)
    return (b"\xfe\xff" if encoding == "utf-16-be" else b"") + content


def fault_of_case(number: int, folder: Path) -> str | None:
    """Run one command on a table with faults, and look at how it ends and at what is left in the folder."""
    rng = rng_of("tables of text", number)
    kept = folder / "kept"
    kept.mkdir(exist_ok=True)
    for file in kept.iterdir():
        file.unlink()
    (kept / "plan.toml").write_text(PLAN)
    rows = table_of(rng)
    good = spelt([HEADER, *rows], rng)
    shape = int(rng.integers(8))
    if shape == 0:
        bad = spelt(rows, rng)  # the header is missing
    elif shape == 1:
        bad = mutated(spelt(rows, rng), rng)
    else:
        bad = mutated(good, rng)
    if rng.integers(8) == 0:
        bad = gzip.compress(bad, mtime=0) if rng.integers(2) else mutated(gzip.compress(bad, mtime=0), rng)
    table, other, output = kept / "table.csv", kept / "other.csv", kept / "masked.csv"
    table.write_bytes(bad)
    other.write_bytes(good)
    command = COMMANDS[int(rng.integers(len(COMMANDS)))]
    words = {
        "init": ["init", str(table), "-o", str(output)],
        "mask": ["mask", str(table), "--plan", str(kept / "plan.toml"), "-o", str(output)],
        "mask in batches": ["mask", str(table), "--plan", str(kept / "plan.toml"), "-o", str(output)],
        "assess": ["assess", str(other), str(table), "--plan", str(kept / "plan.toml"), "--same-order"],
        "assess the original": ["assess", str(table), str(other), "--plan", str(kept / "plan.toml"), "--same-order"],
        "profile": ["profile", str(table), "--plan", str(kept / "plan.toml")],
        "profile guessed": ["profile", str(table)],
    }[command]
    in_batches = command == "mask in batches"
    with patch("anonto.engine.run._fits", return_value=False) if in_batches else nullcontext():
        seen = outcome([*words, "--memory", "500MB"] if in_batches else words)
    if found := fault_of(seen, [MARK]):
        return f"{command}: {found}"
    if table.read_bytes() != bad or other.read_bytes() != good:
        return f"{command}: an input was changed"
    left = {file.name for file in kept.iterdir()} - {"plan.toml", "table.csv", "other.csv"}
    if seen.code and left:
        return f"{command}: refused, and left {sorted(left)} behind"
    return None


@pytest.mark.filterwarnings("ignore")
def test_changed_bytes_of_text_tables_end_in_a_sentence(tmp_path: Path) -> None:
    all_hold("tables of text", 90, lambda number: fault_of_case(number, tmp_path))
