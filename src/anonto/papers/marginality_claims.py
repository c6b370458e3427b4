"""Claims of the paper on marginality, and the verdicts on them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from anonto import stats
from anonto.ontology.catalogue import open_ontology
from anonto.papers.claims import NOTHING, count_below, count_growing, impossible, judge, total
from anonto.papers.marginality_runs import (
    AGE,
    EXAMPLE,
    MIXED,
    NAME,
    NOMINAL,
    PRINTED_TABLES,
    STAY,
    WITH_CHARGE,
    printed_marginalities,
)
from anonto.papers.printed_tables import printed_table
from anonto.wording import list_names

if TYPE_CHECKING:
    from anonto.papers.claims import Claim
    from anonto.papers.marginality_runs import MarginalityRuns

CATEGORIES = ("neoplasm", "digestive")
FEW = 3
"""Up to this many steps against a claim are listed one by one."""
EQUAL = 0.01
FAR_BELOW = 0.5


def claims(runs: MarginalityRuns) -> list[Claim]:
    """All claims about marginality."""
    return [
        _worked_example(),
        _wrong_distances(),
        *_meaning_helps(runs),
        _numbers_equal(runs),
        _alone_is_better(runs),
        _grows(runs),
        _correction(runs),
    ]


def _worked_example() -> Claim:
    known = printed_table(f"{NAME}-table-1")["marginality"].to_list()
    off = max(abs(ours - theirs) for ours, theirs in zip(printed_marginalities(), known, strict=True))
    mean = stats.marginality_mean(EXAMPLE, open_ontology("dementias"))
    return judge(
        "Example",
        "The printed distances give the printed marginalities, and Alzheimer's disease is the mean.",
        kind="hard",
        holds=off < 0.005 and mean == "Alzheimer",
        found=f"The largest difference is {off:.1g}; the mean is {mean}.",
        why="Sums of printed numbers must be the printed sums.",
    )


def _wrong_distances() -> Claim:
    taxonomy = open_ontology("dementias")
    found = taxonomy.distance("Alzheimer", "meningitis", "ancestor")
    return impossible(
        "P5",
        "The example's distance of Alzheimer's disease to meningitis and to multiple sclerosis is 0.65.",
        found=f"Equation 1 gives {found:.4f}.",
        why="No hierarchy with fewer than nine ancestors a concept gives all printed distances; without these two "
        "entries a plain one does, and 0.65 stands in the same table for vascular dementia.",
    )


def _meaning_helps(runs: MarginalityRuns) -> list[Claim]:
    return [
        _gap_grows(runs, "7a", MIXED, "beside numbers", _ties_of_numbers(runs)),
        _gap_grows(
            runs,
            "7b",
            NOMINAL,
            "alone",
            "The steps against the claim are listed with their spread over the random names of the codes. Groups are "
            "formed again for every k, so that neighbouring k need not follow a trend; no other reason is known.",
        ),
    ]


def _gap_grows(runs: MarginalityRuns, key: str, kind: str, where: str, why: str) -> Claim:
    fewer, widening, shares, against = NOTHING, NOTHING, [], []
    for category in CATEGORIES:
        classic, ours = (runs.sse(category, kind, variant) for variant in ("classic", "marginality"))
        fewer += total(count_below(b, a) for a, b in zip(classic, ours, strict=True))
        gaps = runs.gap(category, kind)
        widening += count_growing(gaps)
        shares.append(1 - ours[-1].mean / classic[-1].mean)
        steps = [(k, gap.less(before)) for k, (before, gap) in zip(runs.ks[1:], pairwise(gaps), strict=True)]
        against += [f"{category} at k = {k} by {-one.mean:.1f} ± {one.spread:.1f}" for k, one in steps if one.mean <= 0]
    shrinks = f"; it shrinks for {list_names(against)}" if 0 < len(against) <= FEW else ""
    return judge(
        key,
        f"Diagnosis {where}: marginality has a smaller squared error than classic, and the gap grows with k.",
        holds=fewer.holds and widening.holds,
        found=f"Smaller in {fewer}, the gap grows in {widening}{shrinks}; at k = {runs.ks[-1]} the error is "
        f"{shares[0]:.0%} and {shares[1]:.0%} smaller.",
        why=why,
    )


def _ties_of_numbers(runs: MarginalityRuns) -> str:
    """Why the gap does not grow beside numbers, as far as it could be measured."""
    without, with_charge = (
        " and ".join(f"{runs.saving_at_smallest_k(category, kind):.1%}" for category in CATEGORIES)
        for kind in (MIXED, WITH_CHARGE)
    )
    smallest, largest = runs.ks[0], runs.ks[-1]
    return (
        f"At k = {smallest} the paper's gap is {_printed_gap(smallest)} of the classic error, ours {without}. Many of "
        "our records tie in age and stay, and among ties the diagnosis decides who is in a group; the paper's charges "
        "are continuous and leave no ties. With a synthetic continuous charge as a fourth column our gap at k = "
        f"{smallest} is {with_charge}. That the paper's gap goes on growing, to {_printed_gap(largest)} at k = "
        f"{largest}, and ours does not, is unexplained."
    )


def _printed_gap(k: int) -> str:
    """How much smaller the paper's squared error of the diagnosis is with marginality, in its mixed tables."""
    tables = [printed_table(f"{NAME}-table-{PRINTED_TABLES[category, MIXED]}") for category in CATEGORIES]
    rows = [next(row for row in table.iter_rows(named=True) if row["k"] == k) for table in tables]
    return " and ".join(f"{1 - row['DIAG_marginality'] / row['DIAG_classic']:.1%}" for row in rows)


