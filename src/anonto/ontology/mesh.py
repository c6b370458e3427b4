"""The MeSH tree file: one ``Descriptor;Tree.Number`` per line.

A descriptor with several tree numbers is one concept with several parents; its smallest number is its id and the others
are alternative ids. If that would make a concept its own ancestor, the descriptors concerned become one concept per
tree number. The letters of the categories are the roots.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anonto.errors import MalformedFileError
from anonto.ontology.readers import Reader
from anonto.ontology.source import numbered_lines
from anonto.taxonomy.build import Draft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.ontology.readers import Start
    from anonto.ontology.source import Source
    from anonto.taxonomy.taxonomy import Taxonomy

FORMAT = "mesh"
CATEGORIES = {
    "A": "Anatomy",
    "B": "Organisms",
    "C": "Diseases",
    "D": "Chemicals and Drugs",
    "E": "Analytical, Diagnostic and Therapeutic Techniques, and Equipment",
    "F": "Psychiatry and Psychology",
    "G": "Phenomena and Processes",
    "H": "Disciplines and Occupations",
    "I": "Anthropology, Education, Sociology, and Social Phenomena",
    "J": "Technology, Industry, and Agriculture",
    "K": "Humanities",
    "L": "Information Science",
    "M": "Named Groups",
    "N": "Health Care",
    "V": "Publication Characteristics",
    "Z": "Geographicals",
}

_LINE = re.compile(r"(.*\S)\s*;\s*([A-Z]\d\d(?:\.\d{3})*)\s*")


def read_mesh(source: Source) -> Taxonomy:
    """Read a MeSH tree file."""
    labels = _labels(source)
    concept = _concepts(labels)
    draft = Draft()
    for letter in sorted({number[0] for number in labels}):
        draft.concept(letter, CATEGORIES.get(letter, letter))
    for number, label in labels.items():
        draft.concept(concept[number], label)
        parent = _number_above(number)
        draft.edge(concept[number], concept.get(parent, parent))
        if concept[number] != number:
            draft.alternative(number, concept[number])
    return draft.finish(source.provenance(FORMAT, relations=("tree number",)))


def _looks_like_tree_numbers(start: Start) -> bool:
    """Return whether the first lines of a file are all a descriptor and its tree number."""
    return bool(start.lines) and all(_LINE.fullmatch(line) for line in start.lines)


def _labels(source: Source) -> dict[str, str]:
    """Tree number → descriptor."""
    labels: dict[str, str] = {}
    for line_number, line in numbered_lines(source.text):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise MalformedFileError(source.name, FORMAT, "it is not a descriptor with a tree number", line_number)
        label, number = found.groups()
        if labels.setdefault(number, label.strip()) != label.strip():
            raise MalformedFileError(
                source.name,
                FORMAT,
                f"tree number {number} belongs to another descriptor already",
                line_number,
            )
    return labels


def _concepts(labels: Mapping[str, str]) -> dict[str, str]:
    """Tree number → the id of its concept."""
    smallest: dict[str, str] = {}
    for number, label in labels.items():
        smallest[label] = min(number, smallest.get(label, number))
    merged = {number: smallest[label] for number, label in labels.items()}
    apart = _on_cycles({(merged[n], merged[above]) for n in merged if (above := _number_above(n)) in merged})
    return {number: number if concept in apart else concept for number, concept in merged.items()}


def _on_cycles(edges: set[tuple[str, str]]) -> set[str]:
    """The nodes that can reach themselves: those in a strongly connected component, and those with a loop."""
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    names = sorted({name for edge in edges for name in edge})
    index = {name: position for position, name in enumerate(names)}
    ends = np.array([(index[child], index[parent]) for child, parent in edges], dtype=np.int64).reshape(-1, 2)
    graph = csr_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(len(names), len(names)))
    _, component = connected_components(graph, directed=True, connection="strong")
    inside = component[ends[:, 0]] == component[ends[:, 1]]
    return {names[position] for position in np.unique(ends[inside])}


def _number_above(number: str) -> str:
    above, _, _ = number.rpartition(".")
    return above or number[0]


READER = Reader(
    name=FORMAT,
    sentence="the MeSH tree file, `Descriptor;Tree.Number`",
    relations="tree numbers",
    ids="the smallest tree number",
    endings=(".bin", ".txt"),
    read=read_mesh,
    recognises=_looks_like_tree_numbers,
    rank=30,
)
