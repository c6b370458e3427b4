"""A run as a folder, which appears when it is whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.engine.files.workspace import workspace
from anonto.errors import ExistingFileError, FileError, UnwritableFileError
from anonto.io.left_behind import clear_left_over
from anonto.papers.pages import index_page, paper_page
from anonto.papers.summary import claims_csv, markdown, table_csv
from anonto.papers.whole import PAPERS
from anonto.stopping import held
from anonto.wording import count_of

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.papers.results import Reproduction

OUTPUTS = frozenset(
    {"index.html", "claims.csv", "reproduction.md", "tables", "figures", *(f"{paper}.html" for paper in PAPERS)}
)
"""All that a folder of ours can hold at its top."""


def require_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder that is there, or with force one that holds anything that is not ours.

    What killed runs left beside it is cleared.
    """
    clear_left_over(folder.resolve().parent)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UnwritableFileError(str(folder), "it is a file")
    foreign = [entry.name for entry in folder.iterdir() if entry.name not in OUTPUTS]
    if foreign:
        raise foreign_folder(str(folder), len(foreign))
    if not force and any(folder.iterdir()):
        raise ExistingFileError(str(folder))


def write(run: Reproduction, folder: Path, *, force: bool = False) -> None:
    """Write all pages, tables and figures beside the folder, and move them there.

    Args:
        run: What was found.
        folder: The output; a link is written through.
        force: Whether a folder of an earlier run is replaced.
    """
    target = folder.resolve()
    require_free(target, force=force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with workspace(target) as room:
            new = room / "new"
            new.mkdir()
            _fill(run, new)
            require_free(target, force=force)
            with held:
                _exchange(new, target, room / "old")
    except OSError as error:
        raise UnwritableFileError(str(folder), error.strerror or "unknown reason") from None


def _exchange(new: Path, target: Path, old: Path) -> None:
    if target.exists():
        target.rename(old)
    try:
        new.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise


def _fill(run: Reproduction, folder: Path) -> None:
    files = {"index.html": index_page(run), "claims.csv": claims_csv(run), "reproduction.md": markdown(run)}
    for paper in run.papers:
        files[f"{paper.name}.html"] = paper_page(run, paper)
        files |= {f"tables/{table.name}.csv": table_csv(table) for table in paper.tables}
        files |= {f"figures/{figure.name}.svg": figure.file() for figure in paper.figures}
    for name in ("tables", "figures"):
        (folder / name).mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def foreign_folder(name: str, n_foreign: int) -> FileError:
    """An output folder with files of others."""
    return FileError(
        f"The folder {name!r} contains {count_of(n_foreign, 'entry', 'entries')} that this command does not write, and "
        "would be replaced as a whole; choose another folder."
    )
