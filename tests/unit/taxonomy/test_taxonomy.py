import copy
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from anonto.errors import ColumnError, FileError, OntologyError
from anonto.taxonomy.build import Draft
from anonto.taxonomy.taxonomy import Provenance, Taxonomy
from strategies import Parents, hierarchies, taxonomy_of

DIAMOND = {"root": (), "b": ("root",), "c": ("root",), "e": ("b", "c")}


@given(hierarchies())
def test_parents_are_those_of_the_transitive_reduction(parents: Parents) -> None:
    tax, graph = taxonomy_of(parents), oracles.graph_of(parents)
    assert {c: set(tax.parents(c)) for c in tax.ids} == {c: set(graph.successors(c)) for c in graph}
    assert {c: set(tax.children(c)) for c in tax.ids} == {c: set(graph.predecessors(c)) for c in graph}


@given(hierarchies())
def test_ancestors_descendants_and_depth_are_those_of_the_graph(parents: Parents) -> None:
    tax, graph = taxonomy_of(parents), oracles.graph_of(parents)
    for concept in tax.ids:
        assert tax.ancestors(concept) == oracles.ancestors(graph, concept)
        assert tax.descendants(concept) == oracles.descendants(graph, concept)
        assert tax.depth(concept) == oracles.depth(graph, concept)


@given(hierarchies())
def test_the_order_has_every_parent_before_its_children(parents: Parents) -> None:
    tax = taxonomy_of(parents)
    place = {int(c): i for i, c in enumerate(tax.order)}
    assert len(place) == len(tax)
    for child in range(len(tax)):
        above = tax.parent_indices[tax.parent_offsets[child] : tax.parent_offsets[child + 1]]
        assert all(place[int(parent)] < place[child] for parent in above)


@given(hierarchies(), st.data())
def test_the_least_common_subsumer_follows_the_rule(parents: Parents, data: st.DataObject) -> None:
    tax, graph = taxonomy_of(parents), oracles.graph_of(parents)
    concepts = data.draw(st.lists(st.sampled_from(tax.ids), min_size=2, max_size=4))
    assert tax.least_common_subsumer(*concepts) == oracles.least_common_subsumer(graph, concepts)


def test_among_several_minimal_subsumers_the_deepest_then_narrowest_then_smallest_is_taken() -> None:
    shallow_and_deep = {"r": (), "x": ("r",), "s": ("r",), "d": ("x",), "a": ("s", "d"), "b": ("s", "d")}
    assert taxonomy_of(shallow_and_deep).least_common_subsumer("a", "b") == "d"
    wide_and_narrow = {"r": (), "n": ("r",), "m": ("r",), "a": ("m", "n"), "b": ("m", "n"), "z": ("m",)}
    assert taxonomy_of(wide_and_narrow).least_common_subsumer("a", "b") == "n"
    alike = {"r": (), "n": ("r",), "m": ("r",), "a": ("m", "n"), "b": ("m", "n")}
    assert taxonomy_of(alike).least_common_subsumer("a", "b") == "m"


def test_concepts_that_share_nothing_have_no_subsumer() -> None:
    assert taxonomy_of({"a": (), "b": ()}).least_common_subsumer("a", "b") is None


def test_a_virtual_root_is_in_no_depth_no_ancestors_and_no_length() -> None:
    tax = taxonomy_of({"a": (), "b": (), "c": ("b",)})
    assert tax.provenance.virtual_root
    assert (len(tax), tax.depth("a"), tax.depth("c"), tax.ancestors("c")) == (3, 1, 2, {"b", "c"})


def test_a_shortcut_is_removed_and_counted() -> None:
    tax = taxonomy_of({"r": (), "m": ("r",), "c": ("m", "r")})
    assert tax.parents("c") == ("m",)
    assert tax.provenance.redundant_edges == 1


