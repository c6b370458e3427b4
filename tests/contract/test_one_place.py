"""All that the program knows of a method, an attack or a format of ontologies is in its class or its reader.

Nothing outside asks a method for its type, and nothing outside names one of them, or imports the module of one.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import anonto
from anonto.methods import blocks, cells, method, noise, taxonomy_exponential
from anonto.methods.parameters import parameters_known
from anonto.methods.registry import METHODS
from anonto.methods.registry import OWN as OWN_METHODS
from anonto.ontology.catalogue import LISTED
from anonto.ontology.readers import OWN as OWN_READERS
from anonto.risk.attacks.registry import OWN as OWN_ATTACKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SOURCE = Path(anonto.__file__).parent
CLASSES = {
    *(one.__name__ for one in METHODS.values()),
    *(one.__name__ for one in (method.BaseMethod, method.ColumnMethod, method.RecordMethod, method.RowMethod)),
    *(one.__name__ for one in (blocks.BlockMethod, cells.CellMethod, noise.NoiseParameters)),
    *(one.__name__ for one in (noise.NoiseMasker, taxonomy_exponential.ExponentialMasker)),
}
OTHERWISE = {
    *("k", "epsilon", "t"),  # of guarantees, and letters
    *("rate", "interval", "distribution", "candidates", "bins"),  # of results and their charts
    *("width", "scale"),  # of drawings
    "confidential",  # a role of columns
    "block_rows",  # what evidence and private record say of blocks, whatever the method
}
"""Names of parameters that are also names of other things."""
PARAMETERS = {one.name for each in METHODS.values() for one in parameters_known(each)} - OTHERWISE


@dataclass(frozen=True)
class Kind:
    """Things that are one place each."""

    room: str
    """The folder whose modules may know all of them."""
    names: frozenset[str]
    modules: frozenset[str]
    """Where each of them is."""
    in_sentences: bool = True
    """Whether its names are no words of other sentences."""
    may_name: Mapping[str, str] | None = None
    """Places that may name them, and why."""
    may_import: Mapping[str, str] | None = None
    """Places that may import the modules, and why."""

    def __str__(self) -> str:
        return self.room


PAPERS = "the papers' experiments are about single methods"
METHOD = Kind(
    room="methods",
    names=frozenset(OWN_METHODS),
    modules=frozenset(f"anonto.methods.{name.replace('-', '_')}" for name in OWN_METHODS),
    may_name={"reproduction": PAPERS},
    may_import={"reproduction": PAPERS, "engine": "rows are exchanged cell by cell outside memory"},
)
ATTACK = Kind(
    room="risk/attacks",
    names=frozenset(one.name for one in OWN_ATTACKS),
    modules=frozenset(type(one).__module__ for one in OWN_ATTACKS),
    may_name={
        "report/views.py": "what is read off cells stands in a table of its own",
        "report/verdict.py": "two sentences are about the result of one attack",
        "web/pages/result.py": "the page has a card of its own for some results",
        "web/pages/risk.py": "the page is made of the results of three attacks",
    },
    may_import={
        "risk": "what computes takes the name from the class",
        "report/attacks.py": "rows in their order are no figure to be rounded",
        "report/verdict.py": "rows in their order have a sentence of their own",
        "assessment.py": "Assessment.partial is the result of one attack",
    },
)
READER = Kind(
    room="ontology",
    names=frozenset(OWN_READERS) - frozenset(LISTED),  # a listed ontology may be called as its format
    modules=frozenset(f"anonto.ontology.{where.partition(':')[0]}" for where in OWN_READERS.values()),
    in_sentences=False,
    may_name={"reproduction/source.py": "a small taxonomy is made there, as if from a file"},
)
KINDS = (METHOD, ATTACK, READER)


# ------------------------------------------------------------------------------------------------ what is looked for


def questions_in(code: ast.AST) -> Iterator[str]:
    """Where code asks what a method is."""
    for node in ast.walk(code):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        asked = node.func.id
        if asked in {"isinstance", "issubclass"}:
            kinds = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
            kinds |= {one.attr for one in ast.walk(node.args[1]) if isinstance(one, ast.Attribute)}
            if kinds & CLASSES:
                yield f"{asked} in line {node.lineno}"
        of = ast.unparse(node.args[0])
        if asked in {"getattr", "hasattr"} and of.rpartition(".")[2] in {"method", "masker"}:
            yield f"{asked} in line {node.lineno}"


def texts_in(code: ast.AST) -> Iterator[ast.Constant]:
    """The texts of code that are no docstrings."""
    docstrings = {id(node.value) for node in ast.walk(code) if isinstance(node, ast.Expr)}
    for node in ast.walk(code):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node


def parameters_in(code: ast.AST) -> list[str]:
    """The names of parameters of methods in code."""
    return [f"{one.value!r} in line {one.lineno}" for one in texts_in(code) if one.value in PARAMETERS]


def names_in(code: ast.AST, kind: Kind) -> list[str]:
    """The names of a kind in code."""
    any_name = "|".join(re.escape(name) for name in sorted(kind.names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w-])({any_name})(?![\w-])")
    find = pattern.search if kind.in_sentences else pattern.fullmatch
    found = [(one, find(one.value)) for one in texts_in(code)]
    return [f"{match[1]!r} in line {one.lineno}" for one, match in found if match]


def imports_in(code: ast.AST, kind: Kind) -> list[str]:
    """The modules of a kind that code imports."""
    imported = [node for node in ast.walk(code) if isinstance(node, ast.ImportFrom) and node.module in kind.modules]
    return [f"{node.module} in line {node.lineno}" for node in imported]


# ------------------------------------------------------------------------------------------------ where


def outside(room: str) -> dict[str, ast.AST]:
    """The modules outside a folder, by their path."""
    paths = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
    return {
        where: ast.parse(path.read_text(encoding="utf-8"))
        for where, path in paths.items()
        if not where.startswith(f"{room}/")
    }


def is_in(where: str, places: Iterable[str]) -> bool:
    return any(where == place or where.startswith(f"{place}/") for place in places)


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(step.method, GroupSwap)",
        "isinstance(method, noise.NoiseParameters | Other)",
        "getattr(step.method, 'k', None)",
        "hasattr(method, 'reach')",
    ],
)
def test_a_question_that_must_not_be_asked_is_found(code: str) -> None:
    assert len(list(questions_in(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("if name in {'group-swap', 'other'}: pass", METHOD),
        ("f'take {k} of rank-swap, or more'", METHOD),
        ("one['attack'] == 'real-k'", ATTACK),
        ("format == 'obo'", READER),
    ],
    ids=str,
)
def test_a_name_is_found(code: str, kind: Kind) -> None:
    assert len(names_in(ast.parse(code), kind)) == 1


def test_what_is_no_name_is_not_found() -> None:
    assert names_in(ast.parse("'''About group-swap.'''\nx = 'rank-swaps'"), METHOD) == []
    assert names_in(ast.parse("x = 'files in obo'"), READER) == []
    assert parameters_in(ast.parse("{'noise_level': 1}['k']")) == ["'noise_level' in line 1"]


def test_nothing_outside_asks_a_method_for_its_type_or_for_a_parameter() -> None:
    found = {
        where: faults
        for where, code in outside(METHOD.room).items()
        if (faults := [*questions_in(code), *([] if is_in(where, METHOD.may_name or ()) else parameters_in(code))])
    }
    assert found == {}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_nothing_outside_names_one_of_a_kind_or_imports_its_module(kind: Kind) -> None:
    modules = outside(kind.room)
    names = {where for where, code in modules.items() if names_in(code, kind)}
    imports = {where for where, code in modules.items() if imports_in(code, kind)}
    assert [where for where in names if not is_in(where, kind.may_name or ())] == []
    assert [where for where in imports if not is_in(where, kind.may_import or ())] == []
    for found, places in ((names, kind.may_name), (imports, kind.may_import)):
        assert [place for place in places or () if not any(is_in(where, [place]) for where in found)] == []
