"""The attacks by name: our own, and one that another package brings."""

from __future__ import annotations

import json
import sys
from importlib import invalidate_caches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto
from anonto.attacks.registry import OWN, attacks, is_linkage, measured_by
from anonto.errors import AnontoWarning
from anonto.report.views import on_cells, scenarios
from anonto.web.words import attack_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SEED = 1 << 90
PLAN: dict[str, Any] = {
    "columns": {"age": {"kind": "numeric"}, "ward": {"role": "confidential"}},
    "steps": [{"method": "rank-swap", "columns": ["age"], "k": 5}],
}
PLUGIN = '''
from anonto.attacks.attack import Attack
from anonto.attacks.rate import Risk


class LuckyGuess(Attack):
    """Takes a row drawn at random."""

    name = "{name}"
    title = "A lucky guess"
    summary = "Takes any row."
    knows = "That a person is in the table."
    does = "Takes a released row drawn at random."
    verdict = "takes any row"
    is_linkage = True
    of_known_columns = True
    persons = 30

    def run(self, situation, rng):
        chosen = situation.choose_persons(self.persons)
        hits = int((rng.integers(0, situation.compared.n_records, chosen.size) == chosen).sum())
        rate = hits / chosen.size
        names = tuple(column.name for column in situation.known)
        return [
            Risk(
                attack=self.name, knowledge="nothing", columns=names, rate=rate, low=0.0, high=1.0,
                baseline=1 / situation.compared.n_records, n=int(chosen.size),
            )
        ]
'''


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A package with an attack in a folder of the path, as an installer leaves it."""
    (folder / "lucky_guess.py").write_text(PLUGIN.replace("{name}", name))
    info = folder / "lucky_guess-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lucky-guess\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[anonto.attacks]\nlucky = lucky_guess:LuckyGuess\n")
    monkeypatch.syspath_prepend(str(folder))
    invalidate_caches()
    attacks.cache_clear()


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    attacks.cache_clear()
    sys.modules.pop("lucky_guess", None)


@pytest.fixture
def table() -> pl.DataFrame:
    return pl.DataFrame({"age": [*range(60)], "ward": ["a", "b", "c"] * 20})


def found_in(table: pl.DataFrame) -> anonto.Assessment:
    return anonto.assess(table, anonto.mask(table, PLAN, seed=SEED).table, PLAN)


def test_our_own_attacks_are_there_by_name_in_the_order_in_which_they_are_tried() -> None:
    assert list(anonto.attacks()) == [one.name for one in OWN]
    assert len({one.name for one in OWN}) == len(OWN)


@pytest.mark.parametrize("name", [one.name for one in OWN])
def test_every_attack_says_what_the_intruder_knows_and_does(name: str) -> None:
    attack = anonto.attacks()[name]
    for said in (attack.title, attack.summary, attack.knows, attack.does):
        assert said[0].isupper()
    assert bool(attack.verdict) == attack.is_linkage
    page = (Path(__file__).parents[3] / "docs" / "reference" / "assessment.md").read_text()
    assert "<!-- table of attacks -->" in page  # the documentation makes it from the classes


def test_an_attack_of_another_package_is_run_and_reported_like_our_own(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = found_in(table)
    install(tmp_path, monkeypatch, "lucky-guess")
    assert list(anonto.attacks()) == [*(one.name for one in OWN), "lucky-guess"]
    assert is_linkage("lucky-guess")
    found = found_in(table)
    lucky = [one for one in found.risk if one.attack == "lucky-guess"]
    assert {one.columns for one in lucky} == {one.columns for one in found.risk if one.attack == "distance-linkage"}
    assert {one.n for one in lucky} == {30}
    assert [one.to_dict() for one in found.risk if one not in lucky] == [one.to_dict() for one in before.risk]
    assert [one.to_dict() for one in found_in(table).risk] == [one.to_dict() for one in found.risk]
    found.to_json(tmp_path / "report.json")
    rows: list[Mapping[str, Any]] = json.loads((tmp_path / "report.json").read_text())["attacks"]
    row = next(one for one in rows if one["attack"] == "lucky-guess")
    assert row["what"] == "Takes a released row drawn at random."
    assert "linked to their own record" in row["reading"]
    found.to_html(tmp_path / "report.html")
    assert "Takes a released row drawn at random." in (tmp_path / "report.html").read_text()
    assert attack_words(row) == ("A lucky guess", "Takes any row.")


def test_an_attack_of_another_package_is_listed_by_what_it_measures(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PLUGIN", PLUGIN.replace("is_linkage = True", 'measures = "cells"'))
    install(tmp_path, monkeypatch, "lucky-guess")
    found = found_in(table)
    found.to_json(tmp_path / "report.json")
    rows: list[Mapping[str, Any]] = json.loads((tmp_path / "report.json").read_text())["attacks"]
    assert list(on_cells(rows)) == ["lucky-guess", "interval-disclosure"]
    of_persons = {one["attack"] for own in scenarios(rows).values() for one in own}
    assert not {"lucky-guess", "interval-disclosure"} & of_persons
    found.to_html(tmp_path / "report.html")
    assert "<code>lucky-guess</code>: a released cell" in (tmp_path / "report.html").read_text()
    assert (measured_by("real-k"), measured_by("gone")) == ("classes", "persons")


def test_an_attack_that_takes_the_name_of_another_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = attacks()["real-k"]
    install(tmp_path, monkeypatch, "real-k")
    with pytest.warns(AnontoWarning, match="attack 'lucky' .*lucky_guess:LuckyGuess.* is ignored: there is"):
        assert anonto.attacks()["real-k"] is own


def test_an_attack_that_cannot_be_loaded_breaks_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(attacks())
    install(tmp_path, monkeypatch, "lucky-guess")
    (tmp_path / "lucky_guess.py").write_text("raise RuntimeError('broken')")
    with pytest.warns(AnontoWarning, match="is ignored: RuntimeError: broken"):
        assert list(anonto.attacks()) == before
