"""Records and releases with bytes changed, and cells that are no text, given to what looks for a record."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fuzz.harness import TOKENS, all_hold, fault_of, mutated, outcome, rng_of

if TYPE_CHECKING:
    from pathlib import Path

PLAN = """
[columns.name]
role = "identifier"

[columns.illness]
ontology = "illnesses"
unmatched = "keep"

[columns.age]
kind = "numeric"

[[steps]]
method = "rank-swap"
columns = ["illness", "age"]
k = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def table(n_rows: int) -> bytes:
    rng = np.random.default_rng(5)
    rows = [f"Person{n},{rng.choice(['flu', 'measles', 'burn'])},{rng.integers(90)},free{n}" for n in range(n_rows)]
    return "\n".join(["name,illness,age,stay", *rows, ""]).encode()


def word(name: str, value: bytes, rng: np.random.Generator) -> str:
    """A word as the system hands it to a program: bytes that are no text become halves of characters."""
    content = name.encode() + b"=" + value
    return os.fsdecode((mutated(content, rng) if rng.integers(2) else content).replace(b"\x00", b""))


def test_no_record_or_release_crashes_verify(folder: Path) -> None:
    plan = f"--plan={folder / 'plan.toml'}"

    def fault(number: int) -> str | None:
        rng = rng_of("verify", number)
        record, release = table(1), table(30)
        chosen = int(rng.integers(4))
        if chosen == 0:
            record = mutated(record, rng)
        elif chosen == 1:
            release = mutated(release, rng)
        (folder / "one.csv").write_bytes(record)
        (folder / "masked.csv").write_bytes(release)
        words = ["verify", str(folder / "one.csv"), str(folder / "masked.csv"), plan]
        if chosen >= 2:
            values = [TOKENS[int(n)] for n in rng.integers(len(TOKENS), size=3)]
            cells = zip(("illness", "age", "stay"), values, strict=True)
            words += [f"--set={word(name, value, rng)}" for name, value in cells]
            if chosen == 3:
                words.remove(str(folder / "one.csv"))
        if rng.integers(4) == 0:
            words.append("--json")
        return fault_of(outcome(words), secrets=["Person", "free2"])

    all_hold("verify", 40, fault)
