"""Equi-depth swapping: records exchange places with others of their bin, and all bins have about k records.

One column of numbers or ranks is sorted and cut into consecutive bins of k; the last has up to 2k − 1. Otherwise (MEDS)
the two records that are farthest apart are looked for, one bin is made of the first with the k − 1 nearest to it, one
of the second with the k − 1 nearest of the rest, and so on while 2k records are left; what remains is one bin, of
1 … 2k − 1 records. Records that lack the same cells have bins of their own, smaller than k where they are fewer. In
every bin random pairs exchange all columns of the step together; of an odd number one record stays or, with
``odd = "cycle3"``, the last three pass theirs on in a circle.

The squared distance of two records is the sum over the columns: the squared difference of numbers or ranks, the squared
semantic distance of concepts, 0 or 1 for texts without an ontology. With ``standardise`` each column is divided by its
variance, which is half the mean squared distance of two records drawn at random; without, numbers count in their own
units. Distances are compared after rounding; of ties the first record in the order of the values counts.

The bins are exact. Farthest pairs and nearest records are looked for in a tree over the numbers whose boxes shrink as
records leave. Two columns of numbers with 100,000 different pairs take seconds. Columns of concepts do not narrow the
search: each farthest or nearest record then costs a pass over all distinct records, and a table of all pairs of
concepts is kept.

Nothing is proved of it. A record that is alone with its values is moved as a whole, so that somebody has these values
stays visible.

Reference: Li, Shen, Multivariate equi-width data swapping, PAKDD 2010, Algorithm 1. Departures: the leftover bin, which
the paper forgets; standardised columns; columns that are not numbers.

Step by step: `anonto.methods.plain.equi_depth_swap`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.arithmetic import dot, matrix_product
from anonto.errors import OneBinWarning, SmallBinsWarning
from anonto.methods import depth_kernels
from anonto.methods.bins import Bins, Odd, exchanged_in_pairs, joined, strata
from anonto.methods.blocks import BlockMethod, fit_in_blocks, is_cut, reach_in_blocks
from anonto.methods.guarantee import MEASURED_WHOLE_ROWS, Guarantee, Setting
from anonto.methods.parameters import BIN_SIZES, BLOCK_ROWS, ODD, K, flag, sizes_within
from anonto.methods.words import Words
from anonto.table.attributes import NumericAttribute, TextAttribute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.reach import Partition
    from anonto.methods.record_flows import RecordFlows
    from anonto.table.attributes import Attribute
    from anonto.table.records import Records

    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EquiDepthSwap(BlockMethod):
    """``k``: records of a bin; ``odd``: what the last of an odd number does; ``standardise``: divide by variances.

    ``block_rows``: where there are more rows, bins form inside blocks of about so many.
    """

    name: ClassVar[str] = "equi-depth-swap"
    words: ClassVar[Words] = Words(
        title="Swap in bins of equal size",
        summary="exchanges records in bins of `k` similar ones, all columns of the step together",
        does=(
            "Puts the records into small bins of about k that are alike, and exchanges whole sets of values in pairs."
        ),
        columns="any kinds, together",
        keeps=(
            "Keeps how often every combination of values occurs. Whoever knows some of a person’s cells may find "
            "the row and read the rest."
        ),
        report=(
            "The records were put into small bins of about {k} records that are alike, and in each bin pairs of "
            "records, picked by chance, exchanged their values in these columns, all together. Every value, and "
            "every combination of values in these columns, occurs exactly as often as before; which record has it"
            " has changed."
        ),
    )
    whole_records_if: ClassVar[Mapping[str, Any] | None] = {}
    k: int = field(metadata=K)
    odd: Odd = field(default="stay", metadata=ODD)
    standardise: bool = field(
        default=True, metadata=flag("standardise", "Let every column count the same, whatever its units.")
    )
    block_rows: int | None = field(default=None, metadata=BLOCK_ROWS)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sizes_within(BIN_SIZES, n_records)}

    def fit(self, records: Records, rng: np.random.Generator) -> RecordFlows:
        """Find the bins and exchange inside them."""
        if is_cut(self, records):
            return fit_in_blocks(self, records, rng)
        bins = equi_depth_bins(records, self.k, standardise=self.standardise)
        return exchanged_in_pairs(records, bins, self.odd, rng)

    def require_strata(self, records: Records) -> None:
        """Refuse patterns of missing cells that too few records have, as `fit` does."""
        _strata(records, self.k)

    def reach(self, records: Records) -> Partition:
        """The bins, which depend on the records alone."""
        if is_cut(self, records):
            return reach_in_blocks(self, records)
        return equi_depth_bins(records, self.k, standardise=self.standardise).reach(self.odd)

    @property
    def lists_rows(self) -> bool:
        """Whether its groups are lists of all rows, equal ones too."""
        return True

    def guarantee(self, setting: Setting) -> Guarantee:  # noqa: ARG002
        """None is proved."""
        return MEASURED_WHOLE_ROWS


def equi_depth_bins(records: Records, k: int, *, standardise: bool = True) -> Bins:
    """Bins of k records, one stratum of missing cells after the other."""
    parts = _strata(records, k)
    weights = _weights(records.attributes, standardise=standardise)
    at_most = min(k, max(records.n_rows, 1))
    return joined([_bins_of_stratum(records, part, at_most, weights) for part in parts])


def _strata(records: Records, k: int) -> list[Longs]:
    """The records of each pattern of missing cells, with a warning of those that are too few for a bin of k.

    A single record could exchange with nobody and is refused. Two can, and nothing is promised that would need k.
    """
    parts = strata(records, min(k, 2))
    rows = [int(records.counts[part].sum()) for part in parts]
    if len(parts) == 1 and 2 <= rows[0] <= k:
        warnings.warn(OneBinWarning(k, rows[0]), stacklevel=5)
    small = [n for n in rows if n < k]
    if len(parts) > 1 and small:
        warnings.warn(SmallBinsWarning(len(small), len(parts), sum(small), k), stacklevel=5)
    return parts


def _bins_of_stratum(records: Records, part: Longs, k: int, weights: Floats) -> Bins:
    present = np.flatnonzero(records.codes[part[0]] >= 0)
    attributes = [records.attributes[column] for column in present]
    counts = records.counts[part]
    if len(attributes) == 1 and isinstance(attributes[0], NumericAttribute):
        order = part[np.argsort(attributes[0].numbers[records.codes[part, present[0]]], kind="stable")]
        return _consecutive(np.repeat(order, records.counts[order]).astype(np.int32), k)
    space = _space(attributes, records.codes[np.ix_(part, present)], weights[present])
    members, offsets = depth_kernels.equi_depth(space, counts, k)
    return Bins(part[members].astype(np.int32), offsets)


def _consecutive(ordered: NDArray[np.int32], k: int) -> Bins:
    offsets = np.arange(max(1, ordered.size // k) + 1, dtype=np.int64) * k
    offsets[-1] = ordered.size
    return Bins(ordered, offsets)


# ------------------------------------------------------------------------------------------------ distances


def _weights(attributes: Sequence[Attribute], *, standardise: bool) -> Floats:
    """What the squared distance of each column, from 0 to 1, is multiplied by; the largest weight is 1."""
    if standardise:
        variances = np.array([_variance(attribute) for attribute in attributes])
        weights = np.divide(1.0, variances, out=np.zeros(variances.size), where=variances > 0)
    else:
        numbers = [attribute.numbers if isinstance(attribute, NumericAttribute) else None for attribute in attributes]
        halves = np.array([0.5 if one is None else _half_range(one) for one in numbers])
        weights = (halves / max(halves.max(initial=0.0), np.finfo(float).tiny)) ** 2
    return np.asarray(weights / max(weights.max(initial=0.0), np.finfo(float).tiny))


def _half_range(numbers: Floats) -> float:
    return float(numbers.max() / 2 - numbers.min() / 2) if numbers.size else 0.0


def _unit(numbers: Floats) -> Floats:
    """Numbers from 0 to 1; halves, as the range of very large numbers is none."""
    half = _half_range(numbers)
    return np.asarray((numbers / 2 - numbers.min() / 2) / half if half else np.zeros(numbers.size))


def _variance(attribute: Attribute) -> float:
    """Half the mean squared distance of two records."""
    shares = attribute.counts / max(attribute.counts.sum(), 1)
    if isinstance(attribute, NumericAttribute):
        numbers = _unit(attribute.numbers) if shares.size else shares
        return dot(shares, (numbers - dot(shares, numbers)) ** 2)
    if isinstance(attribute, TextAttribute):
        return (1.0 - dot(shares, shares)) / 2
    return dot(matrix_product(attribute.distances() ** 2, shares), shares) / 2


def _space(attributes: Sequence[Attribute], codes: NDArray[np.int32], weights: Floats) -> depth_kernels.Space:
    """The records of a stratum as the kernels take them."""
    places = range(len(attributes))
    numeric = [place for place in places if isinstance(attributes[place], NumericAttribute)]
    nominal = [place for place in places if place not in numeric]
    points = np.zeros((codes.shape[0], len(numeric)))
    for column, place in enumerate(numeric):
        numbers = attributes[place].numbers  # type: ignore[attr-defined]
        points[:, column] = (_unit(numbers) * np.sqrt(weights[place]))[codes[:, place]]
    tables, farthest, widths = [np.empty(0)], [np.empty(0)], []
    for place in nominal:
        attribute, n_codes = attributes[place], attributes[place].counts.size
        if isinstance(attribute, TextAttribute):
            tables.append(weights[place : place + 1])
            farthest.append(np.full(n_codes + 1, weights[place]))
            widths.append(0)
            continue
        squared = attribute.distances() ** 2 * weights[place]
        tables.append(squared.ravel())
        farthest.append(np.append(squared.max(axis=1, initial=0.0), squared.max(initial=0.0)))
        widths.append(n_codes)
    return (
        points,
        np.ascontiguousarray(codes[:, nominal]),
        np.concatenate(tables),
        np.cumsum([table.size for table in tables])[:-1].astype(np.int64),
        np.array(widths, dtype=np.int64),
        np.concatenate(farthest),
        np.cumsum([one.size for one in farthest]).astype(np.int64),
    )
