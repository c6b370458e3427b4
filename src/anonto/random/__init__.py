"""All randomness from one seed: named streams, draws by row, keyed permutations."""
