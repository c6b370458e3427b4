"""From the text of a cell to a concept: by id, by an altered id, by label, by synonym, by likeness.

The rules are tried in this order, and the first that gives any concept decides:

1. ``exact``: an id of the taxonomy.
2. ``alternative id``: another id of a concept.
3. ``replaced id``: an obsolete id whose replacement is known.
4. ``normalised id``: an id that differs in case, blanks, ``_`` for ``:``, a missing namespace, or missing dots. A dot
   in the text counts: ``8.45`` is never read as ``84.5``.
5. ``leading zeros``: an id that differs in zeros before its number, as spreadsheets drop them; a namespace such as
   ``DOID:`` may precede it. After other letters zeros count: ``E1`` is never read as ``E01``, which is only suggested.
6. ``label``, 7. ``synonym``: the same words, in any case and punctuation.
8. ``fuzzy``, only on request: very similar to a label or synonym, and more so than to any of another concept.

A rule that gives several concepts ends the search: the text is unmatched, with these as suggestions, even if a later
rule would give a single one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
BLOCK_LETTERS = 3
MAX_COMPARED = 5_000

_NUMBER = re.compile(r"((?:[a-z][^:]*:)?)(?:0(?=\d))*+(\d++(?:\..*)?)", re.DOTALL)
_LETTERS_AND_NUMBER = re.compile(r"([a-z:]*+)(?:0(?=\d))*+(\d.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Placement:
    """The concept of a text, and the rule that found it."""

    concept: str
    rule: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A concept that an unmatched text may have meant."""

    concept: str
    label: str
    likeness: float
    """From 0 to 100."""


class Matcher:
    """Matches texts with one taxonomy. Each look-up table is built when a rule first needs it."""

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
        """The concept of a text; on request, otherwise, the one whose code is the longest prefix of it."""
        placement = self.place(text)
        if placement is not None:
            return placement.concept
        above = self._nearest_code(text) if nearest else []
        return above[0].concept if above else None

    def suggest(self, text: str) -> tuple[Suggestion, ...]:
        """Concepts that an unmatched text may have meant, best first."""
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
        return _group_by_key(pairs)

    @cached_property
    def _ids_have_dots(self) -> bool:
        return any("." in concept and _local_name(concept) is None for concept in self.taxonomy.ids)

    @cached_property
    def _ids_without_dots(self) -> Mapping[str, tuple[str, ...]]:
        return _group_by_key((key.replace(".", ""), c) for key, found in self._ids_by_key.items() for c in found)

    @cached_property
    def _zeroless_ids(self) -> Mapping[str, tuple[str, ...]]:
        return _group_by_key((zeroless(key), c) for key, found in self._ids_by_key.items() for c in found)

    @cached_property
    def _loosely_zeroless_ids(self) -> Mapping[str, tuple[str, ...]]:
        return _group_by_key((_loosely_zeroless(key), c) for key, found in self._ids_by_key.items() for c in found)

    @cached_property
    def _labels(self) -> Mapping[str, tuple[str, ...]]:
        return _group_by_key(self._label_pairs())

    @cached_property
    def _synonyms(self) -> Mapping[str, tuple[str, ...]]:
        return _group_by_key(self._synonym_pairs())

    @cached_property
    def _likeness(self) -> LikenessIndex:
        return LikenessIndex([*self._label_pairs(), *self._synonym_pairs()])

    def _label_pairs(self) -> Iterator[tuple[str, str]]:
        labelled = zip(self.taxonomy.ids, self.taxonomy.labels, strict=True)
        return ((words(label), concept) for concept, label in labelled if label)

    def _synonym_pairs(self) -> Iterator[tuple[str, str]]:
        offsets = self.taxonomy.synonym_offsets.tolist()
        for number, concept in enumerate(self.taxonomy.ids):
            for text in self.taxonomy.synonym_texts[offsets[number] : offsets[number + 1]]:
                yield words(text), concept

    # ------------------------------------------------------------------------------------------ suggestions

    def _nearest_code(self, text: str) -> list[Suggestion]:
        """The concept whose code is the longest prefix of a code: the likely parent of a retired code."""
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
        """Concepts whose code has more or fewer zeros after its letters; it may well be another code."""
        key = id_key(text)
        found = self._loosely_zeroless_ids.get(_loosely_zeroless(key), ())
        return [self._suggestion(concept, _ratio_of_lengths(key, id_key(concept))) for concept in found]

    def _suggestion(self, concept: str, likeness: float) -> Suggestion:
        return Suggestion(concept, self.taxonomy.label(concept), round(likeness, 1))


