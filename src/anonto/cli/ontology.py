"""``anonto ontology`` and ``anonto ontologies``: what an ontology is like, and which have a name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anonto.cli.show import show_facts, show_json, show_table
from anonto.ontology.readers import OWN

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help=f"{' or '.join(', '.join(OWN).rsplit(', ', 1))}; by default told from the content.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print data for machines.")]


def ontology(
    file: Annotated[str, typer.Argument(help="A file, an RF2 release folder, or a listed name.")],
    *,
    format_name: FormatOption = None,
    root: Annotated[str | None, typer.Option("--root", help="Keep this concept and its descendants only.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the health card of an ontology: its size and shape, and what was wrong with the file.

    Example: `anonto ontology doid.obo.gz`
    """
    from anonto.ontology.card import health_card
    from anonto.ontology.catalogue import open_ontology

    card = health_card(open_ontology(file, format=format_name, root=root))
    if as_json:
        show_json(card)
    else:
        _show_card(card)


def ontologies(*, as_json: JsonOption = False) -> None:
    """List the ontologies that can be used by name.

    Example: `anonto ontologies`
    """
    from anonto.ontology.catalogue import LISTED

    listed = [
        {
            "name": one.name,
            "title": one.title,
            "origin": one.origin,
            "available": one.available,
            "install": f"pip install 'anonto[{one.extra}]'" if one.extra else "",
        }
        for one in LISTED.values()
    ]
    if as_json:
        show_json(listed)
        return
    rows = [
        [
            str(one["name"]),
            str(one["title"]),
            "yes" if one["available"] else str(one["install"]),
            str(one["origin"]),
        ]
        for one in listed
    ]
    show_table(["name", "ontology", "installed", "origin"], rows)


def _show_card(card: dict[str, Any]) -> None:
    from anonto.errors import one_line

    version = f", version {card['version']}" if card["version"] else ""
    title = f"{card['source']} ({card['format']}{version})"
    show_facts(one_line(title), [(name, one_line(fact)) for name, fact in _facts(card)])


def _facts(card: dict[str, Any]) -> list[tuple[str, str]]:
    edges, branching, obsolete = card["edges"], card["branching"], card["obsolete"]
    replaced = obsolete["replaced"]
    dropped = edges["dangling"] + edges["duplicate"] + edges["redundant"]
    roots = ", ".join(_named(root) for root in card["roots"])
    more = card["n_roots"] - len(card["roots"])
    of_the_file = "" if card["restricted_to"] is None else " in the whole file"
    part = [] if card["restricted_to"] is None else [("part", f"{card['restricted_to']} and what lies below it")]
    return [
        *part,
        ("concepts", f"{card['concepts']:,} ({card['leaves']:,} leaves)"),
        (
            "roots",
            f"{card['n_roots']:,}: {roots}"
            + (f" and {more:,} more" if more > 0 else "")
            + ("; a virtual root above them counts nowhere" if card["virtual_root"] else ""),
        ),
        ("depth", f"{card['depth']} nodes on the longest way from a root"),
        (
            "branching",
            f"{branching['mean']:.1f} children of an inner concept on average, {branching['max']:,} at most",
        ),
        ("several parents", f"{card['several_parents']:,} concepts"),
        ("labels", f"{card['concepts'] - card['without_label']:,}, synonyms {card['synonyms']:,}"),
        (
            "other ids",
            f"{card['alternative_ids']:,} alternative, {obsolete['ids']:,} obsolete ({replaced:,} replaced)",
        ),
        ("cycles", "none"),
        ("relations", f"{', '.join(card['relations'])}: {edges['read']:,} read{of_the_file}, {edges['kept']:,} kept"),
        (
            "edges dropped",
            (
                f"{dropped:,}{of_the_file}: {edges['dangling'] - edges['orphaned']:,} to undeclared parents, "
                + (f"{edges['orphaned']:,} from undeclared children, " if edges["orphaned"] else "")
                + f"{edges['duplicate']:,} repeated, {edges['redundant']:,} shortcuts"
            ),
        ),
        (
            "concepts dropped",
            f"{card['isolated_concepts_dropped']:,} with neither parent nor child{of_the_file}",
        ),
        ("relabelled", f"{card['relabelled_concepts']:,} concepts with several labels{of_the_file}; the first is kept"),
        ("for example", "; ".join(_named(concept) for concept in card["labels"])),
        ("sha256", card["sha256"]),
    ]


def _named(concept: dict[str, str]) -> str:
    label = concept["label"]
    return f"{concept['id']} {label}" if label and label != concept["id"] else concept["id"]
