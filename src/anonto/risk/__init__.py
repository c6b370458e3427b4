"""What an intruder could do, computed: one attack per file; 0 is safe, 1 is disclosed."""
