"""All that the program knows of a method, an attack or a format of ontologies is in its class or its reader.

Nothing outside asks a method for its type, and nothing outside names one of them, or imports the module of one.
A class has a name of its own in the whole package.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import anonto
from anonto.attacks.registry import OWN as OWN_ATTACKS
from anonto.methods import blocks, method, noise, taxonomy_exponential
from anonto.methods import grid_swap as cells
from anonto.methods.parameters import parameters_known
from anonto.methods.registry import METHODS
from anonto.methods.registry import OWN as OWN_METHODS
from anonto.ontology.catalogue import LISTED
from anonto.ontology.readers import OWN as OWN_READERS

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
    *("k", "epsilon", "average_risk", "t", "l", "c"),  # of guarantees, and letters
    *("rate", "interval", "distribution", "candidates", "bins"),  # of results and their charts
    *("width", "scale"),  # of drawings
    "confidential",  # a role of columns
    "combinations",  # of columns that a profile counts
    "round",  # a key of recoding
    "block_rows",  # what evidence and private record say of blocks, whatever the method
}
"""Names of parameters that are also names of other things."""
LOOKS_AT_A_PART = {"startswith", "endswith", "find", "count", "partition", "rpartition", "removeprefix", "removesuffix"}
OTHER_WORDS = {"method", "person"}
"""Parts of names that are also keys."""
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
    """True if its names are no words of other sentences."""
    may_name: Mapping[str, str] | None = None
    """Places that may name them, and why."""
    may_import: Mapping[str, str] | None = None
    """Places that may import the modules, and why."""

    def __str__(self) -> str:
        return self.room


PAPERS = "the papers' experiments are about single methods"
RECODING = "`generalise` is a key of recoding, too"
VERBS = {"generalise", "suppress"}
"""Names of methods that are words of other sentences."""
METHOD = Kind(
    room="methods",
    names=frozenset(OWN_METHODS),
    modules=frozenset(f"anonto.methods.{name.replace('-', '_')}" for name in OWN_METHODS),
    may_name={"papers": PAPERS, "encoding/recode.py": RECODING},
    may_import={"papers": PAPERS},
)
ATTACK = Kind(
    room="attacks",
    names=frozenset(one.name for one in OWN_ATTACKS),
    modules=frozenset(type(one).__module__ for one in OWN_ATTACKS),
)
READER = Kind(
    room="ontology",
    names=frozenset(OWN_READERS) - frozenset(LISTED),  # a listed ontology may be called as its format
    modules=frozenset(f"anonto.ontology.{where.partition(':')[0]}" for where in OWN_READERS.values()),
    in_sentences=False,
    may_name={"papers/source.py": "a small taxonomy is made there, as if from a file"},
)
KINDS = (METHOD, ATTACK, READER)


# ------------------------------------------------------------------------------------------------ what is looked for


@cache
def nodes_of(code: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of code; kept, because every test looks at them."""
    return tuple(ast.walk(code))


def questions_in(code: ast.AST) -> Iterator[str]:
    """Where code asks what a method is."""
    for node in nodes_of(code):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        asked = node.func.id
        if asked in {"isinstance", "issubclass"}:
            kinds = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
            kinds |= {one.attr for one in ast.walk(node.args[1]) if isinstance(one, ast.Attribute)}
            if kinds & CLASSES:
                yield f"{asked} in line {node.lineno}"
        if asked in {"getattr", "hasattr"} and ast.unparse(node.args[0]).rpartition(".")[2] in {"method", "masker"}:
            yield f"{asked} in line {node.lineno}"


def texts_in(code: ast.AST) -> Iterator[ast.Constant]:
    """The texts of code that are no docstrings."""
    docstrings = {id(node.value) for node in nodes_of(code) if isinstance(node, ast.Expr)}
    for node in nodes_of(code):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node


def parameters_in(code: ast.AST) -> list[str]:
    """The names of parameters of methods in code."""
    return [f"{one.value!r} in line {one.lineno}" for one in texts_in(code) if one.value in PARAMETERS]


def names_in(code: ast.AST, kind: Kind) -> list[str]:
    """The names of a kind in code."""
    any_name = "|".join(re.escape(name) for name in sorted(kind.names - VERBS, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w-])({any_name})(?![\w-])")
    find = pattern.search if kind.in_sentences else pattern.fullmatch
    found = [one for one in texts_in(code) if find(one.value) or one.value in kind.names]
    return [f"{one.value!r} in line {one.lineno}" for one in found]


def fragments_in(code: ast.AST, kind: Kind) -> Iterator[str]:
    """Where code looks for a part of a name in a text, or asks how a text begins or ends."""
    for node in nodes_of(code):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            part: ast.AST = node.left
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS_AT_A_PART:
            part = ast.Tuple([*node.args])
        else:
            continue
        texts = [one.value for one in ast.walk(part) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if any(len(text) > 3 and text not in OTHER_WORDS and text in name for text in texts for name in kind.names):
            yield f"{ast.unparse(node)} in line {node.lineno}"


def imports_in(code: ast.AST, kind: Kind) -> list[str]:
    """The modules of a kind that code imports."""
    imported = [node for node in nodes_of(code) if isinstance(node, ast.ImportFrom) and node.module in kind.modules]
    return [f"{node.module} in line {node.lineno}" for node in imported]


# ------------------------------------------------------------------------------------------------ where


@cache
def parsed() -> dict[str, ast.AST]:
    """All modules, by their path."""
    paths = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
    return {where: ast.parse(path.read_text(encoding="utf-8")) for where, path in paths.items()}


def outside(room: str) -> dict[str, ast.AST]:
    """The modules outside a folder, by their path."""
    return {where: code for where, code in parsed().items() if not where.startswith(f"{room}/")}


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


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("'square' if 'swap' not in one['method'] else 'circle'", METHOD),
        ("method.name.startswith('rank-')", METHOD),
        ("name.endswith(('x', 'noise'))", METHOD),
        ("'linkage' in attack", ATTACK),
    ],
)
def test_a_part_of_a_name_is_found(code: str, kind: Kind) -> None:
    assert len(list(fragments_in(ast.parse(code), kind))) == 1


def test_other_words_are_not_found_as_names() -> None:
    assert names_in(ast.parse("'''About group-swap.'''\nx = 'rank-swaps'"), METHOD) == []
    assert names_in(ast.parse("x = 'files in obo'"), READER) == []
    assert list(fragments_in(ast.parse("'method' in step; 'int' in kind"), METHOD)) == []
    assert parameters_in(ast.parse("{'noise_level': 1}['k']")) == ["'noise_level' in line 1"]


def test_nothing_outside_asks_a_method_for_its_type_or_for_a_parameter() -> None:
    found = {
        where: faults
        for where, code in outside(METHOD.room).items()
        if (faults := [*questions_in(code), *([] if is_in(where, METHOD.may_name or ()) else parameters_in(code))])
    }
    assert found == {}


@pytest.mark.parametrize("kind", [METHOD, ATTACK], ids=str)
def test_nothing_outside_looks_for_a_part_of_a_name(kind: Kind) -> None:
    found = {where: faults for where, code in outside(kind.room).items() if (faults := [*fragments_in(code, kind)])}
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


def test_no_two_classes_have_the_same_name() -> None:
    named: dict[str, list[str]] = {}
    for where, code in parsed().items():
        for node in nodes_of(code):
            if isinstance(node, ast.ClassDef):
                named.setdefault(node.name, []).append(where)
    assert len(named) > 300
    assert {name: places for name, places in named.items() if len(places) > 1} == {}
