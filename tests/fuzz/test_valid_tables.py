"""Valid tables of every column type and library, masked, saved in every format, read back and assessed."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import anonto
from anonto.errors import (
    AllMissingError,
    AnontoWarning,
    ColumnError,
    ReleaseError,
    TooFewRecordsError,
    UnwritableFileError,
)
from anonto.io.reading import read_table
from contract.test_every_method import EXAMPLES, NEED_ONTOLOGY
from fuzz.harness import LONGEST_LINE, all_hold, rng_of
from strategies import taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEED = 1 << 100
TOP = ("top",)
CODES = taxonomy_of({"top": (), "10": TOP, "20": TOP, **{str(n): (str(n // 10 * 10),) for n in (11, 12, 13, 21, 22)}})
ENDINGS = (".csv", ".csv.gz", ".tsv", ".txt", ".parquet", ".parquet", ".xlsx", ".sav", ".dta", ".xpt")
ALLOWED = (
    (AllMissingError, ""),
    (ColumnError, "cannot be masked or compared"),
    (ColumnError, "where whole numbers are no longer exact"),
    (ColumnError, "more digits than the 15 to 17 that numbers are computed with"),
    (ColumnError, "mixes types"),
    (TooFewRecordsError, "There is no valid width"),
    (TooFewRecordsError, "patterns of missing cells"),
    (TooFewRecordsError, "cannot form a group"),
    (ColumnError, "cannot be written to"),
    (ColumnError, "whose cells pyarrow cannot reorder"),
    (UnwritableFileError, ""),
)
"""Refusals of tables that are valid: types that cannot be masked or stored, too few records for the method."""

OTHERWISE = ((ReleaseError, "does not give the masked table"), (ReleaseError, "where this original and plan leave"))
"""Refusals of a release in a format that stores some types as others, such as text, compared with typed columns."""

Rng = np.random.Generator
DAY = dt.datetime.fromisoformat("2001-02-03T04:05:06")

# ------------------------------------------------------------------------------------------------ cells


def picked(rng: Rng, values: list[Any], n: int, missing: Any = None) -> list[Any]:
    """Some of the values, and none in some rows."""
    share = rng.choice([0.0, 0.2, 0.2, 1.0], p=[0.45, 0.3, 0.2, 0.05])
    return [missing if rng.random() < share else values[int(rng.integers(len(values)))] for _ in range(n)]


WHOLE = [0, 1, 2, 5, 7, 90, -3]
CODED = [10, 11, 12, 13, 20, 21, 22]
FRACTIONS = [0.0, 0.5, -1.25, 1e6, 3.0, 7.0]
TEXTS = ["flu", "measles", "", " ", "a,b", 'say "x"', "line\nend", "é", "001", "=1+1", "NA", "x" * 300]
WORDS = ["low", "mid", "high"]
DATES = [dt.date(2001, 2, 3), dt.date(1899, 12, 31), dt.date(2024, 2, 29), dt.date(1970, 1, 1)]
MOMENTS = [DAY, DAY.replace(microsecond=7), DAY.replace(1970), DAY.replace(1890)]
SPANS = [dt.timedelta(days=1), dt.timedelta(0), dt.timedelta(microseconds=5), -dt.timedelta(hours=3)]
TIMES = [dt.time(1, 2, 3), dt.time(0), dt.time(23, 59, 59, 999_999)]
DECIMALS = [Decimal("1.50"), Decimal("-2.25"), Decimal("0.00")]


def _pandas_types() -> dict[str, tuple[str, Callable[[Rng, int], Any]]]:
    """How the plan describes each type of column, and how it is made."""

    def of(values: list[Any], dtype: Any, missing: Any = None) -> Callable[[Rng, int], Any]:
        return lambda rng, n: pd.Series(picked(rng, values, n, missing), dtype=dtype)

    def whole(values: list[Any], dtype: Any) -> Callable[[Rng, int], Any]:
        return lambda rng, n: pd.Series([values[int(rng.integers(len(values)))] for _ in range(n)], dtype=dtype)

    def categories(values: list[Any], *, ordered: bool = False) -> Callable[[Rng, int], Any]:
        return lambda rng, n: pd.Series(pd.Categorical(picked(rng, values, n), categories=values, ordered=ordered))

    moments = [pd.Timestamp(one) for one in MOMENTS]
    spans = [pd.Timedelta(one) for one in SPANS]
    return {
        "int64": ("numeric", whole(WHOLE, "int64")),
        "uint8": ("code", whole(CODED, "uint8")),
        "Int64": ("numeric", of(WHOLE, "Int64", pd.NA)),
        "float64": ("numeric", of(FRACTIONS, "float64", np.nan)),
        "float32": ("numeric", of(FRACTIONS, "float32", np.nan)),
        "Float64": ("numeric", of(FRACTIONS, "Float64", pd.NA)),
        "codes as floats": ("code", of([float(n) for n in CODED], "float64", np.nan)),
        "bool": ("nominal", whole([True, False], "bool")),
        "boolean": ("nominal", of([True, False], "boolean", pd.NA)),
        "object": ("nominal", of(TEXTS, object)),
        "object of codes": ("code", of([str(n) for n in CODED], object)),
        "object of numbers": ("numeric", of(WHOLE, object)),
        "object of whole codes": ("code", of(CODED, object)),
        "object of dates": ("nominal", of(DATES, object)),
        "object of decimals": ("numeric", of(DECIMALS, object)),
        "object of truths": ("nominal", of([True, False], object)),
        "object of lists": ("kept", of([[1], [2, 3]], object)),
        "object of spans": ("nominal", of(SPANS, object)),
        "string": ("nominal", of(TEXTS, "string", pd.NA)),
        "string[pyarrow]": ("code", of([str(n) for n in CODED], "string[pyarrow]", pd.NA)),
        "category": ("nominal", categories(TEXTS)),
        "ordered category": ("ordinal", categories(WORDS, ordered=True)),
        "category of codes": ("code", categories([str(n) for n in CODED])),
        "category of numbers": ("numeric", categories(WHOLE)),
        "category of whole codes": ("code", categories(CODED)),
        "category of fractions": ("numeric", categories(FRACTIONS)),
        "category of dates": ("nominal", categories(moments)),
        "category of truths": ("nominal", categories([True, False])),
        "datetime": ("nominal", of(moments, "datetime64[ns]")),
        "datetime in seconds": ("nominal", of(moments, "datetime64[s]")),
        "datetime with zone": ("nominal", of([one.tz_localize("Europe/Rome") for one in moments], None)),
        "timedelta": ("nominal", of(spans, "timedelta64[ns]")),
        "period": ("nominal", of([pd.Period("2001-02", "M"), pd.Period("2001-03", "M")], "period[M]")),
        "interval": ("nominal", of([pd.Interval(0, 1), pd.Interval(1, 2)], "interval")),
        "sparse": ("numeric", of([0.0, 1.0], pd.SparseDtype(float))),
        "complex": ("kept", whole([1 + 2j, 0j], "complex128")),
        "arrow whole": ("numeric", of(WHOLE, pd.ArrowDtype(pa.int32()), pd.NA)),
        "arrow codes": ("code", of([str(n) for n in CODED], pd.ArrowDtype(pa.string()), pd.NA)),
        "arrow categories": ("nominal", of(WORDS, pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())), pd.NA)),
        "arrow code categories": (
            "code",
            of([str(n) for n in CODED], pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())), pd.NA),
        ),
        "arrow number categories": (
            "numeric",
            of(WHOLE, pd.ArrowDtype(pa.dictionary(pa.int8(), pa.int64())), pd.NA),
        ),
        "arrow dates": ("nominal", of(DATES, pd.ArrowDtype(pa.date32()), pd.NA)),
        "arrow spans": ("nominal", of(SPANS, pd.ArrowDtype(pa.duration("us")), pd.NA)),
        "arrow decimals": ("numeric", of(DECIMALS, pd.ArrowDtype(pa.decimal128(9, 2)), pd.NA)),
        "arrow lists": ("kept", of([[1], [2, 3]], pd.ArrowDtype(pa.list_(pa.int64())), pd.NA)),
    }


def _polars_types() -> dict[str, tuple[str, Callable[[Rng, int], Any]]]:
    def of(values: list[Any], dtype: Any) -> Callable[[Rng, int], Any]:
        return lambda rng, n: pl.Series(picked(rng, values, n), dtype=dtype)

    aware = [one.replace(tzinfo=dt.UTC) for one in MOMENTS]
    return {
        "Int8": ("numeric", of(WHOLE, pl.Int8)),
        "Int64": ("code", of(CODED, pl.Int64)),
        "UInt64": ("numeric", of([0, 1, 2**63], pl.UInt64)),
        "Int128": ("numeric", of(WHOLE, pl.Int128)),
        "Float32": ("numeric", of(FRACTIONS, pl.Float32)),
        "Float64": ("numeric", of([*FRACTIONS, float("nan")], pl.Float64)),
        "Boolean": ("nominal", of([True, False], pl.Boolean)),
        "String": ("nominal", of(TEXTS, pl.String)),
        "String of codes": ("code", of([str(n) for n in CODED], pl.String)),
        "String of numbers": ("numeric", of([str(n) for n in WHOLE], pl.String)),
        "Categorical": ("nominal", of(TEXTS, pl.Categorical)),
        "Categorical of codes": ("code", of([str(n) for n in CODED], pl.Categorical)),
        "Enum": ("ordinal", of(WORDS, pl.Enum(WORDS))),
        "Enum of codes": ("code", of([str(n) for n in CODED], pl.Enum([str(n) for n in CODED]))),
        "Date": ("nominal", of(DATES, pl.Date)),
        "Datetime": ("nominal", of(MOMENTS, pl.Datetime("us"))),
        "Datetime in ns": ("nominal", of(MOMENTS, pl.Datetime("ns"))),
        "Datetime with zone": ("nominal", of(aware, pl.Datetime("ms", "UTC"))),
        "Duration": ("nominal", of(SPANS, pl.Duration("us"))),
        "Duration in ms": ("nominal", of(SPANS, pl.Duration("ms"))),
        "Duration in ns": ("nominal", of(SPANS, pl.Duration("ns"))),
        "Time": ("nominal", of(TIMES, pl.Time)),
        "Decimal": ("numeric", of(DECIMALS, pl.Decimal(9, 2))),
        "Binary": ("kept", of([b"x", b"\x00\xff"], pl.Binary)),
        "List": ("kept", of([[1], [2, 3]], pl.List(pl.Int64))),
        "Array": ("kept", of([[1, 4], [2, 3]], pl.Array(pl.Int64, 2))),
        "Struct": ("kept", of([{"a": 1}, {"a": None}], pl.Struct({"a": pl.Int64}))),
        "Null": ("kept", lambda _, n: pl.Series([None] * n, dtype=pl.Null)),
        "Object": ("kept", of([Decimal(1), "x"], pl.Object)),
    }


def _arrow_types() -> dict[str, tuple[str, Callable[[Rng, int], Any]]]:
    def of(values: list[Any], dtype: Any) -> Callable[[Rng, int], Any]:
        return lambda rng, n: pa.chunked_array([pa.array(picked(rng, values, n), type=dtype)])

    def cast(values: list[Any], first: Any, dtype: Any) -> Callable[[Rng, int], Any]:
        return lambda rng, n: pa.chunked_array([pa.array(picked(rng, values, n), type=first).cast(dtype)])

    def encoded(values: list[Any], dtype: Any) -> Callable[[Rng, int], Any]:
        return lambda rng, n: pa.chunked_array([pa.array(picked(rng, values, n), type=dtype).dictionary_encode()])

    texts, coded = pa.string(), [str(n) for n in CODED]
    return {
        "int8": ("numeric", of(WHOLE, pa.int8())),
        "int64": ("code", of(CODED, pa.int64())),
        "uint64": ("numeric", of([0, 1, 2**63], pa.uint64())),
        "float": ("numeric", of(FRACTIONS, pa.float32())),
        "double": ("numeric", of([*FRACTIONS, float("nan")], pa.float64())),
        "halffloat": ("numeric", cast([0.0, 0.5, 3.0], pa.float32(), pa.float16())),
        "bool": ("nominal", of([True, False], pa.bool_())),
        "string": ("nominal", of(TEXTS, texts)),
        "large string": ("code", of(coded, pa.large_string())),
        "string view": ("code", of(coded, pa.string_view())),
        "dictionary": ("nominal", encoded(TEXTS, texts)),
        "dictionary of codes": ("code", encoded(coded, texts)),
        "dictionary of numbers": ("numeric", encoded(WHOLE, pa.int64())),
        "dictionary of whole codes": ("code", encoded(CODED, pa.int64())),
        "date32": ("nominal", of(DATES, pa.date32())),
        "date64": ("nominal", of(DATES, pa.date64())),
        "timestamp": ("nominal", of(MOMENTS, pa.timestamp("us"))),
        "timestamp in s": ("nominal", of([one.replace(microsecond=0) for one in MOMENTS], pa.timestamp("s"))),
        "timestamp with zone": ("nominal", of(MOMENTS, pa.timestamp("ns", "Europe/Rome"))),
        "time32": ("nominal", of([dt.time(1, 2, 3), dt.time(0)], pa.time32("s"))),
        "time64": ("nominal", of(TIMES, pa.time64("us"))),
        "duration": ("nominal", of(SPANS, pa.duration("us"))),
        "duration in s": ("nominal", of([dt.timedelta(days=1), dt.timedelta(0)], pa.duration("s"))),
        "decimal128": ("numeric", of(DECIMALS, pa.decimal128(9, 2))),
        "decimal256": ("numeric", of(DECIMALS, pa.decimal256(40, 2))),
        "binary": ("kept", of([b"x", b"\x00\xff"], pa.binary())),
        "fixed binary": ("kept", of([b"xy", b"\x00\xff"], pa.binary(2))),
        "list": ("kept", of([[1], [2, 3]], pa.list_(pa.int64()))),
        "struct": ("kept", of([{"a": 1}, {"a": None}], pa.struct({"a": pa.int64()}))),
        "map": ("kept", of([[("a", 1)], []], pa.map_(pa.string(), pa.int64()))),
        "null": ("kept", lambda _, n: pa.chunked_array([pa.nulls(n)])),
    }


TYPES = {"pandas": _pandas_types(), "polars": _polars_types(), "pyarrow": _arrow_types()}


# ------------------------------------------------------------------------------------------------ tables and plans


def made_table(library: str, columns: dict[str, Any], rng: Rng, n: int) -> Any:
    made = {name: make(rng, n) for name, (_, make) in columns.items()}
    if library == "polars":
        return pl.DataFrame([column.alias(name) for name, column in made.items()])
    if library == "pyarrow":
        return pa.table(made)
    table = pd.DataFrame(made)
    if rng.integers(4) == 0:
        table.index = pd.Index(rng.permutation(n) + 100, name="row")
    return table


def described(kind: str, rng: Rng) -> dict[str, Any]:
    if kind == "code":
        return {"ontology": CODES}
    if kind == "ordinal":
        return {"kind": "ordinal", "order": WORDS}
    return {"kind": kind} if rng.integers(6) else {"kind": "nominal"}


def plan_of(columns: dict[str, Any], rng: Rng) -> dict[str, Any]:
    """A plan that fits the columns: one or two steps over some of them, others kept, dropped or not named."""
    plan: dict[str, Any] = {"columns": {}, "steps": []}
    free: list[str] = []
    for name, (kind, _) in columns.items():
        role = str(rng.choice(["masked", "masked", "masked", "confidential", "identifier", "unnamed"]))
        if kind == "kept":
            role = "identifier" if role == "identifier" else "unnamed"
        if role == "masked":
            plan["columns"][name] = described(kind, rng)
            free.append(name)
        elif role == "identifier":
            plan["columns"][name] = {"role": role}
        elif role == "confidential":
            plan["columns"][name] = {**described(kind, rng), "role": role}
    if all(plan["columns"].get(name, {}).get("role") == "identifier" for name in columns):
        plan["columns"].clear()  # something must be left to look at
    while free:
        method = str(rng.choice(sorted(EXAMPLES)))
        fitting = [name for name in free if _fits(method, columns[name][0], plan["columns"][name])]
        some = fitting[: int(rng.integers(1, len(fitting) + 1))] if fitting else []
        if some:
            plan["steps"].append({"method": method, "columns": some, **EXAMPLES[method]})
            free = [name for name in free if name not in some]
    return plan


def _fits(method: str, kind: str, description: dict[str, Any]) -> bool:
    if method == "taxonomy-exponential":
        return kind == "code"
    return method not in NEED_ONTOLOGY or kind == "code" or description.get("kind") == "numeric"


# ------------------------------------------------------------------------------------------------ the way


SUCCEEDED: list[bool] = []


def fault_of_case(number: int, folder: Path) -> str | None:
    rng = rng_of("valid tables", number)
    library = ("pandas", "polars", "pyarrow")[number % 3]
    types = TYPES[library]
    chosen = [str(name) for name in rng.choice(sorted(types), size=int(rng.integers(1, 5)), replace=False)]
    columns = {f"c{place}": types[name] for place, name in enumerate(chosen)}
    n = int(rng.choice([0, 1, 2, 5, 12, 40]))
    table, plan = made_table(library, columns, rng, n), plan_of(columns, rng)
    saved = folder / f"masked{ENDINGS[int(rng.integers(len(ENDINGS)))]}"
    stages: list[str] = []
    try:
        found = gone_through(table, plan, SEED + number, saved, stages)
    except Exception as error:
        if is_among(error, ALLOWED):
            found = str(error) if len(str(error)) > LONGEST_LINE else None
            SUCCEEDED.append(False)
        elif is_among(error, OTHERWISE):
            found = str(error) if stages[-1] != "assess what was saved" or saved.suffix == ".parquet" else None
        else:
            found = f"{type(error).__name__}: {str(error)[:300]}"
    else:
        SUCCEEDED.append(True)
    steps = [(step["method"], step["columns"]) for step in plan["steps"]]
    return f"{library} {chosen}, {n} rows, {steps}, {saved.suffix}, {stages[-1]}: {found}" if found else None


def is_among(error: Exception, known: tuple[tuple[type[Exception], str], ...]) -> bool:
    return any(isinstance(error, kind) and words in str(error) for kind, words in known)


def gone_through(table: Any, plan: dict[str, Any], seed: int, saved: Path, stages: list[str]) -> str | None:
    """Mask, assess, save, read and assess again; what is wrong with the tables, or None."""
    stages.append("mask")
    release = anonto.mask(table, plan, seed=seed)
    masked = release.table
    stages.append("assess")
    anonto.assess(table, masked, plan, same_order=True)
    stages.append("save")
    release.save(saved, force=True)
    stages.append("read")
    names = [str(name) for name in (masked.column_names if isinstance(masked, pa.Table) else masked.columns)]
    found = read_table(saved, names=names).frame
    stages.append("assess what was saved")
    anonto.assess(table, saved, plan, private=f"{saved}.private.json")
    if type(masked) is not type(table) or found.columns != names:
        return "another kind of table came back, or other columns"
    if saved.suffix != ".xlsx" and found.height != len(masked):  # Excel does not keep rows without a value
        return f"{found.height} rows came back instead of {len(masked)}"
    return None


def test_valid_tables_are_masked_saved_read_and_assessed(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("ignore", AnontoWarning)
        all_hold("valid tables", 60, lambda number: fault_of_case(number, tmp_path))
    assert sum(SUCCEEDED) > len(SUCCEEDED) / 3
