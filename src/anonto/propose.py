"""From a table to a first plan: what each column seems to be, which ontology knows its values, and why.

The plan is meant to be read and corrected, and is accepted by a run as it is. The reasons count; they show no cell.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.methods.registry import AT_RANDOM, FIRST_CHOICE, method_of
from anonto.plan import Plan, Step
from anonto.table.candidates import candidates, listed_candidates
from anonto.table.description import ColumnDescription
from anonto.table.facts import open_table
from anonto.table.guess import guess_column
from anonto.table.recognise import known_intervals, recognise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.table.candidates import Candidate
    from anonto.table.facts import Facts
    from anonto.table.guess import Guess
    from anonto.table.recognise import Recognised
    from anonto.taxonomy.taxonomy import Taxonomy

METHOD, K = FIRST_CHOICE["method"], FIRST_CHOICE["k"]
"""For all quasi-identifiers together."""
HEADING = """Proposed by `anonto init` from the names and the values of the columns.
Confirm each column: read why it is said to be what it is, correct it, and delete `review = true`. Nothing is proved of
a release while a column that leaves is marked so.
Roles: identifier (dropped), quasi-identifier (masked by the step below), confidential (released as it is)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan, and for each column why it says what it says."""

    plan: Plan
    reasons: Mapping[str, tuple[str, ...]]

    @property
    def to_review(self) -> tuple[str, ...]:
        """The columns that somebody must confirm."""
        return tuple(name for name, one in self.plan.columns.items() if one.review)

    def to_toml(self) -> str:
        """The plan as the text of a file, with the reasons as comments."""
        comments = {name: "\n".join(said) for name, said in self.reasons.items()}
        of_steps = "".join(f"\n{step.method.words.proposed}" for step in self.plan.steps)
        return self.plan.to_toml({"": f"{HEADING}{of_steps}\n\n", **comments})


def propose(
    table: Any,
    *,
    ontologies: Sequence[str | os.PathLike[str] | Taxonomy] = (),
    folders: Sequence[str | os.PathLike[str]] = (),
    plan_folder: str | os.PathLike[str] | None = None,
    leave_out: Sequence[str | os.PathLike[str]] = (),
    header: str | None = None,
) -> Proposal:
    """Propose a plan for a table.

    Args:
        table: A pandas, polars or pyarrow table, or the path of a file.
        ontologies: Paths, listed names or taxonomies to try besides the listed ones.
        folders: Where to look for ontology files, besides the folder of the table.
        plan_folder: Where the plan will be stored; paths below it are written relative to it, others in full.
        leave_out: Files in these folders that are not to be opened.
        header: ``"names"`` where the first row of the file holds names though they look like values.

    Returns:
        The plan and the reasons, by column.
    """
    path = Path(table) if isinstance(table, str | os.PathLike) else None
    opened = open_table(table, header)
    facts = {name: opened.facts(name) for name in opened.names}
    words = frozenset(word for one in facts.values() for word in one.words)
    guesses = {name: guess_column(one, words) for name, one in facts.items()}
    present = {name: facts[name].without(guess.na) for name, guess in guesses.items()}
    beside = [path.absolute().parent] if path else []
    places = _different([*(Path(folder) for folder in folders), *beside])
    known = candidates(ontologies, places, leave_out=[*map(Path, leave_out), *([path] if path else [])])
    nominal = [present[name] for name, guess in guesses.items() if guess.may_have_an_ontology and present[name].values]
    recognised = _recognised(nominal, known)
    folder = Path(plan_folder).absolute() if plan_folder is not None else None
    described: dict[str, ColumnDescription] = {}
    reasons: dict[str, tuple[str, ...]] = {}
    for name, guess in guesses.items():
        found = recognised.get(name)
        described[name] = _described(guess, found, folder)
        numbers = known_intervals(present[name], known) if guess.kind == "numeric" else None
        own = _reasons_of_role(guess, described[name])
        reasons[name] = (*own, *(found.reasons if found else ()), *_groups_of_numbers(numbers))
    masked = [name for name, one in described.items() if one.role == "quasi-identifier"]
    stored = {} if header is None else {"header": header}
    plan = Plan(MappingProxyType(described), _steps(masked, opened.n_records), MappingProxyType(stored), folder)
    plan.check()
    return Proposal(plan, MappingProxyType(reasons))


def _different(folders: Sequence[Path]) -> list[Path]:
    """Each folder once; one that is not there is left for the search to refuse."""
    return list({folder.resolve(): folder for folder in reversed(folders)}.values())[::-1]


# ------------------------------------------------------------------------------------------------ columns


def _recognised(columns: Sequence[Facts], known: Sequence[Candidate]) -> dict[str, Recognised]:
    """The ontology of each column; those with a name are opened only for columns that nothing else knows wholly."""
    found = {facts.name: recognise(facts, known) for facts in columns}
    unsure = [facts for facts in columns if (one := found[facts.name]) is None or one.unmatched != "refuse"]
    if unsure:
        all_known = [*known, *listed_candidates(unsure)]
        found |= {facts.name: recognise(facts, all_known) for facts in unsure}
    return {name: one for name, one in found.items() if one is not None}


def _described(guess: Guess, found: Recognised | None, folder: Path | None) -> ColumnDescription:
    plain = ColumnDescription(kind=guess.kind, role=guess.role, order=guess.order, na=guess.na, review=guess.review)
    if found is None:
        return plain
    # Codes are recognised by their values: what was unknown of their column is known now.
    role, review = ("quasi-identifier", False) if guess.review else (guess.role, False)
    ontology = _reference(found.candidate, folder)
    na, spelling = (*guess.na, *found.na), found.spelling
    named = replace(plain, ontology=ontology, unmatched=found.unmatched, na=na, spelling=spelling)
    return replace(named, role=role, review=review)


def _reasons_of_role(guess: Guess, description: ColumnDescription) -> tuple[str, ...]:
    if description.review == guess.review:
        return guess.reasons
    others = tuple(reason for reason in guess.reasons if not reason.startswith(f"{guess.role}:"))
    return (*others, f"{description.role}: its values are codes of an ontology, whatever its name")


def _groups_of_numbers(groups: Candidate | None) -> tuple[str, ...]:
    return (f"{groups.title} groups its numbers; with kind = 'nominal' it could be its ontology",) if groups else ()


def _reference(candidate: Candidate, folder: Path | None) -> str | Taxonomy:
    """How the plan names an ontology: by a path from its own folder if the file lies there or below, else in full."""
    if not isinstance(candidate.reference, Path):
        return candidate.reference
    file = Path(os.path.realpath(candidate.reference))
    if folder is not None and file.is_relative_to(os.path.realpath(folder)):
        return file.relative_to(os.path.realpath(folder)).as_posix()
    return os.path.normpath(candidate.reference.absolute())


# ------------------------------------------------------------------------------------------------ steps


def _steps(columns: Sequence[str], n_records: int) -> tuple[Step, ...]:
    """One step over all quasi-identifiers; where no record is there yet, for those that are to come."""
    if not columns:
        return ()
    k = min(K, n_records // 2) if n_records else K
    method = method_of(METHOD, {"k": k}) if k > 1 else method_of(AT_RANDOM, {})
    return (Step(method, tuple(columns)),)
