"""What a method says of itself in documents, on the command line, in the app and in reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A method in sentences that need no statistics."""

    title: str
    """A few words for a button."""
    summary: str
    """What it does, in half a sentence that goes on from its name."""
    does: str
    """What it does, in a sentence or two."""
    columns: str = "any kinds"
    """Which columns it takes, and whether it looks at them together."""
    keeps: str = ""
    """What an analyst can rely on afterwards."""
    proves: str = "nothing"
    """The name of what is proved of it."""
    proved: str = ""
    """What that means; empty where nothing is proved."""
    proposed: str = ""
    """What a plan says above a step that `anonto init` proposes."""
    report: str
    """What was done to a table, in the past tense; a parameter in braces stands for its value."""
