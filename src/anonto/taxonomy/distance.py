"""Semantic distances between concepts, by name.

Every measure is a distance: 0 for equal concepts, at most 1, and 1 for two concepts that share no ancestor. A measure
is a function of `Pairs`, a tile of concept pairs; its docstring has the formula, the range, and where it is a
metric. *On trees* means that no concept in use has several parents.

T(c) is the concept with all its ancestors; path(c, a) the edges on the shortest way up; a ranges over the common
ancestors of c and c′; IC is the information content (`anonto.taxonomy.information`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import binary_logs, logs
from anonto.taxonomy import kernels
from anonto.taxonomy.extremes import longest_way, most_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonto.arrays import Floats
    from anonto.taxonomy.pairs import Pairs


def wu_palmer(pairs: Pairs) -> Floats:
    r"""Depth of what two concepts share, against the way to it.

    $$d(c,c') = 1 - \max_a \frac{2\,depth(a)}{2\,depth(a) + path(c,a) + path(c',a)}$$

    Depth is the longest way to the root in nodes. Range [0, 1]; 1 only without a common ancestor.
    A metric on trees, where it is the Dice distance of the ancestor sets; not where concepts have several parents.

    References: Wu, Palmer, ACL 1994. Departure from Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019),
    eq. 3: the maximum over all common ancestors, so that no tie between least common subsumers needs to be broken.
    Where concepts have several parents, a shorter way may lead over an ancestor above the least common subsumer, and
    the distance is then below that of eq. 3, even if that subsumer is unique; `wu_palmer_lcs` is eq. 3 to the letter.
    """
    return pairs.run(kernels.closest_by_depth, pairs.taxonomy.depths[pairs.ancestors])


def wu_palmer_lcs(pairs: Pairs) -> Floats:
    r"""Depth of the least common subsumer, against the way to it.

    $$d(c,c') = 1 - \frac{2\,depth(s)}{2\,depth(s) + path(c,s) + path(c',s)}, \quad s = LCS(c,c')$$

    Of several minimal common subsumers the deepest is taken, then the one with fewest descendants, then the smallest
    id, as in `Taxonomy.least_common_subsumer`. Range [0, 1]; 1 only without a common ancestor. On trees it equals
    wu-palmer and is a metric; not where concepts have several parents.

    References: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), eq. 3, which leaves open which of
    several least common subsumers is meant.
    """
    taxonomy = pairs.taxonomy
    ranks = taxonomy.specificity[pairs.ancestors]
    return pairs.run(kernels.closest_by_subsumer, ranks, taxonomy.depths[pairs.ancestors])


def ancestor(pairs: Pairs) -> Floats:
    r"""Share of ancestors that two concepts do not have in common, on a log scale.

    $$d(c,c') = \log_2\Bigl(1 + \frac{|T(c) \cup T(c')| - |T(c) \cap T(c')|}{|T(c) \cup T(c')|}\Bigr)$$

    Range [0, 1]; 1 only without a common ancestor. A metric, and of negative type, on any hierarchy: the measure to
    prefer for distance correlations where concepts have several parents.

    References: Sánchez, Batet, Isern, Valls, Expert Systems with Applications 39 (2012); Domingo-Ferrer, Sánchez,
    Rufian-Torrell, Information Sciences 242 (2013), eq. 1.
    """
    shared, union = _count_shared_and_union(pairs)
    return binary_logs(1.0 + (union - shared) / union)


def jaccard(pairs: Pairs) -> Floats:
    r"""Share of ancestors that two concepts do not have in common.

    $$d(c,c') = 1 - \frac{|T(c) \cap T(c')|}{|T(c) \cup T(c')|}$$

    Range [0, 1]. A metric on any hierarchy.

    References: Jaccard, New Phytologist 11 (1912); Batet, Sánchez, Valls, J. Biomedical Informatics 44 (2011).
    """
    shared, union = _count_shared_and_union(pairs)
    return np.asarray((union - shared) / union)


def dice(pairs: Pairs) -> Floats:
    r"""Share of ancestors that two concepts do not have in common, against the mean size of both sets.

    $$d(c,c') = 1 - \frac{2\,|T(c) \cap T(c')|}{|T(c)| + |T(c')|}$$

    Range [0, 1]. A metric on trees, where it equals wu-palmer; not in general.

    References: Dice, Ecology 26 (1945).
    """
    shared, union = _count_shared_and_union(pairs)
    return np.asarray((union - shared) / (union + shared))


def rada(pairs: Pairs) -> Floats:
    r"""Length of the shortest way over a common ancestor, divided by the longest such way in the taxonomy.

    $$d(c,c') = \min_a \bigl(path(c,a) + path(c',a)\bigr) \big/ \max_{x,y} \min_a (\ldots)$$

    Range [0, 1]. A metric on trees; with several parents a common descendant may be nearer than any ancestor, and
    the triangle inequality can fail.

    References: Rada, Mili, Bicknell, Blettner, IEEE Trans. Systems, Man and Cybernetics 19 (1989).
    """
    ways = pairs.ways()
    longest = longest_way(pairs.taxonomy)
    return np.where(ways < 0, 1.0, ways / longest if longest else 0.0)


def leacock_chodorow(pairs: Pairs) -> Floats:
    r"""Log of the shortest way in nodes, against twice the depth of the taxonomy.

    $$sim = -\log \frac{1 + \min_a (path(c,a) + path(c',a))}{2 D}, \quad d = 1 - sim / \log 2D$$

    with D the depth of the taxonomy in nodes. Range [0, 1]; 1 only without a common ancestor. A metric on trees (a
    concave function of the way); not in general.

    References: Leacock, Chodorow, in Fellbaum (ed.), WordNet, MIT Press 1998.
    """
    ways = pairs.ways()
    return np.where(ways < 0, 1.0, logs(1.0 + np.maximum(ways, 0.0)) / math.log(2.0 * pairs.taxonomy.max_depth))


def resnik(pairs: Pairs) -> Floats:
    r"""Information that two concepts do not share, against the most informative concept of the taxonomy.

    $$d(c,c') = 1 - \max_a IC(a) / \max_x IC(x), \quad d(c,c) = 0$$

    Range [0, 1]. An ultrametric on trees; not a metric in general. Without the second equation an inner concept would
    be far from itself.

    References: Resnik, IJCAI 1995.
    """
    common, _, _ = pairs.contents()
    most = float(pairs.contents_of_all().max())
    distances = 1.0 - np.maximum(common, 0.0) / most if most else np.ones(pairs.shape)
    return np.where(pairs.equal, 0.0, distances)


def lin(pairs: Pairs) -> Floats:
    r"""Information that two concepts share, against the information of both.

    $$d(c,c') = 1 - \frac{2 \max_a IC(a)}{IC(c) + IC(c')}$$

    Range [0, 1]. A metric on trees; not in general.

    References: Lin, ICML 1998.
    """
    common, row_content, column_content = pairs.contents()
    both = row_content + column_content
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = 1.0 - 2.0 * common / both
    return np.where(pairs.equal, 0.0, np.where(common < 0, 1.0, np.clip(distances, 0.0, 1.0)))


def jiang_conrath(pairs: Pairs) -> Floats:
    r"""Information on the way from one concept to the other, divided by the most on any way in the taxonomy.

    $$d(c,c') = \bigl(IC(c) + IC(c') - 2 \max_a IC(a)\bigr) \big/ \max_{x,y} (\ldots)$$

    Range [0, 1]. A metric on trees; not in general.

    References: Jiang, Conrath, ROCLING 1997.
    """
    common, row_content, column_content = pairs.contents()
    apart = np.maximum(row_content + column_content - 2.0 * common, 0.0)
    most = most_apart(pairs)
    distances = np.minimum(apart / most, 1.0) if most else np.zeros(pairs.shape)
    return np.where(pairs.equal, 0.0, np.where(common < 0, 1.0, distances))


def equality(pairs: Pairs) -> Floats:
    """0 for the same concept, 1 for any other: what is left when meaning is ignored. A metric; range {0, 1}."""
    return np.where(pairs.equal, 0.0, 1.0)


FUNCTIONS: Mapping[str, Callable[[Pairs], Floats]] = {
    "wu-palmer": wu_palmer,
    "wu-palmer-lcs": wu_palmer_lcs,
    "ancestor": ancestor,
    "rada": rada,
    "leacock-chodorow": leacock_chodorow,
    "resnik": resnik,
    "lin": lin,
    "jiang-conrath": jiang_conrath,
    "jaccard": jaccard,
    "dice": dice,
    "equality": equality,
}
MEASURES: tuple[str, ...] = tuple(FUNCTIONS)
"""The names of the measures."""

USE_CONTENT = frozenset({"resnik", "lin", "jiang-conrath"})
OF_THE_WHOLE_ONTOLOGY = frozenset({"ancestor", "jaccard", "dice", "equality"})
"""Measures of ancestor sets: they do not move with the root that a policy chooses."""


def _count_shared_and_union(pairs: Pairs) -> tuple[Floats, Floats]:
    shared = pairs.count_shared()
    return shared, np.add.outer(pairs.rows.sizes, pairs.columns.sizes) - shared
