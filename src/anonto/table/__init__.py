"""Tables and columns: from what the caller has in hand to codes, numbers and distances."""
