"""When two distances, or sums of them, count as equal: ties are exact in theory, not in floating point.

Sums are added in a fixed order (`anonto.arithmetic`), so that rounding errors, and with them ties, are the same on
every processor.
"""

TOLERANCE = 1e-12
"""Within which distances of values and their means are equal."""

DECIMALS = 9
"""To which distances of records, sums over several columns, are rounded; `grouping` compares in steps of 10⁻⁹ too."""
