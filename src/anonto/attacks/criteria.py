"""The three criteria of Opinion 05/2014 of the Article 29 Working Party, on which attacks are evidence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion: its name and its question."""

    name: str
    asks: str


SINGLING_OUT = Criterion(
    "singling out", "Is it still possible to isolate some or all records which identify an individual?"
)
LINKABILITY = Criterion(
    "linkability",
    "Is it still possible to link records that concern the same person, in this release or with another source?",
)
INFERENCE = Criterion(
    "inference", "Can information about a person be deduced with significant probability from the other values?"
)
CRITERIA = (SINGLING_OUT, LINKABILITY, INFERENCE)
