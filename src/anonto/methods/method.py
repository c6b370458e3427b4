"""The base classes of the methods: all that the program asks of a method, with the answer of one that says nothing.

A method is a frozen dataclass whose fields are its parameters. It derives from `ColumnMethod`, `RecordMethod` or
`RowMethod`, has a ``name``, and defines `fit` and `guarantee`. Everything else has a default that is safe for a method
that is not known: it takes much memory, keeps missing cells in place, and tells an intruder nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from anonto.errors import ParameterError
from anonto.methods.memory import BYTES_PER_FLOW, BYTES_PER_RECORD, bytes_of_tables
from anonto.methods.parameters import check_parameters, k_for, parameters_known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from anonto.methods.flows import Flows
    from anonto.methods.guarantee import Guarantee, Setting
    from anonto.methods.laws import StepLaw
    from anonto.methods.memory import Budget
    from anonto.methods.record_flows import RecordFlows
    from anonto.methods.row_masking import RowMasker
    from anonto.methods.words import Words
    from anonto.table.attributes import Attribute
    from anonto.table.prepare import PreparedColumn
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Require = Callable[[int, str, int], None]
    """Told of the rows that are fitted at once, what they are, and how many flows are held beside; may refuse."""


class BaseMethod(ABC):
    """What all methods have in common."""

    __slots__ = ()

    name: ClassVar[str]
    words: ClassVar[Words]
    one_of: ClassVar[tuple[str, ...]] = ()
    """Parameters of which exactly one must be given."""
    is_baseline: ClassVar[bool] = False
    """Whether it is there to compare others with."""
    widths_by: ClassVar[tuple[str, ...]] = ()
    """Parameters that give its bins a width, which the distances that values moved would tell."""
    moves_missing: ClassVar[bool] = False
    """Whether missing cells are moved like values: they then are a value of their own, with a code, at distance 1."""
    makes_equal: ClassVar[bool] = False
    """Whether records leave that are equal in the columns of the step, so that the equal ones are counted."""
    whole_records_if: ClassVar[Mapping[str, Any] | None] = None
    """Parameters with which whole records of its columns move; empty for all parameters, None for none."""
    moves_at_random: ClassVar[bool] = False
    """Whether a masked cell is no nearer to its original value than to any other."""
    releases_text: ClassVar[bool] = False
    """Whether concepts leave as text where the cells of a table decide its type: one cell of a person would show."""
    has_tables: ClassVar[bool] = False
    """Whether fitting holds the distances of all concepts, so that the number of rows does not tell what it takes."""
    exchanged_in_cells: ClassVar[bool] = False
    """Whether rows may be exchanged cell by cell of a grid, elsewhere than in memory: a `CellMethod`."""
    is_swap: ClassVar[bool] = False
    """Whether it exchanges values between records, so that all leave as often as they came: a class with `reach`."""
    has_law: ClassVar[bool] = False
    """Whether the probabilities of what comes out are known: a class with `law`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.is_swap = cls.reach is not BaseMethod.reach
        cls.has_law = cls.law is not BaseMethod.law

    def __post_init__(self) -> None:
        check_parameters(self, self.one_of)

    @abstractmethod
    def guarantee(self, setting: Setting) -> Guarantee:
        """What the method promises."""

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """Values of parameters that a sweep tries on so many records; by default what a form begins with."""
        needed = [one for one in parameters_known(cls) if one.is_needed or one.name in cls.one_of[:1]]
        return {one.name: [one.takes.start] for one in needed if one.takes.start is not None}

    @property
    def widths(self) -> dict[str, Any]:
        """The width of its bins as it is given, by the name of the parameter; empty where it has none."""
        return {name: given for name in self.widths_by if (given := getattr(self, name)) is not None}

    @property
    def also_needs(self) -> tuple[str, ...]:
        """Columns that the method looks at and does not mask."""
        return ()

    # ---------------------------------------------------------------------------------------- memory

    @property
    def block_rows(self) -> int | None:
        """Rows of a block, where the method is fitted block by block; None where it sees all rows at once."""
        return None

    def in_blocks(self, rows: int | None) -> Self:
        """The same method with blocks of so many rows, or without; refused by one that is not fitted in blocks."""
        raise ParameterError("block_rows", f"left out where the method is {self.name}", rows)

    def could_be_cut(self, n_records: int) -> bool:  # noqa: ARG002
        """Whether so many records may have been masked in blocks though the parameters do not say so."""
        return False

    @property
    def lists_rows(self) -> bool:
        """Whether its groups are lists of all rows, equal ones too."""
        return False

    @abstractmethod
    def bytes_per_row(self, n_columns: int) -> int:
        """What a row takes while the method sees all of them, each of which may be a record of its own."""

    # ---------------------------------------------------------------------------------------- what an intruder knows

    def k_among(self, n_records: int) -> int | None:
        """The parameter k, also where it is given as a share of the records; None for a method without one."""
        k, percent = (getattr(self, name, None) for name in ("k", "percent"))
        return None if k is None and percent is None else k_for(k, percent, n_records)

    @property
    def least_group(self) -> int | None:
        """Records among which a person is hidden, at least; None for a method that forms no such groups."""
        return None

    @classmethod
    def moves_whole_records_with(cls, parameters: Mapping[str, Any]) -> bool:
        """Whether every combination of values in the columns of the step leaves as it was, given the parameters."""
        wanted = cls.whole_records_if
        return wanted is not None and all(parameters.get(name) == value for name, value in wanted.items())

    @property
    def moves_whole_records(self) -> bool:
        """Whether every combination of values in the columns of the step leaves as it was."""
        return self.moves_whole_records_with({one.name: getattr(self, one.name) for one in parameters_known(self)})

    def reach(self, seen: Any, /) -> Any:  # noqa: ARG002
        """What it could have exchanged, whatever it draws: perhaps too much, never too little; None for unknown.

        Args:
            seen: What `fit` is given: a column, or the distinct records.
        """
        return None

    def law(
        self,
        masker: Any,  # noqa: ARG002
        prepared: Sequence[PreparedColumn],  # noqa: ARG002
        released: Sequence[Sequence[str] | Floats],  # noqa: ARG002
    ) -> StepLaw | None:
        """With which probability each value comes out as each other one; None for unknown.

        Args:
            masker: What `fit` returned.
            prepared: The columns of the step as they were.
            released: For each column the distinct released values: texts of concepts, or numbers.
        """
        return None

    def privacy_loss(self, attribute: Attribute, values: Codes, others: Codes) -> Floats | None:  # noqa: ARG002
        """Values × others: the proved bound on the logarithm of the ratio of their probabilities; None for none."""
        return None

    def require_for_counts(self, number: int, n_columns: int) -> None:  # noqa: B027
        """Refuse parameters that speak of single rows, where a table is attacked from the counts of its records.

        Args:
            number: Of the step.
            n_columns: Of the step.
        """


