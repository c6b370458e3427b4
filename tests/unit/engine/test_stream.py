"""Records that come later: masked as they would have been at once, one by one, in batches, and with new values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.errors import (
    AllMissingError,
    AnontoWarning,
    ColumnError,
    GuessableSeedWarning,
    OntologyError,
    ParameterError,
    PlanError,
    ReleasedAsIsWarning,
    UnmatchedValuesError,
)
from budget import examples

SEED = 1 << 100
ILLNESSES = anonto.read_ontology("illnesses")
PARAMETERS = {
    "semantic-noise": {"noise_level": 0.4},
    "semantic-noise-joint": {"noise_level": 0.4, "distribution": "laplace"},
    "taxonomy-exponential": {"epsilon": 2.0},
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::anonto.errors.ReleasedAsIsWarning", "ignore:.*are released unchanged:anonto.errors.AnontoWarning"
    ),
]


def table(n: int = 90) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "illness": rng.choice(["flu", "measles", "burn", "fracture", None], n).tolist(),
            "second": rng.choice(["Influenza", "injury", "burn", None], n).tolist(),
            "age": rng.integers(0, 90, n),
            "weight": [f"{w:.2f}" for w in rng.normal(70, 10, n)],
            "pain": rng.choice(["low", "mid", "high"], n),
            "note": [f"free text {i}" for i in range(n)],
        }
    ).with_columns(pl.col("second").replace({"Influenza": ILLNESSES.label("flu")}))


def plan_for(method: str, **keys: Any) -> dict[str, Any]:
    nominal = ["illness", "second"]
    columns = nominal if method == "taxonomy-exponential" else [*nominal, "age", "weight", "pain"]
    return {
        "columns": {
            "name": {"role": "identifier"},
            "illness": {"ontology": ILLNESSES, **keys},
            "second": {"ontology": ILLNESSES},
            "age": {"kind": "numeric"},
            "weight": {"kind": "numeric"},
            "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
        },
        "steps": [{"method": method, "columns": columns, **PARAMETERS[method]}],
    }


def as_polars(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pd.DataFrame):
        return pl.from_pandas(frame)
    return frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)


@pytest.fixture(params=sorted(PARAMETERS))
def method(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_batches_are_what_masking_all_at_once_gives(method: str, kind: str) -> None:
    plan, given = plan_for(method), table()
    make = {"polars": pl.DataFrame, "pandas": pl.DataFrame.to_pandas, "pyarrow": pl.DataFrame.to_arrow}[kind]
    whole = anonto.mask(given, plan, seed=SEED).table
    stream = anonto.stream(given, plan, seed=SEED)
    parts = [stream.mask(make(given[start:stop])) for start, stop in ((0, 1), (1, 2), (2, 40), (40, 40), (40, 90))]
    assert {type(part) for part in parts} == {type(make(given))}
    assert stream.n_rows == 90
    assert pl.concat([as_polars(part).cast(whole.schema) for part in parts]).equals(whole)


@settings(max_examples=examples(15))
@given(cuts=st.lists(st.integers(0, 90), max_size=6), order=st.randoms(use_true_random=False))
def test_batches_may_come_in_any_order_if_their_rows_are_numbered(cuts: list[int], order: Any) -> None:
    plan, given = plan_for("semantic-noise-joint"), table()
    whole = anonto.mask(given, plan, seed=SEED).table
    stream = anonto.stream(given, plan, seed=SEED)
    edges = sorted({0, 90, *cuts})
    parts = list(itertools.pairwise(edges))
    order.shuffle(parts)
    for start, stop in parts:
        assert stream.mask(given[start:stop], first_row=start).equals(whole[start:stop])
    assert stream.n_rows == 90


def test_a_record_that_comes_again_with_its_number_is_masked_alike(method: str) -> None:
    stream = anonto.stream(table(), plan_for(method), seed=SEED)
    first = stream.mask(table()[:7])
    assert stream.mask(table()[:7], first_row=0).equals(first)
    assert not stream.mask(table()[:7]).equals(first)
    assert stream.n_rows == 14


def test_values_that_the_reference_does_not_have_are_masked_too(method: str) -> None:
    given = table()
    reference = given.filter(pl.col("illness").is_in(["flu", "burn"]) & (pl.col("age") < 50))
    plan = plan_for(method)
    stream = anonto.stream(reference, plan, seed=SEED)
    at_once = stream.mask(given)
    again = anonto.stream(reference, plan, seed=SEED)
    one_by_one = pl.concat([again.mask(given[n : n + 1]) for n in range(len(given))])
    assert at_once.equals(one_by_one)
    assert set(at_once["illness"].drop_nulls()) <= set(ILLNESSES.ids)
    assert at_once["illness"].is_null().equals(given["illness"].is_null())
    new = given["illness"].is_in(["measles", "fracture"]).fill_null(value=False)
    assert (at_once["illness"].filter(new) != given["illness"].filter(new)).any()


def test_learned_values_do_not_change_with_later_batches() -> None:
    """A batch of one single value has no variance; its noise is that of the reference."""
    plan = plan_for("semantic-noise")
    stream = anonto.stream(table(), plan, seed=SEED)
    flat = pl.concat([table()[:1].with_columns(illness=pl.lit("flu"), age=pl.lit(50, pl.Int64))] * 60)
    out = stream.mask(flat)
    assert out["illness"].n_unique() > 1
    assert out["age"].std() == pytest.approx(np.sqrt(0.4) * table()["age"].std(), rel=0.3)


def test_policies_hold_for_batches(method: str) -> None:
    given = table()
    dropping = anonto.stream(given, plan_for(method, missing="drop"), seed=SEED)
    whole = anonto.mask(given, plan_for(method, missing="drop"), seed=SEED).table
    assert pl.concat([dropping.mask(given[:31]), dropping.mask(given[31:])]).equals(whole)
    refusing = anonto.stream(given.drop_nulls("illness"), plan_for(method, missing="refuse"), seed=SEED)
    with pytest.raises(ColumnError, match="missing = 'refuse'"):
        refusing.mask(given)
    odd = given.with_columns(illness=pl.lit("secret code"))
    with pytest.raises(UnmatchedValuesError) as caught:
        anonto.stream(given, plan_for(method), seed=SEED).mask(odd)
    assert "secret" not in str(caught.value)
    kept = anonto.stream(given, plan_for(method, unmatched="keep"), seed=SEED).mask(odd)
    assert kept["illness"].equals(odd["illness"])


def test_a_batch_in_which_a_column_is_all_missing_passes(method: str) -> None:
    stream = anonto.stream(table(), plan_for(method), seed=SEED)
    lost = table()[:3].with_columns(illness=pl.lit(None, pl.String), age=pl.lit(None, pl.Int64))
    out = stream.mask(lost)
    assert out["illness"].is_null().all()
    assert len(out) == 3


def test_a_failed_batch_leaves_the_stream_as_it_was() -> None:
    stream = anonto.stream(table(), plan_for("semantic-noise"), seed=SEED)
    first = anonto.stream(table(), plan_for("semantic-noise"), seed=SEED).mask(table()[:5])
    with pytest.raises(UnmatchedValuesError):
        stream.mask(table().with_columns(illness=pl.lit("secret code")))
    assert stream.n_rows == 0
    assert stream.mask(table()[:5]).equals(first)


def test_files_are_read_as_references_and_as_batches(tmp_path: Any) -> None:
    table().write_csv(tmp_path / "table.csv")
    plan = plan_for("semantic-noise-joint")
    whole = anonto.mask(tmp_path / "table.csv", plan, seed=SEED).table
    assert anonto.stream(tmp_path / "table.csv", plan, seed=SEED).mask(tmp_path / "table.csv").equals(whole)


def test_without_a_seed_no_two_streams_are_alike_and_a_short_one_is_warned_about() -> None:
    plan = plan_for("semantic-noise")
    assert not anonto.stream(table(), plan).mask(table()).equals(anonto.stream(table(), plan).mask(table()))
    with pytest.warns(GuessableSeedWarning):
        anonto.stream(table(), plan, seed=5)


def test_unconfirmed_columns_are_warned_about_once_unless_they_are_dropped() -> None:
    plan = plan_for("semantic-noise", review=True)
    plan["columns"]["name"]["review"] = True
    with pytest.warns(
        AnontoWarning, match="confirmed the plan's description of 1 released column, .*: illness; "
    ) as told:
        stream = anonto.stream(table(), plan, seed=SEED)
    assert [one.filename for one in told if "Nobody has confirmed" in str(one.message)] == [__file__]
    assert stream.mask(table()).height == table().height


def test_columns_that_leave_as_they_are_are_warned_about() -> None:
    plan = plan_for("semantic-noise")
    with pytest.warns(ReleasedAsIsWarning, match="because the plan does not name them: note, ssn") as told:
        anonto.stream(table().with_columns(ssn=pl.lit("1")), plan, seed=SEED)
    assert [one.filename for one in told if one.category is ReleasedAsIsWarning] == [__file__]


def test_cells_of_the_reference_without_a_concept_are_warned_about() -> None:
    plan = plan_for("semantic-noise", unmatched="keep")
    unknown = table().with_columns(illness=pl.concat([pl.Series(["Mr Smith"]), table()["illness"][1:]]))
    with pytest.warns(AnontoWarning, match="Cells without a concept .*1 of 'illness'") as told:
        anonto.stream(unknown, plan, seed=SEED)
    assert "Smith" not in str(told[0].message)


def test_the_stream_is_shown_without_its_secret_and_its_data() -> None:
    stream = anonto.stream(table(), plan_for("semantic-noise"), seed=SEED)
    assert isinstance(stream, anonto.Stream)
    stream.mask(table()[:3])
    assert repr(stream) == "<Stream: 5 columns masked, 3 rows so far>"


def test_methods_that_need_all_records_are_refused_with_those_that_do_not() -> None:
    plan = {"steps": [{"method": "random-swap", "columns": ["illness"]}]}
    with pytest.raises(PlanError, match=r"random-swap must see all records.*semantic-noise-joint"):
        anonto.stream(table(), plan, seed=SEED)


@pytest.mark.parametrize("first_row", [-1, 2.5, True, "3"])
def test_a_first_row_that_is_not_a_row_number_is_refused(first_row: Any) -> None:
    stream = anonto.stream(table(), plan_for("semantic-noise"), seed=SEED)
    with pytest.raises(ParameterError, match="first_row must be a whole number, 0 or more"):
        stream.mask(table(), first_row)


def test_a_batch_without_a_column_or_outside_the_root_and_an_empty_reference_are_refused() -> None:
    plan = plan_for("semantic-noise")
    stream = anonto.stream(table(), plan, seed=SEED)
    with pytest.raises(ColumnError, match="The table has no column"):
        stream.mask(table().drop("age"))
    with pytest.raises(AllMissingError, match="give at least one record"):
        anonto.stream(table()[:0], plan, seed=SEED)
    for root in ("infection", "lcs"):
        inside = table().with_columns(illness=pl.lit("flu"))
        inside[0, "illness"] = "measles"
        narrow = anonto.stream(inside, plan_for("semantic-noise", root=root), seed=SEED)
        with pytest.raises(OntologyError, match="outside the declared root"):
            narrow.mask(table().with_columns(illness=pl.lit("burn")))


def test_levels_of_records_end_with_the_reference() -> None:
    plan = plan_for("semantic-noise")
    plan["steps"][0]["noise_level"] = [0.0, 0.5] * 45
    stream = anonto.stream(table(), plan, seed=SEED)
    assert stream.mask(table()).equals(anonto.mask(table(), plan, seed=SEED).table)
    with pytest.raises(ParameterError, match="come after those of the reference"):
        stream.mask(table()[:1])


def test_arrow_categories_take_new_values() -> None:
    given = table().with_columns(pl.col("illness").cast(pl.Categorical))
    plan = plan_for("semantic-noise")
    stream = anonto.stream(given, plan, seed=SEED)
    for batch in (given.to_arrow(), given.to_pandas(), given):
        out = stream.mask(batch, first_row=0)
        cells = out["illness"].to_pylist() if isinstance(out, pa.Table) else list(as_polars(out)["illness"])
        assert cells == anonto.mask(table(), plan, seed=SEED).table["illness"].to_list()


def test_a_batch_has_no_category_but_those_of_its_masked_cells() -> None:
    given = table().with_columns(pl.col("illness").cast(pl.Categorical))
    stream = anonto.stream(given, plan_for("semantic-noise"), seed=SEED)
    batch = given.to_pandas()[:5]
    batch["illness"] = batch["illness"].cat.add_categories(["an illness that is gone"])
    masked = stream.mask(batch, first_row=0)["illness"]
    assert masked.cat.categories.tolist() == sorted(set(masked.dropna()))


def test_the_type_of_numbers_in_categories_does_not_depend_on_what_a_batch_changes() -> None:
    reference = pd.DataFrame({"age": [1.0, 2.0, 5.0]})
    batch = pd.DataFrame({"age": pd.Categorical([1.0, 2.0])})
    columns = {"age": {"kind": "numeric"}}
    kinds = set()
    for level in (0.0, 0.5):
        step = {"method": "semantic-noise", "columns": ["age"], "noise_level": level}
        masked = anonto.stream(reference, {"columns": columns, "steps": [step]}, seed=SEED).mask(batch)
        kinds.add(str(masked["age"].cat.categories.dtype))
    assert len(kinds) == 1
