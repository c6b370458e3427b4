"""A whole run: samples, experiments, results, pages."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from anonto.errors import ParameterError
from anonto.papers import equi_width, marginality, noise, rank_swapping
from anonto.papers.experiments import run_experiments
from anonto.papers.mapping import map_to_snomed_ct
from anonto.papers.results import Reproduction
from anonto.papers.scope import FULL, QUICK
from anonto.papers.source import public_source, synthetic_source
from anonto.runtime.threads import n_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from anonto.papers.experiments import Experiment
    from anonto.papers.results import PaperResult
    from anonto.papers.scope import Scope
    from anonto.papers.source import RecordSource

Paper = Literal["rank-swapping", "equi-width", "marginality", "noise"]
PAPERS: tuple[Paper, ...] = ("rank-swapping", "equi-width", "marginality", "noise")


def source_of(data: Path | None, snomed: tuple[Path, Path] | None = None) -> RecordSource:
    """The records: from public files or synthetic; in codes, or mapped to SNOMED CT with a release and a map."""
    source = synthetic_source() if data is None else public_source(data)
    return source if snomed is None else map_to_snomed_ct(source, *snomed)


def reproduce(
    source: RecordSource,
    papers: Sequence[Paper] = PAPERS,
    *,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Run the experiments of some papers.

    Args:
        source: The records.
        papers: Which papers, in any order.
        quick: Fewer seeds and parameters.
        workers: Processes; by default as many as there are cores.
        progress: Called with the number of finished experiments and the number of all.
    """
    scope = QUICK if quick else FULL
    chosen = [paper for paper in PAPERS if paper in papers]
    if not chosen:
        raise ParameterError("papers", f"some of {', '.join(PAPERS)}", list(papers))
    subjects: dict[str, Any] = {}
    jobs: list[Experiment] = []
    for paper in chosen:
        of_paper, to_do = _plan_paper(paper, source, scope)
        subjects |= of_paper
        jobs += to_do
    numbers = count(1)

    def done() -> None:
        if progress is not None:
            progress(next(numbers), len(jobs))

    found = run_experiments(jobs, subjects, workers=n_threads() if workers is None else workers, done=done)
    return Reproduction(
        papers=tuple(_result(paper, found, subjects, source, scope) for paper in chosen),
        data=source.name,
        seeds=scope.seeds,
        quick=quick,
        notes=source.notes,
    )


def _plan_paper(paper: Paper, source: RecordSource, scope: Scope) -> tuple[dict[str, Any], list[Experiment]]:
    match paper:
        case "rank-swapping":
            return dict(rank_swapping.subjects(source)), rank_swapping.jobs(scope)
        case "equi-width":
            return equi_width.subjects(source), equi_width.jobs(scope, source.numbers)
        case "marginality":
            return dict(marginality.subjects(source)), marginality.jobs(scope)
        case "noise":
            return dict(noise.subjects(source, scope)), noise.jobs(scope)


def _result(
    paper: Paper, found: dict[tuple[Any, ...], Any], subjects: dict[str, Any], source: RecordSource, scope: Scope
) -> PaperResult:
    match paper:
        case "rank-swapping":
            return rank_swapping.result(found, subjects, scope)
        case "equi-width":
            return equi_width.result(found, source.numbers, scope)
        case "marginality":
            return marginality.result(found, subjects, scope)
        case "noise":
            return noise.result(found, subjects, scope)
