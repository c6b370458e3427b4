"""Engines, by where the rows live: fitted methods applied to all rows of a table."""
