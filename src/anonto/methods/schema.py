"""The methods as plain data: for lists of them, for forms, and as the JSON Schema of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.methods.parameters import SMALL_STRATA, parameters_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.methods.method import Method
    from anonto.methods.parameters import NamedParameter, Parameter

TYPES = {"whole number": "integer", "number": "number", "flag": "boolean", "column": "string", "text": "string"}

COLUMN_NAMES = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
    ]
}


def describe_method(method: type[Method]) -> dict[str, Any]:
    """A method with its parameters."""
    words = method.words
    return {
        "name": method.name,
        "title": words.title,
        "summary": words.summary,
        "does": words.does,
        "columns": words.columns,
        "keeps": words.keeps,
        "proves": words.proves,
        "proved": words.proved,
        "is_naive": method.is_naive,
        "takes_sets": method.takes_sets,
        "keeps_order": method.takes_sets and method.is_swap,
        "one_of": list(method.one_of),
        "parameters": [_describe_parameter(one, method.one_of) for one in parameters_known(method)],
    }


def _describe_parameter(one: NamedParameter, one_of: Sequence[str]) -> dict[str, Any]:
    takes = one.takes
    assumed = "none" if one.default is None else str(one.default)
    if one.is_needed or one.name in one_of:
        assumed = f"{' or '.join(one_of)} is needed" if one.name in one_of else "needed"
    return {
        "name": one.name,
        "kind": takes.kind,
        "label": takes.label,
        "why": takes.why,
        "must": takes.must,
        "choices": list(takes.choices),
        "lists": takes.lists,
        "is_needed": one.is_needed,
        "default": one.default,
        "assumed": assumed.lower() if takes.kind == "flag" else assumed,
        "start": takes.start,
        "offered": list(takes.offered),
    }


def schema_of_step(method: type[Method]) -> dict[str, Any]:
    """The JSON Schema of a step with a method."""
    known = parameters_known(method)
    schema: dict[str, Any] = {
        "title": method.name,
        "description": f"{method.name} {method.words.summary}. Proved: {method.words.proves}.",
        "type": "object",
        "properties": {
            "method": {"const": method.name},
            "columns": {"description": "The columns that the step masks.", **COLUMN_NAMES},
            "within": {
                "description": "Columns whose cells define strata; each is masked like a table of its own.",
                **COLUMN_NAMES,
            },
            "small_strata": {
                "description": "Strata with fewer rows than the method needs: refuse them, pool them or leave them.",
                "enum": list(SMALL_STRATA),
                "default": "refuse",
            },
            **{one.name: _schema(one) for one in known},
        },
        "required": ["method", "columns", *(one.name for one in known if one.is_needed)],
        "additionalProperties": False,
    }
    if method.one_of:
        schema["oneOf"] = [{"required": [name]} for name in method.one_of]
    return schema


def _schema(one: NamedParameter) -> dict[str, Any]:
    takes = one.takes
    found: dict[str, Any] = {"description": takes.why or takes.label}
    each = _of_value(takes)
    listed = {"type": "array", "items": each, "minItems": 1}
    found |= {"never": each, "allowed": {"anyOf": [each, listed]}, "only": listed}[takes.lists]
    if takes.takes_names:
        names = {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}
        either = [each, {"type": "array", "items": names, "minItems": 1}]
        found = {"description": found["description"], "anyOf": either}
    return found if one.default is None else {**found, "default": one.default}


def _of_value(takes: Parameter) -> dict[str, Any]:
    if takes.kind == "choice":
        return {"enum": list(takes.choices)}
    limits = {"minimum": takes.low, "exclusiveMinimum": takes.above, "maximum": takes.high}
    return {"type": TYPES[takes.kind], **{name: value for name, value in limits.items() if value is not None}}
