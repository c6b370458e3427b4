"""The base classes of the methods: everything that the program asks of a method, with defaults.

A method is a frozen dataclass whose fields are its parameters. It derives from `ColumnMethod`, `RecordMethod` or
`RowMethod`, has a ``name`` and defines `fit`; if something is proved about it, also `guarantee`. Everything else has
a default that is safe for an unknown method: it needs much memory, keeps missing cells in place, and has no known
support or likelihood.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from anonto.errors import ParameterError
from anonto.methods.guarantee import MEASURED_ONLY, MEASURED_WHOLE_ROWS
from anonto.methods.memory import BYTES_PER_RECORD, BYTES_PER_TRANSITION, bytes_of_set_tables, bytes_of_tables
from anonto.methods.parameters import check_parameters, k_for, least_persons, parameters_known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    import numpy as np

    from anonto.arrays import Codes, Floats
    from anonto.encoding.prepare import PreparedColumn
    from anonto.encoding.records import Records
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.grid_swap import CellMethod
    from anonto.methods.guarantee import Guarantee, Setting
    from anonto.methods.likelihood import MethodLikelihood
    from anonto.methods.memory import Budget
    from anonto.methods.record_transitions import RecordTransitions
    from anonto.methods.row_masking import RowMasker
    from anonto.methods.transitions import Transitions
    from anonto.methods.words import Words

    Require = Callable[[int, str, int], None]
    """Called with the rows fitted at once, what they are, and how many transitions are held too; may refuse."""


Family = Literal["swap", "noise", "aggregation", "other"]
"""Kinds of methods that the map of risk and utility tells apart."""
FORMER_NAMES = {"reach": "support", "law": "likelihood"}
"""Names that the documentation gave to what a method of another package may define."""


class BaseMethod(ABC):
    """Common base of all methods."""

    __slots__ = ()

    name: ClassVar[str]
    words: ClassVar[Words]
    one_of: ClassVar[tuple[str, ...]] = ()
    """Parameters of which exactly one must be given."""
    is_naive: ClassVar[bool] = False
    """True if it is a naive method, meant for comparison."""
    widths_by: ClassVar[tuple[str, ...]] = ()
    """Parameters that give its bins a width, which the distances that values moved would reveal."""
    moves_missing: ClassVar[bool] = False
    """True if missing cells are moved like values: they then are a value of their own, with a code, at distance 1."""
    makes_equal: ClassVar[bool] = False
    """True if it releases records that are equal in the columns of the step, so that equal ones are counted."""
    whole_records_if: ClassVar[Mapping[str, Any] | None] = None
    """Parameters with which whole records of its columns move; empty for all parameters, None for none."""
    moves_at_random: ClassVar[bool] = False
    """True if a masked cell is as far from its original value as from any other."""
    releases_text: ClassVar[bool] = False
    """True if concepts are released as text, because a type that depends on the cells would reveal one person's."""
    takes_sets: ClassVar[bool] = False
    """True if it masks columns whose cells are sets, each set as one value."""
    masks_elements: ClassVar[bool] = False
    """True if it masks the elements of sets, each as a value: see `anonto.masking.elements`."""
    has_tables: ClassVar[bool] = False
    """True if fitting holds the distances of all concepts, so that memory does not depend on rows alone."""
    is_swap: ClassVar[bool] = False
    """True if it exchanges values between records, so that their frequencies stay: a class with `support`."""
    keeps_frequencies: ClassVar[bool] = False
    """True if every value occurs exactly as often as before; by default where it is a swap."""
    family: ClassVar[Family] = "other"
    """How the map of risk and utility marks it; by default a swap where it is one, noise where it draws by row."""
    has_likelihood: ClassVar[bool] = False
    """True if the probabilities of what comes out are known: a class with `likelihood`."""
    uses_other_rows: ClassVar[bool] = True
    """True if the outcome of a row depends on other rows; if not, strata change nothing."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for former, now in FORMER_NAMES.items():
            if former in vars(cls):
                message = f"`{former}` of a method is now `{now}`: rename it in {cls.__name__}"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                setattr(cls, now, vars(cls)[former])
        cls.is_swap = cls.support is not BaseMethod.support
        if "support" in vars(cls):
            for name, fact in {"keeps_frequencies": True, "family": "swap"}.items():
                if name not in vars(cls):
                    setattr(cls, name, fact)
        cls.has_likelihood = cls.likelihood is not BaseMethod.likelihood

    def __post_init__(self) -> None:
        check_parameters(self, self.one_of)

    def guarantee(self, setting: Setting) -> Guarantee:  # noqa: ARG002
        """The guarantee of the method; by default nothing is proved."""
        return MEASURED_WHOLE_ROWS if self.moves_whole_records else MEASURED_ONLY

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """Values of parameters that a sweep tries on a table of this size; by default the initial values of a form."""
        known = parameters_known(cls)
        if any(one.takes.sweep for one in known):
            return {one.name: list(one.takes.sweep) for one in known if one.takes.sweep}
        needed = [one for one in known if one.is_needed or one.name in cls.one_of[:1]]
        return {one.name: [one.takes.start] for one in needed if one.takes.start is not None}

    @classmethod
    def sweep_grids(cls, n_records: int) -> list[dict[str, list[Any]]]:
        """That grid, and one for each other parameter that has values to try, with the first values of the rest."""
        grid = cls.sweep_grid(n_records)
        first = {name: values[:1] for name, values in grid.items()}
        known = {*grid, *cls.one_of}
        further = [one for one in parameters_known(cls) if one.takes.sweep and one.name not in known]
        return [grid, *({**first, one.name: list(one.takes.sweep)} for one in further)]

    @property
    def widths(self) -> dict[str, Any]:
        """The width of its bins as given, by the name of the parameter; empty if it has none."""
        return {name: given for name in self.widths_by if (given := getattr(self, name)) is not None}

    @property
    def unfit_for_sets(self) -> str | None:
        """The parameters with which it masks no sets although it `takes_sets`; None if it does."""
        return None

    @property
    def also_needs(self) -> tuple[str, ...]:
        """Columns that the method looks at and does not mask."""
        return ()

    @property
    def least_rows(self) -> int:
        """Rows that a stratum needs: k where the method has one, and two at least; one if rows are masked alone.

        With an average risk, as many as keep to it as one group.
        """
        k, risk = getattr(self, "k", None), getattr(self, "average_risk", None)
        return max(2, k if isinstance(k, int) else 0, least_persons(risk)) if self.uses_other_rows else 1

    # ---------------------------------------------------------------------------------------- memory

    @property
    def block_rows(self) -> int | None:
        """Rows of a block, where the method is fitted block by block; None where it sees all rows at once."""
        return None

    def in_blocks(self, rows: int | None) -> Self:
        """This method with blocks of that many rows, or without; refused if it is not fitted in blocks."""
        raise ParameterError("block_rows", f"left out where the method is {self.name}", rows)

    def could_be_cut(self, n_records: int) -> bool:  # noqa: ARG002
        """Return whether a table of this size may have been masked in blocks though the parameters do not say so."""
        return False

    @property
    def lists_rows(self) -> bool:
        """True if its groups are lists of all rows, equal ones too."""
        return False

    @abstractmethod
    def bytes_per_row(self, n_columns: int) -> int:
        """Bytes per row while the method sees all rows, if each is a distinct record."""

    # ---------------------------------------------------------------------------------------- what an intruder knows

    def k_among(self, n_records: int) -> int | None:
        """The parameter k, also where it is given as a share of the records; None for a method without one."""
        k, percent = (getattr(self, name, None) for name in ("k", "percent"))
        return None if k is None and percent is None else k_for(k, percent, n_records)

    @property
    def bounds_groups(self) -> bool:
        """True if it limits how many groups of equal records there are, so that they are counted."""
        return False

    @property
    def least_group(self) -> int | None:
        """Records among which a person is hidden, at least; None for a method that forms no such groups."""
        return None

    @classmethod
    def moves_whole_records_with(cls, parameters: Mapping[str, Any]) -> bool:
        """Return whether the parameters release every combination of values in the columns of the step as it was."""
        wanted = cls.whole_records_if
        return wanted is not None and all(parameters.get(name) == value for name, value in wanted.items())

    @property
    def moves_whole_records(self) -> bool:
        """True if every combination of values in the columns of the step is released as it was."""
        return self.moves_whole_records_with({one.name: getattr(self, one.name) for one in parameters_known(self)})

    def support(self, seen: Any, /) -> Any:  # noqa: ARG002
        """The exchanges that some draw could have made; perhaps too many, never too few; None if unknown.

        Args:
            seen: What `fit` is given: a column, or the distinct records.
        """
        return None

    def likelihood(
        self,
        masker: Any,  # noqa: ARG002
        prepared: Sequence[PreparedColumn],  # noqa: ARG002
        released: Sequence[Sequence[str] | Floats],  # noqa: ARG002
    ) -> MethodLikelihood | None:
        """The probability that each value is released as each other one; None if unknown.

        Args:
            masker: What `fit` returned.
            prepared: The columns of the step as they were.
            released: For each column the distinct released values: texts of concepts, or numbers.
        """
        return None

    def privacy_loss(self, value_space: ValueSpace, values: Codes, others: Codes) -> Floats | None:  # noqa: ARG002
        """Values × others: the proved bound on the logarithm of the ratio of their probabilities; None for none."""
        return None

    def require_for_counts(self, number: int, n_columns: int) -> None:  # noqa: B027
        """Refuse parameters about single rows, where a table is attacked from the counts of its records.

        Args:
            number: Number of the step.
            n_columns: How many columns the step has.
        """


class ColumnMethod(BaseMethod):
    """A method for one column; given several columns it masks each alone."""

    __slots__ = ()
    together: ClassVar[Literal[False]] = False
    by_row: ClassVar[Literal[False]] = False

    @abstractmethod
    def fit(self, column: ValueSpace, rng: np.random.Generator) -> Transitions:
        """From the counts of a column to its transitions."""

    def bytes_per_row(self, n_columns: int) -> int:  # noqa: ARG002
        """0: methods that only see counts hold no rows."""
        return 0


class _TogetherMethod(BaseMethod):
    """A method that looks at all its columns."""

    __slots__ = ()
    together: ClassVar[Literal[True]] = True

    def bytes_per_row(self, n_columns: int) -> int:
        """Bytes per row of a method that lists rows with all their columns."""
        return 128 + 16 * n_columns + BYTES_PER_RECORD


class RecordMethod(_TogetherMethod):
    """A method that looks at whole records of all its columns."""

    __slots__ = ()
    by_row: ClassVar[Literal[False]] = False

    @abstractmethod
    def fit(self, records: Records, rng: np.random.Generator) -> RecordTransitions:
        """From the distinct records and their counts to what they become."""

    def by_cells(self) -> CellMethod | None:
        """The method as one whose rows an engine may exchange cell by cell of a grid; None for the others."""
        return None

    def fit_within(self, records: Records, rng: np.random.Generator, budget: Budget) -> RecordTransitions:
        """Fit all rows at once if they fit into the budget, otherwise in parts, or refuse them."""
        n_columns = len(records.names) - len(self.also_needs)
        per_row = self.bytes_per_row(n_columns) - BYTES_PER_RECORD
        of_tables = bytes_of_tables(records) if self.has_tables else 0
        budget.require(of_tables, "the distances of their values")
        for_rows = budget.n_bytes - of_tables - BYTES_PER_RECORD * records.counts.size

        def needed(n_rows: int) -> int:
            return per_row * n_rows + (bytes_of_set_tables(records, n_rows) if self.has_tables else 0)

        if needed(records.n_rows) <= for_rows:
            return self.fit(records, rng)
        most_rows = max(1, bisect_right(range(records.n_rows), for_rows, key=needed) - 1)

        def require(n_rows: int, what: str, n_transitions: int = 0) -> None:
            further = BYTES_PER_TRANSITION * max(0, n_transitions - records.counts.size)
            budget.require(budget.n_bytes - for_rows + needed(n_rows) + further, what)

        return self.fit_in_parts(records, rng, most_rows, require)

    def fit_in_parts(
        self,
        records: Records,
        rng: np.random.Generator,
        most_rows: int,  # noqa: ARG002
        require: Require,
    ) -> RecordTransitions:
        """Fit a table that is too large to fit at once; by default refuse it.

        Args:
            records: All distinct records.
            rng: For all draws.
            most_rows: How many fit at once.
            require: Refuses what does not fit.
        """
        require(records.n_rows, "so many records", 0)
        return self.fit(records, rng)


class RowMethod(_TogetherMethod):
    """A method that looks at all its columns, and then draws for each row."""

    __slots__ = ()
    by_row: ClassVar[Literal[True]] = True
    family: ClassVar[Family] = "noise"
    needs_records: ClassVar[bool] = True
    """True if it uses how columns are related; if not, the counts of each column suffice."""

    @abstractmethod
    def fit(self, records: Records, rng: np.random.Generator) -> RowMasker:
        """From the distinct records and their counts to what masks rows."""

    def bytes_to_fit(self, records: Records) -> int:  # noqa: ARG002
        """Bytes that fitting needs in addition to the records."""
        return 0


Method = ColumnMethod | RecordMethod | RowMethod
