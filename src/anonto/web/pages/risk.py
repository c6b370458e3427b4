"""Risk before: what the raw table would give away if it were released as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.web.frame import onward
from anonto.web.parts import box, facts, heading, message, show, table, tag, term, text

if TYPE_CHECKING:
    from anonto.web.frame import Frame


def risk_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page about the raw table."""
    del asked
    with frame.page(
        "Risk before masking",
        "How well people could be recognised if the table were released as it is, without its identifiers.",
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
    classes, linkage, real = risks.get("uniqueness"), risks.get("distance-linkage"), risks.get("real-k")
    with box("card"):
        show(tag("h2", "All ", term("quasi-identifiers"), " together"))
        shown: list[tuple[Any, Any]] = [("records", f"{found['n_records']:,}")]
        if classes is not None:
            alone, n = classes["alone_in_original"], max(classes["n"], 1)
            shown.append((term("records are unique", "unique"), f"{alone / n:.1%}"))
        if real is not None:
            shown.append((term("k-anonymity"), f"{real['real_k']:,}"))
        if linkage is not None:
            shown.append((term("linked to their person", "linkage"), f"{linkage['rate']:.1%}"))
            shown.append((term("by guessing", "baseline"), f"{linkage['baseline']:.2%}"))
        facts(shown)
        text(f"Known to the intruder: {', '.join(found['quasi'])}.", "p", "small")
        if linkage is not None:
            show(tag("p", _verdict(linkage["rate"])))
    if found["combinations"]:
        with box("card"):
            heading("Combinations that single people out")
            table(
                "Of up to three columns together, the most telling first",
                ["Columns", term("Unique records", "unique"), "Share"],
                [
                    [" × ".join(one["columns"]), f"{one['unique_records']:,}", f"{one['share']:.1%}"]
                    for one in found["combinations"]
                ],
                numbers=(1, 2),
            )
    with box("card"):
        heading("Column by column")
        table(
            "Values that occur once point at one person",
            ["Column", term("Distinct values", "distinct"), "Occur once", term("Missing", "missing cells")],
            [
                [one["name"], f"{one['distinct']:,}", f"{one['once']:,}", f"{one['missing']:,}"]
                for one in found["columns"]
                if one["role"] != "identifier"
            ],
            numbers=(1, 2, 3),
        )


def why_not_attacked(found: dict[str, Any]) -> str:
    """Why no attack could be tried on the raw table."""
    if not found["n_records"]:
        return "The table has no record, so there is nobody to recognise. Open one that has."
    return "No column is a quasi-identifier, so there is nothing to attack. Correct it on the page before."


def _verdict(rate: float) -> str:
    if rate >= 0.5:
        return "Most people could be recognised by somebody who knows these columns: the table must not leave so."
    if rate >= 0.1:
        return "Many people could be recognised by somebody who knows these columns of them."
    return "Few people could be recognised by these columns alone; see the combinations below."
