"""The verdict of a report: three sentences, each written from the numbers, and the findings of the public edition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.alignment import SHUFFLED
from anonto.attacks.findings import (
    GUESSABLE_SEED,
    NOT_ATTACKED,
    OF_A_PROOF,
    SINGLES_OUT,
    WHO_IS_IN,
    WITHOUT_A_CONCEPT,
    describe_exceeded_proof,
)
from anonto.attacks.registry import attacks, is_linkage, is_of_two_releases
from anonto.attacks.shares import PassedFloat, percent
from anonto.methods.registry import MOVES_APART
from anonto.report.gate import step_of
from anonto.report.words import guarantee_name
from anonto.wording import list_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Data = Mapping[str, Any]

ALLOWED = ", the most that the method’s proof allows"
WITHOUT_A_BOUND = ", so k does not bound the risk here"


def verdict(data: Data) -> dict[str, str]:
    """Sentences about the worst intruder, the analyst's loss, and the guarantees with what to do next."""
    return {"risk": _risk(data), "utility": _utility(data), "guarantee": _guarantee(data)}


def worst_attack(attacks: Iterable[Data]) -> Data | None:
    """The linkage that reached most, also where only a bound of it is shown."""
    return max((one for one in attacks if is_linkage(one["attack"])), key=_rate_shown, default=None)


def _rate_shown(row: Data) -> float:
    """The rate, or the bound that is shown in its place."""
    if row["rate"] is not None:
        return float(row["rate"])
    if row["high"] is None:
        return 0.0 if row["low"] is None else 1.0
    return 0.0


# ------------------------------------------------------------------------------------------------ risk


def _risk(data: Data) -> str:
    if not data["table"]["records"]:
        return "Nobody could be attacked: the release has no records."
    if data["measured"]["on"] == "nothing":
        return "How many persons an intruder links is not published."
    worst = worst_attack(data["attacks"])
    if worst is None and any(is_linkage(one["attack"]) for one in data["measured"]["kept_back"]):
        return "How many persons an intruder links is not published."
    if worst is None:
        return "No linkage was tried: the plan names no column by which an intruder could know a person."
    knows = attacks()[worst["attack"]].knows
    known = names(worst["columns"]) or knows[:1].lower() + knows[1:].removesuffix(".")
    does = attacks()[worst["attack"]].verdict or f"uses {worst['attack']}"
    if worst["rate"] is None and worst["low"] is None and worst["high"] is None:
        return f"Too few persons were attacked to publish how many the worst intruder, who knows {known}, links."
    hidden = any(is_linkage(one["attack"]) for one in data["measured"]["kept_back"])
    whom = "Of the intruders whose rate is published, the worst" if hidden else "The worst intruder tried"
    said = (
        f"{whom}, who knows {known} and {does}, links {worst['shown']} of the persons to their released "
        f"record{_interval(worst)}; {_against_chance(worst)}{_against_k(worst)}."
    )
    return " ".join([said, *_describe_declared(data, worst), *_whole_rows(data), *_not_attacked(data)])


def _describe_declared(data: Data, worst: Data) -> list[str]:
    """The second sentence of the headline: the worst intruder who knows declared quasi-identifiers only."""
    if worst["declared"]:
        return []
    found = worst_attack(one for one in data["attacks"] if one["declared"])
    if found is None:
        return ["The plan declares no quasi-identifier."]
    return [
        f"Somebody who knows no more than declared quasi-identifiers ({names(found['columns'])}) links "
        f"{found['shown']}{_interval(found)}."
    ]


def _whole_rows(data: Data) -> list[str]:
    """Sentences about cells that are read off rows released whole."""
    return [
        f"Whole rows are released: anyone who knows {names(one['columns'])} can find them and read the rest. "
        f"{one['reading']}"
        for one in data["attacks"]
        if one["whole_rows"]
    ]


def _not_attacked(data: Data) -> list[str]:
    left_out = data["table"]["not_attacked"]
    if not left_out:
        return []
    return [
        f"Other released columns were not attacked ({names(left_out)}): an intruder who knows them may link more "
        "persons."
    ]


def _interval(row: Data) -> str:
    if row["low"] is None or row["high"] is None:
        return ""
    return f" (95 % interval {percent(row['low'])} to {percent(row['high'])})"


def _against_chance(row: Data) -> str:
    chance = percent(row["baseline"])
    if row["rate"] is None or row["low"] == 0 < row["rate"]:  # a bound, or an end that was rounded to 0
        return f"blind guessing links {chance}"
    if row["low"] <= row["baseline"]:
        return f"that does not differ significantly from blind guessing, which links {chance}"
    times = row["rate"] / row["baseline"] if row["baseline"] and row["rate"] is not None else 0.0
    if times >= 2:
        return f"that is {times:,.0f} times what blind guessing links ({chance})"
    return f"blind guessing links {chance}"


