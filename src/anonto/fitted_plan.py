"""A plan fitted once to a reference sample, for records that come later: one by one, in batches, in any order, again.

A record is masked by the draws of its number alone; if the reference is the whole table, the batches are what masking
it at once gives. What is saved is the reference, the plan and the seed: loading fits the plan again, with the same
version of the program and the same ontologies, to the same end.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.memory.source import InMemory
from anonto.errors import (
    AllMissingError,
    GuessableSeedWarning,
    InternalError,
    NotAFittedPlanError,
    NotForStreamsError,
    OntologyInMemoryError,
    OutsideRootError,
    ParameterError,
)
from anonto.masking.evidence import outcome_of
from anonto.masking.fit import Fitter, fit_counted
from anonto.masking.fit import fit as fit_steps
from anonto.masking.released import NEW_NUMBER, NumberColumn, OutColumn
from anonto.methods.registry import METHODS
from anonto.ontology.source import kind_of_path
from anonto.plan import Plan, plan_of
from anonto.rng import Seed, seed_of
from anonto.table.attributes import NominalAttribute, NumericAttribute
from anonto.table.beside import written_beside
from anonto.table.columns import Column
from anonto.table.door import longer_polars
from anonto.table.new_cells import NewCells, new_cells
from anonto.table.prepare import opener, prepare

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anonto.masking.fitted import FittedStep, RowPart
    from anonto.table.attributes import Attribute
    from anonto.table.counted import LearntColumn
    from anonto.table.prepare import Opener, PreparedColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]

FORMAT = "anonto-fitted-plan/1"
LARGEST_FILE = 1 << 34
"""Bytes of a saved plan with its reference, unpacked."""
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
    NotImplementedError,
    RuntimeError,
    ParameterError,
    zipfile.BadZipFile,
)
"""What Python raises over a file that is something else, or damaged."""


def fit(
    reference: Any, plan: Plan | Mapping[str, Any] | str | os.PathLike[str], *, seed: int | None = None
) -> FittedPlan:
    """Fit a plan to a reference sample, to mask records that come later.

    Args:
        reference: A pandas, polars or pyarrow table, or the path of a file: records like those that will come.
        plan: A `Plan`, a dict of the same shape as a plan file, or the path of one. Its methods must draw for each
            row: semantic-noise, semantic-noise-joint and taxonomy-exponential do.
        seed: Leave it out: a fresh secret is taken from the operating system. With a seed the same record with the
            same number is always masked in the same way, and whoever knows it can undo some of the masking.

    Returns:
        A fitted plan with ``.apply(table)``, ``.evidence`` and ``.save(path)``.
    """
    return FittedPlan(_fitted(reference, plan, seed))


def stream(
    reference: Any, plan: Plan | Mapping[str, Any] | str | os.PathLike[str], *, seed: int | None = None
) -> Stream:
    """The same as `fit` by another name.

    Args:
        reference: As in `fit`.
        plan: As in `fit`.
        seed: As in `fit`.

    Returns:
        A stream with ``.mask(batch)``.
    """
    return Stream(_fitted(reference, plan, seed))


def load_fitted(path: str | os.PathLike[str]) -> FittedPlan:
    """Read a fitted plan that was saved; it goes on with the number of the next row.

    Args:
        path: What `FittedPlan.save` wrote. The ontologies of its plan must be where they were.
    """
    import polars as pl

    kind_of_path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(one.file_size for one in archive.infolist()) > LARGEST_FILE:
                raise NotAFittedPlanError(str(path), f"it is larger than {LARGEST_FILE >> 30} GB")
            said = json.loads(archive.read("fitted.json"))
            cells = archive.read("reference.parquet")
        found, writer, digest = said["format"], str(said["anonto"]), said["reference_sha256"]
        folder = None if said["folder"] is None else Path(said["folder"])
        plan, ontologies = dict(said["plan"]), dict(said["ontologies"])
        seed, n_rows, evidence = Seed(int(said["seed"])), int(said["n_rows"]), dict(said["evidence"])
    except UNREADABLE as error:
        if isinstance(error, NotAFittedPlanError):
            raise
        raise NotAFittedPlanError(str(path), "it cannot be read as one") from None
    if found != FORMAT:
        raise NotAFittedPlanError(str(path), f"its format is not {FORMAT}")
    if writer != version("anonto"):
        raise NotAFittedPlanError(str(path), f"it was written by anonto {writer[:40]}, which may fit otherwise")
    if n_rows < 0 or hashlib.sha256(cells).hexdigest() != digest:
        raise NotAFittedPlanError(str(path), "it was changed since it was written")
    again = Plan.from_dict(plan, folder=folder)
    _require_by_row(again)
    if _ontology_hashes(again) != ontologies:
        raise NotAFittedPlanError(str(path), "an ontology of its plan changed since it was written")
    reference = pl.read_parquet(io.BytesIO(cells))
    others = [name for name in again.columns if name not in reference.columns]
    reference = reference.with_columns(pl.lit(None, pl.String).alias(name) for name in others)  # Nobody looks at them.
    return FittedPlan(_Fitted.of(InMemory(reference, again), again, seed, evidence, reference), n_rows)


def _fitted(reference: Any, plan: Plan | Mapping[str, Any] | str | os.PathLike[str], seed: int | None) -> _Fitted:
    chosen = plan_of(plan)
    _require_by_row(chosen)
    secret = seed_of(seed)
    if secret.can_be_guessed:
        warnings.warn(GuessableSeedWarning(), stacklevel=3)
    engine = InMemory(reference, chosen)
    cells = {name: engine.cells(name) for name in chosen.looked_at(engine.names)}
    found = _Fitted.of(engine, chosen, secret, None, cells)
    for warning in found.warnings:
        warnings.warn(warning, stacklevel=3)
    return found


def _require_by_row(plan: Plan) -> None:
    """Refuse methods that must see all records at once."""
    for step in plan.steps:
        if not step.method.by_row:
            raise NotForStreamsError(step.method.name, [name for name, method in METHODS.items() if method.by_row])


def _ontology_hashes(plan: Plan) -> dict[str, str]:
    """The hash of each ontology of a plan, by how the plan names it."""
    open_once = opener(plan.folder)
    named = {one for column in plan.columns.values() for one in column.ontologies if isinstance(one, str)}
    return {name: open_once(name).provenance.sha256 for name in sorted(named)}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Fitted:
    """What was learnt of a reference, and all that it takes to learn it again."""

    plan: Plan
    seed: Seed = field(repr=False)
    open_once: Opener
    steps: tuple[_Step, ...]
    evidence: dict[str, Any]
    reference: Any
    """The columns of the reference that a step or a policy looks at."""
    warnings: tuple[Warning, ...] = ()

    @classmethod
    def of(cls, engine: InMemory, plan: Plan, seed: Seed, evidence: dict[str, Any] | None, reference: Any) -> _Fitted:
        """Fit a plan to a reference; without evidence, that of masking the reference itself."""
        open_once = opener(plan.folder)
        fitted = fit_steps(engine, plan, seed, open_once)
        if not fitted.n_records and plan.masked:
            raise AllMissingError(0, plan.masked[0])
        steps = tuple(_Step.of(step) for step in fitted.steps)
        if evidence is not None:
            return cls(plan, seed, open_once, steps, evidence, reference)
        _, tallies = engine.apply(fitted)
        outcome = outcome_of(plan, engine.names, fitted, tallies, seed)
        return cls(plan, seed, open_once, steps, outcome.evidence, reference, tuple(outcome.warnings(engine.names)))


class FittedPlan:
    """Masks records that come later, and counts the rows that came.

    Nothing else of it changes. It can be pickled, with all that it needs; whoever has that has the reference and the
    seed.
    """

    def __init__(self, fitted: _Fitted, n_rows: int = 0) -> None:
        self._fitted, self._n_rows = fitted, n_rows
        self._steps = fitted.steps
        """With values that came later: what is known of them is not looked up again, and changes nothing."""

    def __reduce__(self) -> tuple[Any, ...]:
        """What was fitted, and the number of the next row."""
        return type(self), (self._fitted, self._n_rows)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self._fitted.plan.masked)} columns masked, {self._n_rows:,} rows so far>"

    @property
    def n_rows(self) -> int:
        """The number of the next row: one more than the largest that came."""
        return self._n_rows

    @property
    def evidence(self) -> dict[str, Any]:
        """Plain data: what the plan does to the reference itself, and what is promised of it."""
        return self._fitted.evidence

    def apply(self, table: Any, first_row: int | None = None) -> Any:
        """Mask some records.

        Args:
            table: A pandas, polars or pyarrow table with the columns of the reference, or the path of a file. Values
                that the reference does not have are masked like others if their column's ontology has them.
            first_row: The number of the first of these rows; None for the next after those that came. A number must
                not be used for two records: both would have the same noise.

        Returns:
            The masked records, of the kind of table that was given (polars for a path), in their order.
        """
        wrong = isinstance(first_row, bool) or not isinstance(first_row, int | np.integer | None)
        if wrong or (first_row is not None and first_row < 0):
            raise ParameterError("first_row", "a whole number, 0 or more", first_row)
        first = self._n_rows if first_row is None else int(first_row)
        known, plan = self._fitted, self._fitted.plan
        batch = InMemory(table, plan, first_row=first)
        counted = batch.count(plan, known.open_once)
        fitter = Fitter(batch, counted.columns, plan, known.seed, known.open_once)
        steps = tuple(step.grown(fitter) for step in self._steps)
        here = fit_counted(counted, [step.for_batch(fitter) for step in steps])
        masked, _ = batch.apply(here)
        out = masked.table(plan.identifiers(batch.names), plan.scales)
        self._steps, self._n_rows = steps, max(self._n_rows, first + counted.n_rows)
        return out

    def save(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the fitted plan to a file that only its owner can read: it holds the reference and the seed.

        Args:
            path: The file; `anonto.load_fitted` reads it.
            force: Whether a file that is there is replaced.
        """
        import polars as pl

        known = self._fitted
        if any(not isinstance(one, str) for column in known.plan.columns.values() for one in column.ontologies):
            raise OntologyInMemoryError
        cells = io.BytesIO()
        pl.DataFrame(known.reference).write_parquet(cells)
        said = {
            "format": FORMAT,
            "anonto": version("anonto"),
            "ontologies": _ontology_hashes(known.plan),
            "reference_sha256": hashlib.sha256(cells.getvalue()).hexdigest(),
            "plan": known.plan.to_dict(),
            "folder": None if known.plan.folder is None else str(known.plan.folder.resolve()),
            "seed": str(known.seed.number),
            "n_rows": self._n_rows,
            "evidence": known.evidence,
        }
        with written_beside(Path(path), force=force, mode=0o600) as beside, zipfile.ZipFile(beside, "w") as archive:
            archive.writestr("fitted.json", json.dumps(said))
            archive.writestr("reference.parquet", cells.getvalue())


