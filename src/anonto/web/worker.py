"""The program of a worker process: reads requests from its input and writes answers to its output, one per line.

When its input closes, the server is gone, and it exits even in the middle of a task. Tasks write neither to its output
nor to a log: messages are sent as answers, and contain no cell.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[dict[str, Any]], None]


def main() -> None:
    """Handle the requests on the input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(5)  # the server's pages have priority
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    requests: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()

    import anonto.web.tasks  # load slow imports before the first request

    del anonto

    while True:
        request = requests.get()
        number = request["number"]

        def answer(said: dict[str, Any], number: int = number) -> None:
            answers.write(json.dumps({"number": number, **said}, ensure_ascii=False) + "\n")

        _do(request, answer)


def _listen(requests: queue.Queue[dict[str, Any]]) -> None:
    for line in os.fdopen(os.dup(0), encoding="utf-8"):
        requests.put(json.loads(line))
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)  # with the child processes of a sweep
    os._exit(0)


def _do(request: dict[str, Any], answer: Answer) -> None:
    from anonto.errors import AnontoWarning, InputError, UnclearHeaderError
    from anonto.web.tasks import MASKING, TASKS
    from anonto.web.words import refusal

    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", AnontoWarning)
            result = TASKS[request["task"]](request["given"], lambda progress: answer({"progress": progress}))
        said = [str(one.message) for one in raised if issubclass(one.category, AnontoWarning)]
        answer({"result": {**result, "warnings": list(dict.fromkeys(said))}})
    except UnclearHeaderError as error:
        answer({"refused": error.on_the_command_line, "asks_for": "header"})
    except InputError as error:
        answer({"refused": refusal(error) if request["task"] in MASKING else error.on_the_command_line})
    except MemoryError:
        answer({"refused": "There is not enough memory on this machine for this task."})
    except Exception as error:
        if os.environ.get("ANONTO_DEBUG"):
            import traceback

            traceback.print_exc(file=sys.stderr)
        answer({"failed": type(error).__name__})


if __name__ == "__main__":
    main()
