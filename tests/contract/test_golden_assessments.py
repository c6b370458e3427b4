"""The results of `assess` for every method's release of one table: a change of the code changes none of it.

The digests of findings, risks and losses stand in `golden_assessments.json`, numbers rounded to nine digits. An
assessment that should change gets a line in the changelog, and the file is written again:

    cd tests && python -m contract.test_golden_assessments
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from pathlib import Path

import pytest

import anonto
from contract.test_golden_releases import METHODS, SEED, plan_for, table

GOLDEN = Path(__file__).with_name("golden_assessments.json")


def digest(found: anonto.Assessment) -> dict[str, str]:
    """Hashes of the findings, of the results of each attack, and of the losses."""
    plain = json.loads(json.dumps(found.to_dict()), parse_float=lambda text: f"{float(text):.9g}")
    by_attack: dict[str, list[object]] = {}
    for one in plain.pop("risk"):
        by_attack.setdefault(one["attack"], []).append(one)
    return {
        name: hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]
        for name, part in (plain | by_attack).items()
    }


def assessments(method: str, folder: Path) -> dict[str, dict[str, str]]:
    """The digests of what is found in memory, and of a saved release with its private record."""
    original, plan = table(), plan_for(method)
    saved = folder / f"{method}.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = anonto.mask(original, plan, seed=SEED)
        release.save(saved)
        other = anonto.mask(original, plan, seed=SEED + 1).table
        return {
            "in memory": digest(anonto.assess(original, release.table, plan, predict="age")),
            "with the private record": digest(
                anonto.assess(original, saved, plan, private=f"{saved}.private.json", seed=3)
            ),
            "with a second release": digest(anonto.assess(original, release.table, plan, second=(other, plan))),
        }


@pytest.mark.parametrize("method", METHODS)
def test_assess_finds_of_a_method_what_it_found_before(method: str, tmp_path: Path) -> None:
    golden = json.loads(GOLDEN.read_text())
    assert assessments(method, tmp_path) == golden[method]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        GOLDEN.write_text(json.dumps({one: assessments(one, Path(scratch)) for one in METHODS}, indent=1) + "\n")
