"""Slow and plain versions of what the package computes, written straight from the definitions.

A hierarchy is a networkx graph with edges child → parent. Records are looked at one by one, pair by pair.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

Distance = Callable[[str, str], float]


def graph_of(parents: Mapping[str, Iterable[str]]) -> nx.DiGraph:
    """The hierarchy without shortcuts."""
    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((child, parent) for child, above in parents.items() for parent in above)
    return nx.transitive_reduction(graph)


def ancestors(graph: nx.DiGraph, concept: str) -> set[str]:
    """T(c): the concept and all above it."""
    return {concept, *nx.descendants(graph, concept)}


def descendants(graph: nx.DiGraph, concept: str) -> set[str]:
    return {concept, *nx.ancestors(graph, concept)}


def depth(graph: nx.DiGraph, concept: str) -> int:
    """Nodes on the longest way to a root."""
    return 1 + max((depth(graph, parent) for parent in graph.successors(concept)), default=0)


def path(graph: nx.DiGraph, concept: str, above: str) -> int:
    """Edges on the shortest way up."""
    return int(nx.shortest_path_length(graph, concept, above))


def common(graph: nx.DiGraph, a: str, b: str) -> set[str]:
    return ancestors(graph, a) & ancestors(graph, b)


def least_common_subsumer(graph: nx.DiGraph, concepts: Sequence[str]) -> str | None:
    """Minimal common subsumer; of several the deepest, then fewest descendants, then the smallest id."""
    shared = set.intersection(*(ancestors(graph, c) for c in concepts))
    minimal = [c for c in shared if not (descendants(graph, c) - {c}) & shared]
    if not minimal:
        return None
    return min(minimal, key=lambda c: (-depth(graph, c), len(descendants(graph, c)), c))


def wu_palmer(graph: nx.DiGraph, a: str, b: str) -> float:
    shared = common(graph, a, b)
    if not shared:
        return 1.0
    return 1 - max(2 * depth(graph, c) / (2 * depth(graph, c) + path(graph, a, c) + path(graph, b, c)) for c in shared)


def wu_palmer_lcs(graph: nx.DiGraph, a: str, b: str) -> float:
    """Eq. 3 of the rank swapping paper to the letter."""
    subsumer = least_common_subsumer(graph, [a, b])
    if subsumer is None:
        return 1.0
    twice = 2 * depth(graph, subsumer)
    return 1 - twice / (twice + path(graph, a, subsumer) + path(graph, b, subsumer))


def ancestor(graph: nx.DiGraph, a: str, b: str) -> float:
    above_a, above_b = ancestors(graph, a), ancestors(graph, b)
    union, shared = len(above_a | above_b), len(above_a & above_b)
    return math.log2(1 + (union - shared) / union)


def jaccard(graph: nx.DiGraph, a: str, b: str) -> float:
    above_a, above_b = ancestors(graph, a), ancestors(graph, b)
    return 1 - len(above_a & above_b) / len(above_a | above_b)


def dice(graph: nx.DiGraph, a: str, b: str) -> float:
    above_a, above_b = ancestors(graph, a), ancestors(graph, b)
    return 1 - 2 * len(above_a & above_b) / (len(above_a) + len(above_b))


def way(graph: nx.DiGraph, a: str, b: str) -> int | None:
    return min((path(graph, a, c) + path(graph, b, c) for c in common(graph, a, b)), default=None)


def rada(graph: nx.DiGraph, a: str, b: str) -> float:
    ways = [w for x in graph for y in graph if (w := way(graph, x, y)) is not None]
    own = way(graph, a, b)
    if own is None:
        return 1.0
    return own / max(ways) if max(ways) else 0.0


def leacock_chodorow(graph: nx.DiGraph, a: str, b: str) -> float:
    own = way(graph, a, b)
    if own is None:
        return 1.0
    deepest = max(depth(graph, c) for c in graph)
    similarity = -math.log((own + 1) / (2 * deepest))
    return 1 - similarity / math.log(2 * deepest)


def content_seco(graph: nx.DiGraph, concept: str) -> float:
    if len(graph) == 1:
        return 0.0
    return 1 - math.log(len(descendants(graph, concept))) / math.log(len(graph))


def content_sanchez(graph: nx.DiGraph, concept: str) -> float:
    leaves = {c for c in graph if graph.in_degree(c) == 0}
    below = len(leaves & descendants(graph, concept))
    return -math.log((below / len(ancestors(graph, concept)) + 1) / (len(leaves) + 1))


def content_of_data(graph: nx.DiGraph, concept: str, counts: Mapping[str, int]) -> float:
    below = descendants(graph, concept)
    records = sum(counts.get(c, 0) for c in below) + len(below) / len(graph)
    return -math.log(records / (sum(counts.values()) + 1))


def resnik(graph: nx.DiGraph, a: str, b: str, content: Callable[[str], float]) -> float:
    if a == b:
        return 0.0
    most = max(content(c) for c in graph)
    return 1 - max((content(c) for c in common(graph, a, b)), default=0.0) / most


def lin(graph: nx.DiGraph, a: str, b: str, content: Callable[[str], float]) -> float:
    if a == b:
        return 0.0
    shared = common(graph, a, b)
    if not shared:
        return 1.0
    return 1 - 2 * max(content(c) for c in shared) / (content(a) + content(b))


def jiang_conrath(graph: nx.DiGraph, a: str, b: str, content: Callable[[str], float]) -> float:
    def apart(x: str, y: str) -> float | None:
        shared = common(graph, x, y)
        return content(x) + content(y) - 2 * max(content(c) for c in shared) if shared else None

    own = apart(a, b)
    if own is None:
        return 1.0
    most = max(d for x in graph for y in graph if (d := apart(x, y)) is not None)
    return own / most if most and a != b else 0.0


# ------------------------------------------------------------------------------------------------ statistics


def semantic_mean(values: Sequence[str], candidates: Iterable[str], distance: Distance) -> str:
    """Eq. 13; ties: occurs in the data, then more frequent, then smaller id."""
    sums = {c: sum(distance(c, x) for x in values) for c in candidates}
    least = min(sums.values())
    tied = [c for c, total in sums.items() if total <= least + 1e-9]
    return min(tied, key=lambda c: (-values.count(c), c))


def marginality(values: Sequence[str], distance: Distance) -> list[float]:
    """Eq. 2."""
    return [sum(distance(other, value) for o, other in enumerate(values) if o != v) for v, value in enumerate(values)]


def centred(values: Sequence[str], distance: Distance) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Eq. 15, record by record."""
    table = np.array([[distance(x, y) for y in values] for x in values])
    return np.asarray(table - table.mean(axis=0)[None, :] - table.mean(axis=1)[:, None] + table.mean())


