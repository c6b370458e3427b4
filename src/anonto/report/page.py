"""Reports as HTML pages that need nothing but themselves: no script, no font, no picture from elsewhere.

What a page says is plain data; how it looks is in the templates, which escape every value.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anonto.attacks.shares import where_near
from anonto.report import charts, gain_chart, views
from anonto.report.counts import spell_count
from anonto.report.levels import UPPER
from anonto.report.words import ROLE_WORDS, guarantee_name
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    Data = Mapping[str, Any]

_BEFORE_SIGN = re.compile(r"(\d) %")


def html_report(data: Data) -> str:
    """The report of a masked table, from what `report_data` gave."""
    return _render("masked.html", report=data, version=data["anonto"])


def assessed_html(data: Data) -> str:
    """The report of an assessed release, from what `assessed_data` gave."""
    return _render("assessed.html", report=data, version=data["provenance"]["versions"]["anonto"])


def foreign_html(data: Data) -> str:
    """The report of a release that another tool made, from what `foreign_data` gave."""
    return _render("foreign.html", report=data, version=data["versions"]["anonto"])


def sweep_html(data: Data) -> str:
    """The map of risk and utility and the plans on it, from what the ``to_dict`` of a sweep gives."""
    return _render("sweep.html", sweep=data, version=version("anonto"))


def _render(template: str, **said: Any) -> str:
    return _templates().get_template(template).render(said)


def environment_of(package: str) -> Environment:
    """The templates of a package: every value is escaped, and a name that is not given is an error."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def _templates() -> Environment:
    environment = environment_of("anonto.report")
    environment.filters.update(
        interval=views.interval, number=views.number, share=views.share, spelt=spell_count, unbroken=_keep_with_sign
    )
    environment.globals.update(
        charts=charts,
        gain_chart=gain_chart,
        counted=count_of,
        guarantee_name=guarantee_name,
        role_words=ROLE_WORDS,
        upper_level=UPPER,
        views=views,
        where_near=where_near,
    )
    return environment


def _keep_with_sign(page: Markup) -> Markup:
    """A page in which no line ends between a number and its sign of per cent."""
    return Markup(_BEFORE_SIGN.sub("\\1\N{NO-BREAK SPACE}%", page))  # noqa: S704 - it is markup already