def test_repeated_and_dangling_edges_are_kept_out_and_counted() -> None:
    tax = taxonomy_of({"r": (), "c": ["r", "r", "nowhere"]})
    assert tax.parents("c") == ("r",)
    assert (tax.provenance.duplicate_edges, tax.provenance.dangling_edges) == (1, 1)
    assert tax.provenance.edges_dropped == 2


def test_a_cycle_is_refused_and_its_nodes_are_named() -> None:
    with pytest.raises(OntologyError, match=r"form a cycle .*through 3 concepts") as caught:
        taxonomy_of({"r": (), "a": ("b", "r"), "b": ("c",), "c": ("a",), "below": ("a",)})
    assert [sorted(cycle) for cycle in caught.value.values] == [["a", "b", "c"]]


def test_a_concept_that_is_its_own_parent_is_a_cycle() -> None:
    with pytest.raises(OntologyError, match=r"form a cycle .*a → a"):
        taxonomy_of({"a": ("a",)})


def test_a_long_cycle_is_named_without_an_edge_that_does_not_exist() -> None:
    n = 20
    with pytest.raises(OntologyError, match=r"form a cycle .*n11 → … \(8 more\) → n0;") as caught:
        taxonomy_of({f"n{i}": (f"n{(i + 1) % n}",) for i in range(n)})
    assert caught.value.values == (tuple(f"n{i}" for i in range(n)),)


def test_two_cycles_are_both_named() -> None:
    with pytest.raises(OntologyError, match="form a cycle") as caught:
        taxonomy_of({"a": ("b",), "b": ("a",), "x": ("y",), "y": ("x",)})
    assert len(caught.value.values) == 2


def test_no_concepts_is_an_error() -> None:
    with pytest.raises(FileError, match="describes no concept"):
        taxonomy_of({})


def test_an_id_of_no_concept_is_kept_out_of_the_message() -> None:
    tax = taxonomy_of(DIAMOND)
    for ask in (
        tax.label,
        tax.parents,
        tax.children,
        tax.ancestors,
        tax.descendants,
        tax.depth,
        tax.synonyms,
    ):
        with pytest.raises(OntologyError, match="no concept of taxonomy") as caught:
            ask("Jane Doe")
        assert caught.value.values == ("Jane Doe",)
        assert "Jane" not in str(caught.value)
    assert "Jane Doe" not in tax


@given(hierarchies(), st.data())
def test_the_part_below_a_concept_is_the_induced_hierarchy(parents: Parents, data: st.DataObject) -> None:
    tax, graph = taxonomy_of(parents), oracles.graph_of(parents)
    root = data.draw(st.sampled_from(tax.ids))
    inside = oracles.descendants(graph, root)
    part = tax.below(root)
    assert set(part.ids) == inside
    assert part.roots == (root,)
    assert {c: set(part.parents(c)) for c in part.ids} == {c: set(graph.successors(c)) & inside for c in inside}
    assert all(part.label(c) == tax.label(c) for c in part.ids)


def test_root_policies_choose_the_part() -> None:
    tax = taxonomy_of({"r": (), "m": ("r",), "a": ("m",), "b": ("m",), "z": ("r",)})
    assert len(tax.rooted("ontology", ["a", "b"])) == 5
    assert tax.rooted("lcs", ["a", "b"]).roots == ("m",)
    assert tax.rooted("lcs", ["a"]).ids == ("a",)
    assert tax.rooted("m", ["a"]).roots == ("m",)
    with pytest.raises(OntologyError, match="outside the declared root") as caught:
        tax.rooted("m", ["a", "z"])
    assert caught.value.values == ("z",)
    with pytest.raises(OntologyError, match="give 'ontology', 'lcs' or a concept id"):
        tax.rooted("nowhere", ["a"])
    with pytest.raises(OntologyError, match="give a concept id"):
        tax.below("ontology")


def test_values_without_a_common_subsumer_keep_the_whole_forest() -> None:
    tax = taxonomy_of({"a": (), "b": ()})
    assert tax.rooted("lcs", ["a", "b"]) is tax


