"""The attacks, step by step: start reading here; the compiled loops must give the same results."""
