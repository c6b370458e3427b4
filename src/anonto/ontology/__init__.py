"""Files to taxonomies, and cells to concepts."""
