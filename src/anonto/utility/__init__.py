"""What an analyst loses: of single columns, of pairs, of the whole table."""
