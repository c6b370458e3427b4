import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nxontology import NXOntology

import anonto
import oracles
from anonto.errors import OntologyError, ParameterError
from anonto.taxonomy.distance import FUNCTIONS
from anonto.taxonomy.information import information_content
from anonto.taxonomy.matrix import weighted_sums
from strategies import Parents, hierarchies, taxonomy_of

pytestmark = pytest.mark.slow

DIAMOND = {"root": (), "b": ("root",), "c": ("root",), "e": ("b", "c")}
OF_GRAPH = {
    "wu-palmer": oracles.wu_palmer,
    "wu-palmer-lcs": oracles.wu_palmer_lcs,
    "ancestor": oracles.ancestor,
    "jaccard": oracles.jaccard,
    "dice": oracles.dice,
    "rada": oracles.rada,
    "leacock-chodorow": oracles.leacock_chodorow,
    "equality": lambda _, a, b: float(a != b),
}
OF_CONTENT = {"resnik": oracles.resnik, "lin": oracles.lin, "jiang-conrath": oracles.jiang_conrath}
METRICS = ("ancestor", "jaccard", "equality")
METRICS_ON_TREES = (
    *METRICS,
    "wu-palmer",
    "wu-palmer-lcs",
    "dice",
    "rada",
    "leacock-chodorow",
    "resnik",
    "lin",
    "jiang-conrath",
)


