"""Generalisation of Adult along the hierarchies of ARX: no levels lose less, and local levels lose far less.

ARX itself does not run here. Its exact algorithms (Flash, OLA) return the node of the lattice with the least loss; the
lattice of its hierarchies is searched here node by node, and the method must lose no more than the best of all.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
QUASI = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]


class Adult:
    """The complete records of Adult, and the levels of each column as the files of ARX have them."""

    def __init__(self, folder: Path) -> None:
        table = pl.read_csv(folder / "uci_adult" / "adult.csv.gz")
        self.table = table.filter(~pl.any_horizontal(pl.col(pl.String) == "?")).select(*QUASI, "salary-class")
        self.files = {name: folder / "uci_adult" / "arx" / f"adult_hierarchy_{name}.csv" for name in QUASI}

    def masked(self, names: list[str], **parameters: Any) -> anonto.Release:
        columns: dict[str, Any] = {name: {"ontology": str(self.files[name])} for name in names}
        columns["salary-class"] = {"role": "confidential"}
        step = {"method": "generalise", "columns": names, **parameters}
        return anonto.mask(
            self.table.select(*names, "salary-class"), {"columns": columns, "steps": [step]}, seed=1 << 100
        )

    def levels(self, name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """For each level of ARX the group of each record, and its squared distance."""
        rows = [line.split(";") for line in self.files[name].read_text().splitlines()]
        chain = {row[0]: row for row in rows}
        taxonomy = anonto.read_ontology(self.files[name])
        values, value_of = np.unique(self.table[name].cast(pl.String).to_list(), return_inverse=True)
        groups, losses = [], []
        for level in range(len(rows[0])):
            above = [chain[value][level] for value in values.tolist()]
            groups.append(np.unique(above, return_inverse=True)[1][value_of])
            losses.append(np.diag(taxonomy.distances(values.tolist(), above))[value_of] ** 2)
        return groups, losses


@pytest.fixture(scope="module")
def adult(data_folder: Path) -> Adult:
    if not (data_folder / "uci_adult" / "arx").is_dir():
        pytest.skip("uci_adult/arx is not there")
    return Adult(data_folder)


@pytest.mark.parametrize(("k", "share"), [(5, 0.0), (5, 0.02)])
def test_no_node_of_the_lattice_of_arx_loses_less(adult: Adult, k: int, share: float) -> None:
    names = QUASI if share else QUASI[:6]  # without suppression nearly all nodes must be looked at here
    said = adult.masked(names, k=k, suppress=share).evidence["steps"][0]
    assert said["loss"] == said["loss_of_any_levels"]
    assert said["guarantee"]["proved"]
    budget = int(share * len(adult.table))
    columns = [adult.levels(name) for name in names]
    nodes = list(product(*(range(len(losses)) for _, losses in columns)))
    bounds = [
        sum(float(losses[level].sum()) for (_, losses), level in zip(columns, node, strict=True)) for node in nodes
    ]
    best = np.inf
    for place in np.argsort(bounds, kind="stable").tolist():
        if bounds[place] >= best:
            break
        found = loss_of(columns, nodes[place], bounds[place], k, budget)
        best = best if found is None else min(best, found)
    assert len(nodes) == (6_480 if share else 1_080)
    assert said["loss"] * len(adult.table) <= best + 1e-6
    assert share or said["loss"] * len(adult.table) == pytest.approx(best)


def loss_of(columns: list[Any], node: tuple[int, ...], bound: float, k: int, budget: int) -> float | None:
    """The loss of a node; None if more records are in small classes than may be suppressed, or fewer than k."""
    key = np.zeros(columns[0][0][0].size, dtype=np.int64)
    for (groups, _), level in zip(columns, node, strict=True):
        key = key * (int(groups[level].max()) + 1) + groups[level]
    _, of_row, sizes = np.unique(key, return_inverse=True, return_counts=True)
    small = sizes[of_row] < k
    n_small = int(small.sum())
    if n_small > budget or 0 < n_small < k:
        return None
    own = sum(float(losses[level][small].sum()) for (_, losses), level in zip(columns, node, strict=True))
    return bound + n_small * len(columns) - own


def test_local_levels_lose_less_than_a_fifth_of_global_ones(adult: Adult) -> None:
    everywhere, local = (adult.masked(QUASI, k=5, scope=scope) for scope in ("global", "local"))
    losses = [one.evidence["steps"][0]["loss"] for one in (everywhere, local)]
    assert losses[0] == pytest.approx(1.2247, abs=1e-4)
    assert losses[1] < losses[0] / 5
    sizes = local.table.group_by(QUASI).len()["len"]
    assert sizes.min() >= 5
