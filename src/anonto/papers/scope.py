"""How much is run: everything, or a part that takes less than a minute."""

from __future__ import annotations

from dataclasses import dataclass

from anonto.papers.measurement import SEEDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The seeds and the parameters of all experiments."""

    seeds: tuple[int, ...] = SEEDS
    ks: tuple[int, ...] = (2, 5, 10, 20, 50, 100)
    """Intervals and groups of swapping."""
    group_sizes: tuple[int, ...] = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
    """Group sizes of microaggregation."""
    degrees: tuple[int, ...] = (100, 500, 1_000)
    rates: tuple[float, ...] = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
    """Rates at which records are selected for the swap with an ε."""
    largest_printed_n: int = 100_000
    """The most records that are simulated for the table of privacy."""
    width_sizes: tuple[int, ...] = (31_250, 62_500, 125_000, 250_000, 500_000, 1_000_000)
    depth_sizes: tuple[int, ...] = (3_125, 6_250, 12_500, 25_000, 50_000, 100_000)
    noise_records: int = 1_000
    """Records of a sample to which noise is added."""
    noise_levels: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)
    epsilons: tuple[float, ...] = (1.0, 4.0, 8.0, 16.0, 20.0, 24.0, 32.0)
    quick: bool = False


FULL = Scope()
QUICK = Scope(
    seeds=SEEDS[:2],
    ks=(2, 10, 50),
    group_sizes=(2, 10, 20),
    degrees=(100, 1_000),
    rates=(0.5, 0.9),
    largest_printed_n=10_000,
    width_sizes=(31_250, 125_000),
    depth_sizes=(3_125, 12_500),
    noise_records=400,
    noise_levels=(0.2, 0.4),
    epsilons=(16.0, 24.0),
    quick=True,
)
