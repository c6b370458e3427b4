"""From a table to a first plan: kind, role and ontology of each column, with the reasons.

The plan is meant to be read and corrected, but can be run as it is. Reasons contain counts, but no cell.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.encoding.description import ColumnDescription
from anonto.io.toml import OF_STEPS, OF_TABLE, as_pair, steps_text
from anonto.masking.plan import Plan
from anonto.masking.plan_sections import Step
from anonto.methods.registry import AT_RANDOM, FIRST_CHOICE, method_of
from anonto.profile.candidates import candidates, listed_candidates
from anonto.profile.column_profile import open_table
from anonto.profile.guess import guess_column
from anonto.profile.persons import notice_persons
from anonto.profile.recodings import Looked, links
from anonto.profile.recognise import known_intervals, recognise
from anonto.profile.weights import sampling_weight
from anonto.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonto.profile.candidates import Candidate
    from anonto.profile.column_profile import ColumnProfile
    from anonto.profile.guess import Guess
    from anonto.profile.persons import PersonColumn
    from anonto.profile.recognise import Recognised
    from anonto.taxonomy.taxonomy import Taxonomy

METHOD, K = FIRST_CHOICE["method"], FIRST_CHOICE["k"]
"""The step that is proposed for all quasi-identifiers together."""
HEADING = """Proposed by `anonto init` from the names and the values of the columns.
Confirm each column: read the reasons, correct its keys, and delete `review = true`. No guarantee is proved for a
release while a released column is marked so.
Roles: identifier and free-text (dropped), quasi-identifier (masked by the step below), confidential (released as it
is). A recode makes cells coarser before the step."""

OF_WEIGHTS = "# delete the first # to weight statistics by it: how many people a record stands for"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan, and for each column the reasons for its description."""

    plan: Plan
    reasons: Mapping[str, tuple[str, ...]]
    person: PersonColumn | None = None
    """The column that seems to number persons with several rows; the plan does not use it."""
    weights: tuple[str, ...] = ()
    """Columns that seem to be sampling weights; the plan drops them, and could weight statistics by one of them."""
    why_these_steps: tuple[str, ...] = ()
    """Why a sweep chose the steps; empty where they are the usual first choice."""
    second_best: tuple[Step, ...] = ()
    """Steps that could take their place."""

    @property
    def to_review(self) -> tuple[str, ...]:
        """The columns that a person must confirm."""
        return tuple(name for name, one in self.plan.columns.items() if one.review)

    def to_toml(self) -> str:
        """The plan as the text of a file, with the reasons as comments."""
        comments = {name: "\n".join(said) for name, said in self.reasons.items()}
        of_steps = "".join(f"\n{step.method.words.proposed}" for step in self.plan.steps)
        about_table = [as_pair("weight", name) + f"  {OF_WEIGHTS}" for name in self.weights]
        if self.person is not None:
            about_table = [self.person.sentence, self.person.proposed, *about_table]
        if about_table:
            comments[OF_TABLE] = "\n".join(about_table)
        if self.why_these_steps:
            comments[OF_STEPS] = self._about_steps()
        return self.plan.to_toml({"": f"{HEADING}{of_steps}\n\n", **comments})

    def with_steps(self, steps: tuple[Step, ...], why: Iterable[str], second_best: tuple[Step, ...]) -> Proposal:
        """The same columns with steps that were chosen by trying them."""
        plan = replace(self.plan, steps=steps)
        return replace(self, plan=plan, why_these_steps=tuple(map(one_line, why)), second_best=second_best)

    def _about_steps(self) -> str:
        lines = list(self.why_these_steps)
        if self.second_best:
            lines += ["The runner-up, to take its place:", steps_text(step.to_dict() for step in self.second_best)]
        return "\n".join(lines)


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
        ontologies: Paths, listed names or taxonomies to try in addition to the listed ones.
        folders: Folders with ontology files, in addition to the folder of the table.
        plan_folder: The folder of the plan; paths below it are written relative to it.
        leave_out: Files in these folders that must not be opened.
        header: ``"names"`` if the first row of the file holds names that look like values.

    Returns:
        The plan and the reasons, by column.
    """
    path = Path(table) if isinstance(table, str | os.PathLike) else None
    opened = open_table(table, header)
    columns = {name: opened.profile(name) for name in opened.names}
    words = frozenset(word for one in columns.values() for word in one.words)
    guesses = {name: guess_column(one, words) for name, one in columns.items()}
    present = {name: columns[name].without(guess.na) for name, guess in guesses.items()}
    own_folder = [path.absolute().parent] if path else []
    places = _without_duplicates([*(Path(folder) for folder in folders), *own_folder])
    known = candidates(ontologies, places, leave_out=[*map(Path, leave_out), *([path] if path else [])])
    nominal = [present[name] for name, guess in guesses.items() if guess.may_have_an_ontology and present[name].values]
    recognised = _recognise_all(nominal, known)
    folder = Path(plan_folder).absolute() if plan_folder is not None else None
    described: dict[str, ColumnDescription] = {}
    reasons: dict[str, tuple[str, ...]] = {}
    for name, guess in guesses.items():
        found = recognised.get(name)
        described[name] = _describe(guess, found, folder)
        numbers = known_intervals(present[name], known) if guess.kind == "numeric" else None
        own = _reasons_of_role(guess, described[name])
        reasons[name] = (*own, *(found.reasons if found else ()), *_groups_of_numbers(numbers))
    dropped = {name: one.role for name, one in described.items() if one.is_dropped}
    person = notice_persons(opened, dropped)
    looked = Looked(opened, present, guesses, person)
    linking = links(present, dropped, None if person is None else person.name)
    for name, plain in described.items():
        described[name], why = looked.recoded(name, plain)
        reasons[name] += (*why, *filter(None, [linking.get(name)]))
    masked = [name for name, one in described.items() if one.role == "quasi-identifier"]
    stored = {} if header is None else {"header": header}
    plan = Plan(MappingProxyType(described), _steps(masked, opened.n_records), MappingProxyType(stored), folder)
    plan.check()
    weights = tuple(name for name, one in present.items() if sampling_weight(one, words))
    return Proposal(plan, MappingProxyType(reasons), person, weights)


def _without_duplicates(folders: Sequence[Path]) -> list[Path]:
    """Each folder once; the search will refuse one that does not exist."""
    return list({folder.resolve(): folder for folder in reversed(folders)}.values())[::-1]


# ------------------------------------------------------------------------------------------------ columns


def _recognise_all(columns: Sequence[ColumnProfile], known: Sequence[Candidate]) -> dict[str, Recognised]:
    """The ontology of each column; those with a name are only opened for columns that no other knows completely."""
    found = {column.name: recognise(column, known) for column in columns}
    unsure = [column for column in columns if (one := found[column.name]) is None or one.unmatched != "refuse"]
    if unsure:
        all_known = [*known, *listed_candidates(unsure)]
        found |= {column.name: recognise(column, all_known) for column in unsure}
    return {name: one for name, one in found.items() if one is not None}


def _describe(guess: Guess, found: Recognised | None, folder: Path | None) -> ColumnDescription:
    plain = ColumnDescription(kind=guess.kind, role=guess.role, order=guess.order, na=guess.na, review=guess.review)
    if found is None:
        return plain
    # The values identify the column, so its role needs no confirmation any more.
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
    """One step over all quasi-identifiers; without records, for those to come."""
    if not columns:
        return ()
    k = min(K, n_records // 2) if n_records else K
    method = method_of(METHOD, {"k": k}) if k > 1 else method_of(AT_RANDOM, {})
    return (Step(method, tuple(columns)),)
