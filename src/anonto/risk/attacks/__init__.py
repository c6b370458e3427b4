"""The attacks, one file each: what the intruder knows and does, when it is tried, and what is said about it."""
