"""A page for each paper and an index page: HTML that needs nothing but itself."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from anonto.papers.claims import count_verdicts
from anonto.papers.results import spell_cell, spread_of
from anonto.report.page import environment_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from anonto.papers.results import PaperResult, Reproduction, ResultColumn

TITLE = "The four papers, reproduced"


def index_page(run: Reproduction) -> str:
    """The page that links to the others."""
    return _render("index.html", run, title=TITLE, current="index", claims=run.claims)


def paper_page(run: Reproduction, paper: PaperResult) -> str:
    """The page of one paper."""
    return _render("paper.html", run, title=paper.title, current=paper.name, claims=paper.claims, paper=paper)


def _render(template: str, run: Reproduction, **content: Any) -> str:
    from anonto import __version__

    links = [(paper.name, paper.title) for paper in run.papers]
    return _templates().get_template(template).render(run=run, links=links, version=__version__, **content)


@cache
def _templates() -> Environment:
    environment = environment_of("anonto.papers")
    environment.filters["marked"] = _mark_code
    environment.globals.update(
        cell_class=_cell_class,
        count_verdicts=count_verdicts,
        group_widths=_group_widths,
        spell_cell=spell_cell,
        spread_of=spread_of,
    )
    return environment


def _mark_code(text: str) -> Markup:
    """A text of ours, in which code may be marked and nothing else."""
    plain = str(escape(text))
    return Markup(plain.replace("&lt;code&gt;", "<code>").replace("&lt;/code&gt;", "</code>"))  # noqa: S704 - escaped


def _group_widths(columns: Sequence[ResultColumn]) -> list[tuple[str, int]]:
    """Neighbouring columns of one group, for the row that says which numbers are ours and which are printed."""
    return [(group, len(list(members))) for group, members in groupby(column.group for column in columns)]


def _cell_class(column: ResultColumn, is_text: bool) -> Markup:
    """The class attribute of a cell: numbers are aligned, and those of the paper tinted."""
    words = [*([] if is_text else ["number"]), *(["printed"] if column.group == "printed" else [])]
    return Markup(' class="{}"').format(" ".join(words)) if words else Markup()
