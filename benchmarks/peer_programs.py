"""Alternatives that users could choose, each doing one thing: ``python peer_programs.py NAME FILE REPEATS``.

Runs in the peers' own environment, whose libraries pin versions that ours cannot have; so it imports nothing of ours.
Prints the seconds of each repeat, after one that warms up, and the peak memory, as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def dcor(path: str) -> Callable[[], Any]:
    """Distance correlation of two nominal columns, from the distances of their values."""
    import dcor as library
    import numpy as np

    given = np.load(path)
    a, b, distances_a, distances_b = (given[name] for name in ("a", "b", "distances_a", "distances_b"))

    def correlation() -> float:
        centred = (library.double_centered(table[np.ix_(c, c)]) for table, c in ((distances_a, a), (distances_b, b)))
        one, other = centred
        covariance, first, second = ((x * y).mean() for x, y in ((one, other), (one, one), (other, other)))
        return float(np.sqrt(covariance / np.sqrt(first * second)))

    return correlation


def microagg1d(path: str) -> Callable[[], Any]:
    """Groups of at least ten numbers with the least squared error."""
    import numpy as np
    from microagg1d import univariate_microaggregation

    numbers = np.load(path)["numbers"]
    return lambda: univariate_microaggregation(numbers, k=10)


def pycanon(path: str) -> Callable[[], Any]:
    """The k of a table."""
    import pandas as pd
    from pycanon.anonymity import k_anonymity

    table = pd.read_csv(path, dtype={"dx": str})
    return lambda: k_anonymity(table, list(table.columns))


def anonypy(path: str) -> Callable[[], Any]:
    """A table in which at least ten records are equal, by Mondrian."""
    import anonypy as library
    import pandas as pd

    table = pd.read_csv(path, dtype={"dx": str})
    table["dx"] = table["dx"].astype("category")
    table["id"] = range(len(table))

    def anonymised() -> Any:
        return library.Preserver(table, ["dx", "age", "stay"], "id").anonymize_k_anonymity(k=10)

    return anonymised


def anjana(path: str) -> Callable[[], Any]:
    """A table in which at least ten records are equal, by hierarchies of intervals and prefixes."""
    import numpy as np
    import pandas as pd
    from anjana.anonymity import k_anonymity

    table = pd.read_csv(path, dtype={"dx": str})

    def intervals(values: Any, widths: tuple[int, ...]) -> dict[int, Any]:
        levels = {0: np.asarray(values)}
        for level, width in enumerate(widths, start=1):
            levels[level] = np.array([f"[{v // width * width}, {v // width * width + width})" for v in values])
        return levels | {len(widths) + 1: np.array(["*"] * len(values))}

    codes = table["dx"].tolist()
    hierarchies = {
        "age": dict(intervals(table["age"].tolist(), (5, 10, 20))),
        "stay": dict(intervals(table["stay"].tolist(), (2, 4, 8))),
        "dx": {
            0: np.array(codes),
            1: np.array([code[:-1] for code in codes]),
            2: np.array([code[:-2] for code in codes]),
            3: np.array(["*"] * len(codes)),
        },
    }
    return lambda: k_anonymity(table.copy(), [], ["dx", "age", "stay"], 10, 5, hierarchies)


PROGRAMS = {program.__name__: program for program in (dcor, microagg1d, pycanon, anonypy, anjana)}


def main() -> None:
    """Time one program."""
    name, path, repeats = sys.argv[1:]
    run = PROGRAMS[name](path)
    result = run()
    seconds = []
    for _ in range(int(repeats)):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    number = float(result) if isinstance(result, int | float) else None
    print(json.dumps({"seconds": seconds, "peak_bytes": peak, "result": number}))


if __name__ == "__main__":
    main()
