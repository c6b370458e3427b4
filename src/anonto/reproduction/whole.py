"""A whole run: samples, experiments, results, pages."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from anonto.errors import ParameterError
from anonto.reproduction import equi_width, marginality, noise, rank_swapping
from anonto.reproduction.mapping import in_snomed_ct
from anonto.reproduction.parallel import results_of
from anonto.reproduction.results import Reproduction
from anonto.reproduction.scope import FULL, QUICK
from anonto.reproduction.source import made_up_source, public_source
from anonto.threads import n_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from anonto.reproduction.parallel import Job
    from anonto.reproduction.results import PaperResult
    from anonto.reproduction.scope import Scope
    from anonto.reproduction.source import Source

Paper = Literal["rank-swapping", "equi-width", "marginality", "noise"]
PAPERS: tuple[Paper, ...] = ("rank-swapping", "equi-width", "marginality", "noise")


def source_of(data: Path | None, snomed: tuple[Path, Path] | None = None) -> Source:
    """The records: of public files or made up; in codes, or mapped to SNOMED CT with a release and a map."""
    source = made_up_source() if data is None else public_source(data)
    return source if snomed is None else in_snomed_ct(source, *snomed)


def reproduce(
    source: Source,
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
        progress: Told how many experiments are done, and of how many.
    """
    scope = QUICK if quick else FULL
    chosen = [paper for paper in PAPERS if paper in papers]
    if not chosen:
        raise ParameterError("papers", f"some of {', '.join(PAPERS)}", list(papers))
    subjects: dict[str, Any] = {}
    jobs: list[Job] = []
    for paper in chosen:
        of_paper, to_do = _planned(paper, source, scope)
        subjects |= of_paper
        jobs += to_do
    numbers = count(1)

    def done() -> None:
        if progress is not None:
            progress(next(numbers), len(jobs))

    found = results_of(jobs, subjects, workers=n_threads() if workers is None else workers, done=done)
    return Reproduction(
        papers=tuple(_result(paper, found, subjects, source, scope) for paper in chosen),
        data=source.name,
        seeds=scope.seeds,
        quick=quick,
        notes=source.notes,
    )


def _planned(paper: Paper, source: Source, scope: Scope) -> tuple[dict[str, Any], list[Job]]:
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
    paper: Paper, found: dict[tuple[Any, ...], Any], subjects: dict[str, Any], source: Source, scope: Scope
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
