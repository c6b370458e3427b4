"""Information loss: of single columns, of pairs of columns, of the whole table."""
