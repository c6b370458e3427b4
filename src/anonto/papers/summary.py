"""A run as files for machines and for the documentation: CSV, and one page of Markdown."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from anonto.papers.claims import count_verdicts
from anonto.papers.measurement import Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonto.papers.results import PaperResult, Reproduction, ResultTable


def table_csv(table: ResultTable) -> str:
    """All numbers of a table, unrounded; where seeds differ a column with their standard deviation follows."""
    header, columns = [], []
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        name = f"{column.label} (printed)" if column.group == "printed" else column.label
        header.append(name)
        columns.append([cell.mean if isinstance(cell, Measurement) else cell for cell in cells])
        if any(isinstance(cell, Measurement) for cell in cells):
            header.append(f"{name}, standard deviation")
            columns.append([cell.spread if isinstance(cell, Measurement) else None for cell in cells])
    return _write_csv([header, *zip(*columns, strict=True)])


def claims_csv(run: Reproduction) -> str:
    """All claims."""
    rows = [
        (paper.name, claim.key, claim.kind, claim.verdict, claim.text, claim.found, claim.why)
        for paper in run.papers
        for claim in paper.claims
    ]
    return _write_csv([("paper", "claim", "kind", "verdict", "text", "found", "why"), *rows])


def _write_csv(rows: Iterable[Iterable[object]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(["" if cell is None else cell for cell in row] for row in rows)
    return file.getvalue()


# ------------------------------------------------------------------------------------------------ Markdown


PAGE = """\
# The papers, reproduced

`anonto reproduce` runs the experiments of the four papers that the methods come from, and writes a page for each with
our tables beside the printed ones. This page is the summary that the same command writes; it is not edited by hand.

Run on: {data}. Seeds: {seeds}, the same for every experiment; numbers are means over them.

Of {n_claims} claims {held} held, {not_held} did not, and {cannot_hold} cannot hold on any data. *Hard* claims follow
from how a method is built and must hold in every run; *soft* ones are expected on most data. A P marks what a paper
says beside its tables, or what we add.

{notes}

{papers}
## Run it again

```text
make reproduce                               # all, on the public files of $ANONTO_DATA, into reproduction-out/
anonto reproduce --quick                     # synthetic discharges, under a minute
anonto reproduce --data DIR --paper noise    # one paper
```

The folder has `index.html` and a page for each paper, `tables/` with a CSV file for each table, `figures/`,
`claims.csv`, and this page as `reproduction.md`. A steward with a licence for SNOMED CT adds
`--snomed RF2_FOLDER --map CSV`: a table with the columns `code` and `concept` says which concept stands for which
code, and all experiments run on concepts.
"""


def markdown(run: Reproduction) -> str:
    """The claims and figures of a run, as a page of the documentation."""
    counts = count_verdicts(run.claims)
    first, last = run.seeds[0] - 2**100, run.seeds[-1] - 2**100
    return PAGE.format(
        data=run.data,
        seeds=f"$2^{{100}} + {first}$ to $2^{{100}} + {last}$",
        n_claims=len(run.claims),
        held=counts["held"],
        not_held=counts["not held"],
        cannot_hold=counts["cannot hold"],
        notes="\n\n".join(_escape(note) for note in run.notes),
        papers="\n".join(line for paper in run.papers for line in _paper_lines(paper)),
    )


def _paper_lines(paper: PaperResult) -> list[str]:
    lines = [f"## {paper.title}", "", f"{paper.citation}.", ""]
    lines += [f"- {_escape(one)}" for one in paper.samples]
    lines += ["", "| | claim | kind | verdict | found |", "|---|---|---|---|---|"]
    for claim in paper.claims:
        found = _escape(claim.found) + (f" *{_escape(claim.why)}*" if claim.why else "")
        lines.append(f"| {claim.key} | {_escape(claim.text)} | {claim.kind} | **{claim.verdict}** | {found} |")
    lines.append("")
    for figure in paper.figures:
        lines += [
            f"![{_escape(figure.title)}](figures/{figure.name}.svg)",
            "",
            f"*{_escape(figure.title)}.* {_escape(figure.caption)}",
            "",
        ]
    return lines


def _escape(text: str) -> str:
    """A text of ours, with what Markdown would read as its own marks spelt out."""
    for tag in ("<code>", "</code>"):
        text = text.replace(tag, "`")
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
