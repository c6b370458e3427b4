"""Result: success of the attacks, information loss, columns before and after, and the map of all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.registry import attacks as all_attacks
from anonto.attacks.registry import measured_by
from anonto.web.charts import attacks, chart
from anonto.web.drafts import are_about_the_same
from anonto.web.frame import onward, whole_number
from anonto.web.pages.before_after import before_and_after
from anonto.web.pages.risk_map import show_map, sweep_form
from anonto.web.parts import Markup, box, heading, key_figures, message, show, table, tag, term, text
from anonto.web.words import attack_words

if TYPE_CHECKING:
    from anonto.web.frame import Frame

ALONE_SAID = (
    "A unique record is not necessarily recognised: a swap may have put the combination into another person’s row. The "
    "other attacks measure how many persons are recognised. If whole rows move, the combination still belongs to one "
    "person, and anyone who knows part of it can read the rest."
)


def chosen_run(frame: Frame, asked: dict[str, str], *, with_files: bool = False) -> dict[str, Any]:
    """The run that a page shows: the requested one, or the last completed run of the open table."""
    session = frame.session
    found = session.run_of(whole_number(asked, "run", -1))
    if found is not None and not (with_files and found.get("tried")):
        return found
    done = [run for run in session.runs if not run.get("tried")]
    of_table = [run for run in done if are_about_the_same(run["draft"]["table"], session.table)]
    return (of_table or done or session.runs)[-1]


def warn_of_other_table(frame: Frame, run: dict[str, Any]) -> None:
    """Warn if a run belongs to a table other than the open one."""
    of_run, current = run["draft"]["table"], frame.session.table
    if current is not None and not are_about_the_same(of_run, current):
        name = current["name"] if current["name"] != of_run["name"] else f"another {current['name']}"
        message(f"This run used {of_run['name']}; the open table is {name}.", "warning")


def result_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of results."""
    run = chosen_run(frame, asked)
    with frame.page("Result", f"Run {run['number']} of {run['draft']['table']['name']}: {run['label']}."):
        warn_of_other_table(frame, run)
        if run.get("tried"):
            message("This plan was only tried. Load it below and run it to see everything.", "info")
        else:
            _headline(run)
            with box("card"):
                heading("Success of the attacks")
                _attacks(run)
            before_and_after(frame, run)
        with box("card", "section", id="map"):
            show(tag("h2", "Risk and utility of all runs of this table, and the ", term("Pareto front")))
            place = box("stack")
            frame.soon(place, "Drawing the map", lambda: show_map(frame, run, place))
            form = box("stack")
            frame.soon(form, "Reading the methods", lambda: sweep_form(frame, form))
        onward(("Run", "/run"), ("Take away", f"/take-away?run={run['number']}") if not run.get("tried") else None)


# ------------------------------------------------------------------------------------------------ headline and attacks


def _headline(run: dict[str, Any]) -> None:
    evidence, worst = run["evidence"], run["worst"]
    with box("card"):
        heading("Summary")
        shown: list[tuple[str | Markup, str]] = []
        if worst is not None:
            shown.append((term("persons recognised, at worst", "risk"), f"{worst['rate']:.1%}"))
            shown.append((term("by guessing", "baseline"), f"{worst['baseline']:.2%}"))
        shown += further_risks(run)
        shown.append((term("utility", "utility"), f"{run['utility']:.1%}"))
        unit = "persons" if "unit" in evidence else "records"
        shown.append((f"{unit} released", f"{evidence['n_records']:,}"))
        if "unit" in evidence:
            shown.append(("rows released", f"{evidence['rows']['after']:,}"))
        if evidence["dropped_records"]:
            shown.append((f"{unit} dropped", f"{evidence['dropped_records']:,}"))
        key_figures(shown)
        for step in evidence["steps"]:
            guarantee = step["guarantee"]
            numbers = ", ".join(
                f"{key} = {guarantee[key]}"
                for key in ("k", "epsilon", "average_risk")
                if guarantee.get(key) is not None
            )
            if guarantee["proved"]:
                badge, words = (
                    tag("span", "proved", class_="badge proved"),
                    f"{guarantee['kind']} {numbers}, if {guarantee['conditions']}.",
                )
            else:
                badge, words = tag("span", "not proved", class_="badge open"), f"{guarantee['conditions']}."
            body = tag("p", words, class_="small")
            show(tag("details", tag("summary", tag("strong", step["method"]), " ", badge), body, class_="reasons"))
        for sentence in run["assessment"].get("findings", []):
            message(sentence, "warning")
        for warning in run.get("warnings", []):
            message(warning, "warning")


