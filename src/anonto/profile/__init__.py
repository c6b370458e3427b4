"""Guesses about columns, the first plan, and what singles people out."""
