"""Labels like a text, without comparing it with every label.

Labels are blocked by the beginnings and endings of their words; a text is compared only with labels that share one of
its rarest blocks, so a slip in one place of a word leaves the other to find it by.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BLOCK_LETTERS = 3
MAX_COMPARED = 5_000


class LikenessIndex:
    """Texts in bare words, each with its concept."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        unique = sorted({pair for pair in pairs if pair[0]})
        self._texts = [text for text, _ in unique]
        self._concepts = [concept for _, concept in unique]
        self._blocks: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(self._texts):
            for block in _blocks(text):
                self._blocks[block].append(number)

    def most_alike(self, text: str, limit: int, at_least: float) -> list[tuple[str, float]]:
        """Up to ``limit`` concepts with a text that is alike, best first, with a likeness from 0 to 100."""
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
        """Labels that share a block with the text, rarest blocks first, up to a bound."""
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
