from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto
from anonto.report.data import report_data

if TYPE_CHECKING:
    from anonto.masking.release import Release

SEED = 0xC0FFEE_0DDBA11_5EED_5EED_1234567890
HOSTILE = "<script>alert('x')</script> & “flu” 🤧 $\\frac{1}{2}$"

EDGES = [
    ("root", "", "everything"),
    ("warm", "root", HOSTILE),
    ("cold", "root", "cold & <b>"),
    ("odd", "root", "seldom"),
    ("w1", "warm", "first"),
    ("w2", "warm", "second"),
    ("c1", "cold", "third"),
    ("c2", "cold", "fourth"),
]


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("secret-folder")
    edges = folder / "edges.csv"
    edges.write_text(
        "id,parent,label\n" + "".join(f'{code},{parent},"{label}"\n' for code, parent, label in EDGES),
        encoding="utf-8",
    )
    codes = ["w1"] * 40 + ["w2"] * 25 + ["c1"] * 31 + ["c2"] * 8 + ["odd"] * 3 + [None] * 13
    n = len(codes)
    table = pl.DataFrame(
        {
            "number": [f"person {i}" for i in range(n)],
            "code <i>": codes,
            "town": ["here", "there"] * (n // 2),
            "age": list(range(n)),
            "grade": ["low", "high", "high"] * (n // 3),
            "zip": [f"zip{i}" for i in range(n)],
            "left": ["cell value"] * n,
        }
    )
    plan: dict[str, Any] = {
        "columns": {
            "number": {"role": "identifier"},
            "code <i>": {"ontology": str(edges)},
            "age": {"kind": "numeric"},
            "grade": {"kind": "ordinal", "order": ["low", "high"]},
            "zip": {"role": "quasi-identifier"},
        },
        "steps": [
            {"method": "frequency-swap", "columns": ["code <i>", "age"], "k": 3},
            {"method": "random-swap", "columns": ["town", "grade"]},
        ],
    }
    with pytest.warns(anonto.AnontoWarning):
        return anonto.mask(table, plan, seed=SEED)


@pytest.fixture(scope="session")
def data(release: Release) -> dict[str, Any]:
    return report_data(release)
