"""Sums of products, logarithms and exponentials that are the same on every processor.

Products of arrays in numpy go to the BLAS, which adds in an order that depends on the processor, and its logarithms to
code that does. The last digit of a sum then differs, and with it which of two equally good records is taken. Here the
order of each sum is fixed, nothing is contracted or reordered, and functions are those of the C library.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from anonto.arrays import Floats


def dot(a: ArrayLike, b: ArrayLike) -> float:
    """The sum of the products of two rows of numbers."""
    return float(sum_of_products(_floats(a), _floats(b)))


def matrix_product(table: ArrayLike, other: ArrayLike) -> Floats:
    """The matrix product of a table with a table, or with one column of numbers, which gives one column."""
    left, right = _floats(table), _floats(other)
    if right.ndim == 1:
        column: Floats = _with_column(left, right)
        return column
    whole: Floats = _with_table(left, right)
    return whole


def logs(numbers: ArrayLike) -> Floats:
    """The natural logarithm of each number, in the same shape."""
    return _each(_logs, numbers)


def binary_logs(numbers: ArrayLike) -> Floats:
    """The logarithm to base 2 of each number, in the same shape."""
    return _each(_binary_logs, numbers)


def exponentials(numbers: ArrayLike) -> Floats:
    """E to the power of each number, in the same shape."""
    return _each(_exponentials, numbers)


def symmetric_root(table: Floats) -> Floats:
    """The symmetric root of a symmetric table, with negative eigenvalues taken as 0 (rotations of Jacobi)."""
    values, vectors = table.astype(np.float64), np.eye(len(table))
    _diagonalise(values, vectors)
    roots = np.sqrt(np.maximum(np.diag(values), 0.0))
    return matrix_product(vectors * roots, np.ascontiguousarray(vectors.T))


def _floats(numbers: ArrayLike) -> Floats:
    return np.ascontiguousarray(numbers, dtype=np.float64)


def _each(function: Callable[[Floats], Floats], numbers: ArrayLike) -> Floats:
    given = _floats(numbers)
    return function(given.ravel()).reshape(given.shape)


@njit(cache=True, nogil=True)
def sum_of_products(a: Floats, b: Floats) -> float:
    """`dot` for compiled loops: four sums side by side, which a processor adds up faster than one."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = a.size - a.size % 4
    for i in range(0, whole, 4):
        first += a[i] * b[i]
        second += a[i + 1] * b[i + 1]
        third += a[i + 2] * b[i + 2]
        fourth += a[i + 3] * b[i + 3]
    for i in range(whole, a.size):
        first += a[i] * b[i]
    return (first + second) + (third + fourth)


@njit(cache=True, nogil=True)
def _with_column(table: Floats, column: Floats) -> Floats:
    out = np.empty(table.shape[0], np.float64)
    for i in range(out.size):
        out[i] = sum_of_products(table[i], column)
    return out


@njit(cache=True, nogil=True)
def _with_table(table: Floats, other: Floats) -> Floats:
    out = np.zeros((table.shape[0], other.shape[1]), np.float64)
    for i in range(out.shape[0]):
        own = out[i]
        for k in range(table.shape[1]):
            weight, row = table[i, k], other[k]
            if weight == 0.0:
                continue
            for j in range(own.size):
                own[j] += weight * row[j]
    return out


@njit(cache=True, nogil=True)
def _logs(numbers: Floats) -> Floats:
    out = np.empty(numbers.size, np.float64)
    for i in range(numbers.size):
        out[i] = math.log(numbers[i])
    return out


@njit(cache=True, nogil=True)
def _binary_logs(numbers: Floats) -> Floats:
    out = np.empty(numbers.size, np.float64)
    for i in range(numbers.size):
        out[i] = math.log2(numbers[i])
    return out


@njit(cache=True, nogil=True)
def _exponentials(numbers: Floats) -> Floats:
    out = np.empty(numbers.size, np.float64)
    for i in range(numbers.size):
        out[i] = math.exp(numbers[i])
    return out


@njit(cache=True, nogil=True)
def _diagonalise(values: Floats, vectors: Floats) -> None:
    """Turn a symmetric table until only its diagonal is left, and the vectors with it."""
    n = values.shape[0]
    # Jacobi's method: until what is left off the diagonal is rounding error, …
    for _ in range(100):
        left, largest = 0.0, 0.0
        for p in range(n):
            largest = max(largest, abs(values[p, p]))
            for q in range(p):
                left = max(left, abs(values[p, q]))
        if left <= 1e-300 or left <= 1e-18 * largest:
            return
        for p in range(n):
            for q in range(p + 1, n):
                if values[p, q] == 0.0:
                    continue
                # … each pair of rows is rotated by the angle that makes its entry 0.
                slope = (values[q, q] - values[p, p]) / (2.0 * values[p, q])
                tangent = (1.0 if slope >= 0.0 else -1.0) / (abs(slope) + math.sqrt(slope * slope + 1.0))
                cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
                sine = tangent * cosine
                for k in range(n):
                    a, b = values[k, p], values[k, q]
                    values[k, p], values[k, q] = cosine * a - sine * b, sine * a + cosine * b
                for k in range(n):
                    a, b = values[p, k], values[q, k]
                    values[p, k], values[q, k] = cosine * a - sine * b, sine * a + cosine * b
                values[p, q] = values[q, p] = 0.0
                for k in range(n):
                    a, b = vectors[k, p], vectors[k, q]
                    vectors[k, p], vectors[k, q] = cosine * a - sine * b, sine * a + cosine * b
