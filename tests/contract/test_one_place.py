"""All that the program knows of a method is in its class: nothing outside asks a method for its type or its name."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import anonto
from anonto.methods import blocks, method, noise, taxonomy_exponential
from anonto.methods.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(anonto.__file__).parent
CLASSES = {
    *(one.__name__ for one in METHODS.values()),
    *(one.__name__ for one in (method.BaseMethod, method.ColumnMethod, method.RecordMethod, method.RowMethod)),
    *(one.__name__ for one in (blocks.BlockMethod, noise.NoiseParameters)),
    *(one.__name__ for one in (noise.NoiseMasker, taxonomy_exponential.ExponentialMasker)),
}
MAY_NAME = {
    "cli/demo.py": "the demonstration masks its table by one method",
    "propose.py": "a table too small for groups is masked by one that needs none",
    "reproduction": "the papers' experiments are about single methods",
}
"""Places that may name methods, and why."""


def faults_of(code: str) -> Iterator[str]:
    """Where code asks what a method is, and the names of methods in it."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            asked = node.func.id
            if asked in {"isinstance", "issubclass"}:
                kinds = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
                kinds |= {one.attr for one in ast.walk(node.args[1]) if isinstance(one, ast.Attribute)}
                if kinds & CLASSES:
                    yield f"{asked} in line {node.lineno}"
            of = ast.unparse(node.args[0])
            if asked in {"getattr", "hasattr"} and of.rpartition(".")[2] in {"method", "masker"}:
                yield f"{asked} in line {node.lineno}"
        if isinstance(node, ast.Constant) and node.value in METHODS:
            yield f"{node.value!r} in line {node.lineno}"


def modules() -> list[Path]:
    own = SOURCE / "methods"
    return [path for path in sorted(SOURCE.rglob("*.py")) if own not in path.parents]


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(step.method, GroupSwap)",
        "isinstance(method, noise.NoiseParameters | Other)",
        "getattr(step.method, 'k', None)",
        "hasattr(method, 'reach')",
        "if name in {'group-swap', 'other'}: pass",
    ],
)
def test_what_must_not_be_asked_is_found(code: str) -> None:
    assert len(list(faults_of(code))) == 1


def test_nothing_outside_asks_a_method_for_its_type_or_its_name() -> None:
    found = {}
    for path in modules():
        where = path.relative_to(SOURCE).as_posix()
        faults = list(faults_of(path.read_text(encoding="utf-8")))
        if where in MAY_NAME or where.split("/")[0] in MAY_NAME:
            faults = [one for one in faults if not one.startswith("'")]
        if faults:
            found[where] = faults
    assert found == {}


@pytest.mark.parametrize("place", MAY_NAME)
def test_a_place_that_may_name_methods_does_so(place: str) -> None:
    paths = [path for path in modules() if path.relative_to(SOURCE).as_posix().startswith(place)]
    assert any(one.startswith("'") for path in paths for one in faults_of(path.read_text(encoding="utf-8")))
