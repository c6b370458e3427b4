"""The help of each command, printed by the command itself when the pages are built.

A line ``<!-- help of anonto match -->`` of a page is replaced by what ``anonto match --help`` prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

WIDTH = "78"

_MARKER = re.compile(r"^<!-- help of (anonto(?: [a-z-]+)*) -->$", re.MULTILINE)
_RUN = "from anonto.cli.main import main; main()"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace every marker of a page."""
    return _MARKER.sub(lambda marker: f"```text\n{help_of(marker.group(1))}\n```", markdown)


def help_of(command: str) -> str:
    """The help of a command, without colours."""
    plain = {"TERMINAL_WIDTH": WIDTH, "COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
    unforced = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "PY_COLORS"}}
    printed = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", _RUN, *command.split()[1:], "--help"],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env=unforced | plain,
    ).stdout
    return "\n".join(line.rstrip() for line in printed.strip("\n").split("\n")).strip()
