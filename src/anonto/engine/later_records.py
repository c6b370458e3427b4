"""A plan fitted once to a reference sample, for records that come later: one by one or in batches, in any order.

A record is masked by the draws of its number alone, so batches get the same cells as the whole table at once. A saved
file holds the reference, the plan and the seed; loading fits the plan again with the same version of the program and
the same ontologies, which gives the same result.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.prepare import opener
from anonto.encoding.refusals import all_missing
from anonto.engine.later_values import LaterStep
from anonto.engine.memory.source import InMemory
from anonto.engine.refusals import (
    no_strata_in_streams,
    not_a_fitted_plan,
    not_for_streams,
    not_with_recoding,
    ontology_in_memory,
)
from anonto.errors import FileError, GuessableSeedWarning, ParameterError
from anonto.io.atomic_write import atomic_write
from anonto.masking.applied import NO_ROWS
from anonto.masking.evidence import outcome_of
from anonto.masking.fit import Fitter
from anonto.masking.fit import fit as fit_steps
from anonto.masking.fitted import FittedPlan
from anonto.masking.plan import Plan, plan_of
from anonto.masking.units import not_for_units
from anonto.methods.registry import METHODS
from anonto.ontology.source import kind_of_path
from anonto.random.streams import Seed, seed_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Self

    from anonto.encoding.prepare import Opener
    from anonto.masking.applied import AppliedRows


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
"""Exceptions of Python for a file that is damaged or of another kind."""


def fit(
    reference: Any, plan: Plan | Mapping[str, Any] | str | os.PathLike[str], *, seed: int | None = None
) -> TableMasker:
    """Fit a plan to a reference sample, to mask records that come later.

    Args:
        reference: A pandas, polars or pyarrow table, or the path of a file: records like those that will come.
        plan: A `Plan`, a dict of the same shape as a plan file, or the path of one. Its methods must draw for each
            row; another is refused, with the names of those that do.
        seed: Leave it out: a fresh secret is taken from the operating system. With a seed the same record with the
            same number is always masked in the same way, and whoever knows it can undo some of the masking.

    Returns:
        A fitted plan with ``.apply(table)``, ``.evidence`` and ``.save(path)``.
    """
    return TableMasker.fit_to(reference, plan, seed)


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
    return Stream.fit_to(reference, plan, seed)


def load_fitted(path: str | os.PathLike[str]) -> TableMasker:
    """Read a saved fitted plan, which continues with the number of its next row.

    Args:
        path: A file that its ``save`` wrote. The ontologies of its plan must be where they were.
    """
    import polars as pl

    kind_of_path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(one.file_size for one in archive.infolist()) > LARGEST_FILE:
                raise not_a_fitted_plan(str(path), f"it is larger than {LARGEST_FILE >> 30} GB")
            said = json.loads(archive.read("fitted.json"))
            cells = archive.read("reference.parquet")
        found, writer, digest = said["format"], str(said["anonto"]), said["reference_sha256"]
        folder = None if said["folder"] is None else Path(said["folder"])
        plan, ontologies = dict(said["plan"]), dict(said["ontologies"])
        seed, n_rows, evidence = Seed(int(said["seed"])), int(said["n_rows"]), dict(said["evidence"])
    except FileError:
        raise
    except UNREADABLE:
        raise not_a_fitted_plan(str(path), "it cannot be read as one") from None
    if found != FORMAT:
        raise not_a_fitted_plan(str(path), f"its format is not {FORMAT}")
    if writer != version("anonto"):
        raise not_a_fitted_plan(str(path), f"it was written by anonto {writer[:40]}, which may fit otherwise")
    if n_rows < 0 or hashlib.sha256(cells).hexdigest() != digest:
        raise not_a_fitted_plan(str(path), "it was changed since it was written")
    again = Plan.from_dict(plan, folder=folder)
    _require_by_row(again)
    if _ontology_hashes(again) != ontologies:
        raise not_a_fitted_plan(str(path), "an ontology of its plan changed since it was written")
    reference = pl.read_parquet(io.BytesIO(cells))
    others = [name for name in again.columns if name not in reference.columns]
    reference = reference.with_columns(pl.lit(None, pl.String).alias(name) for name in others)  # Nobody looks at them.
    open_once = opener(again.folder)
    fitted = _fit_steps(InMemory(reference, again), again, seed, open_once)
    return TableMasker(replace(BatchMasker.of(fitted, again, seed, open_once, evidence, reference), n_rows=n_rows))


def _fit_steps(engine: InMemory, plan: Plan, seed: Seed, open_once: Opener) -> FittedPlan:
    fitted = fit_steps(engine, plan, seed, open_once)
    if not fitted.counts.n_records and plan.masked:
        raise all_missing(0, plan.masked[0])
    return fitted


def _require_by_row(plan: Plan) -> None:
    """Refuse methods that must see all records at once."""
    for step in plan.steps:
        if not step.method.by_row:
            raise not_for_streams(step.method.name, [name for name, method in METHODS.items() if method.by_row])
        if step.within and step.method.uses_other_rows:
            raise no_strata_in_streams(step.method.name, step.within)


def _ontology_hashes(plan: Plan) -> dict[str, str]:
    """The hash of each ontology of a plan, by how the plan names it."""
    open_once = opener(plan.folder)
    named = {one for column in plan.columns.values() for one in column.ontologies if isinstance(one, str)}
    return {name: open_once(name).provenance.sha256 for name in sorted(named)}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BatchMasker:
    """A plan fitted to a reference: the same rows with the same numbers always become the same cells.

    It never changes: what came since the reference is in the masker that `apply` returns.
    """

    steps: tuple[LaterStep, ...]
    plan: Plan
    seed: Seed
    open_once: Opener
    evidence: dict[str, Any]
    """Evidence about the reference itself."""
    reference: Any
    """Cells of the columns that the plan looks at, as polars has them."""
    n_rows: int = 0
    """The number of the next row: one more than the largest that came."""
    applied: AppliedRows = NO_ROWS
    """Counts of what changed in the rows that came."""

    @classmethod
    def of(
        cls,
        fitted: FittedPlan,
        plan: Plan,
        seed: Seed,
        open_once: Opener,
        evidence: dict[str, Any],
        reference: Any,
    ) -> BatchMasker:
        """A masker that has met the values of the reference."""
        return cls(tuple(LaterStep.of(step) for step in fitted.steps), plan, seed, open_once, evidence, reference)

    def apply(self, table: Any, first_row: int) -> tuple[Any, BatchMasker]:
        """Mask some records.

        Args:
            table: As in `TableMasker.apply`.
            first_row: The number of the first of these rows.

        Returns:
            The masked records, and the masker for what comes next. It gives the same cells, counts the rows of this
            batch, and need not look its values up again.
        """
        batch = InMemory(table, self.plan, first_row=first_row)
        counts = batch.count(self.plan, self.open_once)
        fitter = Fitter(batch, counts.columns, self.plan, self.seed, self.open_once)
        steps = tuple(step.with_values_of(fitter) for step in self.steps)
        fitted = FittedPlan(tuple(step.for_batch(fitter) for step in steps), counts)
        masked, tallies = batch.apply(fitted)
        out = masked.table(self.plan.identifiers(batch.names), self.plan.scales)
        n_rows, applied = max(self.n_rows, first_row + counts.n_rows), self.applied.with_batch(fitted, tallies)
        return out, replace(self, steps=steps, n_rows=n_rows, applied=applied)


class TableMasker:
    """A fitted plan as `anonto.fit` returns it: masks tables that come later, and numbers their rows in one sequence.

    `apply` puts one masker in the place of another, and nothing else changes. It can be pickled with everything it
    needs; the pickle reveals the reference and the seed.
    """

    _public_name = "FittedPlan"

    def __init__(self, masker: BatchMasker) -> None:
        self._masker = masker

    @classmethod
    def fit_to(cls, reference: Any, plan: Plan | Mapping[str, Any] | str | os.PathLike[str], seed: int | None) -> Self:
        """Fit a plan to a reference sample: see `anonto.fit`."""
        chosen = plan_of(plan)
        if chosen.recoded:
            raise not_with_recoding("anonto.fit", chosen.recoded)
        if chosen.has_units:
            raise not_for_units("Fitting for later records")
        _require_by_row(chosen)
        secret = seed_of(seed)
        if secret.can_be_guessed:
            warnings.warn(GuessableSeedWarning(), stacklevel=3)
        engine, open_once = InMemory(reference, chosen), opener(chosen.folder)
        cells = {name: engine.cells(name) for name in chosen.needed_columns(engine.names)}
        fitted = _fit_steps(engine, chosen, secret, open_once)
        _, tallies = engine.apply(fitted)
        outcome = outcome_of(chosen, engine.names, fitted, tallies, secret)
        for warning in outcome.warnings():
            warnings.warn(warning, stacklevel=3)
        return cls(BatchMasker.of(fitted, chosen, secret, open_once, outcome.evidence, cells))

    def __repr__(self) -> str:
        return f"<{self._public_name}: {len(self._masker.plan.masked)} columns masked, {self.n_rows:,} rows so far>"

    @property
    def n_rows(self) -> int:
        """The number of the next row: one more than the largest that came."""
        return self._masker.n_rows

    @property
    def evidence(self) -> dict[str, Any]:
        """Plain data: what the plan changes in the reference itself, and which guarantees hold for it."""
        return self._masker.evidence

    @property
    def applied(self) -> dict[str, Any]:
        """Plain data: what it changed in the rows that came since it was fitted or read, with the keys of `evidence`.

        Rows that came twice count twice.
        """
        masker = self._masker
        return masker.applied.evidence(masker.plan, [step.fitted for step in masker.steps])

    def apply(self, table: Any, first_row: int | None = None) -> Any:
        """Mask some records, and count their rows; with ``first_row`` the cells do not depend on what came before.

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
        out, self._masker = self._masker.apply(table, self.n_rows if first_row is None else int(first_row))
        return out

    def save(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the fitted plan to a file that only its owner can read: it holds the reference and the seed.

        Args:
            path: The file; `anonto.load_fitted` reads it.
            force: Whether a file that is there is replaced.
        """
        import polars as pl

        masker, plan = self._masker, self._masker.plan
        if any(not isinstance(one, str) for column in plan.columns.values() for one in column.ontologies):
            raise ontology_in_memory()
        cells = io.BytesIO()
        pl.DataFrame(masker.reference).write_parquet(cells)
        said = {
            "format": FORMAT,
            "anonto": version("anonto"),
            "ontologies": _ontology_hashes(plan),
            "reference_sha256": hashlib.sha256(cells.getvalue()).hexdigest(),
            "plan": plan.to_dict(),
            "folder": None if plan.folder is None else str(plan.folder.resolve()),
            "seed": str(masker.seed.number),
            "n_rows": self.n_rows,
            "evidence": masker.evidence,
        }
        with atomic_write(Path(path), force=force, mode=0o600) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr("fitted.json", json.dumps(said))
            archive.writestr("reference.parquet", cells.getvalue())


class Stream(TableMasker):
    """A fitted plan under the name of what it is given: further batches."""

    _public_name = "Stream"

    def mask(self, batch: Any, first_row: int | None = None) -> Any:
        """Mask some records: see `TableMasker.apply`.

        Args:
            batch: The records.
            first_row: The number of the first of them; None for the next after those that came.
        """
        return self.apply(batch, first_row)
