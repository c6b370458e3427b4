"""Classes of the release and what is inferred from near records, against the definitions written out.

The tables have more rows than are attacked at once, releases unlike their originals, and persons in no order.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import anonto
from anonto.attacks.compute.attribute_inference import CLOSE, PERSONS_AT_ONCE, attribute_inference
from anonto.attacks.compute.classes import APART, real_k, uniqueness
from anonto.encoding.comparison import BothCells, ComparedColumn, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from budget import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

ILLNESSES = anonto.read_ontology("illnesses")
CONCEPTS = ["flu", "measles", "burn", "fracture"]
DESCRIPTIONS = {
    "illness": ColumnDescription(ontology=ILLNESSES),
    "age": ColumnDescription(kind="numeric"),
    "city": ColumnDescription(),
}


def compared(name: str, original: list[Any], masked: list[Any]) -> ComparedColumn:
    series = [pl.Series(cells, dtype=pl.String) for cells in (original, masked)]
    return compare_column(name, BothCells.of(*series), DESCRIPTIONS[name], opener())


def apart(name: str, a: Any, b: Any, extent: float = 1.0) -> float:
    if a is None or b is None:
        return float(a is not b)
    if name == "illness":
        return ILLNESSES.distance(a, b)
    return abs(float(a) - float(b)) / extent if name == "age" else float(a != b)


# ------------------------------------------------------------------------------------------------ cells as written


def test_codes_of_missing_cells_are_different_cells() -> None:
    cells = pl.Series(["30", "30", "NA", "NA", "-9", None])
    column = compare_column(
        "age", BothCells.of(cells, cells), ColumnDescription(kind="numeric", na=("NA", "-9")), opener()
    )
    assert column.masked.tolist() == [0, 0, -1, -1, -1, -1]
    assert real_k([column]).details["class_sizes"] == [[1, 2], [2, 2]]
    assert uniqueness([column], []).details["alone_in_release"] == 2


def test_nan_and_null_are_different_cells() -> None:
    cells = pl.Series([30.0, 30.0, float("nan"), None])
    column = compare_column("age", BothCells.of(cells, cells), DESCRIPTIONS["age"], opener())
    assert real_k([column]).details["real_k"] == 1


def test_values_without_a_concept_are_different_cells() -> None:
    cells = pl.Series(["flu", "flu", "x", "y", None, None])
    column = compare_column(
        "illness", BothCells.of(cells, cells), ColumnDescription(ontology=ILLNESSES, unmatched="keep"), opener()
    )
    assert real_k([column]).details["class_sizes"] == [[1, 2], [2, 2]]


# ------------------------------------------------------------------------------------------------ inference


N_ROWS = 150
NUMBERS = ("age",)
ROWS = np.random.default_rng(9).permutation(np.arange(20, N_ROWS))[:100]


def moved(cells: list[Any], rng: np.random.Generator, share: float) -> list[Any]:
    """Some of the cells exchanged among each other."""
    chosen = np.flatnonzero(rng.random(len(cells)) < share)
    out = list(cells)
    for here, there in zip(chosen, rng.permutation(chosen), strict=True):
        out[here] = cells[there]
    return out


def people(seed: int) -> dict[str, tuple[list[Any], list[Any]]]:
    rng = np.random.default_rng(seed)
    age = [str(one) for one in rng.integers(0, 400, N_ROWS)]
    illness = rng.choice([*CONCEPTS, None], N_ROWS).tolist()
    city = rng.choice(["x", "y", "z", None], N_ROWS, p=[0.4, 0.3, 0.2, 0.1]).tolist()
    nudged = [str(int(one) + int(rng.integers(-2, 3))) for one in age]
    return {
        "age": (age, nudged),
        "illness": (illness, moved(illness, rng, 0.3)),
        "city": (city, moved(city, rng, 0.5)),
    }


def inferred(known: list[str], secret: str, table: dict[str, Any], rows: NDArray[np.int64]) -> tuple[float, float]:
    """The share of persons whose secret the nearest released records tell; and without their own record."""
    extent = float(np.ptp([float(one) for one in table["age"][0]]))
    right: list[float] = []
    control: list[float] = []
    for person in rows.tolist():
        truth = table[secret][0][person]
        if truth is None:
            continue
        away = [
            sum(apart(name, table[name][0][person], table[name][1][row], extent) ** 2 for name in known)
            for row in range(N_ROWS)
        ]
        for found, others in ((right, range(N_ROWS)), (control, [row for row in range(N_ROWS) if row != person])):
            least = min(away[row] for row in others)
            nearest = [row for row in others if away[row] <= least + 1e-9]
            found.append(float(np.mean([tells(secret, truth, table[secret][1][row], extent) for row in nearest])))
    return float(np.mean(right)), float(np.mean(control))


def tells(secret: str, truth: str, told: str | None, extent: float) -> bool:
    if told is None:
        return False
    return apart("age", truth, told, extent) <= CLOSE + 1e-9 if secret in NUMBERS else truth == told


@pytest.mark.parametrize(("known", "secret"), [(["age", "illness"], "city"), (["illness", "city"], "age")])
@pytest.mark.parametrize("rows", [None, ROWS])
def test_inference_is_what_reading_the_nearest_records_one_by_one_gives(
    known: list[str], secret: str, rows: NDArray[np.int64] | None
) -> None:
    table = people(4)
    columns = {name: compared(name, *cells) for name, cells in table.items()}
    found = attribute_inference([columns[name] for name in known], columns[secret], rows)
    persons = np.arange(N_ROWS) if rows is None else rows
    success, control = inferred(known, secret, table, persons)
    assert found.n == sum(table[secret][0][person] is not None for person in persons)
    assert found.n > PERSONS_AT_ONCE
    assert found.details["success"] == pytest.approx(success, abs=1e-9)
    assert found.control == pytest.approx(control, abs=1e-9)
    assert success > control
    assert found.rate == pytest.approx((success - control) / (1 - control), abs=1e-9)


# ------------------------------------------------------------------------------------------------ classes


def least_moved(a: NDArray[np.float64], b: NDArray[np.float64], distances: NDArray[np.float64]) -> float:
    """The earth mover's distance as a linear programme."""
    n = a.size
    sums = [np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))]
    solved = linprog(distances.ravel(), A_eq=np.vstack(sums), b_eq=np.concatenate([a, b]), method="highs")
    return float(solved.fun)


