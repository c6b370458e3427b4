"""``anonto ontology`` and ``anonto ontologies``: the health card of an ontology, and the listed ontologies."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anonto.cli.options import FormatOption, JsonOption
from anonto.cli.show import show_facts, show_json, show_table


def ontology(
    file: Annotated[str, typer.Argument(help="A file, an RF2 release folder, or a listed name.")],
    *,
    format_name: FormatOption = None,
    root: Annotated[str | None, typer.Option("--root", help="Keep only this concept and its descendants.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the health card of an ontology: its size and shape, and problems of the file.

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
    """List the ontologies that are available by name.

    Example: `anonto ontologies`
    """
    from anonto.ontology.catalogue import LISTED

    listed: list[dict[str, Any]] = [
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
    rows = [[one["name"], one["title"], "yes" if one["available"] else one["install"], one["origin"]] for one in listed]
    show_table(["name", "ontology", "installed", "origin"], rows)


def _show_card(card: dict[str, Any]) -> None:
    from anonto.wording import one_line

    version = f", version {card['version']}" if card["version"] else ""
    title = f"{card['source']} ({card['format']}{version})"
    show_facts(one_line(title), [(name, one_line(fact)) for name, fact in _facts(card)])


def _facts(card: dict[str, Any]) -> list[tuple[str, str]]:
    edges, branching, obsolete = card["edges"], card["branching"], card["obsolete"]
    replaced = obsolete["replaced"]
    dropped = edges["dangling"] + edges["duplicate"] + edges["redundant"]
    roots = ", ".join(concept_name(root) for root in card["roots"])
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
        ("branching", f"{branching['mean']:.1f} children of an inner concept on average, {branching['max']:,} at most"),
        ("several parents", f"{card['several_parents']:,} concepts"),
        ("labels", f"{card['concepts'] - card['without_label']:,}, synonyms {card['synonyms']:,}"),
        ("other ids", f"{card['alternative_ids']:,} alternative, {obsolete['ids']:,} obsolete ({replaced:,} replaced)"),
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
        ("concepts dropped", f"{card['isolated_concepts_dropped']:,} with neither parent nor child{of_the_file}"),
        ("relabelled", f"{card['relabelled_concepts']:,} concepts with several labels{of_the_file}; the first is kept"),
        ("for example", "; ".join(concept_name(concept) for concept in card["labels"])),
        ("sha256", card["sha256"]),
    ]


def concept_name(concept: dict[str, str]) -> str:
    """Id and label of a concept; the id alone if there is no other label."""
    return concept["id"] if concept["label"] in {"", concept["id"]} else f"{concept['id']} {concept['label']}"
