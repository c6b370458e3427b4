"""The computations of the attacks, loaded when an attack runs."""
