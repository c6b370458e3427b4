"""From a concept to the text of a released cell.

Only the plan and the ontology decide how a released concept is written. If it were written like most cells of its
column, or like the cell of some record, the release would show how that record was spelt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.ontology.matching import matcher_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anonto.taxonomy.taxonomy import Taxonomy

SPELLINGS = ("id", "id-without-dots", "label")
_SPELLERS: Mapping[str, Callable[[Taxonomy, str], str]] = {
    "id": lambda _, concept: concept,
    "id-without-dots": lambda _, concept: concept.replace(".", ""),
    "label": lambda taxonomy, concept: taxonomy.label(concept) or concept,
}


@dataclass(frozen=True, slots=True)
class Spelling:
    """A way of writing the concepts of an ontology."""

    name: str = "id"
    by_id: frozenset[str] = frozenset()
    """Concepts that are written by id, because their other text would not be read back as them."""

    def text(self, concept: str, taxonomy: Taxonomy) -> str:
        """The text of a cell for a concept."""
        return concept if concept in self.by_id else _SPELLERS[self.name](taxonomy, concept)


BY_ID = Spelling()


def spelling_of(taxonomy: Taxonomy, name: str) -> Spelling:
    """A spelling that reads back every concept of an ontology as itself."""
    if name == "id":
        return BY_ID

    def look_up() -> Spelling:
        matcher, spell = matcher_of(taxonomy), _SPELLERS[name]
        texts = ((concept, spell(taxonomy, concept)) for concept in taxonomy.ids)
        lost = (concept for concept, text in texts if text != concept and matcher.concept_of(text) != concept)
        return Spelling(name, frozenset(lost))

    return taxonomy.compute_once(("spelling", name), look_up)


def usual_spelling(placed: Iterable[tuple[str, str, int]], taxonomy: Taxonomy) -> str:
    """The spelling of most cells of a column, from its values, their concepts and their counts."""
    cells = dict.fromkeys(SPELLINGS, 0)
    for value, concept, count in placed:
        for name, spell in _SPELLERS.items():
            cells[name] += count * (spell(taxonomy, concept).casefold() == value.casefold())
    return max(cells, key=cells.__getitem__)
