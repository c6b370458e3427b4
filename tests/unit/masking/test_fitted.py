"""Fitted steps: what goes to another process masks the same rows, and transitions tell what masking would."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from anonto.encoding.prepare import opener
from anonto.engine.memory.source import InMemory
from anonto.errors import ClusterError
from anonto.masking.fit import fit
from anonto.masking.plan import plan_of
from anonto.random.streams import Seed

if TYPE_CHECKING:
    from anonto.masking.fitted import FittedPlan

N = 200
WHOLE = [("group-swap", {"k": 4}), ("microaggregate", {"k": 4})]


def fitted(method: str, columns: list[str], **parameters: Any) -> tuple[FittedPlan, Any]:
    """A step fitted to a table in memory, and the raw codes of its rows."""
    rng = np.random.default_rng(3)
    table = pl.DataFrame(
        {
            "illness": rng.choice(["flu", "measles", "burn", "fracture", None], N).tolist(),
            "age": rng.integers(0, 12, N),
        }
    )
    described = {"illness": {"ontology": "illnesses"}, "age": {"kind": "numeric"}}
    plan = plan_of({"columns": described, "steps": [{"method": method, "columns": columns, **parameters}]})
    engine = InMemory(table, plan)
    return fit(engine, plan, Seed(1 << 100), opener()), dict(engine._raw)


def all_rows(steps: FittedPlan, raw: Any, cuts: list[int], **around: Any) -> list[Any]:
    """The rows masked in batches."""

    def read(batch: slice) -> tuple[Any, Any]:
        return {name: codes[batch] for name, codes in raw.items()}, np.arange(N)[batch]

    return list(steps.apply_to_batches([slice(*both) for both in pairwise(cuts)], read, **around))


@pytest.mark.parametrize(
    ("method", "columns", "parameters"),
    [("random-swap", ["illness"], {}), *((name, ["illness", "age"], given) for name, given in WHOLE)],
)
def test_transitions_describe_what_becomes_of_the_rows(
    method: str, columns: list[str], parameters: dict[str, Any]
) -> None:
    steps, raw = fitted(method, columns, **parameters)
    tallies = steps.tallies()
    for _, _, found, _ in all_rows(steps, raw, [0, 90, N]):
        tallies.add(found)
    told = steps.tallies()
    told.add([steps.steps[0].tally_transitions(raw, N)])
    assert told.steps[0].unchanged_records == tallies.steps[0].unchanged_records > 0
    assert told.real_k(N) == tallies.real_k(N)


@pytest.mark.parametrize(
    ("method", "parameters"), [*WHOLE, ("rank-swap", {"k": 3}), ("semantic-noise", {"noise_level": 0.4})]
)
def test_what_goes_to_another_process_masks_the_same(method: str, parameters: dict[str, Any]) -> None:
    steps, raw = fitted(method, ["illness", "age"], **parameters)
    there = pickle.loads(pickle.dumps(steps.slim()))  # noqa: S301 - our own
    here, elsewhere = all_rows(steps, raw, [0, N]), all_rows(there, raw, [0, 33, N])
    for name in steps.columns:
        for part in (0, 1):
            whole = here[0][1][name][part]
            parts = [one[1][name][part] for one in elsewhere]
            assert whole is None or np.array_equal(whole, np.concatenate(parts))
    if method == "semantic-noise":
        assert np.array_equal(here[0][2][0].counts, sum(one[2][0].counts for one in elsewhere))


def test_rows_that_nobody_counted_are_refused_before_they_are_masked() -> None:
    steps, raw = fitted("rank-swap", ["illness", "age"], k=3)
    sizes = [[part.transitions.sizes for part in step.transition_parts] for step in steps.steps]
    assert len(all_rows(steps, raw, [0, 50, N], behind=sizes)) == 2
    with pytest.raises(ClusterError, match="changed between two reads"):
        all_rows(steps, raw, [0, N - 1], behind=sizes)
    one_more = {name: np.append(codes, codes[:1]) for name, codes in raw.items()}
    masking = steps.apply_to_batches([one_more], lambda codes: (codes, np.arange(N + 1)), behind=sizes)
    with pytest.raises(ClusterError, match="changed between two reads"):
        next(masking)
