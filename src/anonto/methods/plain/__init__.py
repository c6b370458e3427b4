"""The algorithms of the methods, step by step: start reading here; the compiled loops must give the same results.

Each file follows its paper with the paper's own steps, in Python and numpy alone. None is meant for large tables: most
look at all pairs of rows. `docs/explanation/plain-algorithms.md` has the list.
"""
