"""When two sums of distances count as equal: ties are exact in theory, not in floating point."""

TOLERANCE = 1e-12
