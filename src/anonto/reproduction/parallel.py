"""Experiments side by side: each is a function of a sample and parameters, and no result depends on their order."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonto.processes import share_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FEW_JOBS = 8
"""So few are done sooner than further processes have started."""


@dataclass(frozen=True, slots=True)
class Job:
    """One experiment."""

    key: tuple[Any, ...]
    """What its result is looked up by."""
    work: Callable[..., Any]
    subject: str
    """The name of the sample that is its first argument."""
    arguments: tuple[Any, ...] = ()


def results_of(
    jobs: Sequence[Job], subjects: Mapping[str, Any], *, workers: int, done: Callable[[], None]
) -> dict[tuple[Any, ...], Any]:
    """Run all jobs.

    Args:
        jobs: In any order.
        subjects: The samples by name; each process gets them once.
        workers: Processes; with one, all is done in this one.
        done: Called after each job.

    Returns:
        What each job found, by its key.
    """
    found = {}
    with closing(share_out(_one, subjects, jobs, 1 if len(jobs) < FEW_JOBS else workers)) as finished:
        for job, result in finished:
            found[job.key] = result
            done()
    return found


def _one(subjects: Mapping[str, Any], job: Job) -> Any:
    return job.work(subjects[job.subject], *job.arguments)
