"""The private record of a release: the seed and whatever else is needed to make the same release again.

Whoever holds it can undo a swap, so it is a file of its own that only its owner can read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import MissingFileError, ParameterError, ReleaseError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from anonto.io.table import Origin
    from anonto.masking.plan import Plan
    from anonto.random.streams import Seed

WARNING = "Whoever holds this seed can undo the masking. Keep it away from the release."


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateRecord:
    """The facts needed to repeat a release."""

    seed: Seed = field(repr=False)
    input_name: str | None = None
    """The name of the masked file; None where the input was not a file."""
    input_sha256: str = ""
    """The hash of that file; empty where it was not taken."""
    block_rows: Mapping[int, int] = field(default_factory=dict)
    """The most rows of a block, by the number of each step that was fitted in blocks."""
    version: str = field(default_factory=lambda: version("anonto"))
    """The version of anonto that masked."""

    @classmethod
    def of(cls, seed: Seed, origin: Origin | None, evidence: Mapping[str, Any]) -> PrivateRecord:
        """The record of a run."""
        cut = block_rows_of(evidence)
        if origin is None:
            return cls(seed=seed, block_rows=cut)
        return cls(seed=seed, input_name=origin.name, input_sha256=origin.sha256, block_rows=cut)

    @staticmethod
    def path_for(output: str | os.PathLike[str], given: str | os.PathLike[str] | None = None) -> Path:
        """The path of an output's record: one that was given, by default next to the output."""
        return Path(f"{output}.private.json" if given is None else given)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PrivateRecord:
        """Read the file that `write` wrote; only the seed must be in it."""
        from anonto.random.streams import Seed

        if not Path(path).exists():
            raise MissingFileError(str(path))
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            masked = found.get("input") or {}
            return cls(
                seed=Seed(int(found["seed"])),
                input_name=masked.get("name"),
                input_sha256=masked.get("sha256", ""),
                block_rows={int(number): int(rows) for number, rows in found.get("block_rows", {}).items()},
                version=found.get("anonto", ""),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ParameterError):
            raise not_a_private_record(str(path)) from None

    def write(self, path: Path) -> None:
        """Write the record as JSON."""
        named = None if self.input_name is None else {"name": self.input_name, "sha256": self.input_sha256}
        record = {"warning": WARNING, "seed": str(self.seed.number), "input": named, "anonto": self.version}
        cut = {str(number): rows for number, rows in self.block_rows.items()}
        path.write_text(json.dumps(record | ({"block_rows": cut} if cut else {}), indent=2) + "\n", encoding="utf-8")

    def other_input_than(self, origin: Origin | None) -> str | None:
        """The name of the masked file if a given file has other content; None if it is the same, or not known.

        A file that was rewritten may hold the same cells.
        """
        is_other = origin is not None and origin.sha256 and self.input_sha256 not in {"", origin.sha256}
        return self.input_name if is_other else None

    def in_blocks(self, plan: Plan) -> Plan:
        """The plan with the blocks that its release was masked in; refused where the plan has no such steps."""
        if any(not 1 <= number <= len(plan.steps) for number in self.block_rows):
            raise foreign_record()
        try:
            return plan.in_blocks(self.block_rows)
        except ParameterError:
            raise foreign_record() from None


def block_rows_of(evidence: Mapping[str, Any]) -> dict[int, int]:
    """The most rows of a block, by the number of each step that was fitted in blocks."""
    steps = enumerate(evidence["steps"], start=1)
    return {number: step["block_rows"] for number, step in steps if "block_rows" in step}


def foreign_record(masked: str | None = None) -> ReleaseError:
    """A private record that does not lead from this original to this release."""
    other = "" if masked is None else f" The record belongs to the file {masked!r}, which had other content."
    return ReleaseError(
        "Masking the original again with this plan and this private record does not give the masked table; give those "
        f"that belong together.{other}"
    )


def not_a_private_record(path: str) -> ReleaseError:
    """A file that is not a private record."""
    return ReleaseError(f"{path!r} is not a readable private record of a release; give the one saved beside it.")