class ColumnMethod(BaseMethod):
    """A method for one column; given several columns it masks each alone."""

    __slots__ = ()
    together: ClassVar[Literal[False]] = False
    by_row: ClassVar[Literal[False]] = False

    @abstractmethod
    def fit(self, column: Attribute, rng: np.random.Generator) -> Flows:
        """From the counts of a column to its flows."""

    def bytes_per_row(self, n_columns: int) -> int:  # noqa: ARG002
        """Nothing: methods that see counts alone hold no rows."""
        return 0


class _TogetherMethod(BaseMethod):
    """A method that looks at all its columns."""

    __slots__ = ()
    together: ClassVar[Literal[True]] = True

    def bytes_per_row(self, n_columns: int) -> int:
        """Of a method that lists rows with all their columns."""
        return 128 + 16 * n_columns + BYTES_PER_RECORD


class RecordMethod(_TogetherMethod):
    """A method that looks at whole records of all its columns."""

    __slots__ = ()
    by_row: ClassVar[Literal[False]] = False

    @abstractmethod
    def fit(self, records: Records, rng: np.random.Generator) -> RecordFlows:
        """From the distinct records and their counts to what they become."""

    def fit_within(self, records: Records, rng: np.random.Generator, budget: Budget) -> RecordFlows:
        """Fit at once if there is room, else in parts; refuse what does not fit."""
        n_columns = len(records.names) - len(self.also_needs)
        per_row = self.bytes_per_row(n_columns) - BYTES_PER_RECORD
        of_tables = bytes_of_tables(records) if self.has_tables else 0
        budget.require(of_tables, "the distances of their values")
        for_rows = budget.n_bytes - of_tables - BYTES_PER_RECORD * records.counts.size
        most_rows = max(1, for_rows // per_row)
        if records.n_rows <= most_rows:
            return self.fit(records, rng)

        def require(n_rows: int, what: str, n_flows: int = 0) -> None:
            further = BYTES_PER_FLOW * max(0, n_flows - records.counts.size)
            budget.require(budget.n_bytes - for_rows + per_row * n_rows + further, what)

        return self.fit_in_parts(records, rng, most_rows, require)

    def fit_in_parts(
        self,
        records: Records,
        rng: np.random.Generator,
        most_rows: int,  # noqa: ARG002
        require: Require,
    ) -> RecordFlows:
        """Fit more rows than fit at once; a method that cannot refuses them.

        Args:
            records: All distinct records.
            rng: For all draws.
            most_rows: So many fit at once.
            require: Refuses what does not fit.
        """
        require(records.n_rows, "so many records", 0)
        return self.fit(records, rng)


class RowMethod(_TogetherMethod):
    """A method that looks at all its columns, and then draws for each row."""

    __slots__ = ()
    by_row: ClassVar[Literal[True]] = True
    needs_records: ClassVar[bool] = True
    """Whether it looks at how values go together; if not, the counts of each column will do."""

    @abstractmethod
    def fit(self, records: Records, rng: np.random.Generator) -> RowMasker:
        """From the distinct records and their counts to what masks rows."""

    def bytes_to_fit(self, records: Records) -> int:  # noqa: ARG002
        """What fitting takes besides the records."""
        return 0


Method = ColumnMethod | RecordMethod | RowMethod