def squared_distance_covariance(
    a: Sequence[str], b: Sequence[str], distance_a: Distance, distance_b: Distance
) -> float:
    """Eq. 14 without the root."""
    return float((centred(a, distance_a) * centred(b, distance_b)).mean())


def record_distance(
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    nominal: Mapping[str, Distance],
    scale: str,
) -> float:
    """Def. 4 of the marginality paper for complete records; columns that are not nominal are numbers."""
    total = 0.0
    for column in x:
        values = [record[column] for record in records]
        if column in nominal:
            variance = sum(marginality(values, nominal[column])) / len(values)
            if scale == "mean":
                variance /= len(values) - 1
            pair = nominal[column](x[column], y[column])
        else:
            variance = float(np.var(values, ddof=1))
            pair = (x[column] - y[column]) ** 2 / 2
        total += pair / variance if variance else 0.0
    return math.sqrt(total)


# ------------------------------------------------------------------------------------------------ swapping


def swap_value(
    interval: Sequence[int],
    ref: int,
    original: Sequence[int],
    masked: list[int],
    unswapped: list[bool],
    rng: np.random.Generator,
) -> None:
    """Lines 14–25 of Algorithm 1: exchange with a random unswapped record of the interval, if there is one."""
    candidates = [j for j in interval if unswapped[j]]
    if candidates:
        j = candidates[int(rng.integers(len(candidates)))]
        masked[ref], masked[j] = original[j], original[ref]
        unswapped[j] = False
    unswapped[ref] = False


def window_swap(original: Sequence[int], order: Sequence[int], k: int, rng: np.random.Generator) -> list[int]:
    """The loop of Algorithm 1 over records in a given order."""
    n = len(original)
    masked, unswapped = list(original), [True] * n
    for i in range(n):
        if unswapped[order[i]]:
            swap_value(
                [order[j] for j in range(i + 1, min(i + k, n - 1) + 1)], order[i], original, masked, unswapped, rng
            )
    return masked


def random_swap(original: Sequence[int], rng: np.random.Generator) -> list[int]:
    """A random perfect matching of the records; with an odd number one stays."""
    masked = list(original)
    rows = [int(row) for row in rng.permutation(len(original))]
    for a, b in zip(rows[0::2], rows[1::2], strict=False):
        masked[a], masked[b] = original[b], original[a]
    return masked


def frequency_swap(original: Sequence[int], k: int, rng: np.random.Generator) -> list[int]:
    """Order by the frequency of the value, equal values together, groups of equal frequency in random order."""
    tie = {value: float(rng.random()) for value in sorted(set(original))}
    order = sorted(range(len(original)), key=lambda i: (original.count(original[i]), tie[original[i]], i))
    return window_swap(original, order, k, rng)


# ------------------------------------------------------------------------------------------------ grouping


