"""Methods that are fitted block by block: what is kept, and what the evidence says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import anonto
from anonto.encoding.columns import encode
from anonto.encoding.records import Records, distinct_records
from anonto.encoding.value_space import NumericSpace, nominal_space
from anonto.errors import ParameterError, TooFewRecordsError
from anonto.methods.blocks import cut_into_blocks, fit_in_blocks
from anonto.methods.equi_depth_swap import EquiDepthSwap
from anonto.methods.group_swap import GroupSwap
from anonto.methods.microaggregate import Microaggregate
from anonto.methods.parameters import LEAST_PER_K

TAXONOMY = anonto.read_ontology("illnesses")


def records_of(n: int, seed: int = 0, *, missing: float = 0.0) -> Records:
    rng = np.random.default_rng(seed)
    illness = encode(rng.choice(list(TAXONOMY.ids), n).tolist())
    age = encode([f"{number:.1f}" for number in rng.normal(50, 15, n)])
    numeric = NumericSpace(np.array([float(value) for value in age.values]), age.counts)
    codes = [illness.codes, np.where(rng.random(n) < missing, np.int32(-1), age.codes)]
    nominal = nominal_space(illness, TAXONOMY, measure="wu-palmer")
    return distinct_records(["illness", "age"], [nominal, numeric], codes)[0]


@hypothesis.given(st.integers(0, 5), st.integers(1, 3000), st.sampled_from([1, 50, 400]), st.sampled_from([0.0, 0.3]))
def test_blocks_hold_every_record_once_and_are_neither_too_large_nor_too_small(
    seed: int, n: int, most: int, missing: float
) -> None:
    records, least = records_of(n, seed, missing=missing), 40
    blocks = cut_into_blocks(records, 2, most, least)
    everything = np.sort(np.concatenate(blocks.members))
    assert everything.tolist() == list(range(records.counts.size))
    sizes = [int(records.counts[one].sum()) for one in blocks.members]
    n_patterns = np.unique(records.patterns()).size
    assert all(size >= min(least, n) for size in sizes) or n_patterns > 1
    for one, size in zip(blocks.members, sizes, strict=True):
        assert np.unique(records.patterns()[one]).size == 1
        assert size <= max(most, 3 * least) or (records.codes[one, 1] < 0).all()


def test_concepts_are_cut_between_branches() -> None:
    """Illnesses are infections or injuries: the first cut of a column of them alone is between the two."""
    records = records_of(2000)
    alone = Records(("illness",), records.value_spaces[:1], *_counted(records))
    first, second = cut_into_blocks(alone, 1, 1500, 10).members[:2]
    concepts = records.value_spaces[0].concepts  # type: ignore[attr-defined]
    branches = [{_branch(concepts[alone.codes[one, 0]]) for one in part} for part in (first, second)]
    assert len(branches[0] & branches[1] - {None}) == 0


def _counted(records: Records) -> tuple[Any, Any]:
    counts = np.bincount(records.codes[:, 0], weights=records.counts).astype(np.int64)
    return np.arange(counts.size, dtype=np.int32)[:, None], counts


def _branch(concept: str) -> str | None:
    above = [one for one in TAXONOMY.ancestors(concept) if TAXONOMY.depth(one) == 2]
    return above[0] if above else None


@pytest.mark.parametrize("method", [Microaggregate(k=3), EquiDepthSwap(k=3), GroupSwap(k=3)])
def test_transitions_of_blocks_cover_every_row_once_and_the_evidence_counts_the_blocks(method: Any) -> None:
    records = records_of(2500, missing=0.0 if method.name == "group-swap" else 0.2)
    fitted = replace(method, block_rows=600).fit(records, np.random.default_rng(1))
    transitions = fitted.transitions
    sent = np.bincount(transitions.sources, weights=transitions.amounts, minlength=records.counts.size)
    assert (sent == records.counts).all()
    assert fitted.facts["blocks"] > 2
    assert fitted.facts["block_rows"] == 600
    assert fitted.facts["smallest_block"] >= LEAST_PER_K * 3
    assert fitted.facts["block_sample"] >= 2 * LEAST_PER_K * 3
    if method.name == "microaggregate":
        released = np.bincount(transitions.targets, weights=transitions.amounts)
        assert released[released > 0].min() >= 3
    else:
        for column in range(2):
            before = np.bincount(records.codes[:, column] + 1, weights=records.counts)
            after = np.bincount(fitted.released[transitions.targets, column] + 1, weights=transitions.amounts)
            assert (before == after).all()


def test_groups_of_one_block_are_those_of_the_whole() -> None:
    records = records_of(500)
    whole = Microaggregate(k=3).fit(records, np.random.default_rng(1))
    one = fit_in_blocks(Microaggregate(k=3, block_rows=10**6), records, np.random.default_rng(1))
    assert one.facts["blocks"] == 1
    assert "block_cost" not in one.facts
    assert one.transitions.ends.tolist() == whole.transitions.ends.tolist()
    assert whole.value_spaces is not None
    assert one.value_spaces is not None
    for column in range(2):
        a, b = whole.moves(records, column), one.moves(records, column)
        of_a, of_b = whole.value_spaces[column], one.value_spaces[column]
        assert of_a.pair_distances(a.sources, a.targets) @ a.amounts == pytest.approx(
            of_b.pair_distances(b.sources, b.targets) @ b.amounts
        )


@pytest.mark.parametrize(
    "method", [EquiDepthSwap(k=3), EquiDepthSwap(k=3, odd="cycle3"), GroupSwap(k=3, move="together")]
)
def test_what_a_method_says_it_can_reach_covers_what_it_does_in_blocks(method: Any) -> None:
    method = replace(method, block_rows=600)
    records = records_of(2500, missing=0.0 if method.name == "group-swap" else 0.2)
    transitions = method.fit(records, np.random.default_rng(1)).transitions
    support = method.support(records)
    assert np.bincount(support.members, minlength=records.counts.size).max() <= records.counts.max()
    groups = [set(support.groups[support.members == one].tolist()) for one in range(records.counts.size)]
    for source, target in zip(transitions.sources.tolist(), transitions.targets.tolist(), strict=True):
        assert source == target or groups[source] & groups[target]


@pytest.mark.parametrize("rows", [299, 0, -1, 1.5, True, "600"])
def test_blocks_too_small_for_many_groups_are_refused(rows: Any) -> None:
    for method in (Microaggregate, EquiDepthSwap, GroupSwap):
        with pytest.raises(ParameterError, match="block_rows must be a whole number, 300 or more with k = 3"):
            method(k=3, block_rows=rows)


def test_a_table_that_fits_into_a_block_is_not_cut() -> None:
    records = records_of(500, missing=0.2)
    for method in (Microaggregate(k=3), EquiDepthSwap(k=3), GroupSwap(k=3)):
        whole, cut = (one.fit(records, np.random.default_rng(1)) for one in (method, replace(method, block_rows=500)))
        assert cut.transitions.targets.tolist() == whole.transitions.targets.tolist()
        assert "blocks" not in cut.facts


def test_a_block_that_cannot_be_close_is_distinguished_from_missing_cells() -> None:
    n = 2000
    age = NumericSpace(np.arange(40.0), np.full(40, n // 40))
    codes = np.stack([np.arange(40), np.arange(40)], axis=1).astype(np.int32)
    records = Records(("age", "charge"), (age, age), codes, np.full(40, n // 40))
    method = Microaggregate(k=2, t=0.1, confidential="charge")
    assert method.fit(records, np.random.default_rng(1)).facts["t_closeness"] <= 0.1
    with pytest.raises(TooFewRecordsError, match="one block of 500 records"):
        replace(method, block_rows=500).fit(records, np.random.default_rng(1))
