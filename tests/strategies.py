"""Random hierarchies and columns for property tests."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from anonto.taxonomy.build import Draft
from anonto.taxonomy.taxonomy import Provenance, Taxonomy

Parents = Mapping[str, tuple[str, ...]]


def taxonomy_of(parents: Mapping[str, tuple[str, ...] | list[str]], source: str = "test") -> Taxonomy:
    draft = Draft()
    for concept, above in parents.items():
        draft.concept(concept, f"label of {concept}")
        for parent in above:
            draft.edge(concept, parent)
    return draft.finish(Provenance(source=source, format="test", sha256=""))


@st.composite
def hierarchies(draw: st.DrawFn, *, max_concepts: int = 10, trees: bool = False, one_root: bool = False) -> Parents:
    """Directed acyclic hierarchies, shortcuts included, listed in any order."""
    n = draw(st.integers(1, max_concepts))
    names = [f"c{i}" for i in draw(st.permutations(range(n)))]
    most = 1 if trees else 3
    parents = {names[0]: ()}
    for i in range(1, n):
        least = 1 if one_root else 0
        above = draw(st.lists(st.sampled_from(names[:i]), min_size=least, max_size=most, unique=True))
        parents[names[i]] = tuple(above)
    order = draw(st.permutations(sorted(parents)))
    return {name: parents[name] for name in order}


@st.composite
def hierarchies_with_columns(
    draw: st.DrawFn, *, columns: int = 1, min_records: int = 1, max_records: int = 12, **options: object
):  # type: ignore[no-untyped-def]
    parents = draw(hierarchies(**options))
    n = draw(st.integers(min_records, max_records))
    cells = st.lists(st.sampled_from(sorted(parents)), min_size=n, max_size=n)
    return parents, [draw(cells) for _ in range(columns)]
