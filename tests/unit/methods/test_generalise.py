"""Generalisation: the best levels, classes of k, and cells that stay true."""

from __future__ import annotations

import datetime as dt
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.assessment.in_memory import compare_in_memory, open_encoded
from anonto.encoding.generalised_cells import read_intervals
from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.errors import InputError
from anonto.masking.plan import plan_of
from anonto.methods import lattice
from anonto.methods.hierarchies import hierarchy_of, round_width
from anonto.utility.columns import column_losses
from budget import examples
from strategies import hierarchies, taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.methods.hierarchies import Hierarchy

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
ILLNESSES = anonto.read_ontology("illnesses")
SEED = 1 << 100
COLUMNS = ["code", "age", "pain", "ward"]
ORDER = ["low", "mid", "high", "worst"]


@st.composite
def tables(draw: st.DrawFn) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A small table with a column of each kind, some cells missing, and the columns of its plan."""
    parents = draw(hierarchies(max_concepts=8))
    n = draw(st.integers(4, 14))

    def cells(values: Sequence[Any], *, gaps: bool) -> list[Any]:
        found = draw(st.lists(st.sampled_from([*values, *([None] if gaps else [])]), min_size=n, max_size=n))
        return [values[0], *found[1:]]

    frame = pl.DataFrame(
        {
            "code": cells(sorted(parents), gaps=draw(st.booleans())),
            "age": cells([1, 4, 17, 18, 19, 55], gaps=False),
            "pain": cells(ORDER, gaps=False),
            "ward": cells(["A", "B", "C"], gaps=False),
        },
        schema_overrides={"age": pl.Int64},
    )
    columns = {
        "code": {"ontology": taxonomy_of(parents)},
        "age": {"kind": "numeric"},
        "pain": {"kind": "ordinal", "order": ORDER},
        "ward": {},
    }
    return frame, columns


def generalised(frame: pl.DataFrame, columns: dict[str, Any], **parameters: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    step = {"method": "generalise", "columns": list(columns), **parameters}
    release = anonto.mask(frame, {"columns": columns, "steps": [step]}, seed=SEED)
    return release.table, release.evidence["steps"][0]


def smallest_class(frame: pl.DataFrame) -> int:
    return int(frame.group_by(pl.all()).len()["len"].min())  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ the best levels


def losses_of_all_nodes(leveled: list[lattice.Leveled], counts: np.ndarray, k: int, budget: int) -> list[float]:
    """The loss of every node that keeps to k, one after the other."""
    losses = []
    for node in product(*(range(len(one.groups)) for one in leveled)):
        keys = list(zip(*(one.groups[level].tolist() for one, level in zip(leveled, node, strict=True)), strict=True))
        rows: dict[Any, int] = {}
        for key, count in zip(keys, counts.tolist(), strict=True):
            rows[key] = rows.get(key, 0) + count
        small = {key for key, n in rows.items() if n < k}
        for key in sorted(rows, key=lambda one: rows[one]):
            n_small = sum(rows[one] for one in small)
            if 0 < n_small < k and key not in small:
                small.add(key)
        if sum(rows[key] for key in small) > budget:
            continue
        loss = 0.0
        for record, key in enumerate(keys):
            for one, level in zip(leveled, node, strict=True):
                lost = one.present[record] if key in small else one.losses[level][record]
                loss += counts[record] * lost
        losses.append(loss)
    return losses


@st.composite
def leveled_records(draw: st.DrawFn) -> tuple[list[lattice.Leveled], np.ndarray]:
    """Records with nested levels and any losses up to 1, which need not grow with the level."""
    n = draw(st.integers(1, 9))
    counts = np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), dtype=np.int64)
    leveled = []
    for _ in range(draw(st.integers(1, 3))):
        groups = [np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=np.int32)]
        for joined in draw(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), max_size=2)):
            groups.append(np.array(joined, dtype=np.int32)[groups[-1]])
        groups.append(np.zeros(n, dtype=np.int32))
        losses = [np.array(draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))) / 8.0 for _ in groups]
        leveled.append(lattice.Leveled(tuple(groups), tuple(losses), np.ones(n)))
    return leveled, counts


@given(records=leveled_records(), k=st.integers(1, 5), share=st.sampled_from([0.0, 0.2, 0.5]))
def test_no_node_of_the_lattice_loses_less(records: tuple[Any, Any], k: int, share: float) -> None:
    leveled, counts = records
    n_rows = int(counts.sum())
    k = min(k, n_rows)
    budget = int(share * n_rows)
    found = lattice.best_node(leveled, counts, lattice.Asked(k, budget))
    assert found is not None
    everything = losses_of_all_nodes(leveled, counts, k, budget)
    assert found.look.loss == pytest.approx(min(everything), abs=1e-8)
    assert found.bound == found.look.loss


@given(records=leveled_records(), k=st.integers(1, 5))
def test_a_lattice_that_is_too_large_gets_a_bound_that_holds(records: tuple[Any, Any], k: int) -> None:
    leveled, counts = records
    k = min(k, int(counts.sum()))
    best = min(losses_of_all_nodes(leveled, counts, k, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "MOST_NODES", 1)
        found = lattice._LatticeSearch(leveled, counts, lattice.Asked(k, 0))
        assert found.look(found.top) is not None
        found.walk_down()
        found.exchange()
        assert found.best[1].loss >= best - 1e-8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "MOST_LOOKS", 2)
        node = lattice.best_node(leveled, counts, lattice.Asked(k, 0))
        assert node is not None
        assert node.bound <= best + 1e-8 <= node.look.loss + 2e-8
    assert lattice.bound_of_parts(leveled, counts, lattice.Asked(k, 0)) <= best + 1e-8


# ------------------------------------------------------------------------------------------------ releases


@settings(max_examples=examples(15))
@given(drawn=tables(), k=st.integers(1, 4), scope=st.sampled_from(["global", "local"]), share=st.sampled_from([0, 0.3]))
def test_every_class_has_k_records_and_every_cell_stays_true(
    drawn: tuple[pl.DataFrame, dict[str, Any]], k: int, scope: str, share: float
) -> None:
    frame, columns = drawn
    masked, said = generalised(frame, columns, k=k, scope=scope, suppress=share)
    assert smallest_class(masked) >= k
    assert said["real_k"] >= k
    assert said["suppressed_records"] in {0, *range(k, int(share * len(frame)) + 1)}
    taxonomy = columns["code"]["ontology"]
    for before, after in zip(frame.cast(pl.String).rows(), masked.cast(pl.String).rows(), strict=True):
        code, age, pain, ward = after
        assert code is None or (before[0] is not None and code in taxonomy.ancestors(before[0]))
        if age is not None:
            low, high = read_intervals([age]).low[0], read_intervals([age]).high[0]
            assert low <= int(before[1]) <= high
        assert pain in {None, "*", before[2]} or before[2] in pain.strip("{}").split(", ")
        assert ward in {None, "*", before[3]}


@settings(max_examples=examples(15))
@given(
    first=st.sampled_from([dt.date(1, 1, 1), dt.date(1969, 12, 28), dt.date(9999, 12, 20)]),
    days=st.lists(st.integers(0, 11), min_size=4, max_size=9),
    width=st.sampled_from([0.3, 0.75, 1.5, 2.5, 4.0]),
)
def test_every_date_is_in_its_interval_whatever_its_width(first: dt.date, days: list[int], width: float) -> None:
    frame = pl.DataFrame({"day": [str(first + dt.timedelta(days=one)) for one in days]})
    masked, _ = generalised(frame, {"day": {"kind": "date"}}, k=2, width=width)
    for before, after in zip(frame["day"], masked["day"], strict=True):
        if after not in {None, "*", before}:
            low, high = after.strip("[)").split(", ")
            assert low <= before < high


def test_intervals_of_times_end_with_the_day() -> None:
    masked, _ = generalised(pl.DataFrame({"at": ["10:00", "10:05", "23:30", "23:59"]}), {"at": {"kind": "date"}}, k=2)
    assert masked["at"].to_list()[2] == "[22:14, 24:00)"


@settings(max_examples=examples(15))
@given(drawn=tables(), k=st.integers(2, 4), share=st.sampled_from([0, 0.3]))
def test_local_levels_never_lose_more_than_global_ones(
    drawn: tuple[pl.DataFrame, dict[str, Any]], k: int, share: float
) -> None:
    frame, columns = drawn
    (_, everywhere), (_, local) = (
        generalised(frame, columns, k=k, suppress=share, scope=scope) for scope in ("global", "local")
    )
    assert local["loss"] <= everywhere["loss"] + 1e-9
    assert everywhere["loss_of_any_levels"] == everywhere["loss"]


@settings(max_examples=examples(15))
@given(drawn=tables(), k=st.integers(1, 4), scope=st.sampled_from(["global", "local"]))
def test_the_loss_is_that_of_the_cells_and_assess_measures_the_same(
    drawn: tuple[pl.DataFrame, dict[str, Any]], k: int, scope: str
) -> None:
    frame, columns = drawn
    masked, said = generalised(frame, columns, k=k, scope=scope)
    cells = {name: len(frame) - said["missing"][name] for name in columns}
    total = sum(said["rmse"][name] ** 2 * cells[name] for name in columns) / len(frame)
    assert said["loss"] == pytest.approx(total, abs=1e-9)
    plan = plan_of({"columns": columns, "steps": [{"method": "generalise", "columns": list(columns), "k": k}]})
    compared = compare_in_memory(open_encoded(frame, plan), masked, plan, None, same_order=True)
    for name in columns:
        assert column_losses(compared.columns[name])["rmse"] == pytest.approx(said["rmse"][name], abs=1e-9)
        assert compared.columns[name].same().sum() == said["unchanged"][name] + said["missing"][name]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_suppressed_record_has_no_cell_of_another_row(library: Any) -> None:
    """In libraries in which cells are taken from rows, a null is none of them."""
    cells = {
        "age": [30, 31, 30, 31, 90, 91],
        "weight": [70.5, 70.5, 70.5, 70.5, 20.1, 20.1],
        "flag": [True] * 5 + [False],
    }
    columns: dict[str, Any] = {"age": {"kind": "numeric"}, "weight": {"kind": "numeric"}, "flag": {}}
    step = {"method": "generalise", "columns": list(columns), "k": 2, "suppress": 0.34, "width": 1000}
    release = anonto.mask(library(cells), {"columns": columns, "steps": [step]}, seed=SEED)
    table = release.table if isinstance(release.table, pl.DataFrame) else pl.from_pandas(release.table)
    assert release.evidence["steps"][0]["suppressed_records"] == 2
    assert table.rows()[4:] == [(None, None, None)] * 2
    assert table.rows()[:4] == [("30", "70.5", "true"), ("31", "70.5", "true")] * 2


def test_a_suppressed_cell_looks_like_a_missing_one() -> None:
    frame = pl.DataFrame({"ward": ["A", "A", "A", "B", "C", "?", "?"], "unit": ["x"] * 3 + ["y", "z", "x", "x"]})
    columns = {"ward": {"na": ["?"]}, "unit": {}}
    masked, said = generalised(frame, columns, k=2, suppress=0.3)
    assert said["suppressed_records"] == 2
    assert masked["ward"].to_list() == ["A", "A", "A", "?", "?", "?", "?"]
    assert masked["unit"].to_list() == ["x", "x", "x", None, None, "x", "x"]


def test_a_missing_cell_is_a_value_until_its_column_is_released_empty() -> None:
    frame = pl.DataFrame({"ward": ["A", "A", "A", None], "age": [1, 1, 1, 1]})
    masked, said = generalised(frame, {"ward": {}, "age": {"kind": "numeric"}}, k=2)
    assert masked["ward"].null_count() == 4
    assert masked["age"].to_list() == ["1"] * 4
    assert said["largest_level"] == {"ward": 1, "age": 0}


def test_strata_have_levels_of_their_own_and_classes_of_k() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"age": rng.integers(0, 90, 60), "code": rng.choice(["flu", "burn"], 60), "ward": ["A", "B"] * 30}
    )
    columns = {"age": {"kind": "numeric"}, "code": {"ontology": ILLNESSES}, "ward": {"role": "other"}}
    step = {"method": "generalise", "columns": ["age", "code"], "k": 4, "suppress": 0.1, "within": ["ward"]}
    release = anonto.mask(frame, {"columns": columns, "steps": [step]}, seed=SEED)
    assert smallest_class(release.table) >= 4
    assert release.evidence["steps"][0]["real_k"] >= 4
    assert release.evidence["steps"][0]["guarantee"]["proved"]


@pytest.mark.parametrize("notation", ["%Y-%m-%d", "%d.%m.%Y"])
def test_dates_become_intervals_that_hold_them_in_their_own_notation(notation: str) -> None:
    days = pl.Series([f"2020-{month:02}-{day:02}" for month in (1, 3) for day in (3, 13, 14, 28)]).str.to_date()
    frame = pl.DataFrame({"day": days.dt.strftime(notation)})
    columns = {"day": {"kind": "date"}}
    masked, said = generalised(frame, columns, k=4)
    assert smallest_class(masked) >= 4
    for before, after in zip(days, masked["day"], strict=True):
        low, high = pl.Series(after.strip("[)").split(", ")).str.to_date(notation)
        assert low <= before < high
    plan = plan_of({"columns": columns, "steps": [{"method": "generalise", "columns": ["day"], "k": 4}]})
    compared = compare_in_memory(open_encoded(frame, plan), masked, plan, None, same_order=True)
    assert column_losses(compared.columns["day"])["rmse"] == pytest.approx(said["rmse"]["day"])


# ------------------------------------------------------------------------------------------------ levels


def levels_nest(hierarchy: Hierarchy) -> bool:
    """Return whether each level joins groups of the level before."""
    low_and_high = zip(hierarchy.levels, hierarchy.levels[1:], strict=False)
    return all(
        len(set(zip(low.groups.tolist(), high.groups.tolist(), strict=True))) == np.unique(low.groups).size
        for low, high in low_and_high
    )


@given(
    numbers=st.lists(st.decimals(-1000, 1000, places=2).map(float), min_size=1, max_size=12, unique=True),
    width=st.sampled_from([None, 0.1, 0.3, 5, 7.5]),
)
def test_intervals_nest_and_hold_their_numbers(numbers: list[float], width: float | None) -> None:
    space = NumericSpace(np.array(numbers), np.ones(len(numbers), dtype=np.int64))
    hierarchy = hierarchy_of("age", space, width, "a method", has_missing=False)
    assert levels_nest(hierarchy)
    for level in hierarchy.levels[1:]:
        for number, group in zip(numbers, level.groups.tolist(), strict=False):
            low, high = level.targets[group]
            assert low <= number < high
    assert len(hierarchy.levels[-1].targets) == 1
    assert all(((level.losses >= 0) & (level.losses <= 1)).all() for level in hierarchy.levels)


@given(extent=st.floats(1e-6, 1e9))
def test_a_round_width_makes_few_intervals(extent: float) -> None:
    width = round_width(extent)
    assert 8 <= extent / width <= 20 * (1 + 1e-9)
    assert float(f"{width:.0e}") == width


def test_levels_of_texts_and_of_several_roots_end_in_one_group() -> None:
    text = hierarchy_of("ward", TextSpace(np.array([3, 2])), None, "a method", has_missing=True)
    assert [len(level.targets) for level in text.levels] == [2, 1, 1]
    assert [level.is_empty for level in text.levels] == [False, False, True]
    taxonomy = taxonomy_of({"a": (), "b": (), "a1": ("a",), "b1": ("b",)})
    frame = pl.DataFrame({"code": ["a1", "b1"]})
    masked, _ = generalised(frame, {"code": {"ontology": taxonomy}}, k=2)
    assert masked["code"].null_count() == 2


@pytest.mark.parametrize(
    ("frame", "columns", "parameters", "sentence"),
    [
        ({"age": [1, 2]}, {"age": {"kind": "numeric"}}, {"k": 3}, "2 records cannot form a group of k = 3"),
        ({"age": [1, 2]}, {"age": {"kind": "numeric"}}, {"k": 2, "width": [1, 2]}, "one for each of the 1 columns"),
        ({"age": [0.0, 1e15]}, {"age": {"kind": "numeric"}}, {"k": 2, "width": 1e-3}, "large enough to number"),
        ({"age": [1, 2]}, {"age": {"kind": "numeric"}}, {"k": 2, "suppress": 1.5}, "suppress must be a number"),
        ({"c": ["flu"] * 2}, {"c": {"ontology": ["illnesses", "illnesses"]}}, {"k": 2}, "nominal with one ontology"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(
    frame: dict[str, Any], columns: dict[str, Any], parameters: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        generalised(pl.DataFrame(frame), columns, **parameters)


@pytest.mark.parametrize("recode", [{"top": 50, "labels": ["50+"]}, {"bands": [20, 40, 60]}])
def test_lists_of_labels_are_assessed_as_intervals_of_their_numbers(recode: dict[str, Any]) -> None:
    frame = pl.DataFrame({"age": [10, 15, 25, 30, 45, 48, 70, 80]})
    step = {"method": "generalise", "columns": ["age"], "k": 4}
    plan = {"columns": {"age": {"kind": "numeric", "recode": recode}}, "steps": [step]}
    masked = anonto.mask(frame, plan, seed=SEED).table
    assert all(text.startswith("{") for text in masked["age"])
    found = anonto.assess(frame, masked, plan, same_order=True)
    assert 0 < found.utility["columns"]["age"]["rmse"] < 0.5
