"""Compiled loops over the bytes of a CSV file: where its fields and records end, and whether they are well formed.

A field that starts with a quote ends at the next quote that is not doubled; in any other field a quote is text.
Outside quotes a record ends at a line feed, a carriage return, or the two together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Bytes, Longs

QUOTE, LINE_FEED, CARRIAGE_RETURN = 34, 10, 13

PLAIN, QUOTED, OVERFULL, UNCLOSED = 0, 1, 2, 3
"""Kinds of fields; an overfull one has text after its closing quote."""

(
    N_COLUMNS,
    N_RECORDS,
    N_RAGGED,
    RAGGED_LINE,
    UNCLOSED_LINE,
    OVERFULL_LINE,
    N_BLANK,
    N_LEADING_BLANK,
    N_STRAY_QUOTES,
    N_LINE_FEEDS,
    N_BOTH,
    N_RETURNS,
    HEADER_START,
    HEADER_END,
    NEXT_LINE,
    N_FACTS,
) = range(16)
"""Places in the array of facts that `scan_records` returns. Lines are numbered from 1; 0 means no such line."""


@njit(cache=True, nogil=True)
def _field(data: Bytes, start: int, delimiter: int) -> tuple[int, int, int, int]:
    """Where a field ends, its line breaks, its quotes outside the quoted part, and its kind."""
    n = data.size
    i = start
    breaks = 0
    strays = 0
    kind = PLAIN
    # The quoted part: up to a quote that is not doubled.
    if i < n and data[i] == QUOTE:
        kind = UNCLOSED
        i += 1
        while i < n:
            byte = data[i]
            i += 1
            if byte == QUOTE:
                if i >= n or data[i] != QUOTE:
                    kind = QUOTED
                    break
                i += 1
            elif byte == LINE_FEED or (byte == CARRIAGE_RETURN and (i >= n or data[i] != LINE_FEED)):
                breaks += 1
    # The rest: up to a delimiter or the end of the line. After a quoted part nothing may follow.
    begin = i
    while i < n:
        byte = data[i]
        if byte in (delimiter, LINE_FEED, CARRIAGE_RETURN):
            break
        if byte == QUOTE:
            strays += 1
        i += 1
    if kind == QUOTED and i > begin:
        kind = OVERFULL
    return i, breaks, strays, kind


@njit(cache=True, nogil=True)
def _after_line_end(data: Bytes, i: int) -> int:
    """The position after the line ending that starts here."""
    if data[i] == CARRIAGE_RETURN and i + 1 < data.size and data[i + 1] == LINE_FEED:
        return i + 2
    return i + 1


@njit(cache=True, nogil=True)
def _record(data: Bytes, start: int, delimiter: int) -> tuple[int, int, int, int, int, int]:
    """Where a record ends, its fields, line breaks and stray quotes, its fault and the line breaks before it."""
    i = start
    fields = 0
    breaks = 0
    strays = 0
    fault = PLAIN
    breaks_before = 0
    within = True
    while within:
        i, inside, quotes, kind = _field(data, i, delimiter)
        # An open quote is reported at its own line, and before text that follows a closing quote.
        if kind == UNCLOSED:
            fault, breaks_before = kind, breaks
        elif kind == OVERFULL and fault == PLAIN:
            fault, breaks_before = kind, breaks + inside
        fields += 1
        breaks += inside
        strays += quotes
        within = i < data.size and data[i] == delimiter
        if within:
            i += 1
    return i, fields, breaks, strays, fault, breaks_before


@njit(cache=True, nogil=True)
def scan_records(data: Bytes, delimiter: int, n_columns: int = 0, line: int = 1) -> Longs:
    """The facts about a file; a quote that is never closed includes everything after it.

    For a later part of a file, give the number of columns and the number of the part's first line.
    """
    facts = np.zeros(N_FACTS, np.int64)
    n_records = 0
    n_line_feeds = 0
    i = 0
    while i < data.size:
        start = i
        start_line = line
        # A blank line, before the header or after it.
        if data[i] == LINE_FEED or data[i] == CARRIAGE_RETURN:
            facts[N_BLANK if n_columns else N_LEADING_BLANK] += 1
            i = _after_line_end(data, i)
            line += 1
            continue
        # A record, with the line of the first fault of each kind.
        i, fields, breaks, strays, fault, breaks_before = _record(data, i, delimiter)
        if fault != PLAIN:
            place = UNCLOSED_LINE if fault == UNCLOSED else OVERFULL_LINE
            facts[place] = facts[place] or line + breaks_before
        facts[N_STRAY_QUOTES] += strays
        line += breaks + 1
        # Its line ending; the last record may have none.
        if i < data.size and data[i] == LINE_FEED:
            n_line_feeds += 1
            i += 1
        elif i < data.size:
            after = _after_line_end(data, i)
            facts[N_BOTH if after == i + 2 else N_RETURNS] += 1
            i = after
        # The first record is the header; all others must have as many fields.
        if n_columns == 0:
            n_columns = fields
            facts[HEADER_START], facts[HEADER_END] = start, i
            continue
        n_records += 1
        if fields != n_columns:
            facts[RAGGED_LINE] = facts[RAGGED_LINE] or start_line
            facts[N_RAGGED] += 1
    facts[N_COLUMNS], facts[N_RECORDS], facts[N_LINE_FEEDS] = n_columns, n_records, n_line_feeds
    facts[NEXT_LINE] = line
    return facts


@njit(cache=True, nogil=True)
def whole_records(data: Bytes, delimiter: int) -> int:
    """Where the last record begins that may be incomplete; all records before it are complete."""
    i = 0
    while i < data.size:
        start = i
        is_blank = data[i] == LINE_FEED or data[i] == CARRIAGE_RETURN
        end = i if is_blank else _record(data, i, delimiter)[0]
        # A carriage return at the end of the data may be followed by a line feed.
        if end >= data.size - (1 if end < data.size and data[end] == CARRIAGE_RETURN else 0):
            return start
        i = _after_line_end(data, end)
    return i


@njit(cache=True, nogil=True)
def field_counts(data: Bytes, delimiter: int, most: int) -> Longs:
    """How many fields each of the first records has, without blank lines; the last record may be cut off."""
    counts = np.zeros(most, np.int64)
    filled = 0
    i = 0
    while i < data.size and filled < most:
        if data[i] == LINE_FEED or data[i] == CARRIAGE_RETURN:
            i += 1
            continue
        i, counts[filled] = _record(data, i, delimiter)[:2]
        filled += 1
    return counts[:filled]


@njit(cache=True, nogil=True)
def canonical_records(data: Bytes, delimiter: int, n_strays: int, keep_blank: bool) -> Bytes:
    """The same table with line feeds as line endings, without blank lines, and with quoted fields where quotes occur.

    Blank lines before the header are always removed, those after it unless ``keep_blank``.
    """
    n = data.size
    out = np.empty(n + 3 * n_strays + 1, np.uint8)
    filled = 0
    i = 0
    in_header = True
    while i < n:
        if data[i] == LINE_FEED or data[i] == CARRIAGE_RETURN:
            i = _after_line_end(data, i)
            if keep_blank and not in_header:
                out[filled] = LINE_FEED
                filled += 1
            continue
        within = True
        while within:
            # Copy a field; one with quotes inside is quoted, and its quotes are doubled.
            end, _, strays, kind = _field(data, i, delimiter)
            wrapped = kind == PLAIN and strays > 0
            if wrapped:
                out[filled] = QUOTE
                filled += 1
            for j in range(i, end):
                out[filled] = data[j]
                filled += 1
                if wrapped and data[j] == QUOTE:
                    out[filled] = QUOTE
                    filled += 1
            if wrapped:
                out[filled] = QUOTE
                filled += 1
            i = end
            within = i < n and data[i] == delimiter
            if within:
                out[filled] = delimiter
                filled += 1
                i += 1
        # One line feed after every record.
        if i < n:
            i = _after_line_end(data, i)
        out[filled] = LINE_FEED
        filled += 1
        in_header = False
    return out[:filled]
