"""A page for each paper and one before them: HTML that needs nothing but itself."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from anonto.reproduction.claims import counted_verdicts, failures
from anonto.reproduction.results import spelt, spread_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonto.reproduction.claims import Claim
    from anonto.reproduction.figures import Figure
    from anonto.reproduction.results import Cell, Column, PaperResult, Reproduction, ResultTable, Section

TITLE = "The four papers, reproduced"
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<nav aria-label="Pages">{nav}</nav>
<header>
<h1>{title}</h1>
{header}
</header>
<main>
{main}
</main>
<footer>
<p>{footer}</p>
</footer>
</body>
</html>
"""


def index_page(run: Reproduction) -> str:
    """The page before the others."""
    parts = [_failed(run.claims), _cards(run.claims), _about(run)]
    for paper in run.papers:
        counts = counted_verdicts(paper.claims)
        said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
        parts.append(
            f'<section><h2><a href="{paper.name}.html">{escape(paper.title)}</a></h2>'
            f'<p class="citation">{escape(paper.citation)}</p><p>{escape(paper.lead)}</p><p>{said}.</p>'
            f"{_claims(paper.claims)}</section>"
        )
    header = (
        '<p class="lead">Every experiment of four papers on masking data by meaning, on '
        f"{'public' if 'made-up' not in run.data else 'made-up'} data: our tables beside the printed ones, and what "
        "became of each claim.</p>"
    )
    return _page(run, TITLE, header, "\n".join(parts), current="index")


def paper_page(run: Reproduction, paper: PaperResult) -> str:
    """The page of one paper."""
    header = f'<p class="lead">{escape(paper.lead)}</p><p class="citation">{escape(paper.citation)}</p>'
    samples = "".join(f"<li>{_marked(one)}</li>" for one in paper.samples)
    main = [
        _failed(paper.claims),
        _cards(paper.claims),
        f"<section><h2>Claims</h2>{_claims(paper.claims)}</section>",
        f"<section><h2>What was run</h2><ul>{samples}</ul>{_seeds(run)}</section>",
        *(_section(section) for section in paper.sections),
    ]
    return _page(run, paper.title, header, "\n".join(main), current=paper.name)


def _page(run: Reproduction, title: str, header: str, main: str, current: str) -> str:
    from anonto import __version__

    links = [("index", "All papers"), *((paper.name, paper.title) for paper in run.papers)]
    nav = "".join(
        f'<a href="{name}.html"{" aria-current=page" if name == current else ""}>{escape(label)}</a>'
        for name, label in links
    )
    footer = (
        f"Made with anonto {escape(__version__)} by <code>anonto reproduce{' --quick' if run.quick else ''}</code>. "
        "The numbers of every table are in a CSV file beside it, the drawings in <code>figures</code>. Seeds here "
        "are public: these releases protect nobody."
    )
    return _PAGE.format(
        title=escape(title),
        style=files("anonto.reproduction").joinpath("style.css").read_text(encoding="utf-8"),
        nav=nav,
        header=header,
        main=main,
        footer=footer,
    )


# ------------------------------------------------------------------------------------------------ parts


def _failed(claims: Iterable[Claim]) -> str:
    failed = failures(claims)
    if not failed:
        return ""
    keys = ", ".join(escape(claim.key) for claim in failed)
    return f'<p class="failed" role="alert">Claims that must hold in every run do not hold here: {keys}.</p>'


def _cards(claims: Sequence[Claim]) -> str:
    cards = "".join(
        f"<li><strong>{count}</strong> {escape(verdict)}</li>" for verdict, count in counted_verdicts(claims).items()
    )
    hard = [claim for claim in claims if claim.kind == "hard"]
    right = sum(claim.verdict == "held" for claim in hard)
    return f'<ul class="cards">{cards}<li><strong>{right} of {len(hard)}</strong> that must hold, hold</li></ul>'


def _about(run: Reproduction) -> str:
    notes = "".join(f"<p>{_marked(note)}</p>" for note in run.notes)
    return f"<section><h2>What was run</h2><p>{escape(run.data)}.</p>{_seeds(run)}{notes}</section>"


