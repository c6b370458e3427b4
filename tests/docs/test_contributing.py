"""CONTRIBUTING names every room, and every file, module and identifier that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "src" / "anonto"
PAGE = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = (
    "Add a method",
    "Add an attack",
    "Add an ontology reader",
    "Add an engine",
    "Add a measure",
    "Add a table format",
    "Add a role",
)
MOST_STEPS = 10
ROOTS = (PROJECT, PACKAGE)
"""Where a path in the text may start."""
WRITTEN_BY_COMMANDS = ("site/", "reproduction-out/", ".venv/")
"""Folders that exist only after a command has run."""
PATH = re.compile(r"(?<![\w/.<>-])[\w.-]+(?:/[\w.<>-]+)*(?:\.(?:py|md|toml|yml|csv|json|html)\b|/(?![\w<]))")
IN_CODE = re.compile(r"`([^`\n]+)`")


def section(title: str) -> str:
    """The text below a heading."""
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def blocks(text: str) -> str:
    """The first text block."""
    return text.split("```text\n", 1)[1].split("```", 1)[0]


def rooms() -> set[str]:
    """The packages and modules directly below the package, as the map spells them."""
    packages = {f"{one.parent.name}/" for one in PACKAGE.glob("*/__init__.py")}
    return packages | {one.name for one in PACKAGE.glob("*.py") if one.name != "__init__.py"}


def mapped() -> list[str]:
    """The names in the first column of the map."""
    return re.findall(r"^  (\w+(?:/|\.py)) ", blocks(section("The rooms")), re.MULTILINE)


def files_in(text: str) -> list[str]:
    """The files and folders that a text names, except patterns and what commands write."""
    return [one for one in PATH.findall(text) if "<" not in one and not one.startswith(WRITTEN_BY_COMMANDS)]


def missing(paths: list[str]) -> list[str]:
    return [one for one in paths if not any((root / one).exists() for root in ROOTS)]


def test_every_room_is_in_the_map_once() -> None:
    assert sorted(mapped()) == sorted(rooms())


def test_every_file_in_the_map_and_the_walk_exists() -> None:
    below = [
        f"{room}{inner}"
        for room, text in re.findall(r"^  (\w+/) +((?:.+\n(?:   +.+\n)*))", blocks(section("The rooms")), re.MULTILINE)
        for inner in re.findall(r"(?<![\w/])\w+(?:/|\.py)(?!\w)", text)
    ]
    steps = [line.partition(":")[0] for line in blocks(section("The walk")).splitlines()]
    assert len(below) >= 5
    assert len(steps) >= 10
    assert missing([*below, *steps]) == []


def test_every_file_that_the_text_names_exists() -> None:
    prose = re.sub(r"```text\n.*?```", "", PAGE, flags=re.DOTALL)
    named = [file for code in IN_CODE.findall(prose) if " " not in code for file in files_in(code)]
    assert len(named) > 40
    assert missing(named) == []


def test_every_module_that_the_text_names_exists() -> None:
    known = {one.stem for one in PACKAGE.rglob("*.py")} | {one.parent.name for one in PACKAGE.rglob("__init__.py")}
    public = {"mask", "mask_file", "fit", "assess", "sweep", "verify"}
    groups = {"methods", "attacks", "ontologies"}
    dotted = [part for name in re.findall(r"\banonto((?:\.[a-z_]+)+)", PAGE) for part in name.strip(".").split(".")]
    assert dotted
    assert [part for part in dotted if part not in known | public | groups] == []


def test_every_name_in_code_is_in_the_project() -> None:
    names = {one for one in IN_CODE.findall(PAGE) if re.fullmatch(r"[A-Z_]{3,}|(?:[A-Z][a-z]+){1,4}|[a-z]+_\w+", one)}
    sources = [*PACKAGE.rglob("*.py"), *(PROJECT / "tests").rglob("*.py")]
    text = "\n".join(one.read_text(encoding="utf-8") for one in sources if one != Path(__file__))
    assert len(names) > 20
    assert [one for one in sorted(names) if not re.search(rf"\b{one}\b", text)] == []


def test_a_name_that_the_text_places_in_a_file_is_in_that_file() -> None:
    placed = re.findall(r"`(\w+)`(?: [^`.;]+)? in `(src/anonto/[\w/]+\.py)`", " ".join(PAGE.split()))
    assert len(placed) > 10
    sources = {where: (PROJECT / where).read_text(encoding="utf-8") for _, where in placed}
    assert [(name, where) for name, where in placed if not re.search(rf"\b{name}\b", sources[where])] == []


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_short_and_the_files_to_copy_from_exist(recipe: str) -> None:
    text = section(recipe)
    found = re.match(r"\nCopy from: (.+?)\n\n", text, re.DOTALL)
    assert found is not None
    files = [file for code in IN_CODE.findall(found[1]) for file in files_in(code)]
    assert files
    assert [one for one in files if not (PROJECT / one).is_file()] == []
    steps = re.findall(r"^(\d+)\. ", text, re.MULTILINE)
    assert steps == [str(number) for number in range(1, len(steps) + 1)]
    assert 1 < len(steps) <= MOST_STEPS


def test_every_recipe_is_checked() -> None:
    assert set(re.findall(r"^## (Add .+)$", PAGE, re.MULTILINE)) == set(RECIPES)
