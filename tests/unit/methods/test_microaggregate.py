"""Microaggregation: groups and centres against their definitions, what is released, and what is promised of it."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import anonto
import oracles
from anonto.attacks.compute.classes import real_k
from anonto.encoding.columns import encode
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.encoding.records import Records, distinct_records
from anonto.encoding.value_space import MeanSpace, NumericSpace, TextSpace, nominal_space
from anonto.errors import AllMissingError, ColumnError, InputError, ParameterError, PlanError, TooFewRecordsError
from anonto.masking.plan import Plan
from anonto.methods.aggregation import candidates_of, centres_of, value_sets
from anonto.methods.grouping import RecordGroups, mdav
from anonto.methods.guarantee import Setting
from anonto.methods.microaggregate import Microaggregate
from anonto.methods.refine_centroids import move_to_centroids
from anonto.methods.registry import method_of, parameters_of
from anonto.methods.s_space import s_space, scale_column
from anonto.methods.v_mdav import GAIN, variable_mdav
from anonto.report.words import guarantee_sentence, method_sentence
from anonto.stats.earth_mover import earth_movers_distance
from anonto.stats.pair_variance import weight_of_pairs
from anonto.taxonomy.distance import MEASURES
from budget import examples
from strategies import hierarchies, taxonomy_of

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1 << 90
ILLNESSES = anonto.read_ontology("illnesses")
DEMENTIAS = anonto.read_ontology("dementias")
EXAMPLE_1 = [
    "lung cancer",
    "paranoia",
    "schizophrenia",
    "vascular dementia",
    "Alzheimer",
    "Alzheimer",
    "meningitis",
    "multiple sclerosis",
    "multiple sclerosis",
]

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")]


# ------------------------------------------------------------------------------------------------ tables to try


class Drawn:
    """A random table of concepts, texts and numbers, for us and for the oracle."""

    def __init__(self, kinds: tuple[str, ...], parents: Any, measure: str, n: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.taxonomy, self.measure = taxonomy_of(parents), measure
        self.kinds = kinds
        names = [f"column {place}" for place in range(len(kinds))]
        value_spaces, codes, spelt, self.distances = [], [], [], []
        for kind in kinds:
            cells, value_space, distance = self._column(kind, n)
            distinct = sorted(set(cells))
            value_spaces.append(value_space(distinct, cells))
            codes.append(np.array([distinct.index(cell) for cell in cells], dtype=np.int32))
            spelt.append(distinct)
            self.distances.append(distance)
        self.records, _ = distinct_records(names, value_spaces, codes)
        self.cells = [
            tuple(values[code] for values, code in zip(spelt, row, strict=True)) for row in self.records.codes.tolist()
        ]
        self.rows = [record for record, count in enumerate(self.records.counts) for _ in range(count)]

    def _column(self, kind: str, n: int) -> tuple[list[Any], Any, Any]:
        def numbers(distinct: list[float], cells: list[float]) -> NumericSpace:
            return NumericSpace(np.array(distinct, float), np.array([cells.count(one) for one in distinct]))

        if kind == "normal":
            return self.rng.normal(size=n).tolist(), numbers, None
        if kind == "whole":
            return self.rng.integers(0, 6, n).tolist(), numbers, None
        if kind == "text":
            cells = self.rng.choice(list("abcd"), n).tolist()
            counted = lambda distinct, cells: TextSpace(np.array([cells.count(one) for one in distinct]))  # noqa: E731
            return cells, counted, lambda a, b: float(a != b)
        cells = self.rng.choice(self.taxonomy.ids, n).tolist()

        def placed(distinct: list[str], cells: list[str]) -> Any:
            column = encode(cells)
            order = [column.values.index(one) for one in distinct]
            inverse = np.argsort(order).astype(np.int32)
            again = type(column)(tuple(distinct), inverse[column.codes])
            return nominal_space(again, self.taxonomy, measure=self.measure)

        table = dict(
            zip(
                itertools.product(self.taxonomy.ids, repeat=2),
                self.taxonomy.distances(self.taxonomy.ids, measure=self.measure).ravel().tolist(),
                strict=True,
            )
        )
        return cells, placed, lambda a, b: table[a, b]

    def groups(self, k: int, scale: str, *, classic: bool = False, variable: bool = False) -> list[list[int]]:
        """The rows of each group by the definition."""
        equal = lambda a, b: float(a != b)  # noqa: E731
        distances = [equal if classic and one is not None else one for one in self.distances]
        rows, space = oracles.in_scale([self.cells[record] for record in self.rows], distances, scale)
        return oracles.variable_mdav(rows, space, k, GAIN) if variable else oracles.mdav(rows, space, k)

    def values(self, group: list[int], place: int) -> list[Any]:
        return [self.cells[self.rows[row]][place] for row in sorted(group)]

    def released(self, method: Microaggregate, seed: int = 0) -> Counter[tuple[int, tuple[Any, ...]]]:
        """How many rows of each record became what."""
        fitted = method.fit(self.records, np.random.default_rng(seed))
        transitions, out = fitted.transitions, Counter()
        assert fitted.value_spaces is not None
        for source, target, amount in zip(transitions.sources, transitions.targets, transitions.amounts, strict=True):
            cells = tuple(
                self._spelt(place, value_space, code)
                for place, (value_space, code) in enumerate(
                    zip(fitted.value_spaces, fitted.released[target].tolist(), strict=True)
                )
            )
            out[int(source), cells] += int(amount)
        return out

    def _spelt(self, place: int, value_space: Any, code: int) -> Any:
        if isinstance(value_space, NumericSpace):
            return round(float(value_space.numbers[code]), 9)
        if self.kinds[place] == "text":
            return sorted({cells[place] for cells in self.cells})[code]
        return value_space.concepts[code]


KINDS = ("normal", "whole", "text", "concept")
drawn = st.builds(
    Drawn,
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3).map(tuple),
    hierarchies(max_concepts=9),
    st.sampled_from(["wu-palmer", "ancestor", "rada"]),
    st.integers(1, 30),
    st.integers(0, 10**6),
)


def nominal(values: list[str], taxonomy: Any, measure: str = "wu-palmer") -> Any:
    return nominal_space(encode(values), taxonomy, measure=measure)


def mask(table: pl.DataFrame, columns: dict[str, Any], masked: list[str] | None = None, **parameters: Any) -> Any:
    step = {"method": "microaggregate", "columns": masked or list(columns), **parameters}
    return anonto.mask(table, {"columns": columns, "steps": [step]}, seed=SEED)


def people(n: int = 200, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], n).tolist(),
            "age": rng.integers(0, 90, n),
            "pain": rng.choice(["low", "mid", "high"], n),
            "salary": rng.integers(20, 90, n) * 100,
            "region": rng.choice(list("NSEW"), n),
        }
    )


COLUMNS = {
    "illness": {"ontology": ILLNESSES},
    "age": {"kind": "numeric"},
    "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
}


# ------------------------------------------------------------------------------------------------ by the definition


@settings(max_examples=examples(80))
@given(table=drawn, k=st.integers(1, 6), scale=st.sampled_from(["mean", "paper"]), variable=st.booleans())
def test_groups_and_sample_centres_are_those_of_the_definition(
    table: Drawn, k: int, scale: str, variable: bool
) -> None:
    k = min(k, len(table.rows))
    method = Microaggregate(k=k, scale=scale, refine=False, centroid="sample", variable=variable)
    expected: Counter[Any] = Counter()
    for group in table.groups(k, scale, variable=variable):
        centre = tuple(
            oracles.sample_centre(table.values(group, place), distance)
            if distance is not None
            else round(float(np.mean(table.values(group, place))), 9)
            for place, distance in enumerate(table.distances)
        )
        expected.update((table.rows[row], centre) for row in group)
    assert table.released(method) == expected


@settings(max_examples=examples(40))
@given(table=drawn, k=st.integers(1, 6), scale=st.sampled_from(["mean", "paper"]))
def test_classic_groups_ignore_meaning_and_take_the_most_frequent_value(table: Drawn, k: int, scale: str) -> None:
    k = min(k, len(table.rows))
    expected: Counter[Any] = Counter()
    for group in table.groups(k, scale, classic=True):
        centre = tuple(
            oracles.most_frequent(table.values(group, place))
            if distance is not None
            else round(float(np.mean(table.values(group, place))), 9)
            for place, distance in enumerate(table.distances)
        )
        expected.update((table.rows[row], centre) for row in group)
    assert table.released(Microaggregate(k=k, scale=scale, refine=False, semantics="classic")) == expected


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=examples(25))
@given(
    parents=hierarchies(max_concepts=12),
    picks=st.lists(st.integers(0, 11), min_size=1, max_size=6),
    trees=st.booleans(),
)
def test_no_concept_of_the_domain_is_a_better_centre(measure: str, parents: Any, picks: list[int], trees: bool) -> None:
    if trees:
        parents = {concept: above[:1] for concept, above in parents.items()}
    taxonomy = taxonomy_of(parents)
    values = [taxonomy.ids[pick % len(taxonomy.ids)] for pick in picks]
    value_space = nominal(values, taxonomy, measure)
    groups = RecordGroups(np.arange(len(values), dtype=np.int32), np.array([0, len(values)]))
    sets = value_sets(groups, value_space.column.codes, value_space.counts.size)
    new, code = centres_of(value_space, sets, value_space.distances(), from_taxonomy=True)
    distance = lambda a, b: taxonomy.distance(a, b, measure)  # noqa: E731
    sums = {concept: oracles.sum_of_squares(concept, values, distance) for concept in taxonomy.ids}
    centre = new.concepts[code[0]]
    assert sums[centre] == pytest.approx(min(sums.values()), abs=1e-9)
    if min(sums[value] for value in values) <= min(sums.values()) + 1e-13:
        assert centre in values


@pytest.mark.parametrize("root", ["lcs", "injury"])
def test_centres_stay_inside_the_domain(root: str) -> None:
    values = ["burn", "fracture", "burn", "fracture"]
    value_space = nominal_space(encode(values), ILLNESSES, measure="wu-palmer", root=root)
    groups = RecordGroups(np.arange(4, dtype=np.int32), np.array([0, 4]))
    sets = value_sets(groups, value_space.column.codes, 2)
    new, code = centres_of(value_space, sets, value_space.distances(), from_taxonomy=True)
    assert new.concepts[code[0]] in value_space.domain.ids


def test_a_concept_below_two_values_can_be_their_centre() -> None:
    """Where concepts have several parents: both are nearer to their common child than to each other."""
    diamond = taxonomy_of({"root": (), "b": ("root",), "c": ("root",), "e": ("b", "c")})
    release = mask(pl.DataFrame({"x": ["b", "c"]}), {"x": {"ontology": diamond}}, k=2)
    assert release.table["x"].to_list() == ["e", "e"]
    assert release.evidence["steps"][0]["sse"]["x"] == pytest.approx(2 * 0.2**2)


def test_several_ontologies_have_a_value_of_the_column_in_the_middle() -> None:
    values = ["flu", "measles", "burn"]
    value_space = MeanSpace((nominal(values, ILLNESSES), nominal(values, ILLNESSES, "ancestor")))
    records, _ = distinct_records(["x"], [value_space], [encode(values).codes])
    fitted = Microaggregate(k=3).fit(records, np.random.default_rng(0))
    assert values[int(fitted.released[0, 0])] in {"flu", "measles"}
    assert candidates_of(value_space).concepts is None


def test_the_example_of_the_paper_has_its_mean_as_centre() -> None:
    release = mask(
        pl.DataFrame({"x": EXAMPLE_1}),
        {"x": {"ontology": DEMENTIAS, "measure": "ancestor"}},
        k=9,
        centroid="sample",
        refine=False,
    )
    assert set(release.table["x"]) == {"Alzheimer"}
    expected = sum(DEMENTIAS.distance("Alzheimer", value, "ancestor") ** 2 for value in EXAMPLE_1)
    assert release.evidence["steps"][0]["sse"] == {"x": pytest.approx(expected)}


def test_the_example_of_the_paper_has_its_variance_in_the_distance() -> None:
    value_space = nominal(EXAMPLE_1, DEMENTIAS, "ancestor")
    paper, mean = (weight_of_pairs(value_space.distances(), value_space.counts, scale) for scale in ("paper", "mean"))
    assert 1 / paper == pytest.approx(5.9624, abs=5e-5)
    assert 1 / mean == pytest.approx(5.9624 / 8, abs=5e-5)


# ------------------------------------------------------------------------------------------------ groups


@settings(max_examples=examples(40))
@given(
    table=drawn,
    k=st.integers(1, 6),
    refine=st.booleans(),
    variable=st.booleans(),
    centroid=st.sampled_from(["sample", "taxonomy"]),
    semantics=st.sampled_from(["marginality", "classic"]),
)
def test_groups_have_k_to_2k_minus_1_records_and_each_releases_one(
    table: Drawn, k: int, refine: bool, variable: bool, centroid: str, semantics: str
) -> None:
    k = min(k, len(table.rows))
    method = Microaggregate(k=k, refine=refine, variable=variable, centroid=centroid, semantics=semantics)
    fitted = method.fit(table.records, np.random.default_rng(0))
    assert k <= fitted.facts["smallest_group"]
    alone = refine and len(table.kinds) == 1 and table.kinds[0] in {"normal", "whole"}
    assert fitted.facts["largest_group"] <= 2 * k - 1 or (alone and fitted.facts["homogeneous_groups"] > 0)
    after: Counter[Any] = Counter()
    for (_, cells), amount in table.released(method).items():
        after[cells] += amount
    assert min(after.values()) >= k
    assert sum(after.values()) == len(table.rows)


@settings(max_examples=examples(30))
@given(table=drawn, k=st.integers(1, 5))
def test_values_of_the_sample_only_come_from_the_column(table: Drawn, k: int) -> None:
    k = min(k, len(table.rows))
    for _, cells in table.released(Microaggregate(k=k, centroid="sample")):
        for place, distance in enumerate(table.distances):
            assert distance is None or cells[place] in {row[place] for row in table.cells}


@settings(max_examples=examples(30))
@given(parents=hierarchies(max_concepts=9), k=st.integers(2, 5), seed=st.integers(0, 10**6))
def test_moving_to_nearer_centres_loses_no_row_and_lowers_what_is_lost(parents: Any, k: int, seed: int) -> None:
    table = Drawn(("concept", "concept", "normal"), parents, "wu-palmer", 40, seed)
    columns = [scale_column(one, "mean", by_meaning=True) for one in table.records.value_spaces]
    space = s_space(columns, table.records.codes, table.records.names, squares=True)
    before = mdav(space, table.records.counts, k)
    after = move_to_centroids(space, columns, table.records.codes, before, k)
    assert np.array_equal(np.sort(after.members), np.sort(before.members))
    assert after.sizes.min() >= k
    assert after.sizes.max() <= 2 * k - 1
    lost = [_lost(table, columns, groups) for groups in (before, after)]
    assert lost[1] <= lost[0] + 1e-9


def _lost(table: Drawn, columns: list[Any], groups: RecordGroups) -> float:
    """The weighted squared distances of all rows to the centres of their groups, group by group."""
    total = 0.0
    for part in np.split(groups.members, groups.offsets[1:-1]):
        for place, column in enumerate(columns):
            codes = table.records.codes[part, place]
            if column.units is not None:
                total += float(((column.units[codes] - column.units[codes].mean()) ** 2).sum())
            else:
                values = [column.value_space.concepts[code] for code in codes]
                total += column.weight_of_squares * min(
                    oracles.sum_of_squares(concept, values, table.distances[place]) for concept in table.taxonomy.ids
                )
    return total


def test_refining_lowers_the_squared_errors() -> None:
    plain, better = (
        mask(people(), COLUMNS, k=4, refine=refine).evidence["steps"][0]["rmse"] for refine in (False, True)
    )
    assert sum(better.values()) < sum(plain.values())


def test_clusters_are_not_cut_where_sizes_may_vary() -> None:
    """Three clusters of four and k = 3: groups of three must cross them, groups of varying size need not."""
    cells = np.array([0, 1, 2, 3, 100, 101, 102, 103, 200, 201, 202, 203], dtype=float)
    columns = [scale_column(NumericSpace(cells, np.ones(12, dtype=np.int64)), "mean", by_meaning=True)]
    space = s_space(columns, np.arange(12, dtype=np.int32)[:, None], ["x"])
    groups = variable_mdav(space, np.ones(12, dtype=np.int64), 3)
    found = sorted(sorted(part.tolist()) for part in np.split(groups.members, groups.offsets[1:-1]))
    assert found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    fixed = mdav(space, np.ones(12, dtype=np.int64), 3)
    assert fixed.sizes.tolist() == [3, 3, 3, 3]


def test_the_middle_need_not_be_a_value() -> None:
    release = mask(pl.DataFrame({"x": ["flu", "measles"] * 2}), {"x": {"ontology": ILLNESSES}}, k=4)
    assert set(release.table["x"]) == {"infection"}


# ------------------------------------------------------------------------------------------------ numbers


@settings(max_examples=examples(30))
@given(cells=st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 9)), min_size=1, max_size=40), k=st.integers(1, 6))
def test_numbers_lose_what_plain_mdav_loses(cells: list[tuple[int, int]], k: int) -> None:
    """SSE over SST of each column against groups made by hand from standardised numbers."""
    k = min(k, len(cells))
    rows = sorted(cells)
    columns = [np.array(column, dtype=float) for column in zip(*rows, strict=True)]
    table = pl.DataFrame({"x": columns[0] / 4, "y": columns[1] / 4})
    deviations = [column.std(ddof=1) if len(rows) > 1 and np.ptp(column) else 0.0 for column in columns]
    scaled = [tuple(c / s / np.sqrt(2) if s else 0.0 for c, s in zip(row, deviations, strict=True)) for row in rows]
    groups = oracles.mdav(scaled, oracles.RecordSpace([None, None], squared=True), k)
    kinds = {name: {"kind": "numeric"} for name in ("x", "y")}
    records = _numeric_records(table)
    fitted = Microaggregate(k=k, refine=False).fit(records, np.random.default_rng(0))
    for name, column in zip(kinds, columns, strict=True):
        expected = sum(float(((column[g] - column[g].mean()) ** 2).sum()) for g in groups) / 16
        assert fitted.facts["sse"][name] == pytest.approx(expected, abs=1e-9)


def _numeric_records(table: pl.DataFrame) -> Records:
    distinct = [np.unique(table[name].to_numpy(), return_inverse=True) for name in table.columns]
    value_spaces = [NumericSpace(numbers, np.bincount(codes)) for numbers, codes in distinct]
    return distinct_records(table.columns, value_spaces, [codes.astype(np.int32) for _, codes in distinct])[0]


def test_whole_numbers_stay_whole_and_ranks_stay_ranks() -> None:
    release = mask(people(), COLUMNS, k=5)
    assert release.table["age"].dtype == people()["age"].dtype
    assert set(release.table["pain"]) <= {"low", "mid", "high"}
    step = release.evidence["steps"][0]
    moved = (release.table["age"] - people()["age"]).to_numpy()
    assert step["sse"]["age"] == pytest.approx(float((moved**2).sum()))


def test_decimals_are_rounded_as_the_column_has_them() -> None:
    table = pl.DataFrame({"dose": [0.1, 0.2, 0.4, 7.5, 7.6, 7.7]})
    release = mask(table, {"dose": {"kind": "numeric"}}, k=3, refine=False)
    assert release.table["dose"].to_list() == [0.2, 0.2, 0.2, 7.6, 7.6, 7.6]


def test_a_group_of_equal_numbers_keeps_them_to_the_last_bit() -> None:
    table = pl.DataFrame({"x": [0.1] * 3 + [0.7] * 3})
    release = mask(table, {"x": {"kind": "numeric"}}, k=3)
    assert release.table.equals(table)
    assert release.evidence["steps"][0]["sse"] == {"x": 0.0}


def test_homogeneous_groups_lose_nothing_and_are_counted() -> None:
    table = pl.DataFrame({"illness": ["flu"] * 4 + ["burn"] * 4, "age": [3] * 4 + [70] * 4})
    release = mask(table, {name: COLUMNS[name] for name in ("illness", "age")}, k=4)
    step = release.evidence["steps"][0]
    assert release.table.equals(table)
    assert (step["groups"], step["homogeneous_groups"], step["real_k"]) == (2, 2, 4)
    assert step["sse"] == {"illness": 0.0, "age": 0.0}


# ------------------------------------------------------------------------------------------------ synthetic values


@settings(max_examples=examples(30))
@given(table=drawn, k=st.integers(1, 5), seed=st.integers(0, 99), classic=st.booleans())
def test_synthetic_values_lie_within_the_reach_of_the_group(table: Drawn, k: int, seed: int, classic: bool) -> None:
    k = min(k, len(table.rows))
    semantics = "classic" if classic else "marginality"
    method = Microaggregate(k=k, aggregate="synthetic", refine=False, semantics=semantics)
    allowed: dict[int, set[tuple[int, Any]]] = {}
    for group in table.groups(k, "mean", classic=classic):
        for place, distance in enumerate(table.distances):
            far = _distance_for(distance, classic=classic)
            values = table.values(group, place)
            domain = {row[place] for row in table.cells}
            for row in group:
                own = table.cells[table.rows[row]][place]
                reach = max(far(own, other) for other in values)
                near = {(place, _rounded(v)) for v in domain if far(own, v) <= reach + 1e-9}
                allowed.setdefault(table.rows[row], set()).update(near)
    for record, cells in table.released(method, seed):
        assert all((place, cell) in allowed[record] for place, cell in enumerate(cells))


def _distance_for(distance: Any, *, classic: bool) -> Any:
    if distance is None:
        return lambda a, b: abs(a - b)
    return (lambda a, b: float(a != b)) if classic else distance


def _rounded(value: Any) -> Any:
    return round(float(value), 9) if isinstance(value, int | float) else value


def test_all_values_within_reach_are_drawn_equally_often() -> None:
    """One group: each value reaches to the farthest other one, so each may become any that is not farther."""
    values = ["flu", "measles", "burn", "fracture"]
    value_space = nominal(values, ILLNESSES)
    numbers = NumericSpace(np.array([0.0, 1.0, 2.0, 5.0]), np.ones(4, dtype=np.int64))
    records, _ = distinct_records(
        ["illness", "dose"], [value_space, numbers], [encode(values).codes, np.array([0, 1, 2, 3], dtype=np.int32)]
    )
    rng, method = np.random.default_rng(11), Microaggregate(k=4, aggregate="synthetic")
    seen: dict[tuple[int, int], Counter[int]] = {}
    for _ in range(800):
        fitted = method.fit(records, rng)
        for source, target in zip(fitted.transitions.sources, fitted.transitions.targets, strict=True):
            for place in range(2):
                own = int(records.codes[source, place])
                seen.setdefault((place, own), Counter())[int(fitted.released[target, place])] += 1
    for (place, own), found in seen.items():
        table = (value_space if place == 0 else numbers).distances()
        near = np.flatnonzero(table[own] <= table[own].max() + 1e-12)
        assert set(found) == set(near.tolist())
        assert chisquare([found[int(code)] for code in near]).pvalue > 1e-4


def test_synthetic_values_of_a_homogeneous_group_are_its_own() -> None:
    table = pl.DataFrame({"illness": ["flu"] * 4 + ["burn"] * 4, "age": [3] * 4 + [70] * 4})
    columns = {name: COLUMNS[name] for name in ("illness", "age")}
    assert mask(table, columns, k=4, aggregate="synthetic").table.equals(table)


# ------------------------------------------------------------------------------------------------ t-closeness


@given(size=st.integers(2, 7), seed=st.integers(0, 10**6), ties=st.booleans())
def test_the_earth_movers_distance_is_the_cheapest_transport(size: int, seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (size, 2)).astype(float) if ties else rng.random((size, 2))
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=-1))
    a, b = (rng.multinomial(amount, np.ones(size) / size) / amount for amount in (rng.integers(1, 9), 60))
    assert earth_movers_distance(a, b, distances) == pytest.approx(oracles.transport(a, b, distances), abs=1e-7)


def far_from_all(kind: str, values: list[Any], distance: Any) -> Any:
    """How far the values of some rows are from those of all."""
    domain = sorted(set(values))
    overall = [values.count(one) / len(values) for one in domain]
    table = [[distance(a, b) for b in domain] for a in domain]

    def far(rows: Any) -> float:
        own = [values[row] for row in rows]
        shares = [own.count(one) / len(own) for one in domain]
        if kind == "concept":
            return oracles.transport(shares, overall, table)
        if kind == "text":
            return sum(abs(a - b) for a, b in zip(shares, overall, strict=True)) / 2
        extent = max(domain) - min(domain)
        carried = np.abs(np.cumsum(np.array(shares) - np.array(overall)))[:-1]
        return float(carried @ np.diff(domain)) / extent if extent else 0.0

    return far


@pytest.mark.parametrize("kind", ["whole", "text"])
@settings(max_examples=examples(40))
@given(n=st.integers(2, 30), k=st.integers(1, 4), t=st.sampled_from([0.05, 0.2, 0.4, 1.0]), seed=st.integers(0, 10**6))
@example(n=21, k=2, t=0.2, seed=278)  # two middles that are equally good but for rounding
@example(n=25, k=1, t=0.4, seed=25)  # two groups that are equally far but for rounding
def test_groups_are_merged_as_defined_until_all_are_close(kind: str, n: int, k: int, t: float, seed: int) -> None:
    table = Drawn(("normal", "concept", kind), {"r": (), "a": ("r",), "b": ("r",), "c": ("b",)}, "wu-palmer", n, seed)
    k = min(k, n)
    method = Microaggregate(k=k, refine=False, centroid="sample", t=t, confidential="column 2")
    rows, space = oracles.in_scale([table.cells[r][:2] for r in table.rows], table.distances[:2], "mean")
    values = [table.cells[record][2] for record in table.rows]
    far = far_from_all(kind, values, table.distances[2] or (lambda a, b: abs(a - b)))
    groups = oracles.merged_until_close(oracles.mdav(rows, space, k), rows, space, far, t)
    fitted = method.fit(table.records, np.random.default_rng(0))
    assert fitted.facts["groups"] == len(groups)
    assert fitted.facts["t_closeness"] == pytest.approx(max(far(group) for group in groups), abs=1e-9)
    assert fitted.facts["t_closeness"] <= t + 1e-9
    sizes = sorted(len(group) for group in groups)
    assert (fitted.facts["smallest_group"], fitted.facts["largest_group"]) == (sizes[0], sizes[-1])


@settings(max_examples=examples(25))
@given(n=st.integers(2, 25), k=st.integers(1, 4), t=st.sampled_from([0.1, 0.3, 0.6]), seed=st.integers(0, 10**6))
def test_concepts_are_close_by_the_distances_of_their_ontology(n: int, k: int, t: float, seed: int) -> None:
    parents = {"r": (), "a": ("r",), "b": ("r",), "c": ("b",), "d": ("b",)}
    table = Drawn(("normal", "concept"), parents, "wu-palmer", n, seed)
    k = min(k, n)
    method = Microaggregate(k=k, t=t, confidential="column 1")
    far = far_from_all("concept", [table.cells[record][1] for record in table.rows], table.distances[1])
    fitted = method.fit(table.records, np.random.default_rng(0))
    classes: dict[int, list[int]] = {}
    firsts = np.cumsum(table.records.counts) - table.records.counts
    for source, target, amount in zip(
        fitted.transitions.sources, fitted.transitions.targets, fitted.transitions.amounts, strict=True
    ):
        classes.setdefault(int(target), []).extend([int(firsts[source])] * int(amount))
    assert max(far(rows) for rows in classes.values()) <= t + 1e-7
    assert fitted.facts["smallest_group"] >= k
    if fitted.facts["merged_groups"] == 0:
        assert fitted.facts["largest_group"] <= 2 * k - 1


def test_the_confidential_column_is_released_as_it_is() -> None:
    table = people()
    columns = {**COLUMNS, "salary": {"kind": "numeric", "role": "confidential"}}
    release = mask(table, columns, list(COLUMNS), k=3, t=0.1, confidential="salary")
    assert release.table["salary"].equals(table["salary"])
    step = release.evidence["steps"][0]
    assert step["t_closeness"] <= 0.1
    assert step["merged_groups"] > 0
    assert step["largest_group"] > 5
    assert step["parameters"] == {**parameters_of(Microaggregate(k=3)), "t": 0.1, "confidential": "salary"}
    classes = release.table.group_by("illness", "age", "pain").agg(pl.col("salary"))
    numbers, counts = np.unique(table["salary"].to_numpy(), return_counts=True)
    for salaries in classes["salary"]:
        own = np.array([(salaries == number).sum() for number in numbers]) / len(salaries)
        assert earth_movers_distance(own, counts / counts.sum(), None, numbers.astype(float)) <= 0.1 + 1e-9


def test_a_file_gives_the_same_as_a_table_and_the_plan_survives_toml(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "people.csv")
    columns = {"illness": {"ontology": "illnesses"}, "age": {"kind": "numeric"}, "salary": {"kind": "numeric"}}
    step = {"method": "microaggregate", "columns": ["illness", "age"], "k": 4, "t": 0.2, "confidential": "salary"}
    plan = Plan.from_dict({"columns": columns, "steps": [step]})
    assert Plan.from_dict(tomllib.loads(plan.to_toml())) == plan
    from_file = anonto.mask(tmp_path / "people.csv", plan, seed=SEED)
    assert from_file.evidence["steps"] == anonto.mask(people(), plan, seed=SEED).evidence["steps"]
    assert from_file.table["salary"].cast(pl.Int64).equals(people()["salary"])


def test_records_without_a_confidential_value_do_not_count() -> None:
    table = people().with_columns(pl.when(pl.col("age") > 40).then(None).otherwise(pl.col("salary")).alias("salary"))
    columns = {**COLUMNS, "salary": {"kind": "numeric", "role": "confidential"}}
    step = mask(table, columns, list(COLUMNS), k=3, t=0.2, confidential="salary").evidence["steps"][0]
    assert step["t_closeness"] <= 0.2


def test_a_column_that_drops_records_may_be_confidential() -> None:
    table = people().with_columns(pl.when(pl.col("age") > 40).then(None).otherwise(pl.col("salary")).alias("salary"))
    columns = {**COLUMNS, "salary": {"kind": "numeric", "role": "confidential", "missing": "drop"}}
    release = mask(table, columns, list(COLUMNS), k=3, t=0.2, confidential="salary")
    assert len(release.table) == (table["age"] <= 40).sum()


# ------------------------------------------------------------------------------------------------ missing cells


def with_gaps(n: int = 120, every: int = 5) -> pl.DataFrame:
    return people(n).with_columns(
        pl.when(pl.int_range(n) % every == 0).then(None).otherwise(pl.col("illness")).alias("illness")
    )


def test_missing_cells_stay_and_records_that_lack_them_are_grouped_among_themselves() -> None:
    table = with_gaps()
    release = mask(table, COLUMNS, k=4)
    assert release.table["illness"].is_null().equals(table["illness"].is_null())
    classes = release.table.group_by("illness", "age", "pain").len()
    assert classes["len"].min() == release.evidence["steps"][0]["real_k"] >= 4


def test_a_rare_pattern_of_missing_cells_is_refused_with_the_counts() -> None:
    with pytest.raises(TooFewRecordsError, match=r"1 of the 2 patterns .* fewer than 4 records to form a group \(2 in"):
        mask(with_gaps(every=60), COLUMNS, k=4)
    dropped = mask(with_gaps(every=60), {**COLUMNS, "illness": {"ontology": ILLNESSES, "missing": "drop"}}, k=4)
    assert dropped.evidence["dropped_records"] == 2


def test_records_without_any_value_are_a_group_of_their_own() -> None:
    table = pl.DataFrame({"illness": ["flu", "burn", "flu"] * 2 + [None] * 3})
    columns = {"illness": {"ontology": ILLNESSES}}
    release = mask(table, columns, k=3)
    assert release.table["illness"].null_count() == 3
    assert release.evidence["steps"][0]["groups"] == 3
    with pytest.raises(TooFewRecordsError, match="patterns of missing cells"):
        mask(table.head(8), columns, k=3)


def test_a_pattern_that_cannot_be_close_is_refused() -> None:
    table = with_gaps().with_columns(salary=pl.when(pl.col("illness").is_null()).then(0).otherwise(pl.col("salary")))
    columns = {**COLUMNS, "salary": {"kind": "numeric", "role": "confidential"}}
    with pytest.raises(
        TooFewRecordsError, match=r"24 records with one pattern of missing cells cannot be brought within"
    ):
        mask(table, columns, list(COLUMNS), k=3, t=0.2, confidential="salary")


def test_nothing_but_missing_cells_is_refused() -> None:
    with pytest.raises(AllMissingError):
        mask(pl.DataFrame({"age": [None, None, None]}), {"age": {"kind": "numeric"}}, k=2)


# ------------------------------------------------------------------------------------------------ what is promised


def test_k_anonymity_is_proved_where_all_that_may_be_known_is_masked() -> None:
    release = mask(people().select(*COLUMNS), COLUMNS, k=6)
    step = release.evidence["steps"][0]
    assert step["guarantee"]["kind"] == "k-anonymity"
    assert (step["guarantee"]["k"], step["guarantee"]["proved"]) == (6, True)
    compared = [
        compare_column(name, BothCells.of(people()[name], release.table[name]), ColumnDescription(**keys), opener())
        for name, keys in COLUMNS.items()
    ]
    assert real_k(compared).details["real_k"] == step["real_k"] >= 6
    assert "Proved: k-anonymity, k = 6" in guarantee_sentence(step["guarantee"])


def test_it_is_not_proved_of_columns_that_are_left_out() -> None:
    release = mask(people().drop("salary"), {**COLUMNS, "region": {}}, list(COLUMNS), k=6)
    guarantee = release.evidence["steps"][0]["guarantee"]
    assert not guarantee["proved"]
    assert "leaves out 'region'" in guarantee["conditions"]


def test_it_is_not_proved_of_synthetic_values() -> None:
    step = mask(people(), COLUMNS, k=6, aggregate="synthetic").evidence["steps"][0]
    assert not step["guarantee"]["proved"]
    assert step["real_k"] < 6
    assert "drawn one by one" in step["guarantee"]["conditions"]


def test_it_is_not_proved_of_cells_without_a_concept_and_they_count_in_the_real_k() -> None:
    table = people().with_columns(
        pl.when(pl.int_range(200) < 10)
        .then(pl.format("code {}", pl.int_range(200)))
        .otherwise(pl.col("illness"))
        .alias("illness")
    )
    columns = {**COLUMNS, "illness": {"ontology": ILLNESSES, "unmatched": "keep"}}
    step = mask(table, columns, k=5).evidence["steps"][0]
    assert not step["guarantee"]["proved"]
    assert "'illness' that have no concept" in step["guarantee"]["conditions"]
    assert step["real_k"] == 1
    assert step["smallest_group"] >= 5


def test_the_guarantee_lists_all_failed_conditions() -> None:
    setting = Setting(left_out=("a",), unmatched=("b",))
    conditions = Microaggregate(k=2, aggregate="synthetic").guarantee(setting).conditions
    assert all(part in conditions for part in ("drawn one by one", "'a'", "'b'"))


def test_the_report_says_what_was_done() -> None:
    assert "groups of at least 7" in method_sentence("microaggregate", parameters_of(Microaggregate(k=7)))


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"k": 0}, "k must be a whole number, 1 or more"),
        ({"k": 2.5}, "k must be a whole number, 1 or more"),
        ({}, "k must be given"),
        ({"k": 3, "scale": "sum"}, "scale must be one of mean, paper"),
        ({"k": 3, "aggregate": "mean"}, "aggregate must be one of centroid, synthetic"),
        ({"k": 3, "centroid": "lcs"}, "centroid must be one of taxonomy, sample"),
        ({"k": 3, "semantics": "none"}, "semantics must be one of marginality, classic"),
        ({"k": 3, "refine": 1}, "refine must be true or false"),
        ({"k": 3, "variable": "yes"}, "variable must be true or false"),
        ({"k": 3, "t": 0.1}, "confidential must be given where t is"),
        ({"k": 3, "confidential": "salary"}, "t must be given where confidential is"),
        ({"k": 3, "t": 0, "confidential": "salary"}, "t must be a number above 0 and at most 1"),
        ({"k": 3, "t": 1.5, "confidential": "salary"}, "t must be a number above 0 and at most 1"),
        ({"k": 3, "t": float("nan"), "confidential": "salary"}, "t must be a number above 0 and at most 1"),
        ({"k": 3, "t": True, "confidential": "salary"}, "t must be a number above 0 and at most 1"),
        ({"k": 3, "t": 0.1, "confidential": 7}, "confidential must be the name of a column"),
    ],
)
def test_a_wrong_parameter_is_named_in_one_sentence(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        method_of("microaggregate", parameters)


def test_the_confidential_column_must_not_be_masked_dropped_or_absent() -> None:
    columns = {**COLUMNS, "salary": {"kind": "numeric"}, "region": {"role": "identifier"}}
    wanted = {"k": 3, "t": 0.3}
    with pytest.raises(PlanError, match="Step 1 looks at column 'age' as it is released, but step 1 masks it"):
        mask(people(), columns, ["illness", "age"], confidential="age", **wanted)
    with pytest.raises(PlanError, match="Step 1 looks at the identifier 'region', which is dropped"):
        mask(people(), columns, ["illness", "age"], confidential="region", **wanted)
    with pytest.raises(ColumnError, match=r"The table has no column.*'wages'"):
        mask(people(), columns, ["illness", "age"], confidential="wages", **wanted)
    steps = [
        {"method": "microaggregate", "columns": ["illness"], "confidential": "salary", **wanted},
        {"method": "random-swap", "columns": ["salary"]},
    ]
    with pytest.raises(PlanError, match="but step 2 masks it"):
        anonto.mask(people(), {"columns": columns, "steps": steps}, seed=SEED)


def test_fewer_records_than_k_are_refused() -> None:
    with pytest.raises(TooFewRecordsError, match="choose a k of 4 or less"):
        mask(people(4), COLUMNS, k=5)
    with pytest.raises(InputError):
        mask(people(4), COLUMNS, k=5, variable=True)


@pytest.mark.parametrize("parameters", [{}, {"variable": True}, {"refine": False}, {"aggregate": "synthetic"}])
def test_constant_columns_work_and_stay(parameters: dict[str, Any]) -> None:
    table = people(40).with_columns(illness=pl.lit("flu"), age=pl.lit(7))
    release = mask(table, COLUMNS, k=4, **parameters)
    assert set(release.table["illness"]) == {"flu"}
    assert set(release.table["age"]) == {7}


def test_an_empty_table_has_no_groups() -> None:
    step = mask(people(0), COLUMNS, k=4).evidence["steps"][0]
    assert (step["groups"], step["smallest_group"], step["real_k"]) == (0, 0, 0)