def classes_of(cells: list[Any]) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = {}
    for row, cell in enumerate(cells):
        found.setdefault(cell, []).append(row)
    return found


def closeness(name: str, classes: dict[Any, list[int]], secret: list[Any]) -> list[float]:
    values = sorted(set(secret), key=str)
    numbers = [float(one) for one in values if one is not None] if name == "age" else [0.0, 1.0]
    extent = float(np.ptp(numbers)) or 1.0
    distances = np.array([[apart(name, a, b, extent) for b in values] for a in values])
    overall = np.array([secret.count(value) / len(secret) for value in values])
    return [
        least_moved(np.array([sum(secret[row] == value for row in rows) / len(rows) for value in values]), overall,
                    distances)
        for rows in classes.values()
    ]  # fmt: skip


SECRETS = {
    "illness": st.sampled_from([*CONCEPTS, None]),
    "age": st.sampled_from(["20", "30", "35", "80"]),
    "city": st.sampled_from(["x", "y", "z", None]),
}


@settings(max_examples=examples(40), deadline=None)
@given(st.data(), st.sampled_from(list(SECRETS)))
def test_variety_is_that_of_the_class_that_has_least_whichever_it_is(data: st.DataObject, name: str) -> None:
    rows = data.draw(st.lists(st.tuples(st.sampled_from("pqrs"), SECRETS[name]), min_size=1, max_size=24))
    quasi, secret = [row[0] for row in rows], [row[1] for row in rows]
    if all(one is None for one in secret):
        return
    original = sorted(quasi, reverse=True)  # the classes are those of the release
    found = uniqueness([compared("city", original, quasi)], [compared(name, sorted(secret, key=str), secret)])
    told, classes = found.details["confidential"][name], classes_of(quasi)
    held = [{secret[row] for row in each} for each in classes.values()]
    assert told["l_diversity"] == min(map(len, held))
    assert told["t_closeness"] == pytest.approx(max(closeness(name, classes, secret)), abs=1e-7)
    assert told["classes_examined"] == len(classes)
    numbers = [float(one) for one in secret if one is not None] if name == "age" else [0.0, 1.0]
    extent = float(np.ptp(numbers)) or 1.0

    def far_apart(values: set[Any]) -> int:
        chosen: list[Any] = []
        for value in [*sorted(values - {None}), *({None} & values)]:
            if all(apart(name, value, other, extent) > APART for other in chosen):
                chosen.append(value)
        return len(chosen)

    assert told["semantic_l_diversity"] == min(map(far_apart, held))


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_the_worst_class_counts_wherever_it_stands(order: tuple[int, ...]) -> None:
    """One class has one value, one has two that lie close, one has all: the first of them is the worst in each."""
    secrets = [["flu"] * 4, ["flu", "measles"] * 3, [*CONCEPTS, *CONCEPTS]]
    quasi = [name for name, which in zip("abc", order, strict=True) for _ in secrets[which]]
    secret = [one for which in order for one in secrets[which]]
    found = uniqueness([compared("city", quasi, quasi)], [compared("illness", secret, secret)])
    told = found.details["confidential"]["illness"]
    assert (told["l_diversity"], told["semantic_l_diversity"]) == (1, 1)
    assert told["t_closeness"] == pytest.approx(max(closeness("illness", classes_of(quasi), secret)), abs=1e-7)


