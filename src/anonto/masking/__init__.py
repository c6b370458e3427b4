"""A plan fitted to the counts of a table, what it makes of rows, and the evidence of that; it knows no engine."""
