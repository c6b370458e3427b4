"""Statistics of nominal data by meaning: means, dispersions, marginality, dependence, distances of mixed records.

Values are concept ids in any kind of column; None is missing. All are computed from the counts of distinct values (or
distinct pairs): once these are counted, the number of records no longer matters.
"""

from anonto.stats.centre import semantic_mean, semantic_variance
from anonto.stats.dependence import (
    bias_corrected_distance_correlation,
    distance_correlation,
    distance_covariance,
    distance_variance,
)
from anonto.stats.independence import IndependenceTest, independence_test
from anonto.stats.marginality import (
    marginality,
    marginality_covariance,
    marginality_covariance_matrix,
    marginality_mean,
    marginality_numerical_mean,
    marginality_variance,
)
from anonto.stats.records import record_distances
from anonto.stats.set_centre import set_distance_correlation, set_mean, set_variance
from anonto.stats.sets import set_distance

__all__ = [
    "IndependenceTest",
    "bias_corrected_distance_correlation",
    "distance_correlation",
    "distance_covariance",
    "distance_variance",
    "independence_test",
    "marginality",
    "marginality_covariance",
    "marginality_covariance_matrix",
    "marginality_mean",
    "marginality_numerical_mean",
    "marginality_variance",
    "record_distances",
    "semantic_mean",
    "semantic_variance",
    "set_distance",
    "set_distance_correlation",
    "set_mean",
    "set_variance",
]
