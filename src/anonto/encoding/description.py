"""The description of one column in a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from anonto.encoding.recode import Recode, recode_schema
from anonto.encoding.refusals import unknown_key
from anonto.encoding.series import number_text
from anonto.encoding.set_space import SET_DISTANCES, Layout
from anonto.errors import ParameterError
from anonto.io.date_notation import PATTERNS
from anonto.io.notation import DECIMALS
from anonto.ontology.spelling import SPELLINGS
from anonto.taxonomy.refusals import unknown_measure
from anonto.taxonomy.taxonomy import Taxonomy

KINDS = ("nominal", "ordinal", "numeric", "date", "set")
KINDS_OF_NUMBERS = ("numeric", "date")
"""The kinds of columns whose values are numbers, with means and sums."""
KINDS_OF_CONCEPTS = ("nominal", "set")
"""The kinds of columns that may have an ontology."""
ROLES = ("identifier", "quasi-identifier", "confidential", "other", "pseudonym", "free-text")
NEVER_MASKED = ("identifier", "pseudonym", "free-text")
"""The roles of columns that no step masks."""
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
    "notation": PATTERNS,
    "set_distance": SET_DISTANCES,
}
"""The keys of a column with a fixed list of values."""
KEY_OF = {"from_columns": "from"}
"""Fields whose key in a plan is a word of Python."""

OntologyChoice = str | Taxonomy | tuple[str | Taxonomy, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDescription:
    """Kind, role, ontology and policies of a column; checks itself."""

    kind: str = "nominal"
    """`"nominal"`: names or codes without an order; `"ordinal"`: the values of `order`; `"numeric"`: numbers; `"date"`:
    dates, also with a time, times of day, or durations; `"set"`: several names or codes in a cell, in the columns of
    `from`, or in several rows of a person."""
    role: str = "quasi-identifier"
    """`"identifier"`: the column is dropped; `"quasi-identifier"`, `"confidential"`, `"other"`: masked if a step names
    the column, otherwise released as it is. A quasi-identifier that no step names causes a warning. `"pseudonym"`: each
    value is replaced by a pseudonym, the same in all rows and columns of the release; the column that `person` names is
    released as numbers. `"free-text"`: the column is dropped, because a text may name a person, unless `keep` is
    true."""
    ontology: OntologyChoice = None
    """For a nominal column: a path, relative to the plan's folder, or a name that `anonto ontologies` lists. With a
    list of several, the mean of their distances is used. In Python also a `Taxonomy`. Without an ontology, two values
    are equal or not."""
    root: str = "ontology"
    """`"ontology"`, `"lcs"` (the least common subsumer of the values), or the id of a concept: the declared domain."""
    measure: str = "wu-palmer"
    """How the distance between two concepts is measured."""
    information_content: str = "sanchez"
    """`"sanchez"`, `"seco"` or `"data"`, for the measures that use information content."""
    spelling: str = "id"
    """How a released concept is written if a method chose it and no cell was moved: `"id"`, `"id-without-dots"` or
    `"label"`. A concept that would not be read back from that spelling is written by its id."""
    missing: str = "keep"
    """`"keep"`: a missing cell stays missing; `"drop"`: its record is left out; `"refuse"`: the run stops."""
    missing_codes: str = "merge"
    """If missing cells of a masked column have different codes, such as an empty cell and the texts of `na`: `"merge"`
    releases all with one code, the first of `na` that the column's type can hold, otherwise the first that an SPSS file
    declares, otherwise null; `"keep"` releases each with its own code, which may break a proof of k-anonymity, and is
    not for sets."""
    unmatched: str = "refuse"
    """If a value has no concept: `"refuse"`: the run stops; `"keep"`: the cell is released as it is, and no guarantee
    is proved for the step (`group-swap` moves such cells like values); `"drop"`: its record is left out;
    `"nearest-ancestor"`: the value counts as the concept whose code is the longest prefix of its own."""
    order: tuple[str, ...] = ()
    """For an ordinal column, required: all values, lowest first."""
    decimal: str | None = None
    """For a numeric column of texts: the decimal sign, `"."` or `","`. By default it is found from the values."""
    notation: str | None = None
    """For a date: the order of day (`d`), month (`m`, or its name `b` or `B`) and year (`Y`), if not all dates of the
    column together show it. By default it is found from the values."""
    from_columns: tuple[str, ...] = ()
    """For a set: the columns whose cells are its elements. In a plan the key is `from`."""
    separator: str | None = None
    """For a set that is a text: what stands between its elements, such as `";"`."""
    set_distance: str = "matching"
    """How the distance between two sets follows from those of their elements: `"matching"` (each element has one
    partner at most) or `"best-match-average"` (each has the nearest of the other set)."""
    na: tuple[str, ...] = ()
    """Texts that mean missing, exactly as they are spelt."""
    keep: bool = False
    """For a column of the role `"free-text"`: `true` releases the texts as they are, with a warning."""
    key_file: str | None = None
    """For a column of the role `"pseudonym"`: a file with the secret key, so that pseudonyms are the same in all
    releases that use it. It is made if it is not there. By default pseudonyms are random in every release."""
    recode: Recode | None = None
    """How its cells are made coarser before anything is counted and before any step: see [recode](#recode)."""
    review: bool = False
    """`true`: somebody must still confirm this description; masking warns about it, and no guarantee is proved while
    the column is released."""
    layout: Layout | None = field(default=None, repr=False)
    """For a set in the records that `anonto.masking.units` makes: how new sets become rows. It is no key of a plan."""

    @classmethod
    def key_fields(cls) -> list[Field[Any]]:
        """The fields that are keys of a plan."""
        return [field for field in fields(cls) if field.name != "layout"]

    @classmethod
    def from_mapping(cls, name: str, given: Any) -> ColumnDescription:
        """Check the keys of a plan; every message names the column."""
        where = f"column {name!r}"
        if isinstance(given, ColumnDescription):
            return given
        if not isinstance(given, Mapping):
            raise ParameterError(f"The description of {where}", "a table of keys such as kind and role", type(given))
        field_of = {KEY_OF.get(field.name, field.name): field.name for field in cls.key_fields()}
        for key in given:
            if key not in field_of:
                raise unknown_key(str(key), f"The description of {where}", list(field_of))
        values: dict[str, Any] = {
            field_of[key]: tuple(value) if isinstance(value, list) else value for key, value in given.items()
        }
        if "recode" in values:
            values["recode"] = Recode.from_mapping(where, values["recode"])
        description = cls(**values)
        description.check(where)
        return description._with_codes_as_numbers()

    def _with_codes_as_numbers(self) -> ColumnDescription:
        """Add each code of ``na`` as a column of numbers spells it: -9.0 is the cell -9."""
        if self.kind != "numeric":
            return self
        return replace(self, na=tuple(dict.fromkeys([*self.na, *filter(None, map(number_text, self.na))])))

    def to_mapping(self, *, everything: bool = False) -> dict[str, Any]:
        """The keys of a plan: kind, role and all that differ from their default, or everything that is set."""
        plain = {field.name: getattr(self, field.name) for field in self.key_fields()}
        standard = ColumnDescription()
        return {
            KEY_OF.get(key, key): _as_in_plan(value)
            for key, value in plain.items()
            if key in {"kind", "role"} or value != getattr(standard, key) or (everything and value not in (None, ()))
        }

    def check(self, where: str) -> None:
        """Refuse values that no key may have."""
        from anonto.taxonomy.distance import MEASURES

        for key, known in CHOICES.items():
            value = getattr(self, key)
            if value not in known and (key not in {"decimal", "notation"} or value is not None):
                raise ParameterError(f"{key} of {where}", f"one of {', '.join(known)}", value)
        if self.measure not in MEASURES:
            raise unknown_measure(self.measure, MEASURES)
        for key in ("order", "na", "from_columns"):
            texts = getattr(self, key)
            if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
                raise ParameterError(f"{KEY_OF.get(key, key)} of {where}", "a list of texts", "something else")
        self._check_set(where)
        self._check_recode(where)
        if self.kind == "ordinal" and (not self.order or len(set(self.order)) != len(self.order)):
            raise ParameterError(f"order of {where}", "a list of different texts, lowest first", list(self.order))
        if not isinstance(self.keep, bool) or (self.keep and self.role != "free-text"):
            raise ParameterError(f"keep of {where}", "true for the role 'free-text' only", self.keep)
        if self.key_file is not None and (not isinstance(self.key_file, str) or self.role != "pseudonym"):
            raise ParameterError(f"key_file of {where}", "the path of a file, for the role 'pseudonym'", self.key_file)
        if not isinstance(self.review, bool):
            raise ParameterError(f"review of {where}", "true or false", self.review)
        if not isinstance(self.root, str):
            raise ParameterError(f"root of {where}", "'ontology', 'lcs' or a concept id", "something else")
        if not self.ontologies_are_valid():
            raise ParameterError(f"ontology of {where}", "a path, a listed name, or a list of these", "something else")

    def _check_set(self, where: str) -> None:
        """Refuse keys of sets that contradict each other, or that a column of another kind has."""
        separator = self.separator
        if separator is not None and (not isinstance(separator, str) or not separator):
            raise ParameterError(f"separator of {where}", "a text such as ';'", separator)
        if self.kind == "set" and self.missing_codes != "merge":
            raise ParameterError(f"missing_codes of {where}", "'merge' for a set", self.missing_codes)
        if self.kind != "set":
            if self.from_columns or separator is not None:
                raise ParameterError(f"kind of {where}", "'set', which from and separator are for", self.kind)
        elif self.from_columns and separator is not None:
            raise ParameterError(f"separator of {where}", "left out where from is given", separator)
        elif len(set(self.from_columns)) != len(self.from_columns):
            raise ParameterError(f"from of {where}", "a list of different columns", list(self.from_columns))

    def _check_recode(self, where: str) -> None:
        """Refuse recoding of a column that is dropped, or of another kind."""
        if self.recode is None:
            return
        if not isinstance(self.recode, Recode):
            raise ParameterError(f"recode of {where}", "a table of keys such as top or prefix", type(self.recode))
        if self.role in NEVER_MASKED:
            must = "left out: the cells of a column with this role are not released"
            raise ParameterError(f"recode of {where}", must, self.recode.to_mapping())
        kind = self.kind if self.kind != "nominal" else "concept" if self.ontologies else "text"
        self.recode.require_kind(kind, where)

    def ontologies_are_valid(self) -> bool:
        """Return whether the ontology is given in a form that can be opened."""
        return all(isinstance(one, str | Taxonomy) for one in self.ontologies)

    @property
    def ontologies(self) -> tuple[str | Taxonomy, ...]:
        """All ontologies of the column."""
        if self.ontology is None:
            return ()
        return self.ontology if isinstance(self.ontology, tuple) else (self.ontology,)

    @property
    def has_concepts(self) -> bool:
        """Whether its values, or the elements of its sets, are concepts of an ontology."""
        return self.kind in KINDS_OF_CONCEPTS and bool(self.ontologies)

    @property
    def is_dropped(self) -> bool:
        """True if the column is not in the release."""
        return self.role == "identifier" or (self.role == "free-text" and not self.keep)

    @property
    def has_policy(self) -> bool:
        """True if cells of the column may refuse a table or drop records, even if no step masks it."""
        return self.missing == "refuse" or self.may_drop_records

    @property
    def may_drop_records(self) -> bool:
        """True if a cell of the column may drop its record."""
        return self.missing == "drop" or self.drops_unmatched

    @property
    def drops_unmatched(self) -> bool:
        """True if a value without a concept drops its record."""
        return self.unmatched == "drop" and self.has_concepts


def _as_in_plan(value: Any) -> Any:
    if isinstance(value, Recode):
        return value.to_mapping()
    return list(value) if isinstance(value, tuple) else value


def column_schema() -> dict[str, Any]:
    """The JSON Schema of a column description."""
    from anonto.taxonomy.distance import MEASURES

    texts: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
    choices: dict[str, Any] = {key: {"enum": list(known)} for key, known in {**CHOICES, "measure": MEASURES}.items()}
    other: dict[str, Any] = {
        "ontology": {"anyOf": [{"type": "string"}, texts]},
        "root": {"type": "string"},
        "order": texts,
        "na": texts,
        "from_columns": texts,
        "separator": {"type": "string", "minLength": 1},
        "keep": {"type": "boolean"},
        "key_file": {"type": "string"},
        "recode": recode_schema(),
        "review": {"type": "boolean"},
    }
    properties = {}
    for one in ColumnDescription.key_fields():
        default = list(one.default) if isinstance(one.default, tuple) else one.default
        assumed = {} if default is None else {"default": default}
        properties[KEY_OF.get(one.name, one.name)] = {**(choices.get(one.name) or other[one.name]), **assumed}
    return {"type": "object", "properties": properties, "additionalProperties": False}
