"""Every message is one line, and every exception and warning survives the way between processes."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from anonto import errors

SAMPLES = {
    "int": 3,
    "float": 0.5,
    "bool": True,
    "Sequence[Sequence[str]]": [["a", "b"]],
    "Sequence[int]": [1, 2],
    "Collection[int]": [1, 2],
    "Iterable[int]": [1, 2],
}
CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__ and issubclass(kind, (errors.AnontoError, errors.AnontoWarning))
]


def sample(annotation: str, text: str) -> object:
    wanted = annotation.removesuffix(" | None")
    if wanted in SAMPLES:
        return SAMPLES[wanted]
    if wanted.startswith("Mapping["):
        return {text: text}
    return [text, text] if wanted.startswith(("Sequence[", "Collection[", "Iterable[", "tuple[", "list[")) else text


def made(kind: type[Exception], text: str = "x") -> Exception:
    if "__init__" not in vars(kind):
        return kind(text)
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    by_place = [sample(p.annotation, text) for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_name = {p.name: sample(p.annotation, text) for p in parameters if p.kind is p.KEYWORD_ONLY}
    return kind(*by_place, **by_name)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_class_survives_pickling_with_its_message_and_attributes(kind: type[Exception]) -> None:
    before = made(kind)
    for after in (pickle.loads(pickle.dumps(before)), copy.copy(before)):  # noqa: S301 - our own bytes
        assert type(after) is kind
        assert (str(after), after.args, vars(after)) == (str(before), before.args, vars(before))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_no_text_makes_a_message_of_several_lines(kind: type[Exception]) -> None:
    message = str(made(kind, "a\nb\r\x1b[31m\u2028c"))
    assert not set(message) & set("\n\r\x1b\u2028")


def test_an_overlong_cycle_says_how_much_is_left_out() -> None:
    cycle = [f"n{i}" for i in range(20)]
    error = errors.CycleError("x", [cycle], 20)
    assert "n0 → n1 → " in str(error)
    assert "n11 → … (8 more) → n0;" in str(error)
    assert error.cycles == (tuple(cycle),)


def test_a_cycle_of_twelve_is_shown_in_full() -> None:
    assert "n10 → n11 → n0;" in str(errors.CycleError("x", [[f"n{i}" for i in range(12)]], 12))


SENTENCES = {"PlanError", "WorkRefusedError", "UnplacedValuesError"}
"""Classes that are given their sentence, or parts of it, and not what it quotes; and those without a sentence."""
QUOTING = [
    kind for kind in CLASSES if kind.__name__ not in SENTENCES and kind.__init__ is not errors.AnontoError.__init__
]


@pytest.mark.parametrize("kind", QUOTING, ids=lambda kind: kind.__name__)
def test_no_message_quotes_more_than_a_line_of_anything(kind: type[Exception]) -> None:
    message = str(made(kind, "q" * 100_000))
    assert "q" * (errors.QUOTED + 1) not in message
    assert len(message) < 1_000


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
def test_any_value_of_a_parameter_is_told_in_short(what: str) -> None:
    assert len(str(errors.ParameterError("k", "a number", HUGE[what]))) < 150
