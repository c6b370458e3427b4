"""The place of a page where a file is dropped or chosen."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from nicegui import ui

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_numbers = count(1)


class Dropzone(ui.element, component="dropzone.js"):
    """Sends a file to the server as a stream, and says under which name it is there."""

    def __init__(
        self,
        label: str,
        most: int,
        on_file: Callable[[str, str], Awaitable[None]],
        on_refused: Callable[[str], None],
    ) -> None:
        """Make the place.

        Args:
            label: What to drop.
            most: The most bytes.
            on_file: Called with the name of the file here and its own.
            on_refused: Called with why a file was not taken.
        """
        super().__init__()
        self.props["label"] = label
        self.props["most"] = most
        self.props["control"] = f"drop-{next(_numbers)}"

        async def uploaded(event: Any) -> None:
            await on_file(str(event.args["file"]), str(event.args["name"]))

        self.on("uploaded", uploaded)
        self.on("refused", lambda event: on_refused(str(event.args)))
