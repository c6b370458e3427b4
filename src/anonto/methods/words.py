"""Texts of a method for documentation, command line, app and reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Descriptions of a method for readers without statistics."""

    title: str
    """A few words for a button."""
    summary: str
    """Its action, in half a sentence that follows its name."""
    does: str
    """Its action, in a sentence or two."""
    columns: str = "any kinds"
    """The columns it takes, and whether together or one by one."""
    keeps: str = ""
    """Properties that an analyst can rely on afterwards."""
    proves: str = "nothing"
    """The name of its guarantee."""
    proved: str = ""
    """The meaning of the guarantee; empty without one."""
    proposed: str = ""
    """Comment above the step in a plan proposed by `anonto init`."""
    report: str
    """Account of what was done to a table, in the past tense; a parameter in braces is replaced by its value."""
