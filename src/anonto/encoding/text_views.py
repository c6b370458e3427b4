"""Look-up of texts in polars' own buffers, without creating Python strings.

A text of up to twelve bytes lies completely in its view: 16 bytes with its length, its bytes and zeros. Equal texts
have equal views, so two words of 64 bits are compared instead of texts. The views are accessed through the Arrow C data
interface; nothing is copied.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

    from anonto.arrays import Bytes, Ints, LongWords

LONGEST = 12
"""Length in bytes of a text that fits into its view."""
FEW_ROWS = 1 << 17
"""Fewer rows than this are looked up without loading the compiler."""
MANY_TEXTS = 1 << 14
"""Polars prepares the known texts again for every batch of rows; with more texts than this it takes noticeable time."""
_VIEWS_OF_TEXT = b"vu"


class KnownTexts(Protocol):
    """Texts that have a number."""

    def look_up(self, texts: pl.Series, codes: Ints) -> int:
        """Write the number of each text, −1 if it is missing or unknown; return how many are."""
        ...


def texts_known(distinct: pl.Series, n_rows: int) -> KnownTexts:
    """A look-up table of distinct texts, numbered in their order, for a given number of rows."""
    if n_rows < FEW_ROWS:
        return _Categories(distinct)
    if int(cast("int | None", distinct.str.len_bytes().max()) or 0) > LONGEST:
        return _HashedTexts.of(distinct) if len(distinct) > MANY_TEXTS else _Categories(distinct)
    return _ShortTexts.of(distinct) or _Categories(distinct)


@dataclass(frozen=True, slots=True, eq=False)
class _Categories:
    """Texts of any length, looked up by polars."""

    texts: pl.Series

    def look_up(self, texts: pl.Series, codes: Ints) -> int:
        import polars as pl

        found = texts.cast(pl.Enum(self.texts), strict=False).to_physical()
        n_without = found.null_count()
        codes[:] = (found.cast(pl.Int32).fill_null(-1) if n_without else found).to_numpy()
        return n_without


@dataclass(frozen=True, slots=True, eq=False)
class _ShortTexts:
    """Texts that fit into their views."""

    distinct: pl.Series
    words: LongWords
    slots: Ints

    @classmethod
    def of(cls, distinct: pl.Series) -> _ShortTexts | None:
        with views_of(distinct) as views:
            if views is None:
                return None
            words = np.concatenate([np.empty(0, np.uint64), *(one.words for one in views)])
        return cls(distinct, words, _hash_table(words))

    def look_up(self, texts: pl.Series, codes: Ints) -> int:
        from anonto.encoding.row_kernels import look_up_words

        n_without = filled = 0
        with views_of(texts) as views:
            if views is None:
                return _Categories(self.distinct).look_up(texts, codes)
            for one in views:
                here = codes[filled : filled + len(one)]
                n_without += int(look_up_words(one.words, one.present, one.first, self.words, self.slots, here))
                filled += len(one)
        return n_without


@dataclass(frozen=True, slots=True, eq=False)
class _HashedTexts:
    """Many texts of any length, found by two hashes of 64 bits and then compared."""

    distinct: pl.Series
    words: LongWords
    slots: Ints

    @classmethod
    def of(cls, distinct: pl.Series) -> _HashedTexts:
        words = _hashes(distinct)
        return cls(distinct, words, _hash_table(words))

    def look_up(self, texts: pl.Series, codes: Ints) -> int:
        import polars as pl

        from anonto.encoding.row_kernels import look_up_words

        look_up_words(_hashes(texts), np.empty(0, dtype=np.uint8), 0, self.words, self.slots, codes)
        if texts.null_count():
            codes[texts.is_null().to_numpy()] = -1
        found = np.flatnonzero(codes >= 0)
        if not (self.distinct.gather(codes[found]) == texts.gather(pl.Series(found))).all():
            return _Categories(self.distinct).look_up(texts, codes)
        return len(texts) - found.size


def _hash_table(words: LongWords) -> Ints:
    """Slots with the number of each text, found by its two words."""
    from anonto.encoding.row_kernels import word_table

    slots = np.full(1 << words.size.bit_length(), -1, dtype=np.int32)
    word_table(words, slots)
    return slots


def _hashes(texts: pl.Series) -> LongWords:
    """Two consecutive words for each text."""
    return np.stack([texts.hash(seed).to_numpy() for seed in (0, 1)], axis=1).ravel()


class _ArrowSchema(ctypes.Structure):
    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


class _ArrowArray(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


class _ArrowStream(ctypes.Structure):
    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_ArrowSchema))),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_ArrowArray))),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """The views of a batch of texts."""

    words: LongWords
    """Two consecutive words for each text."""
    present: Bytes
    """A bit for each text, from `first` on; empty if none is missing."""
    first: int

    def __len__(self) -> int:
        return self.words.size // 2


@contextmanager
def views_of(texts: pl.Series) -> Iterator[list[Views] | None]:
    """The views of a column of text, valid inside the context; None if polars does not store it as views."""
    capsule = texts.__arrow_c_stream__()
    stream = _ArrowStream.from_address(_pointer(capsule))
    schema = _ArrowSchema()
    arrays: list[_ArrowArray] = []
    try:
        if stream.get_schema(ctypes.addressof(stream), ctypes.byref(schema)) or schema.format != _VIEWS_OF_TEXT:
            yield None
            return
        while True:
            array = _ArrowArray()
            if stream.get_next(ctypes.addressof(stream), ctypes.byref(array)):
                yield None
                return
            if not array.release:
                break
            arrays.append(array)
        yield [_views(array) for array in arrays]
    finally:
        for owner in (*arrays, schema):
            if owner.release:
                owner.release(ctypes.addressof(owner))
        del capsule


def _views(array: _ArrowArray) -> Views:
    first, n = array.offset, array.length
    words = _from_memory(array.buffers[1], ctypes.c_uint64, 2 * (first + n))[2 * first :]
    validity = array.buffers[0] if array.null_count else None
    present = _from_memory(validity, ctypes.c_uint8, (first + n + 7) // 8)
    return Views(words, present, first)


def _from_memory(address: int | None, kind: Any, length: int) -> NDArray[Any]:
    if not address or not length:
        return np.empty(0, dtype=kind)
    return np.ctypeslib.as_array((kind * length).from_address(address))


def _pointer(capsule: object) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return cast("int", get(capsule, b"arrow_array_stream"))
