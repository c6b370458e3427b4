"""The command line: turns arguments into calls and prints the results; no logic of its own."""
