"""Properties of every method, found by going through the registry; a new method is tested by being registered."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anonto
from anonto.engine.memory import apply
from anonto.errors import AnontoWarning, InputError
from anonto.masking import fitted
from anonto.masking.plan import Plan
from anonto.methods.registry import METHODS, method_of, parameters_of
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 1 << 100
ILLNESSES = anonto.read_ontology("illnesses")
EXAMPLES: dict[str, dict[str, Any]] = {
    "random-swap": {},
    "frequency-swap": {"k": 3},
    "rank-swap-fixed": {"k": 3},
    "rank-swap": {"k": 3},
    "rank-swap-joint": {"k": 3},
    "group-swap": {"k": 3},
    "equi-depth-swap": {"k": 3},
    "equi-width-swap": {"bins": 2},
    "invariant-swap": {"rate": 0.7, "k": 5},
    "microaggregate": {"k": 3},
    "semantic-noise": {"noise_level": 0.3},
    "semantic-noise-joint": {"noise_level": 0.3},
    "taxonomy-exponential": {"epsilon": 2.0},
    "generalise": {"k": 3},
    "suppress": {"k": 3, "combinations": 2},
}
"""Parameters to try each method with."""

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


RECORDS_NEEDED = {"group-swap": 3, "microaggregate": 3, "generalise": 3, "suppress": 3}
"""Records of the example; fewer are refused, because what the method promises would not hold."""


WITHOUT_CHANCE = {"microaggregate", "generalise", "suppress"}
"""Methods that draw nothing: with another seed only equal records change their places."""


EMPTIES_CELLS = {"generalise", "suppress"}
"""Methods after which a cell may have no value any more; one that had none before has none afterwards."""


NEED_ONTOLOGY = {"semantic-noise", "semantic-noise-joint", "taxonomy-exponential"}
"""Methods that replace a nominal value by a concept, and so refuse a nominal column without an ontology."""


COLUMNS = {"taxonomy-exponential": ["illness"]}
"""Columns to try a method with that does not mask columns of every kind."""


def columns_for(method: str) -> list[str]:
    return COLUMNS.get(method, ["illness", "age", "pain"])


def moves_missing(method: str) -> bool:
    """Return whether missing cells change their rows like values."""
    return METHODS[method].moves_missing


def test_every_method_has_an_example() -> None:
    assert set(EXAMPLES) == set(METHODS)


@pytest.fixture(params=sorted(EXAMPLES))
def method(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def table(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "illness": rng.choice(["flu", "measles", "burn", "fracture", None], n).tolist(),
            "age": rng.integers(0, 90, n),
            "pain": rng.choice(["low", "mid", "high"], n),
            "note": [f"free text {i}" for i in range(n)],
        }
    )


def plan_for(method: str, columns: list[str] | None = None, **column_keys: Any) -> dict[str, Any]:
    return {
        "columns": {
            "name": {"role": "identifier"},
            "illness": {"ontology": ILLNESSES, **column_keys},
            "age": {"kind": "numeric"},
            "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
        },
        "steps": [{"method": method, "columns": columns or columns_for(method), **EXAMPLES[method]}],
    }


def test_the_same_seed_gives_the_same_table_and_another_seed_another(method: str) -> None:
    plan = plan_for(method)
    first, again, other = (anonto.mask(table(), plan, seed=seed).table for seed in (SEED, SEED, SEED + 1))
    assert first.equals(again)
    assert method in WITHOUT_CHANCE or not first.equals(other)


def test_without_a_seed_no_two_releases_are_alike(method: str) -> None:
    plan = plan_for(method)
    alike = anonto.mask(table(), plan).table.equals(anonto.mask(table(), plan).table)
    assert method in WITHOUT_CHANCE or not alike


def test_the_input_is_left_untouched(method: str) -> None:
    plan = plan_for(method)
    for make in (pl.DataFrame, pd.DataFrame, pa.table):
        given, before = make(table().to_dict(as_series=False)), make(table().to_dict(as_series=False))
        anonto.mask(given, plan, seed=SEED)
        assert given.equals(before)


def test_chunks_change_nothing(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(method)
    whole = anonto.mask(table(), plan, seed=SEED).table
    for size in (1, 7, 59):
        monkeypatch.setattr(apply, "_parts", lambda fitted, size=size: slices(0, fitted.counts.n_records, size))
        monkeypatch.setattr(fitted, "DRAWN_AT_ONCE", max(1, size // 2))
        assert anonto.mask(table(), plan, seed=SEED).table.equals(whole)


def test_columns_that_the_plan_does_not_name_come_back_as_they_were(method: str) -> None:
    release = anonto.mask(table(), plan_for(method), seed=SEED)
    assert release.table["note"].equals(table()["note"])
    as_is = [name for name in ("age", "pain") if name not in columns_for(method)]
    assert release.evidence["released_as_is"] == [*as_is, "note"]


def test_identifiers_are_dropped(method: str) -> None:
    release = anonto.mask(table(), plan_for(method), seed=SEED)
    assert release.table.columns == ["illness", "age", "pain", "note"]
    assert release.evidence["dropped_columns"] == ["name"]


def test_missing_cells_are_kept_dropped_or_refused_by_policy(method: str) -> None:
    given = table()
    n_missing = given["illness"].null_count()
    kept = anonto.mask(given, plan_for(method, missing="keep"), seed=SEED)
    if method in EMPTIES_CELLS:
        assert kept.table["illness"].filter(given["illness"].is_null()).null_count() == n_missing
    else:
        stays = kept.table["illness"].is_null().equals(given["illness"].is_null())
        assert stays is not moves_missing(method)
        assert kept.table["illness"].null_count() == n_missing
    assert kept.evidence["steps"][0]["missing"]["illness"] == n_missing
    dropped = anonto.mask(given, plan_for(method, missing="drop"), seed=SEED)
    assert dropped.table["illness"].null_count() == 0 or method in EMPTIES_CELLS
    assert (len(dropped.table), dropped.evidence["dropped_records"]) == (len(given) - n_missing, n_missing)
    with pytest.raises(InputError, match=f"Column 'illness' has {n_missing} missing cells"):
        anonto.mask(given, plan_for(method, missing="refuse"), seed=SEED)


def test_texts_that_mean_missing_stay_in_their_rows(method: str) -> None:
    given = table().with_columns(pl.col("illness").fill_null("?"))
    masked = anonto.mask(given, plan_for(method, na=["?"]), seed=SEED).table
    if method in EMPTIES_CELLS:  # A cell that loses its value then looks like one that had none.
        assert set(masked["illness"].filter(given["illness"] == "?")) == {"?"}
        assert masked["illness"].null_count() == 0
        return
    stays = (masked["illness"] == "?").equals(given["illness"] == "?")
    assert stays is not moves_missing(method)
    assert (masked["illness"] == "?").sum() == (given["illness"] == "?").sum()


def test_unmatched_cells_follow_their_policy(method: str) -> None:
    given = table().with_columns(pl.col("illness").fill_null("secret code"))
    odd = given["illness"] == "secret code"
    kept = anonto.mask(given, plan_for(method, unmatched="keep"), seed=SEED)
    is_odd = (kept.table["illness"] == "secret code").fill_null(value=False)
    assert is_odd.equals(odd) is not moves_missing(method)
    assert is_odd.sum() == odd.sum()
    stayed = odd & is_odd
    assert kept.evidence["steps"][0]["unmatched"]["illness"] == stayed.sum()
    dropped = anonto.mask(given, plan_for(method, unmatched="drop"), seed=SEED)
    assert len(dropped.table) == len(given) - odd.sum()
    with pytest.raises(InputError, match="1 distinct value of column 'illness'") as caught:
        anonto.mask(given, plan_for(method), seed=SEED)
    assert "secret" not in str(caught.value)


def test_relabelled_concepts_give_relabelled_output(method: str) -> None:
    """Names mean nothing to a method as long as their order stays."""
    from strategies import taxonomy_of

    renamed = {concept: f"x-{concept}" for concept in ILLNESSES.ids}
    parents = {renamed[c]: tuple(renamed[p] for p in ILLNESSES.parents(c)) for c in ILLNESSES.ids}
    plain = anonto.mask(table(), plan_for(method, ["illness"]), seed=SEED).table
    relabelled_plan = plan_for(method, ["illness"])
    relabelled_plan["columns"]["illness"]["ontology"] = taxonomy_of(parents)
    given = table().with_columns(pl.col("illness").replace(renamed))
    relabelled = anonto.mask(given, relabelled_plan, seed=SEED).table
    assert relabelled["illness"].equals(plain["illness"].replace(renamed))


def test_parameters_survive_toml(method: str) -> None:
    plan = plan_for(method)
    plan["columns"]["illness"]["ontology"] = "illnesses"
    whole = Plan.from_dict(plan)
    import tomllib

    assert Plan.from_dict(tomllib.loads(whole.to_toml())) == whole
    built = method_of(method, EXAMPLES[method])
    assert method_of(method, parameters_of(built)) == built


def test_messages_never_carry_a_cell(method: str) -> None:
    given = pl.DataFrame({"secret": ["Jane Doe", "Joe Bloggs", None, "12"]})
    for keys in (
        {"kind": "numeric"},
        {"ontology": ILLNESSES},
        {"kind": "ordinal", "order": ["a"]},
        {"missing": "refuse"},
    ):
        plan = {"columns": {"secret": keys}, "steps": [{"method": method, "columns": ["secret"], **EXAMPLES[method]}]}
        with pytest.raises(InputError) as caught:
            anonto.mask(given, plan, seed=SEED)
        assert not any(word in str(caught.value) for word in ("Jane", "Joe", "12"))


def test_warnings_never_carry_a_cell(method: str) -> None:
    given = pl.DataFrame({"secret": ["Jane Doe", "Joe Bloggs"] * 2, "other": ["Jim", "Jay"] * 2})
    plan = {"columns": {}, "steps": [{"method": method, "columns": ["secret"], **EXAMPLES[method]}]}
    if method in NEED_ONTOLOGY:
        with pytest.raises(InputError, match="needs column 'secret' to be nominal with one ontology"):
            anonto.mask(given, plan, seed=5)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        anonto.mask(given, plan, seed=5)
    assert any(isinstance(w.message, AnontoWarning) for w in caught)
    assert not any(word in str(w.message) for w in caught for word in ("Jane", "Joe", "Jim"))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_tiny_tables_are_masked_without_complaint(method: str, n: int) -> None:
    if 0 < n < RECORDS_NEEDED.get(method, 0):
        with pytest.raises(InputError, match="mask more records at once"):
            anonto.mask(table().head(n), plan_for(method, ["age", "pain"]), seed=SEED)
        return
    given = table().drop_nulls() if method in COLUMNS else table()
    release = anonto.mask(given.head(n), plan_for(method, COLUMNS.get(method, ["age", "pain"])), seed=SEED)
    assert len(release.table) == n
    assert release.evidence["n_records"] == n


@pytest.mark.parametrize("method", sorted(set(EXAMPLES) - {"taxonomy-exponential"}))
def test_one_distinct_value_stays_and_loses_nothing(method: str) -> None:
    given = pl.DataFrame({"illness": ["flu"] * 9})
    plan = {"columns": {"illness": {"ontology": ILLNESSES}}, "steps": plan_for(method, ["illness"])["steps"]}
    release = anonto.mask(given, plan, seed=SEED)
    assert release.table.equals(given)
    assert release.evidence["steps"][0]["rmse"] == {"illness": 0.0}
    assert release.evidence["steps"][0]["unchanged"] == {"illness": 9}


def test_the_evidence_matches_the_released_table(method: str) -> None:
    given = table()
    release = anonto.mask(given, plan_for(method), seed=SEED)
    step = release.evidence["steps"][0]
    masked = release.table
    for name in columns_for(method):
        same = (masked[name].cast(pl.String) == given[name].cast(pl.String)).sum()
        assert step["unchanged"][name] == same
    texts = masked.cast(pl.String), given.cast(pl.String)
    records = pl.DataFrame([texts[0][name].eq_missing(texts[1][name]).alias(name) for name in columns_for(method)])
    assert step["unchanged_records"] == records.select(pl.all_horizontal(pl.all())).to_series().sum()
    pairs = zip(given["illness"], masked["illness"], strict=True)
    moved = [(a, b) for a, b in pairs if a is not None or b is not None]
    squares = [(a != b) if None in (a, b) else ILLNESSES.distance(a, b) ** 2 for a, b in moved]
    assert step["rmse"]["illness"] == pytest.approx(np.sqrt(np.mean(squares)), abs=1e-12)
    assert step["guarantee"]["proved"] in (True, False)
    if "age" in columns_for(method):
        ages = np.array([*map(in_the_middle(given["age"]), masked["age"])]) - given["age"].to_numpy()
        ages = np.nan_to_num(np.abs(ages) / np.ptp(given["age"].to_numpy()), nan=1.0)
        assert step["rmse"]["age"] == pytest.approx(np.sqrt(np.mean(ages**2)), abs=1e-12)


def in_the_middle(numbers: pl.Series) -> Callable[[Any], float]:
    """A function from a released number or interval to a number inside the range of some; NaN for no value."""

    def middle(cell: Any) -> float:
        if cell is None or cell == "*":
            return np.nan
        bounds = [float(bound) for bound in str(cell).strip("[)").split(", ")]
        return float(np.mean(np.clip(bounds, numbers.min(), numbers.max()) if len(bounds) > 1 else bounds))

    return middle


def test_the_evidence_is_plain_json_and_has_no_seed(method: str) -> None:
    import json

    release = anonto.mask(table(), plan_for(method), seed=SEED)
    text = json.dumps(release.evidence)
    assert str(SEED) not in text
    assert str(SEED) not in repr(release)


def test_every_kind_of_table_gives_the_same_cells_and_its_own_kind_back(method: str) -> None:
    plan = plan_for(method)
    expected = anonto.mask(table(), plan, seed=SEED).table.to_dict(as_series=False)
    pandas = anonto.mask(table().to_pandas(), plan, seed=SEED).table
    assert isinstance(pandas, pd.DataFrame)
    assert pl.from_pandas(pandas).to_dict(as_series=False) == expected
    arrow = anonto.mask(table().to_arrow(), plan, seed=SEED).table
    assert isinstance(arrow, pa.Table)
    assert arrow.to_pydict() == expected


@pytest.mark.parametrize("method", [name for name in sorted(EXAMPLES) if "swap" in name])
def test_swaps_keep_every_frequency(method: str) -> None:
    given = table()
    masked = anonto.mask(given, plan_for(method), seed=SEED).table
    for name in ("illness", "age", "pain"):
        assert Counter(masked[name].to_list()) == Counter(given[name].to_list())
