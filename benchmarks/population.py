"""Bias and coverage of the estimates of risk in the population, on synthetic populations whose truth is known.

    python -m benchmarks.population                  # the tables of docs/explanation/population-risk.md

Samples are drawn from two populations of 10,000 people. In the first, columns depend on each other in pairs, as the
log-linear model assumes; in the second, classes have sizes by Pitman's formula, so that values have no structure.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.assessment.population_risk import population_risk
from anonto.population import uniqueness

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Longs

PEOPLE = 10_000
FRACTIONS = (0.02, 0.1, 0.3)
SAMPLES = 200
BOOTSTRAPS = 50
K = 5


@dataclass(frozen=True)
class People:
    """A population: its quasi-identifiers, and the number of people of the class of each person."""

    frame: pl.DataFrame
    share_of: Longs

    @classmethod
    def of(cls, columns: dict[str, Any]) -> People:
        """Count the classes."""
        frame = pl.DataFrame(columns)
        return cls(frame, frame.select(pl.len().over(frame.columns)).to_series().to_numpy().astype(np.int64))


def in_pairs(rng: np.random.Generator) -> People:
    """Age, region, occupation and household, where the last two depend on the age and on the region."""
    age = rng.integers(0, 90, PEOPLE)
    region = rng.choice(25, PEOPLE, p=_shares(25, 1.0))
    occupation = (rng.choice(15, PEOPLE, p=_shares(15, 0.8)) + age // 20) % 15
    household = (rng.choice(5, PEOPLE, p=_shares(5, 1.0)) + region % 2) % 5
    return People.of({"age": age // 5, "region": region, "occupation": occupation, "household": household})


def by_pitman(rng: np.random.Generator, theta: float = 100.0, alpha: float = 0.5) -> People:
    """One column of classes: each further person founds a class, or joins one in proportion to its size."""
    class_of, founded, joined = np.zeros(PEOPLE, dtype=np.int64), 1, rng.random((PEOPLE, 2))
    sizes = np.zeros(PEOPLE)
    sizes[0] = 1
    for person in range(1, PEOPLE):
        new = (theta + alpha * founded) / (theta + person)
        if joined[person, 0] < new:
            place, founded = founded, founded + 1
        else:
            place = int(class_of[int(joined[person, 1] * person)])
            # Taken by size alone, the class is kept with probability 1 - alpha / size.
            while rng.random() < alpha / sizes[place]:
                place = int(class_of[rng.integers(person)])
        class_of[person] = place
        sizes[place] += 1
    return People.of({"class": class_of})


def _shares(n: int, power: float) -> Any:
    weights = 1.0 / np.arange(1, n + 1) ** power
    return weights / weights.sum()


def measure(people: People, fraction: float, n_samples: int) -> list[list[str]]:
    """One row for each estimator: truth, mean estimate, bias, root mean square error, coverage."""
    found: dict[str, list[tuple[float, float | None, float | None, float | None]]] = {}
    plan: dict[str, Any] = {"columns": {name: {} for name in people.frame.columns}}
    unique = float(np.count_nonzero(people.share_of == 1)) / PEOPLE
    for number in range(n_samples):
        rows = np.sort(np.random.default_rng(number).choice(PEOPLE, round(fraction * PEOPLE), replace=False))
        risk = population_risk(people.frame[rows], plan, population=PEOPLE, k=K, seed=number)
        for one in risk.estimated.estimates:
            found.setdefault(one.model, []).append((unique, one.value, one.low, one.high))
        rule = next(one for one in risk.estimated.estimates if one.model == risk.estimated.by_rule)
        found.setdefault("choice of the rule", []).append((unique, rule.value, rule.low, rule.high))
        truths = {
            "marketer": float((1 / people.share_of[rows]).mean()),
            "k-map": float((people.share_of[rows] < K).mean()),
        }
        individual = float(risk.individual.mean())
        found.setdefault("mean individual risk", []).append((truths["marketer"], individual, None, None))
        for intruder in risk.intruders:
            if intruder.intruder in truths:
                truth = truths[intruder.intruder]
                found.setdefault(intruder.intruder, []).append((truth, intruder.mean, intruder.low, intruder.high))
    return [[name, *_summary(rows)] for name, rows in found.items()]


def _summary(rows: list[tuple[float, float | None, float | None, float | None]]) -> list[str]:
    solved = [(truth, value, low, high) for truth, value, low, high in rows if value is not None]
    if not solved:
        return ["–", "no solution", "–", "–", "–"]
    errors = np.array([value - truth for truth, value, _, _ in solved])
    share = np.mean([low is not None and high is not None and low <= truth <= high for truth, _, low, high in solved])
    truth, mean = (float(np.mean([one[place] for one in solved])) for place in (0, 1))
    none = "" if len(solved) == len(rows) else f" ({len(rows) - len(solved)} without)"
    return [
        f"{truth:.4f}",
        f"{mean:.4f}{none}",
        f"{errors.mean():+.4f}",
        f"{np.sqrt((errors**2).mean()):.4f}",
        "–" if solved[0][2] is None else f"{share:.0%}",
    ]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=SAMPLES)
    n_samples = parser.parse_args().samples
    uniqueness.BOOTSTRAPS = BOOTSTRAPS
    populations: dict[str, Callable[[np.random.Generator], People]] = {
        "Columns that depend in pairs": in_pairs,
        "Classes by Pitman's formula": by_pitman,
    }
    for title, make in populations.items():
        people = make(np.random.default_rng(7))
        print(f"### {title}\n", flush=True)
        for fraction in FRACTIONS:
            print(f"Sampling fraction {fraction:g}:\n")
            print("| estimator | truth | mean estimate | bias | RMSE | coverage of the 95 % interval |")
            print("|---|---|---|---|---|---|")
            for row in measure(people, fraction, n_samples):
                print(f"| {' | '.join(row)} |", flush=True)
            print(flush=True)


if __name__ == "__main__":
    main()
