"""The check of a command's outputs, before any work is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def require_free_outputs(
    inputs: Iterable[Path | None],
    plans: Iterable[Path | None],
    outputs: Iterable[Path | None],
    *,
    force: bool,
    kept: Path | None = None,
) -> None:
    """Refuse outputs that exist, or that would replace an input or an ontology of a plan; those that are None are none.

    Args:
        inputs: The files that are read.
        plans: Those of them that are plans.
        outputs: The files that are written.
        force: Whether outputs may exist.
        kept: The file of finished results, which may exist.
    """
    from anonto.io.atomic_write import require_free
    from anonto.masking.plan import plan_of

    results = [] if kept is None else [kept]
    written = [one for one in outputs if one is not None]
    read = [one for one in inputs if one is not None]
    require_free(read, results)
    require_free([*read, *results], written, force=force)
    for plan in plans:
        if plan is not None and (results or written):
            require_free(plan_of(plan).ontology_files, [*results, *written])
