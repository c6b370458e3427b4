"""Page element to drop or choose a file."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from nicegui import ui

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_numbers = count(1)


class Dropzone(ui.element, component="dropzone.js"):
    """Streams a file to the server, and reports the name it is stored under."""

    def __init__(
        self, label: str, most: int, on_file: Callable[[str, str], Awaitable[None]], on_refused: Callable[[str], None]
    ) -> None:
        """Create the element.

        Args:
            label: Text shown to the user.
            most: Maximum size in bytes.
            on_file: Called with the stored name and the original name of the file.
            on_refused: Called with the reason why a file was rejected.
        """
        super().__init__()
        self.props["label"] = label
        self.props["most"] = most
        self.props["control"] = f"drop-{next(_numbers)}"

        async def receive(event: Any) -> None:
            await on_file(str(event.args["file"]), str(event.args["name"]))

        self.on("uploaded", receive)
        self.on("refused", lambda event: on_refused(str(event.args)))
