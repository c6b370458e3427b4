"""Tables of the reference, made from the classes when the pages are built.

A marker such as ``<!-- table of attacks -->`` is replaced by the table of that name, ``<!-- parameters of group-swap
-->`` by the parameters of a method, and ``<!-- schema of the report -->`` by the JSON Schema of a report.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from anonto import stats
from anonto.attacks.registry import OWN as ATTACKS
from anonto.encoding.description import CHOICES, KEY_OF, ColumnDescription
from anonto.methods.registry import METHODS
from anonto.methods.registry import OWN as OWN_METHODS
from anonto.methods.schema import describe_method
from anonto.methods.taxonomy_exponential import METRICS
from anonto.ontology.readers import OWN as FORMATS
from anonto.ontology.readers import reader_of
from anonto.report.frames.registry import OWN as FRAMES
from anonto.taxonomy.distance import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_MARKER = re.compile(r"^<!-- (table|parameters|schema) of ([a-z -]+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace every marker of a page."""
    return _MARKER.sub(_replace, markdown)


def _replace(marker: re.Match[str]) -> str:
    what, name = marker.groups()
    if what == "parameters":
        return parameters_of(name)
    return TABLES[name]() if what == "table" else report_schema()


def methods() -> str:
    """The masking methods."""
    rows = [(name, METHODS[name].words) for name in OWN_METHODS]
    return _table(
        ("method", "does", "columns", "keeps", "proved"),
        [(f"[`{name}`](#{name})", words.summary, words.columns, words.keeps, words.proves) for name, words in rows],
    )


def parameters_of(name: str) -> str:
    """The parameters of a method."""
    parameters = describe_method(METHODS[name])["parameters"]
    if not parameters:
        return "It has no parameters."
    return _table(
        ("parameter", "must be", "default", "what for"),
        [(f"`{one['name']}`", one["must"], one["assumed"], one["why"]) for one in parameters],
    )


def attacks() -> str:
    """The attacks."""
    return _table(
        ("attack", "the intruder knows", "and does this"),
        [(f"`{one.name}`", one.knows, one.does) for one in ATTACKS],
    )


def frames() -> str:
    """The laws and guidelines that a report gives evidence for."""
    return _table(
        ("frame", "title", "the text that it is about", "threshold"),
        [(f"`{one.name}`", one.title, one.rule, "" if one.max_risk is None else f"{one.max_risk:g}") for one in FRAMES],
    )


def formats() -> str:
    """The ontology formats."""
    readers = [reader for name in FORMATS if (reader := reader_of(name)) is not None]
    return _table(
        ("format", "what it is", "is-a relations", "ids of concepts"),
        [(f"`{one.name}`", one.sentence, one.relations, one.ids) for one in readers],
    )


def measures() -> str:
    """The semantic distance measures."""
    return _table(
        ("name", "in one line", "metric"),
        [
            (f"[`{name}`](#{measure.__module__}.{measure.__name__})", _summary(measure), _where_metric(name))
            for name, measure in FUNCTIONS.items()
        ],
    )


def _where_metric(name: str) -> str:
    return "always" if name in METRICS else "on trees"


def column_keys() -> str:
    """The keys of a column in a plan."""
    meanings, defaults = attribute_docstrings(ColumnDescription), ColumnDescription()
    return _table(
        ("key", "values", "default"),
        [
            (
                f"`{KEY_OF.get(one.name, one.name)}`",
                _values(one.name, meanings[one.name]),
                _as_toml(getattr(defaults, one.name)),
            )
            for one in ColumnDescription.key_fields()
        ],
    )


def _values(key: str, meaning: str) -> str:
    """The meaning of a key, after its choices if the text does not name them."""
    choices = [f'`"{one}"`' for one in {"measure": tuple(FUNCTIONS), **CHOICES}.get(key, ())]
    return meaning if all(one in meaning for one in choices) else f"{meaning.rstrip('.')}: {', '.join(choices)}"


def _as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if value else "none"


def statistics() -> str:
    """The functions of `anonto.stats`."""
    return _table(("name", "gives"), [(f"`stats.{name}`", _summary(getattr(stats, name))) for name in stats.__all__])


def commands() -> str:
    """The commands."""
    from anonto.cli.main import app

    callbacks = [one.callback for one in app.registered_commands if one.callback is not None]
    rows = [(one.__name__.replace("_", "-"), _summary(one)) for one in callbacks]
    rows += [(str(group.name), str(group.typer_instance.info.help).rstrip(".")) for group in app.registered_groups]
    return _table(("command", "does"), [(f"[`anonto {name}`](#anonto-{name})", does) for name, does in sorted(rows)])


TABLES: dict[str, Callable[[], str]] = {
    "methods": methods,
    "attacks": attacks,
    "frames": frames,
    "formats": formats,
    "measures": measures,
    "column keys": column_keys,
    "statistics": statistics,
    "commands": commands,
}


def report_schema() -> str:
    """The JSON Schema of the report's data."""
    return f"```json\n{files('anonto.report').joinpath('schema.json').read_text(encoding='utf-8')}```"


def attribute_docstrings(cls: type) -> dict[str, str]:
    """The strings below the attributes of a class, on one line each."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body  # type: ignore[attr-defined]
    found = {}
    for attribute, below in pairwise(body):
        if isinstance(attribute, ast.AnnAssign) and isinstance(below, ast.Expr):
            found[attribute.target.id] = " ".join(ast.literal_eval(below.value).split())  # type: ignore[union-attr]
    return found


def _summary(documented: Any) -> str:
    """The first sentence of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n")[0].partition(". ")[0].rstrip(".")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
