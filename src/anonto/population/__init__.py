"""Risk in the population: how many people share the values of a sampled person, estimated from classes of a sample."""