def matcher_of(taxonomy: Taxonomy) -> Matcher:
    """The matcher of a taxonomy, made once."""
    return taxonomy.compute_once("matcher", lambda: Matcher(taxonomy))


def id_key(text: str) -> str:
    """An id in lower case, without blanks and final dot, with ``:`` for ``_``."""
    return "".join(text.split()).casefold().replace("_", ":").rstrip(".")


def zeroless(key: str) -> str:
    """A normalised id without the zeros before its number, which only a namespace may precede."""
    found = _NUMBER.fullmatch(key)
    return found[1] + found[2] if found else key


def _loosely_zeroless(key: str) -> str:
    """A normalised id without the zeros after its first letters."""
    found = _LETTERS_AND_NUMBER.fullmatch(key)
    return found[1] + found[2] if found else key


def _ratio_of_lengths(one: str, other: str) -> float:
    return 100.0 * min(len(one), len(other)) / max(len(one), len(other))


def words(text: str) -> str:
    """The words of a label in lower case, without punctuation, in Unicode's compatibility form."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded))


def _local_name(concept: str) -> str | None:
    """The part after the namespace of a web address used as an id."""
    if "://" not in concept:
        return None
    return re.split(r"[/#]", concept.rstrip("/#"))[-1] or None


def _group_by_key(pairs: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for key, concept in pairs:
        known = groups.get(key)
        if known is None:
            groups[key] = (concept,)
        elif key and concept not in known:
            groups[key] = (*known, concept)
    groups.pop("", None)
    return groups


# ------------------------------------------------------------------------------------------------ likeness


class LikenessIndex:
    """Finds the labels like a text without comparing it with every label.

    Labels are blocked by the first and last letters of their words. A text is only compared with labels that share one
    of its rarest blocks, so a typing error at one end of a word leaves the other end to find it by.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        unique = sorted({pair for pair in pairs if pair[0]})
        self._texts = [text for text, _ in unique]
        self._concepts = [concept for _, concept in unique]
        self._blocks: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(self._texts):
            for block in _blocks(text):
                self._blocks[block].append(number)

    def most_alike(self, text: str, limit: int, at_least: float) -> list[tuple[str, float]]:
        """Up to ``limit`` concepts with a similar text, best first, with a likeness from 0 to 100."""
        from rapidfuzz import fuzz, process

        candidates = self._candidates(text)
        texts = [self._texts[n] for n in candidates]
        scored = process.extract(
            text, texts, scorer=fuzz.token_sort_ratio, score_cutoff=at_least, limit=max(limit * 8, 16)
        )
        best: dict[str, float] = {}
        for _, score, position in scored:
            best.setdefault(self._concepts[candidates[position]], float(score))
        return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def _candidates(self, text: str) -> Sequence[int]:
        """Labels that share a block with the text, rarest blocks first, up to a limit."""
        shared = sorted(
            (self._blocks[block] for block in _blocks(text) if block in self._blocks),
            key=lambda b: (len(b), b[0]),
        )
        found: dict[int, None] = {}
        for block in shared:
            if found and len(found) + len(block) > MAX_COMPARED:
                break
            found.update(dict.fromkeys(block))
        return list(found)


def _blocks(text: str) -> Iterator[str]:
    seen = set()
    for word in text.split():
        for block in (f"^{word[:BLOCK_LETTERS]}", f"{word[-BLOCK_LETTERS:]}$"):
            if block not in seen:
                seen.add(block)
                yield block
