"""Columns of pyarrow tables: cells in another order, and dictionaries that only list values of the cells."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anonto.errors import ColumnError
from anonto.wording import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anonto.arrays import Integers


@contextmanager
def refuse_unmovable(name: str, kind: Any) -> Iterator[None]:
    """Report a type that pyarrow cannot move as our own error."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        raise unmovable_column(name, str(kind)) from None


def take_rows(column: Any, rows: Integers) -> Any:
    """The cells of some rows in new buffers; a slice would still hold the neighbouring rows."""
    kind = column.type
    cells = solid(column).take(rows)
    return cells if cells.type == kind else cells.cast(kind)


def plain_floats_arrow(column: Any) -> Any:
    """See `plain_floats`; a dictionary may then have a value twice."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_floating(kind.value_type):
        chunks = [(one.indices, plain_floats_arrow(one.dictionary)) for one in column.chunks]
        plain = [pa.DictionaryArray.from_arrays(*both, ordered=kind.ordered) for both in chunks]
        return pa.chunked_array(plain, kind)
    if not pa.types.is_floating(kind):
        return column
    wide = column.cast(pa.float32()) if pa.types.is_float16(kind) else column
    wide = pc.add(wide, pa.scalar(0.0, wide.type))
    return pc.if_else(pc.is_nan(wide), pa.scalar(math.nan, wide.type), wide).cast(kind)


def without_hidden(column: Any) -> Any:
    """A column in new buffers, with no values under its nulls or under nulls inside lists and structs."""
    import pyarrow as pa

    return pa.chunked_array([_bare(chunk) for chunk in column.chunks], column.type)


def _bare(array: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    types, kind = pa.types, array.type
    is_null = array.is_null()
    if types.is_struct(kind) and kind.num_fields:
        return pa.StructArray.from_arrays([_bare(one) for one in array.flatten()], fields=list(kind), mask=is_null)
    if isinstance(array, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(kind, _bare(array.storage))
    rows = pa.array(np.arange(len(array)), mask=is_null.to_numpy(zero_copy_only=False))
    taken = solid(array).take(rows)
    if types.is_map(kind):
        both = _bare(taken.keys), _bare(taken.items)
        return pa.MapArray.from_arrays(taken.offsets, *both, kind, mask=is_null)
    if types.is_list(kind) or types.is_large_list(kind):
        return type(array).from_arrays(taken.offsets, _bare(taken.values), kind, mask=is_null)
    if types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(_bare(taken.values), type=kind, mask=is_null)
    return taken if taken.type == kind else taken.cast(kind)


def solid(values: Any) -> Any:
    """Texts and bytes in a type that pyarrow can take rows from; for views it cannot."""
    kind = _solid_type(values.type)
    return values if kind == values.type else values.cast(kind)


def _solid_type(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else kind


def with_used_values(column: Any, places: Callable[[list[Any]], list[int]]) -> Any:
    """A column whose chunks share one dictionary, which only lists values of its cells.

    Dictionaries inside lists, structs and maps become plain values.

    Args:
        column: A column of any type.
        places: Sorts the values of a dictionary that declares no order.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not pa.types.is_dictionary(kind):
        plain = _plain_type(kind)
        return column if plain.equals(kind, check_metadata=True) else column.cast(plain)
    chunks = [(one.indices, solid(one.dictionary)) for one in column.chunks]
    value_type = _solid_type(kind.value_type)
    known = pa.chunked_array([values for _, values in chunks], value_type).unique()
    used = pa.chunked_array([values.take(indices.unique().drop_null()) for indices, values in chunks], value_type)
    left = known.filter(pc.is_in(known, used.unique().drop_null()))
    if not kind.ordered:
        left = left.take(pa.array(places(left.to_pylist()), pa.int64()))
    dictionary = left.cast(kind.value_type)
    encoded = [
        pa.DictionaryArray.from_arrays(
            pc.index_in(values, left).take(indices).cast(kind.index_type), dictionary, ordered=kind.ordered
        )
        for indices, values in chunks
    ]
    return pa.chunked_array(encoded, kind)


def _plain_type(kind: Any) -> Any:
    """A type without dictionaries and without metadata of its fields."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return kind.value_type
    if types.is_struct(kind):
        return pa.struct([_plain_field(one) for one in kind])
    if types.is_map(kind):
        return pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    return pa.list_(_plain_field(kind.value_field)) if types.is_list(kind) else kind


def _plain_field(field: Any) -> Any:
    import pyarrow as pa

    return pa.field(field.name, _plain_type(field.type), field.nullable)


def unmovable_column(column: str, kind: str) -> ColumnError:
    """A column of a type whose cells its library cannot reorder."""
    return ColumnError(
        f"Column {clip(column)!r} has the Arrow type {kind}, whose cells pyarrow cannot reorder; cast it to a plain "
        "type first."
    )
