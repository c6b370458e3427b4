"""What the whole table lost: whether a model tells masked records from original ones, and how a prediction suffers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from anonto.table.attributes import NumericAttribute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Floats = NDArray[np.float64]

MOST_ROWS = 5_000
"""Models are fitted on this many rows of each table."""
MOST_DUMMIES = 30
"""A nominal column enters a model by its most frequent values."""


def propensity(columns: Sequence[ComparedColumn], rng: np.random.Generator) -> dict[str, float]:
    """The propensity score mean squared error: 0 when no model can tell the two tables apart, 1/4 when one always can.

    Both tables are stacked; a tree that sees half of the rows predicts for the others which table they are from. The
    ratio is against the mean over random labels: about 1 when nothing can be told.

    References: Woo, Reiter, Oganian, Karr, Journal of Privacy and Confidentiality 1 (2009); Snoke, Raab, Nowok, Dibben,
    Slavković, JRSS A 181 (2018).
    """
    from sklearn.tree import DecisionTreeClassifier

    rows = _sample(columns[0].n_persons, rng)
    features = np.concatenate([_features(columns, which, rows) for which in ("original", "masked")])
    is_masked = np.repeat([0, 1], rows.size)
    if rows.size < 20:
        return {}

    def error(labels: NDArray[np.int64]) -> float:
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


def prediction(columns: Sequence[ComparedColumn], target: ComparedColumn, rng: np.random.Generator) -> dict[str, float]:
    """How well a tree fitted on the release predicts a column of original rows, against one fitted on the original.

    For numbers the share of the variance that is explained, else the share of rows that are told right; ``blind`` is
    what a model that sees no other column reaches, and ``loss`` what is lost by learning from the release.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    rows = _sample(target.n_persons, rng)
    rows = rows[(target.original[rows] >= 0) & (target.masked[rows] >= 0)]
    others = [column for column in columns if column.name != target.name]
    if rows.size < 20 or not others:
        return {}
    order = rng.permutation(rows.size)
    learn, test = rows[order[::2]], rows[order[1::2]]
    is_number = isinstance(target.attribute, NumericAttribute)
    model = (DecisionTreeRegressor if is_number else DecisionTreeClassifier)(
        max_depth=8, min_samples_leaf=5, random_state=0
    )
    truth = _answers(target, "original", test)
    scores = {}
    for which in ("original", "masked"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of so many classes that the answers may be numbers
            model.fit(_features(others, which, learn), _answers(target, which, learn))
            scores[which] = float(model.score(_features(others, "original", test), truth))
    learnt = _answers(target, "original", learn)
    blind = 0.0 if is_number else float(np.mean(truth == np.bincount(learnt.astype(np.int64)).argmax()))
    return {**scores, "blind": blind, "loss": scores["original"] - scores["masked"]}


def _sample(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.sort(rng.choice(n, min(n, MOST_ROWS), replace=False))


def _answers(column: ComparedColumn, which: str, rows: NDArray[np.int64]) -> Floats:
    codes = getattr(column, which)[rows]
    attribute = column.attribute
    return np.asarray(_scaled(attribute)[codes] if isinstance(attribute, NumericAttribute) else codes, dtype=np.float64)


def _scaled(attribute: NumericAttribute) -> Floats:
    """Numbers between 0 and 1: trees split them alike, and hold them in few bits."""
    numbers = attribute.numbers
    halves = numbers / 2.0 - (numbers.min() if numbers.size else 0.0) / 2.0
    return np.asarray(halves / (halves.max(initial=0.0) or 1.0))


def _features(columns: Sequence[ComparedColumn], which: str, rows: NDArray[np.int64]) -> Floats:
    """Numbers from 0 to 1, the most frequent values of other columns as 0 and 1, missing cells as 0 with a flag."""
    parts = []
    for column in columns:
        codes = getattr(column, which)[rows]
        attribute = column.attribute
        parts.append((codes < 0).astype(np.float64))
        if isinstance(attribute, NumericAttribute):
            parts.append(np.append(_scaled(attribute), 0.0)[codes])
            continue
        frequent = np.argsort(-attribute.counts, kind="stable")[:MOST_DUMMIES]
        parts += [(codes == value).astype(np.float64) for value in frequent]
    return np.stack(parts, axis=1)
