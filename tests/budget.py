"""Profiles of hypothesis: `suite` by default, `thorough` with more examples by `ANONTO_PROFILE=thorough`."""

from __future__ import annotations

import os

import hypothesis

TIMES = {"suite": 1, "thorough": 5}
"""How many times as many examples as in the suite, by profile."""
PROFILE = os.environ.get("ANONTO_PROFILE", "suite")


def examples(in_the_suite: int) -> int:
    """The examples of a test in this profile, from its number in the suite."""
    return in_the_suite * TIMES[PROFILE]


def load_profile() -> None:
    """Register the profiles with hypothesis and load the one that is asked for."""
    for name, times in TIMES.items():
        hypothesis.settings.register_profile(
            name,
            deadline=None,  # kernels are compiled on first use
            max_examples=60 * times,
            suppress_health_check=[hypothesis.HealthCheck.too_slow],
        )
    hypothesis.settings.load_profile(PROFILE)
