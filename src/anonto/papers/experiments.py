"""Experiments in parallel: each is a function of a sample and parameters, and no result depends on their order."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonto.runtime.processes import share_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FEW_JOBS = 8
"""Fewer experiments are finished before further processes have started."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment."""

    key: tuple[Any, ...]
    """The key of its result."""
    work: Callable[..., Any]
    subject: str
    """The name of the sample that is its first argument."""
    arguments: tuple[Any, ...] = ()


def run_experiments(
    jobs: Sequence[Experiment], subjects: Mapping[str, Any], *, workers: int, done: Callable[[], None]
) -> dict[tuple[Any, ...], Any]:
    """Run all experiments.

    Args:
        jobs: The experiments, in any order.
        subjects: The samples by name; each process gets them once.
        workers: Number of processes; with one, all run in this process.
        done: Called after each experiment.

    Returns:
        The results by key.
    """
    found = {}
    with closing(share_out(_one, subjects, jobs, 1 if len(jobs) < FEW_JOBS else workers)) as finished:
        for job, result in finished:
            found[job.key] = result
            done()
    return found


def _one(subjects: Mapping[str, Any], job: Experiment) -> Any:
    return job.work(subjects[job.subject], *job.arguments)
