"""The documentation is complete, its code runs and prints what it says, and its pages need no network."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto
from anonto import stats
from anonto.attacks.registry import OWN as ATTACKS
from anonto.cli.main import app, run
from anonto.encoding.description import (
    CONTENTS,
    KEY_OF,
    KINDS,
    MISSING_POLICIES,
    ROLES,
    UNMATCHED_POLICIES,
    ColumnDescription,
)
from anonto.io.notation import DECIMALS
from anonto.io.writing import ENDINGS
from anonto.masking.plan import PLAN_KEYS
from anonto.masking.plan_sections import TABLE_KEYS
from anonto.methods.registry import METHODS
from anonto.ontology.matching import RULES
from anonto.ontology.readers import OWN, reader_of
from anonto.ontology.spelling import SPELLINGS
from anonto.report.frames.registry import OWN as FRAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.attacks.attack import Attack
    from anonto.report.frames.frame import LegalFrame

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
PACKAGE = PROJECT / "src" / "anonto"
PAGES = sorted(DOCS.rglob("*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
PAGES_ABOUT_MEASURES = ("explanation/measures", "reference/measures", "how-to/choose-a-measure")
COMMANDS = [
    command.name or command.callback.__name__.replace("_", "-")
    for command in app.registered_commands
    if command.callback is not None
] + [group.name for group in app.registered_groups if group.name is not None]
WITH_CODE = [
    PROJECT / "README.md",
    *(page for folder in ("tutorial", "how-to", "explanation") for page in sorted((DOCS / folder).glob("*.md"))),
]
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n+```text\n(?P<output>.*?)^```$)?|^```console\n(?P<commands>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
COMMAND = re.compile(r"^\$ anonto (?P<arguments>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
NEEDED = {"table-files.md": "pyreadstat"}
"""Packages of an extra that the code of a page imports."""
VALUES_OF_KEYS = {
    "kind": KINDS,
    "role": ROLES,
    "root": ("ontology", "lcs"),
    "measure": anonto.MEASURES,
    "information_content": CONTENTS,
    "spelling": SPELLINGS,
    "decimal": DECIMALS,
    "missing": MISSING_POLICIES,
    "unmatched": UNMATCHED_POLICIES,
}
LISTED_FILE = re.compile(r"^`(?P<path>[^`]+)`\n:   .*?sha256 `(?P<sha256>[0-9a-f]{64})`", re.DOTALL | re.MULTILINE)

needs_mkdocs = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("mkdocs", "material", "mkdocstrings", "latex2mathml")),
    reason="the extra 'docs' is not installed",
)


def name_of(page: Path) -> str:
    return page.relative_to(PROJECT).as_posix()


def reference_hook() -> Any:
    """The hook that writes the tables of the reference when the pages are built."""
    found = importlib.util.spec_from_file_location("reference_hook", DOCS / "hooks" / "reference.py")
    assert found is not None
    assert found.loader is not None
    hook = importlib.util.module_from_spec(found)
    found.loader.exec_module(hook)
    return hook


def with_tables(name: str) -> str:
    """A page of the reference with the tables that are made when it is built."""
    page = (DOCS / "reference" / name).read_text(encoding="utf-8")
    built: str = reference_hook().on_page_markdown(page)
    assert "<!-- table of" not in built
    return built


# ------------------------------------------------------------------------------------------------ completeness


@pytest.mark.parametrize("measure", anonto.MEASURES)
@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in PAGES_ABOUT_MEASURES)])
def test_every_measure_is_on_every_page_about_measures(measure: str, page: str) -> None:
    text = with_tables("measures.md") if page.startswith("docs/reference") else (PROJECT / page).read_text("utf-8")
    assert f"`{measure}`" in text


@pytest.mark.parametrize("name", OWN)
def test_every_format_is_in_both_tables_of_formats_with_the_sentence_of_its_reader(name: str) -> None:
    reader = reader_of(name)
    assert reader is not None
    assert reader.name == name
    assert f"| `{name}` |" in (PROJECT / "README.md").read_text(encoding="utf-8")
    assert f"| `{name}` | {reader.sentence} | {reader.relations} | {reader.ids} |" in with_tables("formats.md")
    assert reader.relations
    assert reader.ids


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.name)
def test_every_attack_is_in_the_table_with_the_words_of_its_class(attack: Attack) -> None:
    assert f"| `{attack.name}` | {attack.knows} | {attack.does} |" in with_tables("assessment.md")


@pytest.mark.parametrize("frame", FRAMES, ids=lambda one: one.name)
def test_every_frame_is_in_the_reference_and_on_the_page_about_them(frame: LegalFrame) -> None:
    assert f"| `{frame.name}` | {frame.title} | {frame.rule} |" in with_tables("assessment.md")
    assert f"`{frame.name}`" in (DOCS / "how-to" / "report-for-a-board.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", anonto.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert f"`anonto.{name}`" in (DOCS / "reference" / "index.md").read_text(encoding="utf-8")


def test_the_heading_of_read_ontology_has_its_parameters() -> None:
    parameters = list(inspect.signature(anonto.read_ontology).parameters)
    page = (DOCS / "reference" / "taxonomy.md").read_text(encoding="utf-8")
    heading = re.search(r"anonto\.read_ontology\((.*?)\)", page)
    assert heading is not None
    assert re.findall(r"\b([a-z]+)\b(?==|,|$)", heading[1]) == parameters


@pytest.mark.parametrize("name", stats.__all__)
def test_every_statistic_is_in_the_reference(name: str) -> None:
    page = with_tables("statistics.md")
    assert f"`stats.{name}`" in page
    shown = page.partition("## Centre")[2]
    assert re.search(rf"(- |[\[.] ?|, ){name}\b", shown), "its docstring is not shown"


def row_of(page: str, first: str) -> str:
    """The row of a table that begins with a word in code."""
    text = with_tables(page)
    row = re.search(rf"^\| `{re.escape(first)}` \|.*$", text, re.MULTILINE)
    assert row is not None, f"{page} has no row for {first}"
    return row[0]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_described_with_all_its_parameters(method: str) -> None:
    page = (DOCS / "reference" / "methods.md").read_text(encoding="utf-8")
    assert f"## {method}\n\n<!-- parameters of {method} -->\n" in page
    built = with_tables("methods.md")
    described = built.split(f"## {method}\n", 1)[1].split(":::", 1)[0]
    assert [field.name for field in fields(METHODS[method]) if f"| `{field.name}` |" not in described] == []
    assert f"| [`{method}`](#{method}) | {METHODS[method].words.summary} |" in built
    assert f"**`{method}`**" in (DOCS / "explanation" / "masking.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", METHODS)
def test_the_readme_says_of_a_method_what_its_class_says(method: str) -> None:
    words = METHODS[method].words
    assert f"| `{method}` | {words.summary} | {words.proves} |" in (PROJECT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", [field.name for field in ColumnDescription.key_fields()])
def test_every_key_of_a_column_is_described_with_its_values_and_its_default(key: str) -> None:
    row = row_of("plan.md", KEY_OF.get(key, key))
    values, default = row.strip("| ").split(" | ")[1:]
    assert [value for value in VALUES_OF_KEYS.get(key, ()) if f'`"{value}"`' not in values] == []
    assumed = getattr(ColumnDescription(), key)
    if isinstance(assumed, bool):
        assert default == f"`{str(assumed).lower()}`"
    else:
        assert default == f'`"{assumed}"`' if assumed else default.startswith("none")


@pytest.mark.parametrize("key", [*PLAN_KEYS, *TABLE_KEYS])
def test_every_section_of_a_plan_and_every_key_about_its_table_is_described(key: str) -> None:
    assert row_of("plan.md", key)


def test_every_field_of_the_evidence_and_of_the_private_record_is_described(tmp_path: Path) -> None:
    table = pl.DataFrame({"region": ["north", "south", "south", None], "age": [40, 50, 60, 70]})
    plan = {"columns": {"age": {"role": "other"}}, "steps": [{"method": "random-swap", "columns": ["region"]}]}
    release = anonto.mask(table, plan)
    release.save_private(tmp_path / "private.json")
    step = release.evidence["steps"][0]
    record = json.loads((tmp_path / "private.json").read_text(encoding="utf-8"))
    for field in [*release.evidence, *step, *step["guarantee"], *record]:
        assert row_of("evidence.md", field)


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_of_a_table_file_is_in_the_table_of_formats(ending: str) -> None:
    assert f"`{ending}`" in row_of("formats.md", ENDINGS[ending])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented_by_its_own_help(command: str) -> None:
    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert f"<!-- help of anonto {command} -->" in page
    assert f"[`anonto {command}`]" in with_tables("command-line.md")


def test_no_command_is_documented_that_does_not_exist() -> None:
    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- help of anonto ([a-z-]+) -->", page)) == set(COMMANDS)
    within = {f"{group.name} {one.callback.__name__}" for group in app.registered_groups for one in commands_of(group)}
    assert set(re.findall(r"<!-- help of anonto ([a-z-]+ [a-z-]+) -->", page)) == within


def commands_of(group: Any) -> list[Any]:
    """The commands of a group of commands."""
    return list(group.typer_instance.registered_commands)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_matching_is_explained(rule: str) -> None:
    assert f"| `{rule}` |" in (DOCS / "how-to" / "match-a-column.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", anonto.ontology_names())
def test_every_listed_ontology_is_mentioned(name: str) -> None:
    assert name in TEXT


def test_every_extra_is_in_the_readme() -> None:
    declared = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    section = declared.split("[project.optional-dependencies]")[1].split("\n[")[0]
    extras = re.findall(r"^(\w+) = \[", section, re.MULTILINE)
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert [extra for extra in extras if f"`{extra}`" not in readme] == []


@pytest.mark.parametrize(("words", "extra"), [("`anonto serve`", "web"), ("`--engine spark`", "spark")])
def test_the_readme_names_the_extra_beside_what_needs_it(words: str, extra: str) -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    beside = [line.partition(words)[2].partition(",")[0] for line in readme.splitlines() if words in line]
    assert beside
    assert all(f"`{extra}`" in line for line in beside if "|" not in line)


def test_the_page_of_plain_algorithms_names_files_that_exist() -> None:
    page = (DOCS / "explanation" / "plain-algorithms.md").read_text(encoding="utf-8")
    files = re.findall(r"`((?:methods|attacks|tests)/[\w/]+\.py)`", page)
    assert [one for one in files if not (PACKAGE / one).is_file() and not (PROJECT / one).is_file()] == []
    assert len(files) > 30


def test_every_plain_algorithm_is_on_its_page() -> None:
    page = (DOCS / "explanation" / "plain-algorithms.md").read_text(encoding="utf-8")
    plain = [one for one in PACKAGE.glob("*/plain/*.py") if one.name != "__init__.py"]
    assert [one.name for one in plain if f"`{one.relative_to(PACKAGE).as_posix()}`" not in page] == []


FIELD_TERMS = (
    "Baseline",
    "Batch",
    "Disclosure risk",
    "Donor",
    "Equivalence class",
    "Global recoding",
    "Information loss",
    "Likelihood",
    "Local recoding",
    "Local suppression",
    "Masked file",
    "Microdata",
    "Naive method",
    "Quasi-identifier",
    "Record linkage",
    "Sampling weight",
    "Stratum",
    "Support",
    "Top-coding",
    "Transition",
    "Value space",
)


def test_the_glossary_defines_every_field_term_once_in_alphabetical_order() -> None:
    page = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^(\S.*)\n:   ", page, re.MULTILINE)
    assert [one for one in FIELD_TERMS if one not in terms] == []
    assert len(terms) == len(set(terms))
    assert terms == sorted(terms, key=str.lower)


def test_the_readme_fits_a_short_read() -> None:
    assert 80 <= len((PROJECT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_the_changelog_knows_this_version() -> None:
    assert f"## [{anonto.__version__}]" in (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_files_of_real_data_are_those_described(data_folder: Path) -> None:
    described = LISTED_FILE.findall((DOCS / "data.md").read_text(encoding="utf-8"))
    assert described
    hashes = {path: hashlib.sha256((data_folder / path).read_bytes()).hexdigest() for path, _ in described}
    assert hashes == dict(described)


# ------------------------------------------------------------------------------------------------ code


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name])
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == len(re.findall(r"^```(?:python|console)\b", text, re.MULTILINE)), "a block that is not run"
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in blocks:
        line = text.count("\n", 0, block.start())
        if block["commands"] is not None:
            run_commands(block["commands"])
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = compile("\n" * (line + 1) + block["code"], page.name, "exec", dont_inherit=True)
            exec(code, namespace)  # noqa: S102 - our own pages
        assert printed.getvalue().rstrip() == (block["output"] or "").rstrip(), f"the block at line {line + 1}"


def run_commands(commands: str) -> None:
    """Run the lines that start with a dollar sign; what follows one, if anything does, is what it prints."""
    found = list(COMMAND.finditer(commands))
    assert "".join(command[0] for command in found) == commands, "a line that is no command of ours"
    for command in found:
        printed = io.StringIO()
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("always", anonto.AnontoWarning)
            code = run(shlex.split(command["arguments"]))
        assert code == (2 if command["output"].startswith("Error: ") else 0), printed.getvalue()
        if command["output"]:
            shown = [line.rstrip() for line in printed.getvalue().rstrip().splitlines()]
            assert shown == command["output"].rstrip().splitlines(), command[0]


def test_the_health_card_in_the_readme_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ontology", "nervous-system"]) == 0
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    card = re.search(r"`anonto ontology nervous-system` begins:\n\n```text\n(.*?)```", readme, re.DOTALL)
    assert card is not None
    assert capsys.readouterr().out.startswith(card[1])


# ------------------------------------------------------------------------------------------------ pages


LOADING = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}


class Assets(HTMLParser):
    """Collects what a page loads when it is shown; links that a reader may follow are not of these."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag == "link" and values.get("rel") in {"canonical", "prev", "next"}:
            return
        self.found += [value for name in LOADING.get(tag, ()) if (value := values.get(name))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=PROJECT,
        env=os.environ | nowhere | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def built_pages(site: Path) -> Iterator[tuple[str, str]]:
    for page in sorted(site.rglob("*.html")):
        yield page.relative_to(site).as_posix(), page.read_text(encoding="utf-8")


@needs_mkdocs
def test_every_page_is_built(site: Path) -> None:
    built = {name for name, _ in built_pages(site)}
    assert {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in PAGES} <= built
    assert not list(site.rglob("*.py"))


@needs_mkdocs
def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    outside = {}
    for name, page in built_pages(site):
        assets = Assets()
        assets.feed(page)
        far = [asset for asset in assets.found if re.match(r"(https?:)?//", asset)]
        far += re.findall(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)", page)
        if far:
            outside[name] = far
    assert outside == {}


@needs_mkdocs
def test_no_style_sheet_loads_anything_from_elsewhere(site: Path) -> None:
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        loaded = re.findall(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)", sheet.read_text(encoding="utf-8"))
        assert loaded == [], sheet.name


@needs_mkdocs
def test_every_formula_became_mathml(site: Path) -> None:
    pages = dict(built_pages(site))
    left = [name for name, page in pages.items() if "arithmatex" in page or re.search(r"\$\$|<m[a-z]+>\\", page)]
    assert left == []
    for name in ("explanation/measures.html", "reference/measures.html", "reference/statistics.html"):
        assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in pages[name]


@needs_mkdocs
def test_the_schema_of_the_report_is_shown(site: Path) -> None:
    page = (site / "reference" / "report-schema.html").read_text(encoding="utf-8")
    assert "urn:anonto:report:1" in page
    assert "schema of the report" not in page.partition("<body")[2]


@needs_mkdocs
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_help_of_every_command_is_shown(site: Path, command: str) -> None:
    page = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    assert f"Usage: anonto {command}".rstrip() in page
    assert "help of anonto" not in page
