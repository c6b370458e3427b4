"""The earth mover's distance, by which t-closeness is measured."""

from anonto.stats.earth_mover import earth_movers_distance

__all__ = ["earth_movers_distance"]