def test_the_arrays_cannot_be_written_to() -> None:
    tax = taxonomy_of(DIAMOND)
    with pytest.raises(ValueError, match="read-only"):
        tax.depths[0] = 7
    with pytest.raises(AttributeError):
        tax.ids = ()  # type: ignore[misc]


def renamed() -> Taxonomy:
    draft = Draft()
    for concept, parent in (("r", ""), ("x", "r"), ("z", "x"), ("other", "r")):
        draft.concept(concept)
        if parent:
            draft.edge(concept, parent)
    draft.alternative("Z2", "z")
    replacements = {"OLD1": "OLD2", "OLD2": "z", "OLD3": "Z2", "OLD4": "OLD3", "OLD5": "other", "OLD6": None}
    for obsolete, replacement in {**replacements, "ROUND": "ABOUT", "ABOUT": "ROUND"}.items():
        draft.obsolete(obsolete, replacement)
    return draft.finish(Provenance(source="renamed", format="test", sha256=""))


def test_chains_of_obsolete_ids_lead_to_the_same_concept_in_a_part() -> None:
    tax = renamed()
    part = tax.below("x")
    for whole_or_part in (tax, part, part.below("z")):
        assert [whole_or_part.replacement(f"OLD{n}") for n in (1, 2, 3, 4)] == ["z"] * 4
    assert tax.replacement("OLD5") == "other"
    assert [tax.replacement(concept) for concept in ("OLD6", "ROUND", "z", "nowhere")] == [None] * 4
    assert set(part.obsolete) == {"OLD1", "OLD2", "OLD3", "OLD4"}


def test_the_mappings_cannot_be_written_to() -> None:
    tax = renamed()
    for mapping in (tax.obsolete, tax.alternative_ids, tax.index):
        with pytest.raises(TypeError):
            mapping["OLD1"] = "r"  # type: ignore[index]


@pytest.mark.parametrize("copied", [lambda tax: pickle.loads(pickle.dumps(tax)), copy.copy, copy.deepcopy])  # noqa: S301
def test_a_copy_is_the_same_and_as_frozen(copied) -> None:
    tax = renamed()
    tax.compute_once("a function", lambda: lambda: None)
    again = copied(tax)
    assert (again.ids, again.roots, again.provenance) == (tax.ids, tax.roots, tax.provenance)
    assert (again.obsolete, again.alternative_ids, again.index) == (tax.obsolete, tax.alternative_ids, tax.index)
    assert np.array_equal(again.distances(tax.ids), tax.distances(tax.ids))
    with pytest.raises(ValueError, match="read-only"):
        again.depths[0] = 7
    with pytest.raises(TypeError):
        again.obsolete["OLD1"] = "r"


def test_an_arrow_column_of_ids_is_unwrapped() -> None:
    tax = taxonomy_of(DIAMOND)
    expected = tax.distances(["b", "e"])
    for column in (pa.array(["b", "e"]), pa.chunked_array([["b"], ["e"]]), [pa.scalar("b"), pa.scalar("e")]):
        assert np.array_equal(tax.distances(column), expected)
    assert tax.rooted("lcs", pa.array(["b", "e"])).roots == ("b",)
    with pytest.raises(OntologyError, match="no concept of taxonomy") as caught:
        tax.distances(pa.array(["b", "nowhere", None]))
    assert caught.value.values == ("nowhere", None)


def test_one_text_is_not_a_column_of_letters() -> None:
    tax = taxonomy_of({"C": (), "O": ("C",), "CO": ("C",)})
    for ask in (tax.distances, tax.numbers, lambda ids: tax.distances(["C"], ids), lambda ids: tax.rooted("lcs", ids)):
        with pytest.raises(ColumnError, match="A str is not a column"):
            ask("CO")


def test_a_long_chain_has_its_full_depth() -> None:
    n = 3000
    tax = taxonomy_of({"0": (), **{str(i): (str(i - 1),) for i in range(1, n)}})
    assert tax.max_depth == n
    assert np.array_equal(np.sort(tax.depths), np.arange(1, n + 1))
