"""Page of findings: one table per benchmark, one chart per capability, missed targets first."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.papers.figures import Line, LineChart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

RESULTS = Path(__file__).parent / "results"

INTRODUCTION = """# Results

Written by `make bench`. Speed is a ratio against a peer or a physical limit taken in one run: both sides are warmed up,
then take turns, and ratios are of medians. Seconds only show the scale. *Others* is the share of the machine that other
processes took meanwhile: the higher it is, the less the line is worth. `README.md` beside this page says how each
subject is measured.
"""


def write_page(folder: Path, subjects: Sequence[str], page: Path) -> None:
    """Write the page from the findings of all subjects that were run, and the charts into ``charts`` beside it."""
    found = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in _files(folder, subjects)}
    charts = page.parent / "charts"
    parts = [INTRODUCTION, _machine(found), _short(found)]
    for name, result in found.items():
        parts.append(_table(name, result))
        for number, curves in enumerate(_curves(result)):
            charts.mkdir(exist_ok=True)
            file = charts / f"{name}-{number + 1}.svg"
            file.write_text(_drawn(curves, file.stem), encoding="utf-8")
            shown = f"![{curves['name']}: seconds against {curves.get('unit', 'records')}](charts/{file.name})"
            parts.append(f"*{curves['name']}*\n\n{shown}\n")
    page.write_text("\n".join(parts), encoding="utf-8")


def _files(folder: Path, subjects: Sequence[str]) -> Iterator[tuple[str, Path]]:
    for name in subjects:
        path = folder / f"{name}.json"
        if path.exists():
            yield name, path


def _machine(found: Mapping[str, Any]) -> str:
    """The machine and the versions; those that differ between subjects are all given."""
    facts: dict[str, dict[str, None]] = {}
    for result in found.values():
        for name in ("date", "cores", "machine", "system", "python"):
            if name in result:
                facts.setdefault(name, {})[str(result[name])] = None
        for library, number in result["versions"].items():
            facts.setdefault(library, {})[number] = None
    lines = [f"| {name} | {', '.join(values)} |" for name, values in facts.items()]
    quick = [name for name, result in found.items() if result["quick"]]
    note = f"\nSmall sizes only, whose ratios mean nothing: {', '.join(quick)}.\n" if quick else ""
    return "## The machine\n\n| | |\n|---|---|\n" + "\n".join(lines) + "\n" + note


def _short(found: Mapping[str, Any]) -> str:
    missed = [
        f"- **{name}**: {row['what']}: {_number(row)}, wanted {row['wanted']}. {row['note']}".rstrip()
        for name, result in found.items()
        for row in result["findings"]
        if row["met"] is False
    ]
    n_met = sum(row["met"] is True for result in found.values() for row in result["findings"])
    text = "\n".join(missed) if missed else "Nothing."
    return f"## What falls short\n\n{text}\n\n{n_met} other targets are met.\n"


def _table(name: str, result: Mapping[str, Any]) -> str:
    others = result.get("others")
    head = f"## {name}\n" + ("" if others is None else f"\nOthers: {others:.0%}.\n")
    rows = "\n".join(
        f"| {_cell(row['what'])} | {_number(row)} | {row['wanted']} | {_verdict(row)} | {_cell(row['note'])} |"
        for row in result["findings"]
    )
    return f"{head}\n| what | measured | wanted | | |\n|---|---:|---:|---|---|\n{rows}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _number(row: Mapping[str, Any]) -> str:
    measured = row["measured"]
    if measured is None or math.isnan(measured):
        return "–"
    return f"{measured:.3g} {row['unit']}".strip()


def _verdict(row: Mapping[str, Any]) -> str:
    return "" if row["met"] is None else "met" if row["met"] else "**missed**"


def _curves(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for row in result["findings"]:
        curves = row["facts"].get("curves")
        if curves:
            yield curves


def _drawn(curves: Mapping[str, Any], name: str) -> str:
    """Time against records, both as logarithms, one line a side."""
    lines = (
        Line(side, tuple((int(n), times[n], 0.0) for n in sorted(times, key=int)))
        for side, times in curves["seconds"].items()
    )
    chart = LineChart(
        name=name,
        title=curves["name"],
        caption="",
        lines=tuple(lines),
        x_label=curves.get("unit", "records"),
        y_label="seconds",
        log_x=True,
        log_y=True,
    )
    return chart.file()
