"""A place to bring a further table beside that of the session: dropped, or picked on this machine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from anonto.web.app import TABLE_ENDINGS
from anonto.web.dropzone import Dropzone
from anonto.web.parts import box, button, choice

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from anonto.web.frame import Frame

FILES_SHOWN = 200


def choose_table(frame: Frame, label: str, on_table: Callable[[dict[str, Any]], None], reading: dict[str, Any]) -> None:
    """Controls that bring a table.

    Args:
        frame: The page.
        label: Text of the place where files are dropped.
        on_table: Called with the name, the path and the number of records of a table that could be read.
        reading: How files are read, as in the table section of a plan.
    """
    app, session = frame.app, frame.session
    busy = box("stack")

    async def take(look: Callable[[], Coroutine[Any, Any, dict[str, Any]]]) -> None:
        async def content() -> None:
            found = await look()
            busy.clear()
            on_table(found)

        await frame.fill(busy, "Reading the table", content)

    async def take_upload(stored: str, name: str) -> None:
        await take(partial(app.look_at_upload, session, stored, name, reading))

    Dropzone(label, app.max_upload, take_upload, frame.report_upload)
    files = app.files(TABLE_ENDINGS)[:FILES_SHOWN]
    if files:
        state = {"file": files[0]}
        with box("row"):
            choice(
                f"Or a file of the folder ({label.partition(' here')[0].removeprefix('Drop ')})",
                {file: file for file in files},
                files[0],
                lambda value: state.update(file=str(value)),
            )
            button("Take this file", lambda: take(partial(app.look_at_picked, session, state["file"], reading)))
