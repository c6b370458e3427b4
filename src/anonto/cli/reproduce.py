"""``anonto reproduce``: the experiments of the four papers, as pages with our numbers beside the printed ones."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anonto.cli.show import progress_bar, say_error, show_facts, show_status, show_table

if TYPE_CHECKING:
    from anonto.papers.results import Reproduction


class PaperChoice(StrEnum):
    """The papers to choose from."""

    RANK_SWAPPING = "rank-swapping"
    EQUI_WIDTH = "equi-width"
    MARGINALITY = "marginality"
    NOISE = "noise"
    ALL = "all"


def reproduce(
    *,
    paper: Annotated[PaperChoice, typer.Option("--paper", help="Which paper.")] = PaperChoice.ALL,
    data: Annotated[
        Path | None, typer.Option("--data", help="The folder of public files; without it, discharges are synthetic.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The output folder.")] = Path("reproduction-out"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds, parameters and records: under a minute.")
    ] = False,
    snomed: Annotated[
        Path | None, typer.Option("--snomed", help="A SNOMED CT release (RF2 folder) to run on; needs --map.")
    ] = None,
    map_file: Annotated[
        Path | None, typer.Option("--map", help="A table with the columns code and concept, for --snomed.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes; by default one for each processor.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder of an earlier run.")] = False,
) -> None:
    """Run the experiments of the papers, and write a page for each with our tables beside the printed ones.

    Every claim is marked held, not held or cannot hold, with its numbers. The exit code is 1 if one that must hold in
    every run does not; the pages are written all the same.

    Example: `anonto reproduce --quick --out try-it`
    """
    from anonto.errors import ParameterError
    from anonto.papers.claims import failures
    from anonto.papers.whole import PAPERS, source_of
    from anonto.papers.whole import reproduce as run_experiments
    from anonto.papers.writing import require_free, write

    if (snomed is None) != (map_file is None):
        raise ParameterError(
            "--map", "given with --snomed, and only with it", None if map_file is None else str(map_file)
        )
    require_free(out, force=force)
    with show_status("Reading the data"):
        source = source_of(data, None if snomed is None or map_file is None else (snomed, map_file))
    papers = [one for one in PAPERS if paper.value in {one, "all"}]
    with progress_bar("Running experiments") as progress:
        run = run_experiments(source, papers, quick=quick, workers=workers, progress=progress)
    with show_status("Writing the pages"):
        write(run, out, force=force)
    _show(run, out)
    failed = failures(run.claims)
    if failed:
        keys = ", ".join(claim.key for claim in failed)
        say_error(f"Claims that must hold in every run do not hold: {keys}; the pages in {out} have the numbers.")
        raise typer.Exit(1)


def _show(run: Reproduction, out: Path) -> None:
    from anonto.papers.claims import count_verdicts

    counts = count_verdicts(run.claims)
    show_facts(
        "Reproduced",
        [
            ("data", run.data),
            ("claims", ", ".join(f"{count} {verdict}" for verdict, count in counts.items())),
            ("pages", str(out / "index.html")),
        ],
    )
    show_table(
        ["paper", "claim", "", "verdict", "claim"],
        [
            (paper.name, claim.key, claim.kind, claim.verdict, claim.text)
            for paper in run.papers
            for claim in paper.claims
        ],
    )
