"""A column to codes, counts and a value space, and back to cells."""
