"""Experiments side by side: each is a function of a sample and parameters, and no result depends on their order."""

from __future__ import annotations

import multiprocessing
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonto.stopping import held, started_deaf

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
    if workers < 2 or len(jobs) < FEW_JOBS:
        for job in jobs:
            found[job.key] = job.work(subjects[job.subject], *job.arguments)
            done()
        return found
    context = multiprocessing.get_context("spawn")
    with held, started_deaf():  # the first process ends the others
        started = context.Pool(min(workers, len(jobs)), _begin, (subjects,))
    with started as pool:
        for key, result in pool.imap_unordered(_one, jobs):
            found[key] = result
            done()
    return found


_subjects: dict[str, Any] = {}
"""The samples, in a further process; empty in the first."""


def _begin(subjects: Mapping[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # also where a process cannot be started deaf
    _subjects.update(subjects)


def _one(job: Job) -> tuple[tuple[Any, ...], Any]:
    return job.key, job.work(_subjects[job.subject], *job.arguments)