def further_risks(run: dict[str, Any]) -> list[tuple[str | Markup, str]]:
    """Figures beside the worst linkage: linkage by declared quasi-identifiers, and disclosure by whole rows."""
    worst, declared, rows = run.get("worst"), run.get("declared"), run.get("whole_rows")
    shown: list[tuple[str | Markup, str]] = []
    if declared is not None and worst is not None and declared["columns"] != worst["columns"]:
        shown.append((term("by quasi-identifiers alone", "declared"), f"{declared['rate']:.1%}"))
    if rows is not None:
        known = f"found and read by {len(rows['columns'])} of {rows['columns_that_leave']} columns"
        shown.append((term(known, "whole rows"), f"{rows['singled_out']:.1%}"))
    return shown


def _attacks(run: dict[str, Any]) -> None:
    risks = run["assessment"]["risk"]
    if not risks:
        text("No attack was possible.")
        return
    kinds = ("persons", "secrets", "classes", "cells")
    others, secrets, alone, close = ([one for one in risks if measured_by(one["attack"]) == kind] for kind in kinds)
    if others:
        chart(attacks(others), "Success rate of each attack, and of guessing", n_bars=len(others))
        _attack_table("0 % is safe, 100 % is disclosed", others)
    for attack in dict.fromkeys(one["attack"] for one in secrets):
        heading(all_attacks()[attack].title, 3)
        _secret_table([one for one in secrets if one["attack"] == attack])
        for sentence in _readings(run, attack):
            text(sentence, "p", "small")
    if alone:
        heading("Unique records", 3)
        _attack_table("Share of records with a unique combination of values", alone)
        text(ALONE_SAID, "p", "small")
    if close:
        with box("reasons", "details"):
            text(f"How close the released cells are to the true ones ({len(close)} attacks)", "summary")
            _attack_table("Share of released cells that are equal or close to the true ones", close)
    explained = [Markup(tag("dt", one.title) + tag("dd", one.summary)) for one in all_attacks().values()]
    show(tag("details", tag("summary", "What the attacks do"), tag("dl", *explained), class_="reasons"))


def _readings(run: dict[str, Any], attack: str) -> list[str]:
    """The internal report's details of an attack; empty for runs saved without them."""
    risks, said = run["assessment"]["risk"], run.get("readings", [])
    return [
        f"{one['inferred']}: {sentence}" if one.get("inferred") else sentence
        for one, sentence in zip(risks, said, strict=False)
        if one["attack"] == attack
    ]


def secret_row(one: dict[str, Any]) -> list[str]:
    """How often a secret is inferred, with and without a person's own record in the release, and the difference.

    The rate of this attack is the record's contribution to what was left to learn; it is not a share of persons.
    """
    right, without = one.get("success"), one.get("control")
    return [
        str(one.get("inferred", "–")),
        _known_columns(one),
        "–" if right is None else f"{right:.1%}",
        "–" if without is None else f"{without:.1%}",
        f"{one['rate']:.1%}",
        f"{one['low']:.1%} – {one['high']:.1%}",
        f"{one['n']:,}",
    ]


def _secret_table(risks: list[dict[str, Any]]) -> None:
    header = ["Secret", "Known about a person", "Correct", "Without the record", term("The record adds", "added")]
    header += [term("95 % interval", "interval"), "Attacked"]
    table("How often a confidential value is inferred", header, map(secret_row, risks), numbers=(2, 3, 4, 5, 6))


def _known_columns(one: dict[str, Any]) -> str:
    if not one["columns"]:
        return str(one["knowledge"])
    return ", ".join(one["columns"]) if len(one["columns"]) < 4 else f"{len(one['columns'])} columns"


def _attack_table(caption: str, risks: list[dict[str, Any]]) -> None:
    rows = []
    for one in risks:
        name, why = attack_words(one)
        known = _known_columns(one)
        explained = tag("span", name, title=f"{why} The intruder knows {one['knowledge']}.".strip())
        interval = f"{one['low']:.1%} – {one['high']:.1%}"
        rows.append([explained, known, f"{one['rate']:.2%}", interval, f"{one['baseline']:.2%}", f"{one['n']:,}"])
    header = ["Attack", "Known about a person", "Success rate", term("95 % interval", "interval")]
    table(caption, [*header, term("By guessing", "baseline"), "Attacked"], rows, numbers=(2, 3, 4, 5))
