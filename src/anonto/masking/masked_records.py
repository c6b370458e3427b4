"""Masked records that are released as other rows: where they are written is decided as for the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from anonto.io.atomic_write import PendingFiles
    from anonto.masking.protocol import MaskedRows


class MaskedRecords:
    """The part of `anonto.masking.protocol.MaskedRows` that is the same for records and the rows made from them."""

    masked: MaskedRows
    """The records."""

    def record_path(self, path: str | os.PathLike[str]) -> Path:
        """The default place of the private record of an output."""
        return self.masked.record_path(path)

    def require_apart(self, path: str | os.PathLike[str] | None, further: Sequence[Path], read: Sequence[Path]) -> None:
        """Refuse an output, or files written with it, that would replace an input."""
        self.masked.require_apart(path, further, read)

    def place_for(
        self, path: str | os.PathLike[str], files: PendingFiles, *, force: bool
    ) -> AbstractContextManager[Any]:
        """The place where the masked table is written before it is put in place, together with its other files."""
        return self.masked.place_for(path, files, force=force)

    def warn_of_changes(self, path: str | os.PathLike[str], dropped: Sequence[str]) -> None:
        """Warn about types that the format of an output cannot hold."""
        self.masked.warn_of_changes(path, dropped)
