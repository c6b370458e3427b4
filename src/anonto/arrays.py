"""Array types of the package, each named once.

A name stands for the type of the elements, not for the shape. Modules import the names for annotations only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
"""Cells of a column as numbers of its distinct values, or concepts as their numbers in a taxonomy."""
Ints = NDArray[np.int32]
"""Other 32-bit integers: places, levels and indices below 2³¹."""
Longs = NDArray[np.int64]
"""64-bit integers: counts, row numbers, offsets."""
Integers = NDArray[np.integer]
"""Integers of any width."""
Shorts = NDArray[np.uint16]
"""Unsigned 16-bit integers."""
Bytes = NDArray[np.uint8]
"""Unsigned 8-bit integers: text in bytes, small flags."""
SignedBytes = NDArray[np.int8]
"""Signed 8-bit integers."""
Words = NDArray[np.uint32]
"""32-bit words of the cipher that random numbers come from."""
LongWords = NDArray[np.uint64]
"""64-bit words: keys, random words, sets of bits."""
Floats = NDArray[np.float64]
"""Double-precision numbers."""
Singles = NDArray[np.float32]
"""Single-precision numbers."""
Reals = NDArray[np.floating]
"""Floating-point numbers of any precision."""
Bools = NDArray[np.bool_]
"""Truth values, one per row or value."""
