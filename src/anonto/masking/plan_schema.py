"""The JSON Schema of a plan."""

from __future__ import annotations

from typing import Any

from anonto.encoding.description import column_schema
from anonto.masking.plan_sections import TABLE_KEYS
from anonto.methods.registry import METHODS
from anonto.methods.schema import schema_of_step


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of a plan; the methods of other packages are in it."""
    table: dict[str, Any] = {key: {"type": "string"} for key in TABLE_KEYS}
    table["at_most"] = {"type": "integer", "minimum": 1}
    table["population"] = {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of anonto",
        "type": "object",
        "properties": {
            "table": {"type": "object", "properties": table, "additionalProperties": False}
            | {"dependentRequired": {"at_most": ["person"], "order": ["person"]}},
            "columns": {"type": "object", "additionalProperties": column_schema()},
            "steps": {"type": "array", "items": {"oneOf": [schema_of_step(one) for one in METHODS.values()]}},
        },
        "additionalProperties": False,
    }
