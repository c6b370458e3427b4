"""The health card of a taxonomy: facts to check before trusting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from anonto.taxonomy.taxonomy import Taxonomy

LABELS_SHOWN = 5
ROOTS_SHOWN = 5


def health_card(taxonomy: Taxonomy) -> dict[str, Any]:
    """Size, shape and faults of a taxonomy as plain data.

    A taxonomy has no cycle: a file with one is refused when it is read. For a part of an ontology, the edges read and
    dropped are those of the whole file.
    """
    n_children = np.diff(taxonomy.child_offsets)
    n_parents = np.diff(taxonomy.parent_offsets)
    inner = n_children[n_children > 0]
    provenance = taxonomy.provenance
    replaced = sum(replacement is not None for replacement in taxonomy.obsolete.values())
    return {
        "source": provenance.source,
        "format": provenance.format,
        "version": provenance.version,
        "sha256": provenance.sha256,
        "relations": list(provenance.relations),
        "concepts": len(taxonomy),
        "leaves": int(np.count_nonzero(n_children == 0)),
        "roots": [{"id": root, "label": taxonomy.label(root)} for root in taxonomy.roots[:ROOTS_SHOWN]],
        "n_roots": len(taxonomy.roots),
        "virtual_root": provenance.virtual_root,
        "restricted_to": provenance.restricted_to,
        "depth": taxonomy.max_depth,
        "branching": {
            "mean": float(inner.mean()) if inner.size else 0.0,
            "max": int(inner.max()) if inner.size else 0,
        },
        "several_parents": int(np.count_nonzero(n_parents > 1)),
        "synonyms": len(taxonomy.synonym_texts),
        "without_label": sum(not label for label in taxonomy.labels),
        "alternative_ids": len(taxonomy.alternative_ids),
        "obsolete": {"ids": len(taxonomy.obsolete), "replaced": replaced},
        "cycles": 0,
        "edges": {
            "read": provenance.edges_read,
            "kept": int(taxonomy.parent_indices.size),
            "dangling": provenance.dangling_edges,
            "orphaned": provenance.orphaned_edges,
            "duplicate": provenance.duplicate_edges,
            "redundant": provenance.redundant_edges,
        },
        "relabelled_concepts": provenance.relabelled_concepts,
        "isolated_concepts_dropped": provenance.isolated_concepts,
        "labels": _some_labels(taxonomy),
    }


def _some_labels(taxonomy: Taxonomy) -> list[dict[str, str]]:
    """A few concepts spread over the whole taxonomy."""
    n = len(taxonomy)
    numbers = sorted({round(i * (n - 1) / max(LABELS_SHOWN - 1, 1)) for i in range(LABELS_SHOWN)})
    return [{"id": taxonomy.ids[i], "label": taxonomy.labels[i]} for i in numbers]
