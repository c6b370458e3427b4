"""From the text of a cell to a concept: by id, by an id that was damaged on the way, by label, by synonym, by likeness.

The rules are tried in this order, and the first that gives any concept decides:

1. ``exact``: an id of the taxonomy.
2. ``alternative id``: another id of a concept.
3. ``replaced id``: an obsolete id whose replacement is known.
4. ``normalised id``: the same but for case, blanks, ``_`` for ``:``, a missing namespace, or lost dots. A dot that is
   there counts: ``8.45`` is never read as ``84.5``.
5. ``leading zeros``: the same but for zeros lost or added before a number, as spreadsheets do; a namespace such as
   ``DOID:`` may stand before it. After other letters zeros count: ``E1`` is never read as ``E01``, only suggested it.
6. ``label``, 7. ``synonym``: the same words, whatever the case and punctuation.
8. ``fuzzy``, only on request: much like one label or synonym, and more like it than any of another concept.

A rule that gives several concepts ends the search: the text is left unmatched, with these as suggestions, even where
a later rule would give just one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from anonto.ontology.likeness import LikenessIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anonto.taxonomy.taxonomy import Taxonomy

RULES = (
    "exact",
    "alternative id",
    "replaced id",
    "normalised id",
    "leading zeros",
    "label",
    "synonym",
    "fuzzy",
)
MAX_SUGGESTIONS = 3
LIKE_ENOUGH_TO_MATCH = 90.0
LIKE_ENOUGH_TO_SUGGEST = 60.0

_NUMBER = re.compile(r"((?:[a-z][^:]*:)?)(?:0(?=\d))*+(\d++(?:\..*)?)", re.DOTALL)
_LETTERS_AND_NUMBER = re.compile(r"([a-z:]*+)(?:0(?=\d))*+(\d.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a text was placed and by which rule."""

    concept: str
    rule: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A concept that a text without a place may have meant."""

    concept: str
    label: str
    likeness: float
    """From 0 to 100."""


class Matcher:
    """Places texts in one taxonomy. Each look-up table is made when a rule first needs it."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy

    def place(self, text: str, *, fuzzy: bool = False) -> Placement | None:
        """The concept of a text, or None."""
        for rule, look_up in self._rules.items():
            found = look_up(text)
            if len(found) == 1:
                return Placement(found[0], rule)
            if found:
                return None
        return self._place_by_likeness(text) if fuzzy else None

    def concept_of(self, text: str, *, nearest: bool = False) -> str | None:
        """The concept of a text; on request the one whose code is the longest beginning of it."""
        placement = self.place(text)
        if placement is not None:
            return placement.concept
        above = self._nearest_code(text) if nearest else []
        return above[0].concept if above else None

    def suggest(self, text: str) -> tuple[Suggestion, ...]:
        """Concepts that a text without a place may have meant, best first."""
        for look_up in self._rules.values():
            several = look_up(text)
            if several:
                return tuple(self._suggestion(concept, 100.0) for concept in several[:MAX_SUGGESTIONS])
        by_code = [*self._nearest_code(text), *self._same_but_for_zeros(text)]
        alike = self._likeness.most_alike(words(text), MAX_SUGGESTIONS, LIKE_ENOUGH_TO_SUGGEST)
        found = [*by_code, *(self._suggestion(concept, score) for concept, score in alike)]
        unique = {s.concept: s for s in sorted(found, key=lambda s: s.likeness)}
        return tuple(sorted(unique.values(), key=lambda s: (-s.likeness, s.concept))[:MAX_SUGGESTIONS])

    # ------------------------------------------------------------------------------------------ rules

    @cached_property
    def _rules(self) -> Mapping[str, Callable[[str], tuple[str, ...]]]:
        return {
            "exact": self._by_id,
            "alternative id": self._by_alternative,
            "replaced id": self._by_replacement,
            "normalised id": self._by_normalised_id,
            "leading zeros": self._by_number,
            "label": self._by_label,
            "synonym": self._by_synonym,
        }

    def _by_id(self, text: str) -> tuple[str, ...]:
        return (text,) if text in self.taxonomy else ()

    def _by_alternative(self, text: str) -> tuple[str, ...]:
        concept = self.taxonomy.alternative_ids.get(text)
        return () if concept is None else (concept,)

    def _by_replacement(self, text: str) -> tuple[str, ...]:
        concept = self.taxonomy.replacement(text)
        return () if concept is None else (concept,)

    def _by_normalised_id(self, text: str) -> tuple[str, ...]:
        key = id_key(text)
        found = self._ids_by_key.get(key, ())
        if not found and ("." not in key or not self._ids_have_dots):
            found = self._ids_without_dots.get(key.replace(".", ""), ())
        return found

    def _by_number(self, text: str) -> tuple[str, ...]:
        return self._zeroless_ids.get(zeroless(id_key(text)), ())

    def _by_label(self, text: str) -> tuple[str, ...]:
        return self._labels.get(words(text), ())

    def _by_synonym(self, text: str) -> tuple[str, ...]:
        return self._synonyms.get(words(text), ())

    def _place_by_likeness(self, text: str) -> Placement | None:
        best = self._likeness.most_alike(words(text), 2, LIKE_ENOUGH_TO_MATCH)
        if not best or (len(best) > 1 and best[1][1] >= best[0][1]):
            return None
        return Placement(best[0][0], "fuzzy")

    # ------------------------------------------------------------------------------------------ look-up tables

    @cached_property
    def _ids_by_key(self) -> Mapping[str, tuple[str, ...]]:
        taxonomy = self.taxonomy
        pairs = [(id_key(concept), concept) for concept in taxonomy.ids]
        pairs += [(id_key(other), concept) for other, concept in taxonomy.alternative_ids.items()]
        pairs += [(id_key(local), c) for c in taxonomy.ids if (local := _local_name(c)) is not None]
        return _grouped(pairs)

    @cached_property
    def _ids_have_dots(self) -> bool:
        return any("." in concept and _local_name(concept) is None for concept in self.taxonomy.ids)

    @cached_property
    def _ids_without_dots(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped((key.replace(".", ""), c) for key, found in self._ids_by_key.items() for c in found)

    @cached_property
    def _zeroless_ids(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped((zeroless(key), c) for key, found in self._ids_by_key.items() for c in found)

    @cached_property
    def _loosely_zeroless_ids(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped((_loosely_zeroless(key), c) for key, found in self._ids_by_key.items() for c in found)

    @cached_property
    def _labels(self) -> Mapping[str, tuple[str, ...]]:
        taxonomy = self.taxonomy
        return _grouped((words(label), c) for c, label in zip(taxonomy.ids, taxonomy.labels, strict=True) if label)

    @cached_property
    def _synonyms(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped((words(text), concept) for concept, text in self._synonym_pairs())

    @cached_property
    def _likeness(self) -> LikenessIndex:
        taxonomy = self.taxonomy
        labelled = zip(taxonomy.ids, taxonomy.labels, strict=True)
        pairs = [(words(label), c) for c, label in labelled if label]
        pairs += [(words(text), concept) for concept, text in self._synonym_pairs()]
        return LikenessIndex(pairs)

    def _synonym_pairs(self) -> Iterable[tuple[str, str]]:
        offsets = self.taxonomy.synonym_offsets.tolist()
        for number, concept in enumerate(self.taxonomy.ids):
            for text in self.taxonomy.synonym_texts[offsets[number] : offsets[number + 1]]:
                yield concept, text

    # ------------------------------------------------------------------------------------------ suggestions

    def _nearest_code(self, text: str) -> list[Suggestion]:
        """The concept whose code is the longest beginning of a code: where a retired code used to hang."""
        key = id_key(text)
        if not any(character.isdigit() for character in key):
            return []
        for length in range(len(key) - 1, 1, -1):
            found = self._ids_by_key.get(key[:length].rstrip(".")) or self._ids_without_dots.get(
                key[:length].replace(".", "") if "." not in key else ""
            )
            if found:
                return [self._suggestion(found[0], 100.0 * length / len(key))]
        return []

    def _same_but_for_zeros(self, text: str) -> list[Suggestion]:
        """Concepts whose code has more or fewer zeros after its letters: likely, and as likely another code."""
        key = id_key(text)
        found = self._loosely_zeroless_ids.get(_loosely_zeroless(key), ())
        return [self._suggestion(concept, _ratio_of_lengths(key, id_key(concept))) for concept in found]

    def _suggestion(self, concept: str, likeness: float) -> Suggestion:
        return Suggestion(concept, self.taxonomy.label(concept), round(likeness, 1))


def matcher_of(taxonomy: Taxonomy) -> Matcher:
    """The matcher of a taxonomy, made once."""
    return taxonomy.remembered("matcher", lambda: Matcher(taxonomy))


def id_key(text: str) -> str:
    """An id without case, blanks and a final dot, with ``:`` for ``_``."""
    return "".join(text.split()).casefold().replace("_", ":").rstrip(".")


def zeroless(key: str) -> str:
    """A normalised id without the zeros before its number; only a namespace may stand before that."""
    found = _NUMBER.fullmatch(key)
    return found[1] + found[2] if found else key


def _loosely_zeroless(key: str) -> str:
    """A normalised id without the zeros after its first letters."""
    found = _LETTERS_AND_NUMBER.fullmatch(key)
    return found[1] + found[2] if found else key


def _ratio_of_lengths(one: str, other: str) -> float:
    return 100.0 * min(len(one), len(other)) / max(len(one), len(other))


def words(text: str) -> str:
    """A label as bare words: compatibility forms folded, case and punctuation gone."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded))


def _local_name(concept: str) -> str | None:
    """What follows the namespace of a web address used as an id."""
    if "://" not in concept:
        return None
    return re.split(r"[/#]", concept.rstrip("/#"))[-1] or None


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for key, concept in pairs:
        known = groups.get(key)
        if known is None:
            groups[key] = (concept,)
        elif key and concept not in known:
            groups[key] = (*known, concept)
    groups.pop("", None)
    return groups
