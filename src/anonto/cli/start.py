"""Entry point of the command ``anonto``: handles signals before slow imports."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its exit code."""
    import _signal  # type: ignore[import-not-found]  # what signal wraps, and there without being loaded

    waiting = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP) if hasattr(_signal, "pthread_sigmask") else ()
    if waiting:  # until the handlers are installed
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
        from anonto.cli.main import report_stop

        code = report_stop()
    leave(code)