def _seeds(run: Reproduction) -> str:
    first, last = run.seeds[0] - 2**100, run.seeds[-1] - 2**100
    quick = " This was a quick run: fewer seeds, parameters and records than the whole." if run.quick else ""
    return (
        f"<p>Every experiment runs with the same {len(run.seeds)} seeds, 2<sup>100</sup> + {first} to 2<sup>100</sup> "
        f"+ {last}; numbers are means, with the standard deviation over the seeds behind ±. Nothing is set apart for "
        "one table. «Held» compares means; «≥» and «bounded by» allow two standard errors. Hard claims follow from "
        f"how a method is built.{quick}</p>"
    )


def _claims(claims: Iterable[Claim]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(claim.key)}</th><td>{escape(claim.text)}'
        f"<p>{escape(claim.found)}</p>{f'<p>{escape(claim.why)}</p>' if claim.why else ''}</td>"
        f'<td>{claim.kind}</td><td><span class="verdict {claim.verdict.replace(" ", "-")}">{claim.verdict}</span>'
        "</td></tr>"
        for claim in claims
    )
    names = ("No.", "Claim, and what was found", "Kind", "Verdict")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        f'<div class="scroll"><table class="claims"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _section(section: Section) -> str:
    text = "".join(f"<p>{_marked(one)}</p>" for one in section.text)
    tables = "".join(_table(table) for table in section.tables)
    figures = "".join(_figure(figure) for figure in section.figures)
    figures = f'<div class="figures">{figures}</div>' if figures else ""
    return f"<section><h2>{escape(section.title)}</h2>{text}{tables}{figures}</section>"


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>"
    return f"<figure><h3>{escape(figure.title)}</h3>{figure.inline()}{caption}</figure>"


def _table(table: ResultTable) -> str:
    head = (
        _group_row(table.columns) + f"<tr>{''.join(_heading(table, place) for place in range(len(table.columns)))}</tr>"
    )
    body = "".join(
        "<tr>" + "".join(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)) + "</tr>"
        for row in table.rows
    )
    note = f'<p class="note">{_marked(table.note)}</p>' if table.note else ""
    return (
        f"<h3>{_marked(table.title)}</h3>"
        f'<div class="scroll"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>{note}'
        f'<p class="note"><a href="tables/{table.name}.csv">{table.name}.csv</a></p>'
    )


def _heading(table: ResultTable, place: int) -> str:
    column = table.columns[place]
    is_text = all(isinstance(row[place], str | None) for row in table.rows)
    return f'<th scope="col"{_classes("" if is_text else "number", _tint(column))}>{escape(column.label)}</th>'


def _tint(column: Column) -> str:
    return "printed" if column.group == "printed" else ""


def _group_row(columns: Sequence[Column]) -> str:
    """A row above the headings that says which numbers are ours and which are printed."""
    if not any(column.group == "printed" for column in columns):
        return ""
    cells, place = [], 0
    while place < len(columns):
        group, end = columns[place].group, place
        while end < len(columns) and columns[end].group == group:
            end += 1
        words = {"": "", "here": "found here", "printed": "printed in the paper"}[group]
        mark = f' class="group {group}" scope="colgroup"' if group else ""
        cells.append(
            f'<th colspan="{end - place}"{mark}>{words}</th>' if group else f'<td colspan="{end - place}"></td>'
        )
        place = end
    return f"<tr>{''.join(cells)}</tr>"


def _classes(*words: str) -> str:
    given = [word for word in words if word]
    return f' class="{" ".join(given)}"' if given else ""


def _cell(cell: Cell, column: Column) -> str:
    spread = spread_of(cell, column.digits)
    behind = f' <span class="spread">± {spread}</span>' if spread else ""
    mark = _classes("" if isinstance(cell, str) else "number", _tint(column))
    return f"<td{mark}>{escape(spelt(cell, column.digits))}{behind}</td>"


def _marked(text: str) -> str:
    """A text of ours, in which code may be marked and nothing else."""
    return escape(text, quote=False).replace("&lt;code&gt;", "<code>").replace("&lt;/code&gt;", "</code>")
