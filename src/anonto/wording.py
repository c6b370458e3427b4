"""Parts of sentences: numbers with their noun, short lists, quotations cut where they are long, similar names."""

from __future__ import annotations

import re
from difflib import get_close_matches
from reprlib import Repr
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

QUOTED = 80
"""Most characters of one thing in a plan, a file or a path that a sentence shows."""
LISTED = 400
"""A list names nothing more after this many characters."""
_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_QUOTATION = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_UNBROKEN = re.compile(r"\S{120,}")
"""None of our own words is this long."""
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxtuple, _SHORT.maxdict = 3, 20, 20, 20
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = QUOTED
_MOST_BITS = 256


def one_line(text: str) -> str:
    """A text with its control characters, line ends and changes of direction as escapes."""
    return _UNSHOWABLE.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def is_unicode(text: str) -> bool:
    """Return whether a text can be stored and shown: it has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clip(text: str, limit: int = QUOTED) -> str:
    """A text of a file, short enough to be quoted in a sentence."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def shorten_quotes(sentence: str) -> str:
    """A sentence in which long quotations and words keep both ends: a path is recognised by its last part."""
    half = QUOTED // 2

    def short(found: re.Match[str]) -> str:
        text = found.group()
        return text if len(text) <= QUOTED + 2 else f"{text[: half + 1]}…{text[-half - 1 :]}"

    return _UNBROKEN.sub(short, _QUOTATION.sub(short, sentence))


def quote_value(given: object) -> str:
    """A value of a plan as it is written, short enough for a sentence."""
    if isinstance(given, int) and given.bit_length() > _MOST_BITS:
        return "a number of very many digits"
    return repr(given) if isinstance(given, str) else clip(_SHORT.repr(given))


def count_of(number: int, one: str, many: str | None = None) -> str:
    """'1 concept', '3 concepts': a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def list_names(names: Iterable[str], limit: int = 12) -> str:
    """'a, b, c and 4 more': a list that stays short."""
    all_names = list(names)
    shown: list[str] = []
    while len(shown) < min(limit, len(all_names)) and sum(map(len, shown)) < LISTED:
        name = all_names[len(shown)]
        shown.append(shorten_quotes(name) if _QUOTATION.search(name) else clip(name))
    more = len(all_names) - len(shown)
    return f"{', '.join(shown)} and {more} more" if more else ", ".join(shown)


def quote_names(names: Iterable[str]) -> str:
    """Names of columns in quotes, each cut where it is long."""
    return list_names([repr(clip(name)) for name in names])


def did_you_mean(name: object, known: Collection[str], cutoff: float = 0.6) -> str:
    """' (did you mean x?)' when a known name is close, else nothing."""
    close = get_close_matches(name[: 3 * QUOTED], list(known), n=2, cutoff=cutoff) if isinstance(name, str) else []
    return f" (did you mean {' or '.join(repr(clip(c)) for c in close)}?)" if close else ""