class Stream(FittedPlan):
    """A fitted plan by another name."""

    def mask(self, batch: Any, first_row: int | None = None) -> Any:
        """Mask some records: see `FittedPlan.apply`.

        Args:
            batch: The records.
            first_row: The number of the first of them; None for the next after those that came.
        """
        return self.apply(batch, first_row)


# ----------------------------------------------------------------------------------------------- values that come later


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Step:
    """A step with what it learnt, and all values that it has met."""

    fitted: FittedStep
    columns: tuple[_Known, ...]

    @classmethod
    def of(cls, fitted: FittedStep) -> _Step:
        """As the reference has it."""
        return cls(fitted, tuple(_Known.of(column.prepared, column.attribute) for column in fitted.columns))

    @property
    def _part(self) -> RowPart:
        if self.fitted.row_part is None:
            raise InternalError("A step that sees all records at once masks none that come later.")
        return self.fitted.row_part

    def grown(self, batch: Fitter) -> _Step:
        """The step with the values of a batch that are new to it."""
        attributes = [known.met(batch) for known in self.columns]
        masker = self._part.masker.for_columns(attributes)
        columns = tuple(
            known.grown(attribute, released)
            for known, attribute, released in zip(self.columns, attributes, masker.attributes, strict=True)
        )
        return _Step(replace(self.fitted, row_part=replace(self._part, masker=masker)), columns)

    def for_batch(self, batch: Fitter) -> FittedStep:
        """The step for the rows of a batch, all of whose values it has met."""
        columns = tuple(known.column(batch) for known in self.columns)
        return replace(self.fitted, row_part=replace(self._part, columns=columns))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Known:
    """A column as the reference had it, and with values that came later behind."""

    prepared: PreparedColumn
    code_of: Mapping[str, int]
    texts: tuple[str, ...]
    """How each value that may be released is spelt; empty for numbers."""
    numbers: NumericAttribute | None = None
    """The numbers of a batch."""

    @classmethod
    def of(cls, prepared: PreparedColumn, released: Attribute) -> _Known:
        """From a column and its values with all that may be released."""
        values = prepared.column.values
        further = None if isinstance(released, NumericAttribute) else new_cells(prepared, released)
        texts = () if isinstance(released, NumericAttribute) else (*values, *(further.texts if further else ()))
        return cls(prepared, {value: code for code, value in enumerate(values)}, texts)

    def met(self, batch: Fitter) -> Attribute:
        """The attribute with all values, those of a batch included; of numbers that of the batch."""
        own, encoded = self.prepared.attribute, batch.encoded(self.prepared.name)
        if not encoded.values or (
            isinstance(own, NominalAttribute) and all(value in self.code_of for value in encoded.values)
        ):
            return own
        description = self.prepared.description
        if description.kind == "numeric":
            description = replace(description, decimal=self.prepared.notation.decimal)
        try:
            new = prepare(self.prepared.name, encoded, description, batch.open_once)
        except AllMissingError:
            return own
        if not isinstance(own, NominalAttribute) or not isinstance(new.attribute, NominalAttribute):
            return new.attribute
        concept_of = dict(zip(new.column.values, new.attribute.concepts, strict=True))
        further = {value: concept for value, concept in concept_of.items() if value not in self.code_of}
        outside = [concept for concept in further.values() if concept not in own.domain]
        if outside:
            raise OutsideRootError(outside, " or ".join(own.domain.roots))
        if not further:
            return own
        return replace(
            own,
            column=Column((*own.column.values, *further), own.column.codes),
            concepts=(*own.concepts, *further.values()),
            counts=np.append(own.counts, np.zeros(len(further), dtype=np.int64)),
        )

    def grown(self, attribute: Attribute, released: Attribute) -> _Known:
        """With the values of an attribute that has more of them, or with the numbers of a batch."""
        if isinstance(attribute, NumericAttribute):
            return replace(self, numbers=attribute)
        if attribute is self.prepared.attribute or not isinstance(attribute, NominalAttribute):
            return self
        return _Known.of(replace(self.prepared, attribute=attribute, column=attribute.column), released)

    def column(self, batch: Fitter) -> OutColumn:
        """The column for the rows of a batch."""
        counted = batch.counted[self.prepared.name]
        if self.numbers is not None:
            return self._number_column(batch, counted, self.numbers)
        own = np.array([*(self.code_of.get(text, -1) for text in counted.texts.to_list()), -1], dtype=np.int32)
        # All texts that may be released: the type of the column must not depend on those of one batch.
        further = NewCells(texts=self.texts)
        places = len(counted.cells) + np.arange(len(self.texts), dtype=np.int32)
        palette = longer_polars(counted.cells, further)
        column = _LaterColumn(self.prepared, self.prepared.attribute, own, palette, places, further=further)
        return batch.with_one_code(column)

    def _number_column(self, batch: Fitter, counted: LearntColumn, numbers: NumericAttribute) -> OutColumn:
        values = batch.encoded(self.prepared.name).values
        own = counted.places_in(values if numbers is not self.prepared.attribute else ())
        column = _LaterNumbers(self.prepared, numbers, own, counted.cells, counted.raw_of(values), numeric=numbers)
        return batch.with_one_code(column)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _LaterColumn(OutColumn):
    """A column of a batch: a cell that is released as it was stays."""

    def placed(self, raw: Codes, released: Codes) -> Codes:
        """Released codes as places in the palette."""
        changed = (released >= 0) & (released != self.own[raw])
        return np.where(changed, self.in_palette[released], self.stays(raw))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _LaterNumbers(NumberColumn):
    """Numbers of a batch: one that is released as it was stays, others are spelt as the reference spells them."""

    def split(self, raw: Codes, released: Floats) -> tuple[Codes, Floats]:
        """Places in the palette for numbers that stay, and all other numbers."""
        before = self.own[raw]
        same = released == np.append(self.numeric.numbers, np.nan)[before]
        changed = (before >= 0) & ~same
        return np.where(changed, np.int32(NEW_NUMBER), self.stays(raw)), np.where(changed, released, 0.0)

    def with_new_numbers(self, places: Codes, numbers: Floats | None) -> tuple[Codes, NewCells | None]:
        """Places for new numbers too, and these as cells, also none: the type must not depend on one batch."""
        all_places, further = NumberColumn.with_new_numbers(self, places, numbers)
        return all_places, self.spelt_as_new(np.empty(0)) if further is None else further

    def spelt_as_new(self, distinct: Floats) -> NewCells | None:
        """Numbers, or in a column of text their spelling, that of the reference where it has them."""
        import polars as pl

        reference = self.prepared.attribute
        if not isinstance(reference, NumericAttribute):
            raise InternalError("A column that was not numeric became so.")
        cells = new_cells(self.prepared, reference.with_numbers(distinct)) or NewCells(numbers=distinct)
        if cells.numbers is None or self.palette.dtype not in (pl.String, pl.Categorical, pl.Enum):
            return cells
        own = zip(reference.numbers.tolist(), self.prepared.column.values, strict=True)
        spelt = dict(reversed(list(own)))
        texts = zip(distinct.tolist(), cells.spelt().to_list(), strict=True)
        return NewCells(texts=tuple(spelt.get(number, text) for number, text in texts))