class RecordSpace:
    """Distances of records that are tuples: a column has a table of all pairs, or None for numbers (None: missing)."""

    def __init__(self, tables: Sequence[Any], *, squared: bool, gap: float = 1.0) -> None:
        self.tables, self.squared, self.gap = tables, squared, gap

    def contribution(self, column: int, a: Any, b: Any) -> float:
        table = self.tables[column]
        if table is not None:
            return float(table[a][b])
        if a is None or b is None:
            return 0.0 if a is b else self.gap
        return float((a - b) ** 2 if self.squared else abs(a - b))

    def distance(self, x: Sequence[Any], y: Sequence[Any]) -> float:
        total = sum(self.contribution(column, x[column], y[column]) for column in range(len(self.tables)))
        return round(math.sqrt(total) if self.squared else total, 9)

    def average(self, records: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """Attribute by attribute: the mean, or the value of the records with the least summed distance to them."""
        out: list[Any] = []
        for column, table in enumerate(self.tables):
            cells = [record[column] for record in records]
            if table is None:
                present = [cell for cell in cells if cell is not None]
                out.append(math.fsum(present) / len(present) if present else None)
            else:
                sums = {v: round(math.fsum(table[v][cell] for cell in cells), 9) for v in dict.fromkeys(cells)}
                out.append(min(sums, key=lambda v: sums[v]))
        return tuple(out)


def mdav(records: Sequence[Sequence[Any]], space: RecordSpace, k: int) -> list[list[int]]:
    """MDAV-generic, one record at a time; ties go to the lowest row."""
    left = list(range(len(records)))
    groups: list[list[int]] = []

    def farthest_from(point: Sequence[Any]) -> int:
        return max(left, key=lambda row: (space.distance(records[row], point), -row))

    def take_around(row: int) -> None:
        own = records[row]
        others = sorted((other for other in left if other != row), key=lambda o: (space.distance(records[o], own), o))
        groups.append([row, *others[: k - 1]])
        for member in groups[-1]:
            left.remove(member)

    while len(left) >= 3 * k:
        r = farthest_from(space.average([records[row] for row in left]))
        s = farthest_from(records[r])
        take_around(r)
        take_around(s if s in left else farthest_from(records[r]))
    if len(left) >= 2 * k:
        take_around(farthest_from(space.average([records[row] for row in left])))
    if left:
        groups.append(list(left))
    return groups


# ------------------------------------------------------------------------------------------------ joint swapping


def joint_distance(
    x: Sequence[Any], y: Sequence[Any], distances: Sequence[Callable[[Any, Any], float]], weights: Sequence[float]
) -> float:
    """Eq. 9 with weights, over the columns that both records have (None: missing); 1 where no such column counts."""
    shared = [c for c in range(len(distances)) if x[c] is not None and y[c] is not None and weights[c] > 0]
    if not shared:
        return 1.0
    total = sum(weights[c] * distances[c](x[c], y[c]) for c in shared)
    return round(total / sum(weights[c] for c in shared), 12)


def rank_swap_joint(
    records: Sequence[Sequence[Any]],
    distances: Sequence[Callable[[Any, Any], float]],
    k: int,
    rng: np.random.Generator,
    *,
    weights: Sequence[float] | None = None,
    interval: str = "all",
) -> tuple[list[tuple[Any, ...]], list[int]]:
    """Algorithm 3, row by row: the released records, and for each column the cells that had no partner."""
    columns = range(len(distances))
    weight = [1.0] * len(distances) if weights is None else weights
    rows = [i for i, record in enumerate(records) if any(cell is not None for cell in record)]
    original = [[record[c] for record in records] for c in columns]
    masked = [list(column) for column in original]
    unswapped = [[cell is not None for cell in column] for column in original]
    untouched = [0] * len(distances)
    apart = [[joint_distance(x, y, distances, weight) for y in records] for x in records]

    def one_of(tied: Sequence[int]) -> int:
        return tied[int(rng.integers(len(tied)))]

    def open_rows() -> list[int]:
        return [i for i in rows if any(unswapped[c][i] for c in columns)]

    means = {i: round(math.fsum(apart[i][j] for j in rows) / len(rows), 11) for i in rows}
    ref = one_of([i for i in rows if means[i] == max(means.values())]) if rows else -1
    while open_rows():
        others = [i for i in (rows if interval == "all" else open_rows()) if i != ref]
        tie = {i: rng.random() for i in others}
        near = sorted(others, key=lambda i: (apart[ref][i], tie[i]))[:k]
        for c in columns:
            if unswapped[c][ref]:
                untouched[c] += not any(unswapped[c][j] for j in near)
                swap_value(near, ref, original[c], masked[c], unswapped[c], rng)
        left = open_rows()
        if not left:
            break
        farthest = max(apart[ref][i] for i in left)
        ref = one_of([i for i in left if apart[ref][i] == farthest])
    return [tuple(masked[c][i] for c in columns) for i in range(len(records))], untouched


# ------------------------------------------------------------------------------------------------ rank swapping


def tie_keys(original: Sequence[int], ties: str, rng: np.random.Generator) -> list[tuple[float, int]]:
    """The tie-breaker between records at the same distance: chance, the order of rows, or chance by whole values."""
    if ties == "random":
        return [(float(rng.random()), row) for row in range(len(original))]
    if ties == "grouped":
        of_value = {value: float(rng.random()) for value in sorted(set(original))}
        return [(of_value[value], row) for row, value in enumerate(original)]
    return [(0.0, row) for row in range(len(original))]


def one_of_farthest(far: Mapping[int, float], ties: str, rng: np.random.Generator) -> int:
    """The row with the largest number; of several a random one, or the first if ties are stable."""
    rows = [row for row, distance in far.items() if distance >= max(far.values()) - 1e-9]
    return rows[0] if ties == "stable" else rows[int(rng.integers(len(rows)))]


def most_distant_row(original: Sequence[int], distances: Any, ties: str, rng: np.random.Generator) -> int:
    """Def. 4: summed over the records."""
    sums = {row: math.fsum(distances[value][other] for other in original) for row, value in enumerate(original)}
    return one_of_farthest(sums, ties, rng)


def ranked(
    ref: int, rows: Iterable[int], original: Sequence[int], distances: Any, ties: str, rng: np.random.Generator
) -> list[int]:
    """Def. 3: rows by their distance to the reference, which comes first; with grouped ties its equals follow it."""
    keys = tie_keys(original, ties, rng)

    def key(row: int) -> tuple[Any, ...]:
        another = ties == "grouped" and original[row] != original[ref]
        return (row != ref, round(float(distances[original[ref]][original[row]]), 12), another, *keys[row])

    return sorted(rows, key=key)


def rank_swap_fixed(
    original: Sequence[int], distances: Any, k: int, rng: np.random.Generator, ties: str = "grouped"
) -> list[int]:
    """Algorithm 1."""
    if not original:
        return []
    ref = most_distant_row(original, distances, ties, rng)
    return window_swap(original, ranked(ref, range(len(original)), original, distances, ties, rng), k, rng)


def rank_swap(
    original: Sequence[int],
    distances: Any,
    k: int,
    rng: np.random.Generator,
    interval: str = "all",
    ties: str = "random",
) -> tuple[list[int], int]:
    """Algorithm 2; also how many records had no partner."""
    n, untouched = len(original), 0
    masked, unswapped = list(original), [True] * n
    ref = most_distant_row(original, distances, ties, rng) if n else -1
    while any(unswapped):
        rows = [row for row in range(n) if interval == "all" or unswapped[row]]
        nearest = ranked(ref, rows, original, distances, ties, rng)[1 : k + 1]
        untouched += not any(unswapped[row] for row in nearest)
        swap_value(nearest, ref, original, masked, unswapped, rng)
        left = {row: float(distances[original[row]][original[ref]]) for row in range(n) if unswapped[row]}
        ref = one_of_farthest(left, ties, rng) if left else ref
    return masked, untouched


# ------------------------------------------------------------------------------------------------ swapping in bins


def equi_depth_bins(n: int, key: Callable[[int, int], float], k: int) -> list[list[int]]:
    """MEDS line by line: the farthest pair, a bin around each, the leftover; of ties the smallest rows."""
    left, bins = list(range(n)), []

    def taken(row: int) -> list[int]:
        nearest = sorted((other for other in left if other != row), key=lambda other: (key(row, other), other))
        inside = [row, *nearest[: k - 1]]
        for one in inside:
            left.remove(one)
        return inside

    while len(left) >= 2 * k:
        pairs = [(i, j) for at, i in enumerate(left) for j in left[at + 1 :]]
        r, s = max(pairs, key=lambda pair: (key(*pair), -pair[0], -pair[1]))
        bins.append(taken(r))
        bins.append(taken(s if s in left else left[0]))
    return [*bins, left] if left else bins


def equi_width_bin(x: float, lowest: float, highest: float, width: float) -> int:
    """MEWS: left-closed bins, the last one closed."""
    if lowest == highest:
        return 0
    return min(math.floor((x - lowest) / width), math.ceil((highest - lowest) / width) - 1)


def pair_swap(rows: Sequence[int], rng: np.random.Generator, *, cycle: bool = False) -> dict[int, int]:
    """Random disjoint pairs of a bin; for each row the row whose record it takes."""
    order = [int(row) for row in rng.permutation(rows)]
    takes = {row: row for row in order}
    if cycle and len(order) % 2 and len(order) > 2:
        a, b, c = order[-3:]
        takes |= {a: b, b: c, c: a}
        order = order[:-3]
    for a, b in zip(order[0::2], order[1::2], strict=False):
        takes |= {a: b, b: a}
    return takes


def selected_permutation(rows: Sequence[int], rate: float, rng: np.random.Generator) -> dict[int, int]:
    """Each row of a bin is selected with a probability; the selected are permuted."""
    selected = [row for row in rows if rng.random() < rate]
    takes = {row: row for row in rows}
    return takes | dict(zip(selected, (int(row) for row in rng.permutation(selected)), strict=True))


def released_with_probability(values: Sequence[Any], rate: float) -> dict[tuple[Any, ...], float]:
    """Every released bin and its probability, by going through all selections and all permutations."""
    released: dict[tuple[Any, ...], float] = {}
    for chosen in itertools.product((False, True), repeat=len(values)):
        selected = [row for row, is_in in enumerate(chosen) if is_in]
        chance = rate ** len(selected) * (1 - rate) ** (len(values) - len(selected)) / math.factorial(len(selected))
        for order in itertools.permutations(selected):
            out = list(values)
            for row, other in zip(selected, order, strict=True):
                out[row] = values[other]
            released[tuple(out)] = released.get(tuple(out), 0.0) + chance
    return released


# ------------------------------------------------------------------------------------------------ semantic noise


def noise_replacements(
    value: str,
    reference: str,
    noise: float,
    candidates: Iterable[str],
    distance: Distance,
    *,
    nearest: bool = False,
) -> tuple[set[str], bool, bool]:
    """The possible values, each equally likely; whether it was truncated; whether there was a conflict."""
    if noise == 0:
        return {value}, False, False

    def sd(a: str, b: str) -> float:
        return round(distance(a, b), 12)

    own = sd(value, reference)
    directed = {c for c in candidates if (sd(c, reference) > own if noise > 0 else sd(c, reference) < own)}
    conflict = not directed
    pool = set(candidates) if conflict else directed
    far_enough = {c for c in pool if sd(c, value) >= abs(noise)}
    if nearest:
        least = min(abs(sd(c, value) - abs(noise)) for c in {value, *pool})
        tied = {c for c in {value, *pool} if abs(sd(c, value) - abs(noise)) == least}
        return ({value} if value in tied else tied), not far_enough, conflict
    if far_enough:
        least = min(sd(c, value) for c in far_enough)
        return {c for c in far_enough if sd(c, value) == least}, False, conflict
    most = max(sd(c, value) for c in pool)
    return {c for c in pool if sd(c, value) == most}, True, conflict


def semantic_variance(values: Sequence[str], candidates: Iterable[str], distance: Distance) -> float:
    """Eq. 8."""
    mean = semantic_mean(values, candidates, distance)
    return sum(distance(value, mean) ** 2 for value in values) / len(values)


def distance_correlation(a: Sequence[Any], b: Sequence[Any], distance_a: Any, distance_b: Any) -> float:
    """sdCor, with covariances below 0 as 0; 0 for a constant column."""
    pairs = ((a, b, distance_a, distance_b), (a, a, distance_a, distance_a), (b, b, distance_b, distance_b))
    both, of_a, of_b = (math.sqrt(max(squared_distance_covariance(*pair), 0.0)) for pair in pairs)
    return both / math.sqrt(of_a * of_b) if of_a > 1e-9 and of_b > 1e-9 else 0.0


def exponential_probabilities(
    value: str, candidates: Sequence[str], distance: Distance, epsilon: float, sensitivity: float
) -> dict[str, float]:
    """Pr(c) ∝ exp(−ε·sd(c, a)/(2Δ))."""
    weights = {c: math.exp(-epsilon * distance(c, value) / (2 * sensitivity)) for c in candidates}
    return {c: weight / sum(weights.values()) for c, weight in weights.items()}


# ------------------------------------------------------------------------------------------------ microaggregation


def in_scale(
    rows: Sequence[Sequence[Any]], distances: Sequence[Distance | None], scale: str
) -> tuple[list[tuple[Any, ...]], RecordSpace]:
    """Rows and their S-distance: columns without a distance are numbers, and are divided by √(2 S²)."""
    columns: list[list[Any]] = []
    tables: list[dict[Any, dict[Any, float]] | None] = []
    for cells, distance in zip(zip(*rows, strict=True), distances, strict=True):
        if distance is None:
            variance = float(np.var(cells, ddof=1)) if len(cells) > 1 else 0.0
            columns.append([cell / math.sqrt(2 * variance) if variance > 1e-12 else 0.0 for cell in cells])
            tables.append(None)
            continue
        variance = sum(marginality(cells, distance)) / len(cells)
        if scale == "mean":
            variance /= max(len(cells) - 1, 1)
        weight = 1 / variance if variance else 0.0
        columns.append(list(cells))
        tables.append({a: {b: distance(a, b) * weight for b in set(cells)} for a in set(cells)})
    return list(zip(*columns, strict=True)), RecordSpace(tables, squared=True)


def sample_centre(values: Sequence[Any], distance: Distance) -> Any:
    """The value with the least marginality; of equals the first."""
    sums = [round(total, 9) for total in marginality(values, distance)]
    return values[sums.index(min(sums))]


def most_frequent(values: Sequence[Any]) -> Any:
    """The mode; of equals the first."""
    return max(dict.fromkeys(values), key=values.count)


def sum_of_squares(centre: Any, values: Sequence[Any], distance: Distance) -> float:
    """The loss of a centre."""
    return math.fsum(distance(centre, value) ** 2 for value in values)


def variable_mdav(records: Sequence[Sequence[Any]], space: RecordSpace, k: int, gain: float) -> list[list[int]]:
    """V-MDAV one row at a time; ties go to the lowest row. Equal rows must stand together."""

    def steps(a: Sequence[Any], b: Sequence[Any]) -> int:
        return round(space.distance(a, b) * 1e9)

    middle = space.average(records)
    left = list(range(len(records)))
    groups: list[list[int]] = []
    while len(left) >= k:
        group = [max(left, key=lambda row: (steps(records[row], middle), -row))]
        left.remove(group[0])
        group += sorted(left, key=lambda row: (steps(records[row], records[group[0]]), row))[: k - 1]
        left = [row for row in left if row not in group]
        while left and len(group) < 2 * k - 1:
            inside = {row: min(steps(records[row], records[one]) for one in group) for row in left}
            joining = min(left, key=lambda row: (inside[row], row))
            outside = min((steps(records[joining], records[o]) for o in left if o != joining), default=math.inf)
            if not inside[joining] < gain * outside:
                break
            group.append(joining)
            left.remove(joining)
        groups.append(group)
    before = [list(group) for group in groups]
    for row in left:
        near = min(
            (steps(records[row], records[member]), records.index(records[member]), number)
            for number, group in enumerate(before)
            for member in group
        )
        groups[near[2]].append(row)
    out: list[list[int]] = []
    for group in groups:
        rows = sorted(group)
        halves = mdav([records[row] for row in rows], space, k) if len(rows) >= 2 * k else None
        out += [[rows[place] for place in half] for half in halves] if halves else [group]
    return out


def transport(a: Sequence[float], b: Sequence[float], distances: Any) -> float:
    """The earth mover's distance as a linear program."""
    from scipy.optimize import linprog

    n = len(a)
    limits = np.zeros((2 * n, n * n))
    for i in range(n):
        limits[i, i * n : (i + 1) * n] = limits[n + i, i::n] = 1
    cost = np.asarray(distances, dtype=float).ravel()
    return float(linprog(cost, A_eq=limits[:-1], b_eq=[*a, *b][:-1], method="highs").fun)


def merged_until_close(
    groups: Sequence[Sequence[int]],
    records: Sequence[Sequence[Any]],
    space: RecordSpace,
    far: Callable[[Sequence[int]], float],
    t: float,
) -> list[list[int]]:
    """The farthest group joins the one with the nearest centre, until none is farther than t."""
    left = {number: list(group) for number, group in enumerate(groups)}
    while True:
        worst = max(left, key=lambda number: (round(far(left[number]), 12), -number))
        if far(left[worst]) <= t + 1e-12:
            return list(left.values())
        own = space.average([records[row] for row in sorted(left[worst])])
        others = [number for number in left if number != worst]
        centres = {number: space.average([records[row] for row in sorted(left[number])]) for number in others}
        nearest = min(others, key=lambda number: (space.distance(own, centres[number]), number))
        left[worst] += left.pop(nearest)


# ------------------------------------------------------------------------------------------------ candidates


def in_reach_of_nearest(items: Sequence[Any], apart: Callable[[Any, Any], float], k: int) -> Callable[[Any, Any], bool]:
    """Return whether one item is among the k nearest records of the other, from either side; ties may all be."""

    @functools.cache
    def radius(item: Any) -> float:
        others = list(items)
        others.remove(item)
        return sorted(apart(item, other) for other in others)[min(k, len(others)) - 1] if others else -1.0

    def in_reach(a: Any, b: Any) -> bool:
        return a == b or apart(a, b) <= max(radius(a), radius(b)) + 1e-10

    return in_reach


def in_reach_of_windows(values: Sequence[Any], keys: Sequence[Mapping[Any, float]], k: int) -> set[tuple[Any, Any]]:
    """Pairs of values of which two records can stand at most k places apart in some order by one of the keys.

    Equal values stand together, and those with equal keys in any order; of an odd number of records one stays.
    """
    pairs = {(value, value) for value in values} if len(values) % 2 else set()
    for key in keys:
        rings = itertools.groupby(sorted(set(values), key=lambda value: key[value]), key=lambda value: key[value])
        orders = itertools.product(*(itertools.permutations(list(ring)) for _, ring in rings))
        for order in orders:
            places = [value for ring in order for value in ring for _ in range(values.count(value))]
            for i, j in itertools.combinations(range(len(places)), 2):
                if j - i <= k:
                    pairs |= {(places[i], places[j]), (places[j], places[i])}
    return pairs


def linked_to_candidates(
    originals: Sequence[Any],
    released: Sequence[Any],
    could_be: Callable[[Any, Any], bool],
    squared: Callable[[Any, Any], float],
) -> tuple[float, list[int]]:
    """How many persons are linked to their nearest candidate, ties shared, and how many candidates each has."""
    hits, sizes = 0.0, []
    for i, x in enumerate(originals):
        candidates = [j for j, y in enumerate(released) if could_be(x, y)]
        sizes.append(len(candidates))
        least = min((squared(x, released[j]) for j in candidates), default=math.inf)
        nearest = [j for j in candidates if squared(x, released[j]) <= least * (1 + 1e-9)]
        hits += (i in nearest) / max(len(nearest), 1)
    return hits, sizes


def own_permutation_distance(
    own: Sequence[Any], columns: Sequence[Sequence[Any]], keys: Sequence[Callable[[Any], float]]
) -> float:
    """ATTACKS 7 for one person: the least, over released records, of the largest difference in rank over columns.

    Each column is ranked by its key, ties share the mean of their ranks; the person's own rank is that of her key.
    """

    def rank(column: Sequence[Any], key: Callable[[Any], float], cell: Any) -> float:
        before = sum(key(one) < key(cell) for one in column)
        level = sum(key(one) == key(cell) for one in column)
        return before + (level + 1) / 2

    return min(
        max(
            abs(rank(column, key, cell) - rank(column, key, column[row]))
            for cell, column, key in zip(own, columns, keys, strict=True)
        )
        for row in range(len(columns[0]))
    )


# ------------------------------------------------------------------------------------------ distributions of noise

Pieces = list[tuple[float, float, dict[Any, float]]]
"""IntervalArrays of standard noise, each with what comes out of it and how likely."""


def noise_pieces(
    value: str, reference: str, scale: float, candidates: Sequence[str], distance: Distance, *, nearest: bool = False
) -> Pieces:
    """Cut noise where the definition of the replacement can change, and ask it in the middle of every piece."""
    if not scale:
        return [(-math.inf, math.inf, {value: 1.0})]
    reached = [0.0, *(round(distance(value, c), 12) for c in candidates)]
    cuts = {*reached, *((a + b) / 2 for a in reached for b in reached)}
    edges = sorted({0.0, *cuts, *(-cut for cut in cuts)})
    out: Pieces = []
    for low, high in itertools.pairwise([-math.inf, *edges, math.inf]):
        if high - low < 1e-13:
            continue
        middle = high - 1 if math.isinf(low) else low + 1 if math.isinf(high) else (low + high) / 2
        became, _, _ = noise_replacements(value, reference, middle, candidates, distance, nearest=nearest)
        out.append((low / scale, high / scale, dict.fromkeys(became, 1 / len(became))))
    return out


def number_pieces(value: float, scale: float, released: Sequence[float], *, ends: bool = False) -> Pieces:
    """Numbers one apart, to which noise is rounded; with ends, what lies beyond them becomes the first or the last."""
    out: Pieces = []
    for number in released:
        low, high = number - 0.5 - value, number + 0.5 - value
        low = -math.inf if ends and number == min(released) else low
        high = math.inf if ends and number == max(released) else high
        if scale:
            out.append((low / scale, high / scale, {number: 1.0}))
        elif low < 0 < high:
            out.append((-math.inf, math.inf, {number: 1.0}))
    return out


def one_distribution(pieces: Pieces, *, laplace: bool = False) -> dict[Any, float]:
    """The results of standard noise, and how likely each is."""
    from scipy.stats import laplace as laplace_distribution
    from scipy.stats import norm

    distribution = laplace_distribution(scale=math.sqrt(0.5)) if laplace else norm()
    out: dict[Any, float] = {}
    for low, high, became in pieces:
        inside = (
            distribution.cdf(high) - distribution.cdf(low) if low < 0 else distribution.sf(low) - distribution.sf(high)
        )
        for one, share in became.items():
            out[one] = out.get(one, 0.0) + share * float(inside)
    return out


def two_laws(
    a: Pieces, b: Pieces, correlation: float, *, laplace: bool = False, only: tuple[Any, Any] | None = None
) -> dict[tuple[Any, Any], float]:
    """The results of correlated standard noise of two columns; Laplace noise is normal with a random size."""
    from scipy.integrate import quad
    from scipy.special import ndtr

    left = math.sqrt(1 - correlation**2)

    def inside(one: tuple[float, float], other: tuple[float, float], size: float) -> float:
        low, high = (min(max(edge / size, -9.0), 9.0) for edge in one)
        low_other, high_other = (edge / size for edge in other)

        def density(x: float) -> float:
            normal = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
            upper, lower = ((edge - correlation * x) / left for edge in (high_other, low_other))
            return normal * float(ndtr(upper) - ndtr(lower))

        return float(quad(density, low, high, epsabs=1e-10, limit=200)[0]) if high > low else 0.0

    def of_both(one: tuple[float, float], other: tuple[float, float]) -> float:
        if not laplace:
            return inside(one, other, 1.0)
        points = np.linspace(-3.2, 3.6, 60)
        sizes = np.exp(points - np.exp(-points))
        weights = sizes * (1 + np.exp(-points)) * np.exp(-sizes)
        each = [inside(one, other, math.sqrt(size)) for size in sizes]
        return float(np.array(each) @ weights / weights.sum())

    out: dict[tuple[Any, Any], float] = {}
    for low_a, high_a, became_a in a:
        for low_b, high_b, became_b in b:
            if only is not None and (only[0] not in became_a or only[1] not in became_b):
                continue
            chance = of_both((low_a, high_a), (low_b, high_b))
            for x, y in itertools.product(became_a, became_b):
                out[x, y] = out.get((x, y), 0.0) + chance * became_a[x] * became_b[y]
    return out


def linked_to_likeliest(likelihood: Any, amount_of_ties: Callable[[int, list[int]], list[int]] | None = None) -> float:
    """How many persons are linked: person i has row i, the released rows are columns; ties are shared.

    What ties are left to decide may be handed over: it gets a person and the rows that are tied for her.
    """
    hits = 0.0
    for i, row in enumerate(likelihood):
        most = max(row)
        tied = [j for j, chance in enumerate(row) if chance >= most * (1 - 1e-9)]
        if amount_of_ties is not None:
            tied = amount_of_ties(i, tied)
        hits += (i in tied) / len(tied)
    return hits / len(likelihood) if len(likelihood) else 0.0


def posteriors(
    prior: Mapping[Any, float], likelihoods: Mapping[Any, Mapping[Any, float]], released: Any
) -> dict[Any, float]:
    """P(x = v | y) by Bayes' rule."""
    joint = {value: share * likelihoods[value].get(released, 0.0) for value, share in prior.items()}
    return {value: each / sum(joint.values()) for value, each in joint.items()}


# ------------------------------------------------------------------------------------------------ losses


def moved(before: Sequence[Any], after: Sequence[Any], distance: Callable[[Any, Any], float]) -> list[float]:
    """The distances of cells with a value before or after; a cell that gets one, or loses it, moved by 1."""
    pairs = [(x, y) for x, y in zip(before, after, strict=True) if x is not None or y is not None]
    return [1.0 if x is None or y is None else distance(x, y) for x, y in pairs]


def hellinger(before: Sequence[Any], after: Sequence[Any]) -> float:
    """√(½ Σ (√p − √q)²) over the shares of all values, missing as one of them."""
    total = 0.0
    for value in {*before, *after}:
        p, q = (list(cells).count(value) / len(cells) for cells in (before, after))
        total += (math.sqrt(p) - math.sqrt(q)) ** 2
    return math.sqrt(total / 2)


def frequency_change(graph: nx.DiGraph, before: Sequence[str], after: Sequence[str], level: int) -> float:
    """Half the sum of the absolute differences of the shares of the concepts of a level."""

    def counts(values: Sequence[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        for value in values:
            own = [value] if depth(graph, value) < level else []
            for concept in own or [one for one in ancestors(graph, value) if depth(graph, one) == level]:
                found[concept] = found.get(concept, 0.0) + 1
        return {concept: count / sum(found.values()) for concept, count in found.items()}

    p, q = counts(before), counts(after)
    return sum(abs(p.get(concept, 0.0) - q.get(concept, 0.0)) for concept in {*p, *q}) / 2


def cross_table_bias(before: Sequence[tuple[Any, Any]], after: Sequence[tuple[Any, Any]]) -> float:
    """Half the sum of the absolute differences of the shares of all pairs of values."""
    tables = [{pair: pairs.count(pair) / len(pairs) for pair in pairs} for pairs in (list(before), list(after))]
    return sum(abs(tables[0].get(pair, 0.0) - tables[1].get(pair, 0.0)) for pair in {*tables[0], *tables[1]}) / 2


# ------------------------------------------------------------------------------------------------ known codes


def support(known: Iterable[Any], sets: Sequence[frozenset[Any]]) -> int:
    """How many sets have all known codes."""
    return sum(frozenset(known) <= one for one in sets)


def worst_codes(own: frozenset[Any], sets: Sequence[frozenset[Any]], most: int) -> list[Any]:
    """The codes that leave the fewest sets, but at least one: the rarest, then one after the other."""
    known: list[Any] = []
    while len(known) < most:
        left = [(support([*known, code], sets), code) for code in sorted(own - set(known))]
        possible = [one for one in left if one[0]]
        if not possible:
            break
        known.append(min(possible)[1])
    return known or [min(own)]


def codes_read(own: frozenset[Any], known: Iterable[Any], found: frozenset[Any]) -> float:
    """The share of further codes that are right, among those that the person or the set found for her has."""
    known = set(known)
    every = (own | found) - known
    return len((own & found) - known) / len(every) if every else 0.0


def least_support(one: frozenset[Any], sets: Sequence[frozenset[Any]], m: int) -> int:
    """The smallest support of m codes of a set, or of fewer."""
    return min(
        support(known, sets)
        for size in range(1, m + 1)
        for known in itertools.combinations(sorted(one), min(size, len(one)))
    )


def rows_of_same_person(rows: Sequence[tuple[Any, Any]]) -> float:
    """The chance that a row of a person with several rows, and another one with the same values, are both hers.

    Each row is a person and her values; the mean is over persons.
    """
    of_person: dict[Any, list[float]] = {}
    for place, (person, values) in enumerate(rows):
        others = [one for at, (one, own) in enumerate(rows) if at != place and own == values]
        if sum(one == person for one, _ in rows) > 1:
            of_person.setdefault(person, []).append(sum(one == person for one in others) / len(others))
    means = [sum(own) / len(own) for own in of_person.values()]
    return sum(means) / len(means)


def linked_by_number_of_rows(before: Sequence[int], after: Sequence[int]) -> float:
    """The share of persons linked by whoever takes one of the records whose number of rows is nearest to theirs."""
    hits = 0.0
    for own, released in zip(before, after, strict=True):
        least = min(abs(own - one) for one in after)
        nearest = [one for one in after if abs(own - one) == least]
        hits += (abs(own - released) == least) / len(nearest)
    return hits / len(before)


def sum_of_squared_set_distances(
    centre: Iterable[str], sets: Sequence[Iterable[str]], distance: Callable[[Any, Any], float]
) -> float:
    """The sum that a centre of sets makes small."""
    return math.fsum(distance(centre, one) ** 2 for one in sets)


def best_set(concepts: Sequence[str], sets: Sequence[Iterable[str]], distance: Callable[[Any, Any], float]) -> float:
    """The least sum of squared distances of all sets of some concepts."""
    every = (some for size in range(len(concepts) + 1) for some in itertools.combinations(concepts, size))
    return min(sum_of_squared_set_distances(one, sets, distance) for one in every)


def distance_correlation_of_tables(a: np.ndarray, b: np.ndarray) -> float:
    """The distance correlation of records, from the distances of all pairs of records in both columns."""
    centred = [d - d.mean(axis=0) - d.mean(axis=1)[:, None] + d.mean() for d in (a, b)]
    variances = [float((one**2).mean()) for one in centred]
    return math.sqrt(max(float((centred[0] * centred[1]).mean()), 0.0) / math.sqrt(variances[0] * variances[1]))