@pytest.mark.parametrize("measure", OF_GRAPH)
@given(parents=hierarchies(max_concepts=8))
def test_a_measure_of_the_graph_equals_its_definition(measure: str, parents: Parents) -> None:
    tax, graph = taxonomy_of(parents), oracles.graph_of(parents)
    expected = [[OF_GRAPH[measure](graph, a, b) for b in tax.ids] for a in tax.ids]
    np.testing.assert_allclose(tax.distances(tax.ids, measure=measure), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("content", ["seco", "sanchez", "data"])
@pytest.mark.parametrize("measure", OF_CONTENT)
@given(parents=hierarchies(max_concepts=8), seed=st.integers(0, 9))
def test_a_measure_of_information_equals_its_definition(
    measure: str, content: str, parents: Parents, seed: int
) -> None:
    tax, graph = taxonomy_of(parents), oracles.graph_of(parents)
    counts = dict(zip(sorted(parents), np.random.default_rng(seed).integers(0, 5, len(parents)).tolist(), strict=True))
    contents = {
        "seco": lambda c: oracles.content_seco(graph, c),
        "sanchez": lambda c: oracles.content_sanchez(graph, c),
        "data": lambda c: oracles.content_of_data(graph, c, counts),
    }
    of_concept = {c: contents[content](c) for c in graph}
    expected = [[OF_CONTENT[measure](graph, a, b, of_concept.__getitem__) for b in tax.ids] for a in tax.ids]
    found = tax.distances(tax.ids, measure=measure, information_content=content, counts=counts)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@given(parents=hierarchies(max_concepts=10, one_root=True))
def test_information_content_and_lin_equal_nxontology(parents: Parents) -> None:
    tax = taxonomy_of(parents)
    other = NXOntology(oracles.graph_of(parents).reverse())
    other.freeze()
    by_seco, by_sanchez = (information_content(tax, kind) for kind in ("seco", "sanchez"))
    for number, concept in enumerate(tax.ids):
        info = other.node_info(concept)
        if len(tax) > 1:
            assert by_seco[number] == pytest.approx(info.intrinsic_ic_scaled, abs=1e-12)
        assert by_sanchez[number] == pytest.approx(info.intrinsic_ic_sanchez, abs=1e-12)
    for a, b in itertools.combinations(tax.ids, 2):
        similarity = other.similarity(a, b, ic_metric="intrinsic_ic_sanchez").lin
        assert 1 - tax.distance(a, b, "lin") == pytest.approx(similarity, abs=1e-12)


@pytest.mark.parametrize("measure", FUNCTIONS)
@given(parents=hierarchies())
def test_every_measure_is_a_symmetric_distance_from_0_to_1(measure: str, parents: Parents) -> None:
    distances = taxonomy_of(parents).distances(list(parents), measure=measure)
    assert np.array_equal(distances, distances.T)
    assert (distances.diagonal() == 0).all()
    assert (distances >= 0).all()
    assert (distances <= 1).all()


@pytest.mark.parametrize("measure", FUNCTIONS)
@given(parents=hierarchies(max_concepts=6))
def test_concepts_that_share_nothing_are_at_distance_1(measure: str, parents: Parents) -> None:
    apart = {**parents, "alone": ()}
    assert (taxonomy_of(apart).distances(["alone"], list(parents), measure) == 1).all()


@pytest.mark.parametrize("measure", METRICS)
@given(parents=hierarchies())
def test_a_metric_keeps_the_triangle_inequality(measure: str, parents: Parents) -> None:
    _assert_metric(taxonomy_of(parents).distances(list(parents), measure=measure))


@pytest.mark.parametrize("measure", METRICS_ON_TREES)
@given(parents=hierarchies(trees=True))
def test_a_metric_on_trees_keeps_the_triangle_inequality_there(measure: str, parents: Parents) -> None:
    _assert_metric(taxonomy_of(parents).distances(list(parents), measure=measure))


def _assert_metric(distances: np.ndarray) -> None:
    through = distances[:, :, None] + distances[None, :, :]
    assert (distances[:, None, :] <= through + 1e-12).all()
    assert (distances[~np.eye(len(distances), dtype=bool)] > 0).all()


@given(parents=hierarchies(trees=True))
def test_on_a_tree_wu_palmer_is_the_dice_distance(parents: Parents) -> None:
    tax = taxonomy_of(parents)
    np.testing.assert_allclose(tax.distances(tax.ids), tax.distances(tax.ids, measure="dice"), atol=1e-15)


@pytest.mark.paper("information-fusion-2019", where="Figs. 1-4")
def test_the_distances_of_the_nervous_system_example_are_reached() -> None:
    tax = anonto.read_ontology("nervous-system")
    expected = {
        ("COMA", "HEPATIC"): 0.2,
        ("COMA", "DNS"): 1 / 3,
        ("COMA", "NEUROPATHY"): 0.5,
        ("NEUROPATHY", "DNS"): 1 / 3,
        ("NEUROPATHY", "HEPATIC"): 0.6,
        ("HEPATIC", "HYPOGLYCEMIC"): 1 / 3,
        ("HEPATIC", "HZO"): 2 / 3,
        ("DNS", "HEPATIC"): 0.5,
        ("VARICELLA", "HEPATIC"): 0.6,
        ("VARICELLA", "HZO"): 0.2,
    }
    assert {pair: tax.distance(*pair) for pair in expected} == pytest.approx(expected, abs=1e-15)


@pytest.mark.paper("information-fusion-2019", where="Figs. 1-4")
def test_the_sums_and_ranks_of_the_nervous_system_example_are_reached() -> None:
    tax = anonto.read_ontology("nervous-system")
    sums = dict(zip(tax.ids, tax.distances(tax.ids).sum(axis=1).round(4).tolist(), strict=True))
    assert sums == {
        "NEUROPATHY": 3.7333,
        "HEPATIC": 3.5667,
        "HYPOGLYCEMIC": 3.5667,
        "HZO": 3.5667,
        "HZA": 3.5667,
        "DNS": 3.0,
        "COMA": 2.9333,
        "VARICELLA": 2.9333,
    }
    from_coma = tax.distances(["COMA"], ["COMA", "HEPATIC", "HYPOGLYCEMIC", "DNS", "NEUROPATHY"])[0]
    assert from_coma.round(2).tolist() == [0, 0.2, 0.2, 0.33, 0.5]
    from_neuropathy = tax.distances(["NEUROPATHY"], ["DNS", "COMA", "HEPATIC", "HYPOGLYCEMIC"])[0]
    assert from_neuropathy.round(2).tolist() == [0.33, 0.5, 0.6, 0.6]


def test_wu_palmer_is_below_its_equation_where_a_shortcut_passes_a_unique_least_common_subsumer() -> None:
    """A long way leads to the least common subsumer b of z and b, a short one past it to a."""
    chain = {"r": (), "a": ("r",), "b": ("a",), "c": ("b",), "d": ("c",), "e": ("d",), "f": ("e",)}
    tax = taxonomy_of({**chain, "x": ("a",), "z": ("f", "x")})
    assert tax.least_common_subsumer("z", "b") == "b"
    assert tax.distance("z", "b") == pytest.approx(3 / 7)
    assert tax.distance("z", "b", "wu-palmer-lcs") == pytest.approx(5 / 11)


@given(parents=hierarchies(trees=True))
def test_on_a_tree_the_equation_of_wu_palmer_needs_no_maximum(parents: Parents) -> None:
    tax = taxonomy_of(parents)
    np.testing.assert_array_equal(tax.distances(tax.ids), tax.distances(tax.ids, measure="wu-palmer-lcs"))


def test_the_diamond_has_its_distances_and_breaks_the_triangle_of_wu_palmer() -> None:
    tax = taxonomy_of(DIAMOND)
    found = {pair: tax.distance(*pair) for pair in [("b", "c"), ("b", "e"), ("c", "e"), ("root", "e")]}
    assert found == pytest.approx({("b", "c"): 0.5, ("b", "e"): 0.2, ("c", "e"): 0.2, ("root", "e"): 0.5}, abs=1e-15)
    assert found["b", "c"] > found["b", "e"] + found["c", "e"]
    assert tax.distance("b", "e", "ancestor") == pytest.approx(math.log2(1.5), abs=1e-15)
    assert tax.distance("b", "c", "ancestor") == pytest.approx(math.log2(5 / 3), abs=1e-15)


def test_equal_distances_are_equal_floats() -> None:
    """1 − 2·2/(2·2+1+1) and 1 − 2·4/(2·4+2+2): ties must not depend on rounding."""
    chain = {str(i): (str(i - 1),) if i else () for i in range(8)}
    tax = taxonomy_of({**chain, "x": ("1",), "y": ("1",), "p": ("3",), "q": ("3",), "pp": ("p",), "qq": ("q",)})
    assert tax.distance("x", "y") == tax.distance("pp", "qq")


@pytest.mark.parametrize("measure", FUNCTIONS)
def test_tiles_rows_and_threads_do_not_change_a_distance(measure: str) -> None:
    rng = np.random.default_rng(5)
    parents = {"0": ()} | {
        str(i): tuple({str(p) for p in rng.integers(max(0, i - 40), i, rng.integers(1, 3))}) for i in range(1, 1300)
    }
    tax = taxonomy_of(parents)
    whole = tax.distances(tax.ids, measure=measure)
    some = [tax.ids[i] for i in rng.integers(0, len(tax), 30)]
    rows = [tax.index[c] for c in some]
    assert np.array_equal(tax.distances(some, tax.ids, measure), whole[rows])
    assert np.array_equal(tax.distances(some, measure=measure), whole[np.ix_(rows, rows)])
    in_half = tax.distances(tax.ids, measure=measure, dtype="float32")
    assert in_half.dtype == np.float32
    np.testing.assert_allclose(in_half, whole, atol=1e-7)
    weights = rng.random(len(tax))
    everything = np.arange(len(tax), dtype=np.int32)
    sums = weighted_sums(tax, everything, everything, weights, measure)
    np.testing.assert_allclose(sums, whole @ weights, rtol=1e-12)


def test_the_longest_way_is_found_though_the_deepest_concepts_are_near_each_other() -> None:
    chain = {str(i): (str(i - 1),) if i else () for i in range(300)}
    deep = {f"leaf{i}": ("299",) for i in range(400)}
    tax = taxonomy_of({**chain, **deep, "side": ("0",)})
    assert tax.distance("leaf0", "side", "rada") == 1
    assert tax.distance("leaf0", "leaf1", "rada") == pytest.approx(2 / 301)


def test_the_largest_distances_are_found_below_several_roots_and_single_child_tops() -> None:
    rng = np.random.default_rng(3)
    parents = {f"r{i}": () for i in range(3)} | {"t0": ("r0",), "t1": ("t0",)}
    names = [*parents]
    for i in range(150):
        parents[f"n{i}"] = tuple({names[p] for p in rng.integers(1, len(names), rng.integers(1, 3))})
        names.append(f"n{i}")
    tax = taxonomy_of(parents)
    counts = {name: int(rng.integers(0, 4)) for name in names}
    for measure, content in [("rada", "sanchez"), ("jiang-conrath", "sanchez"), ("jiang-conrath", "data")]:
        distances = tax.distances(tax.ids, measure=measure, information_content=content, counts=counts)
        share = tax.distances(tax.ids, measure="jaccard") < 1
        assert distances[share].max() == pytest.approx(1, abs=1e-12)


def test_a_chain_of_tens_of_thousands_has_its_longest_way() -> None:
    n = 30_000
    tax = taxonomy_of({"0": (), **{str(i): (str(i - 1),) for i in range(1, n)}})
    assert tax.distance("0", str(n - 1), "rada") == 1
    assert tax.distance("0", "1", "rada") == pytest.approx(1 / (n - 1))


def test_an_unknown_measure_lists_the_known_ones() -> None:
    tax = taxonomy_of(DIAMOND)
    with pytest.raises(OntologyError, match=r"There is no measure .*did you mean 'wu-palmer'.*jiang-conrath"):
        tax.distance("b", "c", "wu-palmr")


def test_an_unknown_kind_of_content_or_dtype_is_refused() -> None:
    tax = taxonomy_of(DIAMOND)
    with pytest.raises(ParameterError, match="sanchez, seco, data"):
        tax.distance("b", "c", "lin", information_content="sancho")
    with pytest.raises(ParameterError, match="sanchez, seco, data"):
        tax.distance("b", "c", "rada", information_content="sancho")
    with pytest.raises(ParameterError, match="counts"):
        tax.distance("b", "c", "lin", information_content="data")
    with pytest.raises(ParameterError, match="float32 or float64"):
        tax.distances(["b"], dtype="int32")


def test_unknown_concepts_are_counted_and_not_shown() -> None:
    with pytest.raises(OntologyError, match="2 ids name no concept") as caught:
        taxonomy_of(DIAMOND).distances(["b", "secret one", "secret two"])
    assert "secret" not in str(caught.value)


def test_no_concepts_give_an_empty_matrix() -> None:
    assert taxonomy_of(DIAMOND).distances([]).shape == (0, 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_measure_says_its_range_and_whether_it_is_a_metric(name: str) -> None:
    text = FUNCTIONS[name].__doc__ or ""
    assert "range" in text.casefold()
    assert "metric" in text
    assert name == "equality" or ("References:" in text and "$$" in text)
