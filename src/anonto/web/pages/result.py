"""Result: what the attacks reached, what was lost, columns before and after, and the map of all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.risk.attacks.registry import attacks as all_attacks
from anonto.web.charts import attacks, chart
from anonto.web.drafts import are_about_the_same
from anonto.web.frame import onward
from anonto.web.pages.before_after import before_and_after
from anonto.web.pages.risk_map import show_map, sweep_form
from anonto.web.parts import Markup, box, facts, heading, message, show, table, tag, term, text
from anonto.web.words import attack_words

if TYPE_CHECKING:
    from anonto.web.frame import Frame

CLOSE, SECRET = "interval-disclosure", "attribute-inference"
ALONE = ("real-k", "uniqueness")
ALONE_SAID = (
    "Being alone is not being recognised: a swap may have put the combination into another person’s row. How many are "
    "recognised, the other attacks say. Where whole rows move, the combination itself is still that of one person, and "
    "whoever knows a part of it reads the rest."
)


def chosen_run(frame: Frame, asked: dict[str, str], *, with_files: bool = False) -> dict[str, Any]:
    """The run that a page is about: the one asked for, or the last of the open table that was carried out."""
    session = frame.session
    number = asked.get("run", "")
    found = session.run_of(int(number)) if number.isdigit() and len(number) < 9 else None
    if found is not None and not (with_files and found.get("tried")):
        return found
    done = [run for run in session.runs if not run.get("tried")]
    of_table = [run for run in done if are_about_the_same(run["draft"]["table"], session.table)]
    return (of_table or done or session.runs)[-1]


def warn_of_other_table(frame: Frame, run: dict[str, Any]) -> None:
    """Say so when a run is not about the table that is open."""
    of_run, current = run["draft"]["table"], frame.session.table
    if current is not None and not are_about_the_same(of_run, current):
        name = current["name"] if current["name"] != of_run["name"] else f"another {current['name']}"
        message(f"This is a run of {of_run['name']}; the table that is open now is {name}.", "warning")


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
                heading("What the attacks reached")
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
        heading("In short")
        shown: list[tuple[str | Markup, str]] = []
        if worst is not None:
            shown.append((term("persons recognised, at worst", "risk"), f"{worst['rate']:.1%}"))
            shown.append((term("by guessing", "baseline"), f"{worst['baseline']:.2%}"))
        shown += further_risks(run)
        shown.append((term("utility left", "utility"), f"{run['utility']:.1%}"))
        shown.append(("records released", f"{evidence['n_records']:,}"))
        if evidence["dropped_records"]:
            shown.append(("records dropped", f"{evidence['dropped_records']:,}"))
        facts(shown)
        for step in evidence["steps"]:
            guarantee = step["guarantee"]
            numbers = ", ".join(
                f"{key} = {guarantee[key]}" for key in ("k", "epsilon") if guarantee.get(key) is not None
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
    """What stands beside the worst linkage: that of declared quasi-identifiers, and what is read off whole rows."""
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
        text("There was nothing to attack.")
        return
    apart = (CLOSE, SECRET, *ALONE)
    others = [one for one in risks if one["attack"] not in apart]
    close, secrets, alone = ([one for one in risks if one["attack"] in which] for which in ((CLOSE,), (SECRET,), ALONE))
    if others:
        chart(attacks(others), "What each attack reached, beside what guessing reaches", n_bars=len(others))
        _attack_table("0 % is safe, 100 % is disclosed", others)
    if secrets:
        heading(all_attacks()[SECRET].title, 3)
        _secret_table(secrets)
        for sentence in _readings(run, SECRET):
            text(sentence, "p", "small")
    if alone:
        heading("Alone", 3)
        _attack_table("The share of records that no other has all values in common with", alone)
        text(ALONE_SAID, "p", "small")
    if close:
        with box("reasons", "details"):
            text(f"How close the released cells are to the true ones ({len(close)} tries)", "summary")
            _attack_table("The share of cells that are right, or almost right, as they are released", close)
    explained = [Markup(tag("dt", one.title) + tag("dd", one.summary)) for one in all_attacks().values()]
    show(tag("details", tag("summary", "What the attacks do"), tag("dl", *explained), class_="reasons"))


def _readings(run: dict[str, Any], attack: str) -> list[str]:
    """What the internal report says of an attack; nothing of runs that were kept without it."""
    risks, said = run["assessment"]["risk"], run.get("readings", [])
    return [
        f"{one['inferred']}: {sentence}" if one.get("inferred") else sentence
        for one, sentence in zip(risks, said, strict=False)
        if one["attack"] == attack
    ]


def secret_row(one: dict[str, Any]) -> list[str]:
    """How often a secret is read right, with a person's own record in the release and without, and what that adds.

    The rate of this attack is what the record adds, of what was left to learn; by itself it is no share of persons.
    """
    right, without = one.get("success"), one.get("control")
    return [
        str(one.get("inferred", "–")),
        _known(one),
        "–" if right is None else f"{right:.1%}",
        "–" if without is None else f"{without:.1%}",
        f"{one['rate']:.1%}",
        f"{one['low']:.1%} – {one['high']:.1%}",
        f"{one['n']:,}",
    ]


def _secret_table(risks: list[dict[str, Any]]) -> None:
    header = [
        "Secret",
        "Known of a person",
        "Read right",
        "Without the person’s record",
        term("The record adds", "added"),
    ]
    header += [term("95 % interval", "interval"), "Tried on"]
    table("How often a confidential value is read right", header, map(secret_row, risks), numbers=(2, 3, 4, 5, 6))


def _known(one: dict[str, Any]) -> str:
    if not one["columns"]:
        return str(one["knowledge"])
    return ", ".join(one["columns"]) if len(one["columns"]) < 4 else f"{len(one['columns'])} columns"


def _attack_table(caption: str, risks: list[dict[str, Any]]) -> None:
    rows = []
    for one in risks:
        name, why = attack_words(one)
        known = _known(one)
        explained = tag("span", name, title=f"{why} The intruder knows {one['knowledge']}.".strip())
        interval = f"{one['low']:.1%} – {one['high']:.1%}"
        rows.append([explained, known, f"{one['rate']:.2%}", interval, f"{one['baseline']:.2%}", f"{one['n']:,}"])
    header = ["Attack", "Known of a person", "Reached", term("95 % interval", "interval")]
    table(caption, [*header, term("By guessing", "baseline"), "Tried on"], rows, numbers=(2, 3, 4, 5))