def _against_k(row: Data) -> str:
    beyond, limit = row["beyond_k"], row["one_in_k"]
    if beyond is None:
        return ""
    if limit is None:
        return ", and the rate is above 1 in k (k is not published)" if beyond == "above" else ""
    words = {"above": "is above", "below": "is below", "equal": "does not differ significantly from"}
    more = ""
    if beyond == "above":
        more = f"{ALLOWED}. {describe_exceeded_proof(row['draws'])}" if row["k_proved"] else WITHOUT_A_BOUND
    return f", and the rate {words[beyond]} 1/k = {100 * limit:.3g} %{more}"


# ------------------------------------------------------------------------------------------------ utility


def _utility(data: Data) -> str:
    columns, pairs = data["columns"], data["pairs"]
    if not columns:
        return "No column was masked, so the analyst keeps everything."
    if not data["table"]["records"]:
        return "There is nothing to analyse."
    if data["measured"]["on"] == "nothing":
        return "How much of the table the analyst keeps is not published."
    kept = [_frequencies(columns)]
    if pairs:
        kept.append(_dependence(pairs))
    sentence = f"The analyst keeps {', and '.join(kept)}"
    told = data["whole_table"].get("prediction")
    if told and "masked" in told:
        sentence += (
            f"; a model that predicts {told['column']} reaches {told['masked']:.2f} where the original gives "
            f"{told['original']:.2f} and guessing {told['blind']:.2f}"
        )
    weight = data["table"].get("weight")
    return f"{sentence}." if weight is None else f"{sentence}. These figures are weighted by {weight}."


def _frequencies(columns: Sequence[Data]) -> str:
    moved = [one for one in columns if not one["same_frequencies"]]
    if not moved:
        return "the exact frequency of every value of the masked columns"
    told = [one for one in moved if one["hellinger"] is not None]
    if len(told) < len(moved):
        few = names(one["name"] for one in moved if one["hellinger"] is None)
        return f"frequencies that moved so little in {few} that it is not shown how far"
    worst = max(moved, key=lambda one: one["hellinger"])
    how = f"moved by a Hellinger distance of {worst['hellinger']:.2f} at most ({worst['name']})"
    if len(moved) == len(columns):
        return f"frequencies that {how}"
    return (
        f"the exact frequencies of {len(columns) - len(moved)} of {len(columns)} masked columns and others that {how}"
    )


def _dependence(pairs: Sequence[Data]) -> str:
    changes = [abs(one["change"]) for one in pairs]
    if isinstance(pairs[0]["change"], PassedFloat):
        step = max(step_of(one["n"]) or 1.0 for one in pairs)
        most = f"by {max(changes):.2f} at most" if max(changes) else f"by less than {step:g}"
        return f"distance correlations, where they are published, that changed {most}"
    if max(changes) < 5e-4:
        return "distance correlations that did not change"
    worst = pairs[changes.index(max(changes))]
    both = worst["distance_correlation"]
    most = f"{' × '.join(worst['columns'])}, from {both['original']:.2f} to {both['masked']:.2f}"
    if len(pairs) == 1:
        return f"a distance correlation that went {most.partition(', ')[2]} ({' × '.join(worst['columns'])})"
    mean = sum(changes) / len(changes)
    return f"distance correlations that changed by {mean:.3f} on average and by {max(changes):.3f} at most ({most})"


# ------------------------------------------------------------------------------------------------ guarantee


def _guarantee(data: Data) -> str:
    return f"{_describe_proved(data)}; {_next(data)}."


def _describe_proved(data: Data) -> str:
    steps = data["steps"]
    if not steps:
        return "Nothing was masked, so nothing is proved"
    proved = [one for one in steps if one["guarantee"]["proved"]]
    others = [one for one in steps if not one["guarantee"]["proved"]]
    methods = list_names(dict.fromkeys(one["method"] for one in others))
    if not data["table"]["records"]:
        return "Nothing is proved: the release has no records"
    if not proved:
        return f"No guarantee is proved for this release ({methods}), so the rates measured here are all that is known"
    kinds = list_names(dict.fromkeys(guarantee_name(one["guarantee"]) for one in proved))
    unchecked = "" if data["checked"] else " and if this plan made the release, which is taken as given here"
    two = any(is_of_two_releases(one["attack"]) for one in data["attacks"])
    twice = ", which are those of a single release, while there are two" if two else ""
    said = f"Proved: {kinds}, under the conditions below{twice}{unchecked}"
    return f"{said}; nothing is proved for the other steps ({methods})" if others else said


def _next(data: Data) -> str:
    """Advice on the next step; in the public edition, how much the figures are worth."""
    if not data["table"]["records"]:
        return "a table with records is needed to say more"
    return _for_readers(data) if data["edition"] == "public" else _for_owners(data)


