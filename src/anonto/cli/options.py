"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anonto.ontology.readers import OWN

TableArgument = Annotated[Path, typer.Argument(help="A CSV, Parquet, Excel, SPSS, Stata or SAS file.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", help=f"{' or '.join(', '.join(OWN).rsplit(', ', 1))}; by default detected from the content."
    ),
]
OntologyOption = Annotated[
    list[str] | None,
    typer.Option("--ontology", help="An ontology to try: a file, an RF2 folder or a listed name; may be repeated."),
]
FolderOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--folder", help="Folder to search for ontology files, as well as the table's folder; may be repeated."
    ),
]
