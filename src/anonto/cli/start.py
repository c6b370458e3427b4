"""Where the command ``anonto`` begins: it listens for a stop before anything that takes time is loaded."""

from __future__ import annotations

import sys

from anonto.stopping import ignore, leave, listen


def main() -> None:
    """Run the command line and leave with its exit code."""
    listen()
    try:
        from anonto.cli.main import run

        code = run(sys.argv[1:])
        ignore()
    except KeyboardInterrupt:
        ignore()
        from anonto.cli.main import stopped

        code = stopped()
    leave(code)
