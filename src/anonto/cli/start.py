"""Where the command ``anonto`` begins: it listens for a stop before anything that takes time is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    import _signal  # type: ignore[import-not-found]  # what signal wraps, and there without being loaded

    waiting = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP) if hasattr(_signal, "pthread_sigmask") else ()
    if waiting:  # until somebody listens
        _signal.pthread_sigmask(_signal.SIG_BLOCK, waiting)
    from anonto.stopping import ignore, leave, listen

    listen()
    try:
        if waiting:
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, waiting)
        from anonto.cli.main import run

        code = run(sys.argv[1:])
        ignore()
    except KeyboardInterrupt:
        ignore()
        from anonto.cli.main import stopped

        code = stopped()
    leave(code)
