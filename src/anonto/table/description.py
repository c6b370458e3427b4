"""What a plan says of one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from anonto.errors import ParameterError, UnknownKeyError, UnknownMeasureError
from anonto.ontology.spelling import SPELLINGS
from anonto.table.notation import DECIMALS
from anonto.table.series import number_text
from anonto.taxonomy.taxonomy import Taxonomy

KINDS = ("nominal", "ordinal", "numeric")
ROLES = ("identifier", "quasi-identifier", "confidential", "other")
MISSING_POLICIES = ("keep", "drop", "refuse")
CODES_POLICIES = ("merge", "keep")
UNMATCHED_POLICIES = ("refuse", "keep", "drop", "nearest-ancestor")
CONTENTS = ("sanchez", "seco", "data")
CHOICES: Mapping[str, Sequence[str]] = {
    "kind": KINDS,
    "role": ROLES,
    "missing": MISSING_POLICIES,
    "missing_codes": CODES_POLICIES,
    "unmatched": UNMATCHED_POLICIES,
    "information_content": CONTENTS,
    "spelling": SPELLINGS,
    "decimal": DECIMALS,
}
"""The keys of a column that take one of some words."""

OntologyChoice = str | Taxonomy | tuple[str | Taxonomy, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDescription:
    """Kind, role, ontology and policies of a column; checks itself."""

    kind: str = "nominal"
    role: str = "quasi-identifier"
    ontology: OntologyChoice = None
    """A path, a listed name, a taxonomy, or several of these (then the mean of their distances is taken)."""
    root: str = "ontology"
    measure: str = "wu-palmer"
    information_content: str = "sanchez"
    spelling: str = "id"
    """How concepts are written that no cell is moved for."""
    missing: str = "keep"
    missing_codes: str = "merge"
    """Whether missing cells that stay in their rows are released with one code, or each with its own."""
    unmatched: str = "refuse"
    order: tuple[str, ...] = ()
    decimal: str | None = None
    """The decimal sign of numbers; None where the values tell it."""
    na: tuple[str, ...] = ()
    """Texts that mean missing."""
    review: bool = False
    """Whether a person must still confirm what the plan says of this column."""

    @classmethod
    def from_mapping(cls, name: str, given: Any) -> ColumnDescription:
        """From the keys of a plan, with the name of the column in every message."""
        where = f"column {name!r}"
        if isinstance(given, ColumnDescription):
            return given
        if not isinstance(given, Mapping):
            raise ParameterError(f"The description of {where}", "a table of keys such as kind and role", type(given))
        known = [field.name for field in fields(cls)]
        for key in given:
            if key not in known:
                raise UnknownKeyError(str(key), f"The description of {where}", known)
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
        }
        description = cls(**values)
        description.check(where)
        return description._with_codes_as_numbers()

    def _with_codes_as_numbers(self) -> ColumnDescription:
        """The same with each code of ``na`` also as a column of numbers has it: -9.0 is the cell -9."""
        if self.kind != "numeric":
            return self
        return replace(self, na=tuple(dict.fromkeys([*self.na, *filter(None, map(number_text, self.na))])))

    def to_mapping(self, *, everything: bool = False) -> dict[str, Any]:
        """The keys of a plan that differ from what is assumed without them, kind and role always; or all that are set.

        Args:
            everything: Also what is assumed.
        """
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        standard = ColumnDescription()
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in plain.items()
            if key in {"kind", "role"} or value != getattr(standard, key) or (everything and value not in (None, ()))
        }

    def check(self, where: str) -> None:
        """Refuse values that no key may have."""
        from anonto.taxonomy.distance import MEASURES

        for key, known in CHOICES.items():
            value = getattr(self, key)
            if value not in known and (key != "decimal" or value is not None):
                raise ParameterError(f"{key} of {where}", f"one of {', '.join(known)}", value)
        if self.measure not in MEASURES:
            raise UnknownMeasureError(self.measure, MEASURES)
        for key in ("order", "na"):
            texts = getattr(self, key)
            if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
                raise ParameterError(f"{key} of {where}", "a list of texts", "something else")
        if self.kind == "ordinal" and (not self.order or len(set(self.order)) != len(self.order)):
            raise ParameterError(f"order of {where}", "a list of different texts, lowest first", list(self.order))
        if not isinstance(self.review, bool):
            raise ParameterError(f"review of {where}", "true or false", self.review)
        if not isinstance(self.root, str):
            raise ParameterError(f"root of {where}", "'ontology', 'lcs' or a concept id", "something else")
        if not self.ontologies_are_valid():
            raise ParameterError(f"ontology of {where}", "a path, a listed name, or a list of these", "something else")

    def ontologies_are_valid(self) -> bool:
        """Whether the ontology is given in a form that can be opened."""
        return all(isinstance(one, str | Taxonomy) for one in self.ontologies)

    @property
    def ontologies(self) -> tuple[str | Taxonomy, ...]:
        """All ontologies of the column."""
        if self.ontology is None:
            return ()
        return self.ontology if isinstance(self.ontology, tuple) else (self.ontology,)

    @property
    def has_policy(self) -> bool:
        """Whether cells of the column may refuse a table or drop records, even if no step masks it."""
        return self.missing != "keep" or (self.unmatched == "drop" and bool(self.ontologies))


def column_schema() -> dict[str, Any]:
    """The JSON Schema of what a plan says of a column."""
    from anonto.taxonomy.distance import MEASURES

    texts: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
    choices: dict[str, Any] = {key: {"enum": list(known)} for key, known in {**CHOICES, "measure": MEASURES}.items()}
    other: dict[str, Any] = {
        "ontology": {"anyOf": [{"type": "string"}, texts]},
        "root": {"type": "string"},
        "order": texts,
        "na": texts,
        "review": {"type": "boolean"},
    }
    properties = {}
    for field in fields(ColumnDescription):
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        assumed = {} if default is None else {"default": default}
        properties[field.name] = {**(choices.get(field.name) or other[field.name]), **assumed}
    return {"type": "object", "properties": properties, "additionalProperties": False}
