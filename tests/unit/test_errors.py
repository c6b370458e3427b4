"""Every message is one line that shows no cell, and every exception and warning survives the way between processes.

The sentences are functions all over the package; they are found by the type that they return.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
import re
from typing import TYPE_CHECKING

import pytest

import anonto
from anonto import errors, wording
from anonto.taxonomy.build import cyclic_relations

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST_SENTENCES = 158
"""Number of sentences when this was written: a search that finds fewer has lost some."""
MOST_TYPES = 25
CELL = "Jane Doe"
SAMPLES = {
    "int": 3,
    "float": 0.5,
    "bool": True,
    "Sequence[Sequence[str]]": [["a", "b"]],
    "Sequence[int]": [1, 2],
    "Collection[int]": [1, 2],
    "Iterable[int]": [1, 2],
}
TYPES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__ and issubclass(kind, (errors.AnontoError, errors.AnontoWarning))
]
WITH_SENTENCE = [
    kind for kind in TYPES if "__init__" in vars(kind) and "sentence" not in inspect.signature(kind).parameters
]
"""Types that always have the same sentence, which their constructor writes."""


def sentence_functions() -> list[Callable[..., Exception]]:
    """The functions of the package that return one of its exceptions or warnings."""
    names = {kind.__name__ for kind in TYPES}
    found = {}
    for module in pkgutil.walk_packages(anonto.__path__, "anonto."):
        if module.name.endswith("__main__"):
            continue
        loaded = importlib.import_module(module.name)
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            returns = function.__annotations__.get("return")
            if function.__module__ == module.name and returns in names and not name.startswith("_"):
                found[f"{module.name}.{name}"] = function
    return list(found.values())


SENTENCES = [*sentence_functions(), *WITH_SENTENCE]


def sample(annotation: str, text: str) -> object:
    wanted = annotation.removesuffix(" | None")
    if wanted in SAMPLES:
        return SAMPLES[wanted]
    if wanted.startswith("Mapping["):
        return {text: text}
    return [text, text] if wanted.startswith(("Sequence[", "Collection[", "Iterable[", "tuple[", "list[")) else text


def make(sentence: Callable[..., Exception], text: str = "x", **given: object) -> Exception:
    parameters = [one for one in inspect.signature(sentence).parameters.values() if one.name not in given]
    by_place = {one.name: sample(one.annotation, text) for one in parameters}
    return sentence(**by_place, **given)


def test_there_are_few_types_and_all_sentences_are_found() -> None:
    assert len(TYPES) <= MOST_TYPES
    assert len(SENTENCES) >= LEAST_SENTENCES


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one.__name__)
def test_every_exception_survives_pickling_with_its_message_and_attributes(sentence: Callable[..., Exception]) -> None:
    before = make(sentence)
    for after in (pickle.loads(pickle.dumps(before)), copy.copy(before)):  # noqa: S301 - our own bytes
        assert type(after) is type(before)
        assert (str(after), after.args, vars(after)) == (str(before), before.args, vars(before))


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind not in WITH_SENTENCE], ids=lambda kind: kind.__name__)
def test_every_type_survives_pickling_and_makes_one_line_of_its_sentence(kind: type[Exception]) -> None:
    before = kind("a\nb")
    after = pickle.loads(pickle.dumps(before))  # noqa: S301 - our own bytes
    assert (type(after), str(after), vars(after)) == (kind, r"a\nb", vars(before))


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one.__name__)
def test_every_sentence_is_one_line_with_a_full_stop(sentence: Callable[..., Exception]) -> None:
    message = str(make(sentence, "a\nb\r\x1b[31m\u2028c"))
    assert not set(message) & set("\n\r\x1b\u2028")
    assert message.endswith(".")


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one.__name__)
def test_no_message_quotes_more_than_a_line_of_anything(sentence: Callable[..., Exception]) -> None:
    message = str(make(sentence, "q" * 100_000))
    assert "q" * (wording.QUOTED + 1) not in message
    assert len(message) < 1_000


WITH_VALUES = [one for one in SENTENCES if "values" in inspect.signature(one).parameters]


@pytest.mark.parametrize("sentence", WITH_VALUES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("n", [1, 2])
def test_values_are_on_the_exception_and_never_in_its_message(sentence: Callable[..., Exception], n: int) -> None:
    error = make(sentence, values=[CELL] * n)
    assert isinstance(error, errors.InputError)
    assert error.values == (CELL,) * n
    assert CELL not in str(error)
    assert CELL not in error.on_the_command_line
    assert CELL not in repr(error)


def test_all_that_is_about_cells_takes_values() -> None:
    assert {one.__name__ for one in WITH_VALUES} == {
        "foreign_columns",
        "lost_digits",
        "missing_level",
        "mixed_dates",
        "mixed_notation",
        "not_dates",
        "not_in_order",
        "not_numeric",
        "other_columns",
        "unknown_concepts",
        "unknown_prefixes",
        "unmatched_values",
        "values_outside_root",
    }


@pytest.mark.parametrize("sentence", WITH_VALUES, ids=lambda one: one.__name__)
def test_the_command_line_does_not_speak_of_exceptions(sentence: Callable[..., Exception]) -> None:
    error = make(sentence)
    assert isinstance(error, errors.InputError)
    assert ".values" not in error.on_the_command_line


def test_an_overlong_cycle_says_how_much_is_left_out() -> None:
    cycle = [f"n{i}" for i in range(20)]
    error = cyclic_relations("x", [cycle], 20)
    assert "n0 → n1 → " in str(error)
    assert "n11 → … (8 more) → n0;" in str(error)
    assert error.values == (tuple(cycle),)


def test_a_cycle_of_twelve_is_shown_in_full() -> None:
    assert "n10 → n11 → n0;" in str(cyclic_relations("x", [[f"n{i}" for i in range(12)]], 12))


def test_both_ends_of_what_is_too_long_are_quoted_and_the_rest_of_the_sentence_stays() -> None:
    path = f"/first/{'x' * 200}/last.csv"
    message = str(errors.MissingFileError(path))
    assert message.startswith("There is no file or folder '/first/x")
    assert message.endswith("x/last.csv'; check the path.")
    assert len(message) < 140
    short = "The exception's .values say it's 'a' and \"b's\", " + "and so on " * 20 + "of 'c'."
    assert str(errors.AnontoError(short)) == short


HUGE = {
    "a number": 10**5_000,
    "a negative number": -(10**5_000),
    "a deep list": [[[[["x"]]]]] * 500,
    "a deep table": {"a": {"b": {"c": {"d": 1}}}},
    "a text": "q" * 500,
}


@pytest.mark.parametrize("what", HUGE)
def test_any_parameter_value_is_quoted_briefly(what: str) -> None:
    assert len(str(errors.ParameterError("k", "a number", HUGE[what]))) < 150


def test_no_sentence_with_facts_is_written_outside_the_functions_that_are_tested_here() -> None:
    types = "|".join(kind.__name__ for kind in TYPES if kind not in WITH_SENTENCE)
    with_facts = re.compile(rf"raise (?:{types})\(\s*f\"")
    for module in pkgutil.walk_packages(anonto.__path__, "anonto."):
        if not module.name.endswith("__main__"):
            assert not with_facts.findall(inspect.getsource(importlib.import_module(module.name))), module.name


@pytest.mark.parametrize("former", ["CycleError", "NotNumericError", "NegativeRadicandWarning"])
def test_a_type_that_the_documentation_named_before_warns_and_is_the_one_that_replaces_it(former: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"anonto.errors.{former} is now anonto.errors"):
        found = getattr(errors, former)
    assert issubclass(found, (errors.InputError, errors.AnontoWarning))
    with pytest.raises(AttributeError, match="NoSuchError"):
        errors.NoSuchError  # noqa: B018
