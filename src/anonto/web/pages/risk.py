"""Risk before: disclosure risk of the raw table if it were released unmasked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.registry import attacks
from anonto.web.frame import onward
from anonto.web.parts import box, heading, key_figures, message, show, table, tag, term, text

if TYPE_CHECKING:
    from anonto.web.frame import Frame


SETS_SHOWN = 10


def risk_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page about the raw table."""
    del asked
    with frame.page(
        "Risk before masking",
        "How well people could be recognised if the table were released unmasked, without its identifiers.",
    ):
        place = box("stack")

        async def content() -> None:
            found = await frame.ask("risk")
            place.clear()
            with place:
                _risk(found)

        frame.soon(place, "Counting combinations and trying attacks", content)
        onward(("Columns", "/columns"), ("Method", "/method"))


def _risk(found: dict[str, Any]) -> None:
    attacked = found["assessment"]
    if attacked is None:
        message(why_not_attacked(found), "warning")
        return
    risks = {one["attack"]: one for one in attacked["risk"]}
    # The counts of records come before the attacks that are tried first.
    tried = [(one, risks[one.name]) for one in reversed([*attacks().values()]) if one.name in risks]
    with box("card"):
        show(tag("h2", "All ", term("quasi-identifiers"), " together"))
        unit = "records" if found["n_rows"] is None else "persons"
        shown: list[tuple[Any, Any]] = [(unit, f"{found['n_records']:,}")]
        if found["n_rows"] is not None:
            shown.append(("rows", f"{found['n_rows']:,}"))
        for one, own in tried:
            figures = one.before_masking(own)
            shown += [(term(words.replace("records", unit), about), number) for words, about, number in figures]
        key_figures(shown)
        text(f"Known to the intruder: {', '.join(found['quasi'])}.", "p", "small")
        for said in filter(None, (one.judge_unmasked(own) for one, own in tried)):
            show(tag("p", said))
    if found["combinations"]:
        with box("card"):
            heading("Combinations that single people out")
            table(
                "Up to three columns together, the most identifying first",
                ["Columns", term("Unique records", "unique"), "Share"],
                [
                    [" × ".join(one["columns"]), f"{one['unique_records']:,}", f"{one['share']:.1%}"]
                    for one in found["combinations"]
                ],
                numbers=(1, 2),
            )
    if found["key"] is not None and found["key"]["unique_records"]:
        _key(found["key"])
    with box("card"):
        heading("Column by column")
        table(
            "Values that occur once identify one person",
            ["Column", term("Distinct values", "distinct"), "Occur once", term("Missing", "missing cells")],
            [
                [one["name"], f"{one['distinct']:,}", f"{one['once']:,}", f"{one['missing']:,}"]
                for one in found["columns"]
                if one["role"] != "identifier"
            ],
            numbers=(1, 2, 3),
        )


def why_not_attacked(found: dict[str, Any]) -> str:
    """The reason why no attack could be run on the raw table."""
    if not found["n_records"]:
        return "The table has no records, so there is nobody to recognise. Open another one."
    return "No column is a quasi-identifier, so there is nothing to attack. Set the roles on the page “Columns”."


def _key(key: dict[str, Any]) -> None:
    """The columns that make records unique."""
    uniques = key["minimal_uniques"]
    with box("card"):
        heading("Columns that make people unique")
        text(
            f"{key['share']:.1%} of the records are unique in all quasi-identifiers, and "
            f"{key['share_in_small_classes']:.1%} are in classes of fewer than {key['small_class']}. The share of the "
            "risk counts the smallest sets of columns that make a record unique, small sets more."
        )
        table(
            "Recode or drop the first ones first",
            ["Column", "Share of the risk", "Unique without it"],
            [[one["name"], f"{one['share_of_risk']:.1%}", f"{one['unique_without']:,}"] for one in uniques["columns"]],
            numbers=(1, 2),
        )
        table(
            "The fewest columns that make a record unique",
            ["Columns", "Records"],
            [[" × ".join(one["columns"]), f"{one['records']:,}"] for one in uniques["worst"][:SETS_SHOWN]],
            numbers=(1,),
        )