def _for_readers(data: Data) -> str:
    if _only_of_proofs(data):
        return "that an attack linked more than the proved 1 in k can be chance, or a condition that does not hold"
    weakness = next((one.weakness for one in attacks().values() if one.finding and one.finding in data["findings"]), "")
    if weakness:
        return f"that {weakness} is a known weakness of this release"
    if data["findings"]:
        return "that an attack links more than 1 in k is a known weakness of this release"
    unmasked = _unmasked_columns(data)
    if unmasked:
        return f"{names(unmasked)} could also help to identify a person and were released unmasked"
    if data["steps"] and all(one["guarantee"]["proved"] for one in data["steps"]):
        return "the proof holds as long as these conditions do"
    return "a cleverer intruder may reach more"


def _only_of_proofs(data: Data) -> bool:
    """Return whether all that was found is that a rate lies above a bound which is proved."""
    return bool(data["findings"]) and all(OF_A_PROOF in one for one in data["findings"])


def _unmasked_columns(data: Data) -> list[str]:
    """Columns that are released unmasked and may be known: declared so, or not described at all."""
    recoded = [one for one in data.get("recoded", ()) if one["name"] not in data["table"]["masked"]]
    released = [*data["table"]["released_as_is"], *recoded]
    return [one["name"] for one in released if one["role"] in {"quasi-identifier", None}]


TO_DO = {
    SHUFFLED: "give the private record",
    GUESSABLE_SEED: "mask the table again without giving a seed",
    WITHOUT_A_CONCEPT: "fix the codes without a concept, or set unmatched to 'nearest-ancestor' or 'drop'",
    SINGLES_OUT: f"take a method that does not move whole rows, such as {MOVES_APART}, or drop columns",
    WHO_IS_IN: "decide whether it may be known who is in the table, or release fewer columns or noisier ones",
    NOT_ATTACKED: "assess the table where its rows fit, or drop or declare these columns",
}
"""Advice for a finding with these words in it; for others, a stronger method."""
STRONGER = "take a larger k, or a method with a proof over all these columns"


def _for_owners(data: Data) -> str:
    unmasked = _unmasked_columns(data)
    if _only_of_proofs(data):
        return (
            "do not release it as it is: see whether these conditions hold, mask the table again with a new seed and "
            "assess that; chance alone hardly does so twice"
        )
    if data["findings"]:
        return f"do not release it as it is: {'; '.join(_to_do(data['findings']))}; and assess again"
    if unmasked:
        return f"mask or drop {names(unmasked)} before you release it, and assess again"
    worst = worst_attack(data["attacks"])
    if worst is None:
        return "name the columns by which a person could be known, and assess again"
    if all(one["guarantee"]["proved"] for one in data["steps"]):
        return f"before you release it, see that these conditions hold and that {worst['shown']} is a risk you accept"
    return (
        f"before you release it, decide whether {worst['shown']} is a risk you accept, and compare other plans on a "
        "map of risk and utility"
    )


def _to_do(findings: Sequence[str]) -> list[str]:
    """Advice, once for all findings of a kind."""
    known = {one.finding: one.advice for one in attacks().values() if one.finding} | TO_DO
    helps = [next((to_do for words, to_do in known.items() if words in one), STRONGER) for one in findings]
    return list(dict.fromkeys(helps))


def public_findings(tried: Sequence[Data]) -> list[str]:
    """The findings of the attacks that were tried, in numbers that may be published."""
    found = [finding for one in tried if (finding := attacks()[one["attack"]].finding)]
    for one in tried:
        if one["beyond_k"] != "above" or not is_linkage(one["attack"]):
            continue
        than = "1 in k (k is not published)" if one["one_in_k"] is None else f"1/k = {100 * one['one_in_k']:.3g} %"
        proof = f"{ALLOWED}. {describe_exceeded_proof(one['draws'])}" if one["k_proved"] else ""
        found.append(
            f"Knowing {names(one['columns'])}, {one['attack']} links {one['shown']} of the persons{_interval(one)}: "
            f"more than {than}{proof}."
        )
    found += [
        f"Whole rows are released: anyone who knows {names(one['columns'])} can find them and read the rest; "
        f"{one['attack']} reads {one['shown']} of the persons’ other cells off the one row that has what is known."
        for one in tried
        if one["whole_rows"]
    ]
    return found


def names(columns: Iterable[str]) -> str:
    """'a, b and c': names of columns in a sentence."""
    all_names = list(columns)
    if len(all_names) > 8:
        return list_names(all_names, 7)
    return " and ".join([", ".join(all_names[:-1]), all_names[-1]] if len(all_names) > 1 else all_names)
