"""Take away: downloads of the masked table, report and plan, commands and code; the private record apart."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from anonto.masking.private_record import PrivateRecord
from anonto.report.frames.registry import frames
from anonto.web.drafts import references, stem_of
from anonto.web.files import further_files, name_of_further
from anonto.web.frame import onward
from anonto.web.pages.result import chosen_run, warn_of_other_table
from anonto.web.parts import box, button, checkbox, choice, heading, link, message, show, tag, term, text
from anonto.web.words import PLAN_MAY_BE_PUBLISHED

if TYPE_CHECKING:
    from anonto.web.frame import Frame

FORMATS = {
    ".csv": "CSV",
    ".csv.gz": "CSV in gzip",
    ".parquet": "Parquet",
    ".xlsx": "Excel",
    ".sav": "SPSS",
    ".dta": "Stata",
    ".xpt": "SAS XPORT",
}


def take_away_page(frame: Frame, asked: dict[str, str]) -> None:
    """The last page."""
    run = chosen_run(frame, asked, with_files=True)
    with frame.page(
        "Take away",
        f"Run {run['number']} of {run['draft']['table']['name']}: {run['label']}. The rows of the masked table are in "
        "random order.",
    ):
        warn_of_other_table(frame, run)
        if run.get("tried") or not run["files"]:
            message(
                "The files of this run are not available: plans that were only tried have none, and those of a run are "
                "deleted when the server stops. Run the plan again to get them.",
                "info",
            )
        else:
            _files(frame, run)
        place = box("stack")

        async def content() -> None:
            texts = await _texts(frame, run)
            place.clear()
            with place:
                _recipe(frame, run, *texts)

        frame.soon(place, "Writing the plan", content)
        if run["files"]:
            _private(run)
        onward(("Result", f"/result?run={run['number']}"), None)


def _files(frame: Frame, run: dict[str, Any]) -> None:
    number, ending = run["number"], run["ending"]
    with box("card"):
        heading("To release")
        with box("downloads", "ul"):
            with box("", "li"):
                show(
                    tag(
                        "div",
                        tag("strong", "The masked table"),
                        tag("p", f"As {FORMATS.get(ending, ending)}, in the format it came in.", class_="small"),
                    )
                )
                link(
                    "Download",
                    f"/take/{number}/masked{ending}",
                    classes="button primary",
                    download="",
                    name="Download the masked table",
                )
            with box("", "li"):
                with box():
                    others = {key: words for key, words in FORMATS.items() if key != ending}
                    state = {"ending": next(iter(others))}
                    choice(
                        "The masked table in another format",
                        others,
                        state["ending"],
                        lambda value: state.update(ending=str(value)),
                    )
                ready = box("row")

                async def export() -> None:
                    if state["ending"] in FORMATS:
                        await _export(frame, run, state["ending"], ready)

                with ready:
                    button("Prepare", export, name="Prepare the masked table in this format")
            _report(
                number,
                "report",
                "The report",
                "One HTML page to go with the table: no records, no secrets, rounded figures of a second masking.",
            )
    with box("card"):
        heading("For internal use")
        with box("downloads", "ul"):
            words = "The same with every number and parameter. Do not release it with the table."
            _report(number, "report-internal", "The internal report", words)
    _evidence(frame, number)


def _evidence(frame: Frame, number: int) -> None:
    """The choice of laws and guidelines for which the reports give evidence."""
    with box("card"):
        heading("Evidence for a law or guideline")
        text(
            "The same reports with a section for each law or guideline that you tick: what was measured, by what, what "
            "was not, and lines for what only you can say. It is evidence, not legal advice."
        )
        chosen: dict[str, Any] = {}
        for name, one in frames().items():
            checkbox(one.title, False, partial(chosen.__setitem__, name))
        ready = box("row")

        async def prepare() -> None:
            ready.clear()
            names = [name for name, is_chosen in chosen.items() if is_chosen]
            if not names:
                frame.say("Tick at least one law or guideline.", "error")
                return
            with frame.show_errors():
                folder = str(frame.session.run_folder(number))
                await frame.session.desk.call("evidence", {"folder": folder, "frames": names})
                with ready:
                    for what, title in (("report", "the report"), ("report-internal", "the internal report")):
                        label = f"Download {title} with this evidence"
                        link(label, f"/take/{number}/{what}-evidence", classes="button", download="")

        button("Prepare", prepare, name="Prepare the reports with this evidence")


def _report(number: int, what: str, title: str, words: str) -> None:
    with box("", "li"):
        show(tag("div", tag("strong", title), tag("p", words, class_="small")))
        name = f"Download {title[0].lower()}{title[1:]}"
        link("Download", f"/take/{number}/{what}", classes="button", download="", name=name)


async def _export(frame: Frame, run: dict[str, Any], ending: str, place: Any) -> None:
    folder = frame.session.run_folder(run["number"])
    with frame.show_errors():
        files = {"masked": str(folder / f"masked{run['ending']}"), "target": str(folder / f"masked{ending}")}
        given = {**files, "dialect": run.get("dialect", {})}
        await frame.session.desk.call("export", given)
        with place:
            link(f"Download {FORMATS[ending]}", f"/take/{run['number']}/masked{ending}", classes="button", download="")


async def _texts(frame: Frame, run: dict[str, Any]) -> tuple[str, str, str]:
    """The plan, the commands and the code; the plan is also written where it can be downloaded."""
    session, draft = frame.session, run["draft"]
    used = {ref for one in draft["plan"]["columns"].values() for ref in references(one)}
    names = {session.path(ref): draft["ontologies"].get(ref, ref) for ref in used if "/" in ref}
    needed = sorted(names.values())
    heading_words = "Made with `anonto serve`." + (f"\nPut beside it: {', '.join(needed)}." if needed else "")
    resolved = session.task_input(draft)["plan"]
    found = await session.desk.call("plan_text", {"plan": resolved, "names": names, "heading": heading_words})
    folder = session.run_folder(run["number"])
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "plan.toml").write_text(found["text"], encoding="utf-8")
    separators = {column: one.get("separator") for column, one in draft["plan"]["columns"].items()}
    name, ending = draft["table"]["name"], run.get("ending", ".csv")
    stem = stem_of(draft)
    held_out = (draft.get("held_out") or {}).get("name")
    code = _code(name, stem, ending, draft["repairs"], separators, held_out)
    return found["text"], _commands(name, stem, ending, held_out), code


def _commands(name: str, stem: str, ending: str, held_out: str | None = None) -> str:
    """The commands, with the names of the downloaded files."""
    files = (name, f"{stem}-plan.toml", f"{stem}-masked{ending}", f"{stem}-report.html")
    table, plan, masked, report = map(shlex.quote, files)
    private = shlex.quote(PrivateRecord.path_for(f"{stem}-masked{ending}").name)
    return (
        f"anonto mask {table} --plan {plan} --output {masked}\n"
        f"anonto assess {table} {masked} --plan {plan} --private {private} --report {report} --edition public"
        + (f" --held-out {shlex.quote(held_out)}" if held_out else "")
    )


def _code(
    name: str,
    stem: str,
    ending: str,
    repairs: dict[str, dict[str, str]],
    separators: dict[str, str | None],
    held_out: str | None = None,
) -> str:
    table, plan, masked = repr(name), repr(f"{stem}-plan.toml"), repr(f"{stem}-masked{ending}")
    private = repr(PrivateRecord.path_for(f"{stem}-masked{ending}").name)
    lines = ["import anonto", ""]
    source = table
    if any(repairs.values()):
        lines += [
            "import polars as pl",
            "",
            f"table = pl.read_csv({table}, infer_schema=False)  # or as your file is stored",
        ]
        lines += [
            f"table = table.with_columns(pl.col({column!r}){_replacing(mapping, separators.get(column))})"
            for column, mapping in repairs.items()
            if mapping
        ]
        lines.append("")
        source = "table"
    others = f", held_out={held_out!r}" if held_out else ""
    lines += [
        f"release = anonto.mask({source}, {plan})",
        f"release.save({masked})",
        f"found = anonto.assess({source}, {masked}, {plan}, private={private}{others})",
        "print(found.worst)",
        f'found.to_html({f"{stem}-report.html"!r}, edition="public")',
    ]
    return "\n".join(lines)


def _replacing(mapping: dict[str, str], separator: str | None) -> str:
    """How codes are replaced in a column of polars, or in the elements of a set."""
    if separator is None:
        return f".replace({mapping!r})"
    each = f"pl.element().str.strip_chars().replace({mapping!r})"
    return f".str.split({separator!r}).list.eval({each}).list.join({separator!r})"


def _recipe(frame: Frame, run: dict[str, Any], plan: str, commands: str, code: str) -> None:
    with box("card"):
        heading("To repeat it")
        text("The same plan, with a new random seed each time: none of these contains the seed.")
        for sentence in PLAN_MAY_BE_PUBLISHED:
            text(sentence)
        if any(run["draft"]["repairs"].values()):
            message(
                "Codes were repaired in the app. The commands do not do that: fix the table first, as the code does.",
                "warning",
            )
        for title, words in (("The plan", plan), ("On the command line", commands), ("In Python", code)):
            with box("stack"):
                heading(title, 3)
                show(tag("pre", tag("code", words), tabindex="0", role="region", aria_label=title))
        with box("row"):
            link("Download the plan", f"/take/{run['number']}/plan", classes="button", download="")
            for what, reference in further_files(frame.session, run).items():
                label = f"Download {name_of_further(run, reference)}"
                link(label, f"/take/{run['number']}/{what}", classes="button", download="")


def _private(run: dict[str, Any]) -> None:
    with box("card"):
        show(tag("h2", "The ", term("private record"), ", kept apart"))
        message(
            "Anyone who has this file can undo the masking. You need it only to attack or repeat this release. Never "
            "release it with the table, and never store it in the same place.",
            "warning",
        )
        place = box("row")

        def change(value: Any) -> None:
            place.clear()
            if value:
                with place:
                    link(
                        "Download the private record",
                        f"/take/{run['number']}/private",
                        classes="button danger",
                        download="",
                    )

        checkbox("I will keep it apart from the masked table", False, change)
        place.move(target_index=-1)
