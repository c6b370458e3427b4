"""The attacks, step by step: what a reader opens first, and what the compiled loops must equal."""
