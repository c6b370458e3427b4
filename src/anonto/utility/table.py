"""Information loss of the whole table: how well a model detects masked records, and how a prediction suffers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.value_space import NumericSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.arrays import Floats, Longs
    from anonto.encoding.comparison import ComparedColumn
    from anonto.utility.sampling import Sampling


MOST_ROWS = 5_000
"""Models are fitted on this many rows of each table."""
MOST_DUMMIES = 30
"""A nominal column enters a model by its most frequent values."""
FARTHEST = 1e6
"""Numbers beyond this many ranges of the original are clipped to it."""


def propensity(columns: Sequence[ComparedColumn], sampling: Sampling) -> dict[str, float]:
    """The propensity score mean squared error: 0 if no model can distinguish the two tables, 1/4 if one always can.

    Both tables are stacked; a tree that sees half of the rows predicts for the others which table they are from. The
    ratio is to the mean over random labels: about 1 if the tables cannot be distinguished.

    References: Woo, Reiter, Oganian, Karr, Journal of Privacy and Confidentiality 1 (2009); Snoke, Raab, Nowok, Dibben,
    Slavković, JRSS A 181 (2018).
    """
    rows, rng = sampling.some("propensity", columns[0].n_persons, MOST_ROWS), sampling.rng("propensity")
    if rows.size < 20:
        return {}
    from sklearn.tree import DecisionTreeClassifier

    frequent = [_frequent(column.value_space.counts) for column in columns]
    features = np.concatenate([_features(columns, frequent, which, rows) for which in ("original", "masked")])
    is_masked = np.repeat([0, 1], rows.size)

    def error(labels: Longs) -> float:
        half = rng.permutation(labels.size) % 2 == 0
        model = DecisionTreeClassifier(max_depth=6, min_samples_leaf=10, random_state=0)
        total = 0.0
        for part in (half, ~half):
            told = model.fit(features[part], labels[part]).predict_proba(features[~part])
            scores = told[:, -1] if told.shape[1] > 1 else np.full(told.shape[0], 0.5)
            total += float(((scores - 0.5) ** 2).sum())
        return total / labels.size

    found = error(is_masked)
    at_random = float(np.mean([error(rng.permutation(is_masked)) for _ in range(10)]))
    return {"pmse": found, "pmse_at_random": at_random, "pmse_ratio": found / at_random if at_random else 1.0}


def prediction(columns: Sequence[ComparedColumn], target: ComparedColumn, sampling: Sampling) -> dict[str, float]:
    """How well a tree fitted on the release predicts a column of original rows, against one fitted on the original.

    For numbers the share of the variance that is explained, else the share of rows predicted right; ``blind`` is
    what a model that sees no other column reaches, and ``loss`` what is lost by learning from the release. What the
    original reaches does not depend on the release.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    rows = sampling.some("prediction", target.n_persons, MOST_ROWS)
    rows = rows[target.original[rows] >= 0]
    others = [column for column in columns if column.name != target.name]
    halves = sampling.shuffle("halves of the prediction", rows)
    train, test = halves[::2], halves[1::2]
    trained_on = {"original": train, "masked": train[target.masked[train] >= 0]}
    if rows.size < 20 or trained_on["masked"].size < 10 or not others:
        return {}
    frequent = [_frequent(column.counts("original")[:-1]) for column in others]
    is_number = isinstance(target.value_space, NumericSpace)
    model = (DecisionTreeRegressor if is_number else DecisionTreeClassifier)(
        max_depth=8, min_samples_leaf=5, random_state=0
    )
    truth = _answers(target, "original", test)
    scores = {}
    for which in ("original", "masked"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn suspects a regression where there are many classes
            rows = trained_on[which]
            model.fit(_features(others, frequent, which, rows), _answers(target, which, rows))
            scores[which] = float(model.score(_features(others, frequent, "original", test), truth))
    answers = _answers(target, "original", train)
    blind = 0.0 if is_number else float(np.mean(truth == np.bincount(answers.astype(np.int64)).argmax()))
    return {**scores, "blind": blind, "loss": scores["original"] - scores["masked"]}


def _frequent(counts: Longs) -> NDArray[np.intp]:
    """The values that occur most."""
    ordered = np.argsort(-counts, kind="stable")[:MOST_DUMMIES]
    return ordered[counts[ordered] > 0]


def _answers(column: ComparedColumn, which: str, rows: Longs) -> Floats:
    codes = getattr(column, which)[rows]
    return np.asarray(_scale(column)[codes] if isinstance(column.value_space, NumericSpace) else codes, np.float64)


def _scale(column: ComparedColumn) -> Floats:
    """Numbers on the range of the original: trees split them alike, and hold them in few bits."""
    numbers: Floats = column.value_space.numbers  # type: ignore[attr-defined]
    own = numbers[column.counts("original")[:-1] > 0] / 2.0
    if not own.size:
        return np.zeros(numbers.size)
    halves = (numbers / 2.0 - own.min()) / (float(np.ptp(own)) or 1.0)
    return np.asarray(np.clip(halves, -FARTHEST, FARTHEST))


def _features(
    columns: Sequence[ComparedColumn], frequent: Sequence[NDArray[np.intp]], which: str, rows: Longs
) -> Floats:
    """Numbers, the most frequent values of other columns as 0 and 1, missing cells as 0 with a flag."""
    parts = []
    for column, values in zip(columns, frequent, strict=True):
        codes = getattr(column, which)[rows]
        parts.append((codes < 0).astype(np.float64))
        if isinstance(column.value_space, NumericSpace):
            parts.append(np.append(_scale(column), 0.0)[codes])
            continue
        parts += [(codes == value).astype(np.float64) for value in values]
    return np.stack(parts, axis=1)