def _numbers_equal(runs: MarginalityRuns) -> Claim:
    off = max(
        abs(ours.mean / classic.mean - 1)
        for category in CATEGORIES
        for column in (AGE, STAY)
        for classic, ours in zip(
            runs.sse(category, MIXED, "classic", column), runs.sse(category, MIXED, "marginality", column), strict=True
        )
    )
    return judge(
        "7c",
        f"The errors of the numbers are equal for classic and marginality (within {EQUAL:.0%}).",
        holds=off <= EQUAL,
        found=f"They differ by {off:.1%} at most.",
        why="The equality is an artefact of the scale: the diagnosis weighs about one over the number of records, "
        "and next to nothing in the paper's 19,502 and 143,472. With fewer records it weighs a little more, and "
        "groups differ.",
    )


def _alone_is_better(runs: MarginalityRuns) -> Claim:
    ratios = [
        alone.mean / with_numbers.mean
        for category in CATEGORIES
        for alone, with_numbers in zip(
            runs.sse(category, NOMINAL, "marginality"), runs.sse(category, MIXED, "marginality"), strict=True
        )
    ]
    return judge(
        "8",
        "The diagnosis alone loses far less than beside numbers (less than half).",
        holds=max(ratios) < FAR_BELOW,
        found=f"From {min(ratios):.0%} to {max(ratios):.0%} of the error beside numbers.",
        why="With few records even groups of the diagnosis alone hold many different codes.",
    )


def _grows(runs: MarginalityRuns) -> Claim:
    tallies = {
        f"{category} {kind}": count_growing(runs.sse(category, kind, variant))
        for category, kind in PRINTED_TABLES
        for variant in ("marginality",)
    }
    whole = total(tallies.values())
    against = [name for name, one in tallies.items() if not one.holds]
    return judge(
        "9",
        "The squared error of the diagnosis grows with k.",
        holds=whole.holds,
        found=f"{whole}{'; against it: ' + ', '.join(against) if against else ''}.",
        why="At the scale of the paper the groups ignore the diagnosis, and its error varies by chance.",
    )


def _correction(runs: MarginalityRuns) -> Claim:
    saved = [
        1 - corrected.mean / paper.mean
        for category in CATEGORIES
        for paper, corrected in zip(
            runs.sse(category, MIXED, "marginality"), runs.sse(category, MIXED, "marginality, corrected"), strict=True
        )
    ]
    return judge(
        "P6",
        "At a scale that does not grow with the table the diagnosis loses less beside numbers.",
        holds=min(saved) > 0,
        found=f"The corrected scale takes {max(saved):.0%} (k = {runs.ks[0]}) to {min(saved):.0%} off its squared "
        "error.",
        why="In large groups the three columns compete, and the diagnosis loses again.",
    )