def test_a_class_of_missing_cells_has_no_variety() -> None:
    quasi = ["x"] * 5 + ["y"] * 5
    secret = ["flu", "flu", "measles", "burn", "fracture", *[None] * 5]
    told = uniqueness([compared("city", quasi, quasi)], [compared("illness", secret, secret)])
    assert told.details["confidential"]["illness"]["l_diversity"] == 1
    assert told.details["confidential"]["illness"]["semantic_l_diversity"] == 1
    assert told.details["confidential"]["illness"]["t_closeness"] == pytest.approx(0.5)


def test_missing_numbers_are_moved_over_the_whole_range_and_never_for_less_than_they_must() -> None:
    quasi = ["x"] * 4 + ["y"] * 4
    secret = ["20", "20", "80", None, "20", "80", "80", None]
    told = uniqueness([compared("city", quasi, quasi)], [compared("age", secret, secret)])
    assert told.details["confidential"]["age"]["t_closeness"] == pytest.approx(0.125)
    uneven = ["20", "30", "80", "80", "20", None, None, None]
    found = uniqueness([compared("city", quasi, quasi)], [compared("age", uneven, uneven)])
    least = max(closeness("age", classes_of(quasi), uneven))
    assert least - 1e-9 <= found.details["confidential"]["age"]["t_closeness"] <= 1.0


def test_all_missing_is_one_value_and_an_empty_table_has_none() -> None:
    gone = uniqueness([compared("city", ["x", "y"], ["x", "y"])], [compared("illness", ["flu"] * 2, [None] * 2)])
    assert gone.details["confidential"]["illness"]["l_diversity"] == 1
    assert gone.details["confidential"]["illness"]["t_closeness"] == 0.0
    none = uniqueness([compared("city", [], [])], [compared("illness", [], [])])
    assert none.details["confidential"]["illness"]["l_diversity"] == 0
    assert (none.rate, none.baseline) == (0.0, 0.0)


QUASI = st.lists(
    st.tuples(*(st.sampled_from(["1", "2", "3", "4", "5"]) for _ in range(2)), *(st.sampled_from("vwxyz"),) * 2),
    min_size=1,
    max_size=20,
)


@settings(max_examples=examples(60), deadline=None)
@given(QUASI)
def test_unique_means_sharing_all_values_with_nobody_before_and_after(rows: list[Any]) -> None:
    columns = [
        compared("age", [row[0] for row in rows], [row[1] for row in rows]),
        compared("city", [row[2] for row in rows], [row[3] for row in rows]),
    ]
    before, after = [(row[0], row[2]) for row in rows], [(row[1], row[3]) for row in rows]
    stay = [before.count(b) == 1 and after.count(a) == 1 for b, a in zip(before, after, strict=True)]
    found = uniqueness(columns, [])
    assert found.rate == pytest.approx(np.mean(stay))
    assert found.details["alone_in_original"] == sum(before.count(one) == 1 for one in before)
    assert found.details["alone_in_release"] == sum(after.count(one) == 1 for one in after)
    assert found.details["share_alone_in_original"] == pytest.approx(np.mean([before.count(b) == 1 for b in before]))
    assert found.details["k_anonymity"] == min(after.count(one) for one in after)
    assert real_k(columns).rate == pytest.approx(np.mean([after.count(one) == 1 for one in after]))


def test_the_chance_of_uniqueness_is_that_over_all_shuffles_of_the_columns() -> None:
    age, city = ["1", "1", "2", "3", "3"], ["x", "x", "x", "y", "z"]
    released = ["1", "1", "1", "2", "3"], ["x", "x", "y", "y", "z"]
    found = uniqueness([compared("age", age, released[0]), compared("city", city, released[1])], [])
    alone = []
    for shuffled in permutations(released[1]):
        records = list(zip(released[0], shuffled, strict=True))
        alone.append(np.mean([records.count(one) == 1 for one in records]))
    before = list(zip(age, city, strict=True))
    was_alone = np.mean([before.count(one) == 1 for one in before])
    assert found.details["share_alone_by_chance"] == pytest.approx(np.mean(alone), abs=0.05)
    assert found.baseline == pytest.approx(was_alone * found.details["share_alone_by_chance"])
    assert found.baseline < was_alone


def test_the_chance_is_exact_for_one_column() -> None:
    found = uniqueness([compared("age", ["1", "2", "3", "4"], ["1", "1", "3", "4"])], [])
    assert found.baseline == pytest.approx(1.0 * 0.5)


def test_a_shuffled_table_is_unique_only_by_chance() -> None:
    rng = np.random.default_rng(2)
    columns = []
    for name in ("age", "city"):
        cells = [str(one) for one in np.minimum(rng.geometric(0.03, 2000), 90)]
        columns.append(compared(name, cells, rng.permutation(cells).tolist()))
    found = uniqueness(columns, [])
    assert 0.05 < found.baseline < found.details["share_alone_in_original"] * 0.7
    assert found.rate == pytest.approx(found.baseline, rel=0.15)
