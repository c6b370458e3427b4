"""The private record of a release: the seed and what else makes the same release again from the plan and the input.

Whoever holds it can undo a swap, so it is a file of its own that only its owner can read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonto.errors import ForeignRecordError, MissingFileError, ParameterError, PrivateRecordError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from anonto.plan import Plan
    from anonto.rng import Seed
    from anonto.table.table import Origin

WARNING = "Whoever holds this seed can undo the masking. Keep it away from the release."


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateRecord:
    """What its owner must keep to make a release again."""

    seed: Seed = field(repr=False)
    input_name: str | None = None
    """The name of the file that was masked; None where it was no file."""
    input_sha256: str = ""
    """The hash of that file; empty where it was not taken."""
    block_rows: Mapping[int, int] = field(default_factory=dict)
    """For the number of each step that was fitted in blocks how many rows these have at most."""
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
    def beside(output: str | os.PathLike[str]) -> Path:
        """Where the record of an output lies unless somebody says otherwise."""
        return Path(f"{output}.private.json")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PrivateRecord:
        """Read the file that `write` wrote; only the seed must be in it."""
        from anonto.rng import Seed

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
            raise PrivateRecordError(str(path)) from None

    def write(self, path: Path) -> None:
        """Write the record as JSON."""
        named = None if self.input_name is None else {"name": self.input_name, "sha256": self.input_sha256}
        record = {"warning": WARNING, "seed": str(self.seed.number), "input": named, "anonto": self.version}
        cut = {str(number): rows for number, rows in self.block_rows.items()}
        path.write_text(json.dumps(record | ({"block_rows": cut} if cut else {}), indent=2) + "\n", encoding="utf-8")

    def other_input_than(self, origin: Origin | None) -> str | None:
        """The name of the file that was masked, where a file has another content; None where it is the same, or none.

        A file that was written anew may hold the same cells.
        """
        is_other = origin is not None and origin.sha256 and self.input_sha256 not in {"", origin.sha256}
        return self.input_name if is_other else None

    def in_blocks(self, plan: Plan) -> Plan:
        """The plan with the blocks that its release was masked in; refused where the plan has no such steps."""
        if any(not 1 <= number <= len(plan.steps) for number in self.block_rows):
            raise ForeignRecordError
        try:
            return plan.in_blocks(self.block_rows)
        except ParameterError:
            raise ForeignRecordError from None


def block_rows_of(evidence: Mapping[str, Any]) -> dict[int, int]:
    """For the number of each step that was fitted in blocks how many rows these have at most."""
    steps = enumerate(evidence["steps"], start=1)
    return {number: step["block_rows"] for number, step in steps if "block_rows" in step}
