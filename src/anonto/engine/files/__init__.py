"""Table files larger than memory: read twice in batches, with codes on disk in between."""
