"""Generalisation hierarchies as ARX writes them: a CSV without a header, one row per value.

The first cell of a row is the value, each further cell is more general, and the last is the same for all rows (``*``).
A value is identified by its text and may have several chains of ancestors. An inner node is identified by its text and
its ancestors, because "other" in one group is not "other" in the next.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from anonto.errors import MalformedFileError
from anonto.ontology.edge_csv import DELIMITERS, rows
from anonto.ontology.readers import Reader
from anonto.taxonomy.build import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonto.ontology.readers import Start
    from anonto.ontology.source import Source
    from anonto.taxonomy.taxonomy import Taxonomy

FORMAT = "level-csv"
MAX_LEVELS = 100

Node: TypeAlias = str | tuple[str, ...]
"""A value is its text; an inner node is its text and those of its ancestors."""


def read_level_csv(source: Source) -> Taxonomy:
    """Read a generalisation hierarchy."""
    chains = [chain for _, chain in _check(list(_chains(source)), source.name)]
    parents: dict[Node, dict[Node, None]] = {}
    children: dict[Node, set[Node]] = {}
    for chain in chains:
        way = _way_up(chain)
        for child, parent in pairwise(way):
            parents.setdefault(child, {})[parent] = None
            children.setdefault(parent, set()).add(child)
        parents.setdefault(way[-1], {})
    concept = {node: _same_concept(node, children) for node in parents}
    names = _names(dict.fromkeys(concept.values()))
    draft = Draft()
    for node, parent_nodes in parents.items():
        draft.concept(names[concept[node]], _text(node))
        for parent in parent_nodes:
            if concept[parent] != concept[node]:
                draft.edge(names[concept[node]], names[concept[parent]])
    return draft.finish(source.provenance(FORMAT))


def _looks_like_levels(start: Start) -> bool:
    """Return whether the first lines have several cells each and mostly the same last cell."""
    lines = start.lines
    delimiter = _delimiter(lines)
    if delimiter is None:
        return False
    tops = Counter(line.rstrip(delimiter + " ").rsplit(delimiter, 1)[-1].strip(' "') for line in lines)
    top, count = tops.most_common(1)[0]
    return top == "*" or (len(lines) > 1 and 2 * count > len(lines))


def _delimiter(lines: Sequence[str]) -> str | None:
    """The delimiter that occurs in most lines; of several, the one with the most regular count per line."""
    candidates = [d for d in DELIMITERS if 2 * sum(d in line for line in lines) > len(lines)]
    return max(candidates, key=lambda d: _steadiness(d, lines), default=None)


def _steadiness(delimiter: str, lines: Sequence[str]) -> tuple[int, int]:
    return Counter(line.count(delimiter) for line in lines).most_common(1)[0][::-1]


def _chains(source: Source) -> Iterator[tuple[int, tuple[str, ...]]]:
    lines = [(n, line) for n, line in enumerate(source.text.split("\n"), start=1) if line.strip()]
    delimiter = _delimiter([line for _, line in lines])
    if delimiter is None:
        raise MalformedFileError(source.name, FORMAT, "its lines have no delimiter (; , | or tab) in common")
    for number, row in rows(iter(lines), delimiter, source.name, FORMAT):
        cells = [cell.strip() for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        yield number, tuple(cells)


def _check(chains: list[tuple[int, tuple[str, ...]]], name: str) -> Iterable[tuple[int, tuple[str, ...]]]:
    top = Counter(chain[-1] for _, chain in chains).most_common(1)[0][0]
    for line, chain in chains:
        if len(chain) > MAX_LEVELS:
            raise MalformedFileError(name, FORMAT, f"it has more than {MAX_LEVELS} levels", line)
        if "" in chain:
            raise MalformedFileError(name, FORMAT, "a cell before the last one is empty", line)
        if chain[-1] != top:
            raise MalformedFileError(name, FORMAT, "its last cell is not the one that the other rows end in", line)
    return chains


def _way_up(chain: tuple[str, ...]) -> list[Node]:
    """The nodes from a value to the top. A row that only repeats the top is the top."""
    if set(chain) == {chain[-1]}:
        return [chain[-1:]]
    return [chain[0], *(chain[level:] for level in range(1, len(chain)))]


def _same_concept(node: Node, children: Mapping[Node, set[Node]]) -> Node:
    """The lowest descendant with the same text, as long as each node on the way is an only child."""
    below = children.get(node, set())
    while len(below) == 1 and _text(next(iter(below))) == _text(node):
        node = next(iter(below))
        below = children.get(node, set())
    return node


def _text(node: Node) -> str:
    return node if isinstance(node, str) else node[0]


def _names(nodes: Iterable[Node]) -> dict[Node, str]:
    """An id for each node: its text if it is a value or unique, otherwise with the texts of its ancestors."""
    nodes = list(nodes)
    names: dict[Node, str] = {node: node for node in nodes if isinstance(node, str)}
    taken = set(names.values())
    inner = [node for node in nodes if not isinstance(node, str)]
    frequency = Counter(node[0] for node in inner)
    for node in inner:
        if frequency[node[0]] == 1 and node[0] not in taken:
            names[node] = node[0]
    taken.update(names.values())
    for node in inner:
        if node not in names:
            names[node] = next(name for name in _longer_names(node) if name not in taken)
            taken.add(names[node])
    return names


def _longer_names(node: tuple[str, ...]) -> Iterator[str]:
    for level in range(2, len(node) + 1):
        yield f"{node[0]} [{', '.join(node[1:level])}]"
    number = 2
    while True:
        yield f"{node[0]} [{number}]"
        number += 1


READER = Reader(
    name=FORMAT,
    sentence=(
        "a CSV without a header, one row per value from special to general, as ARX writes generalisation hierarchies"
    ),
    relations="the next cell of the row",
    ids="the text of the cell",
    endings=(".csv", ".csv.gz", ".tsv", ".txt"),
    read=read_level_csv,
    recognises=_looks_like_levels,
    may_be_a_table=True,
    rank=90,
)
