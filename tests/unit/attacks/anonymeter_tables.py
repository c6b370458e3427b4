"""Three tables of 300 persons each, and what anonymeter finds in them, for `test_foreign_releases.py`.

The numbers in `anonymeter.json` were made by anonymeter 1.1.0 in an environment of its own:

    python -m venv scratch && scratch/bin/pip install anonymeter
    scratch/bin/python tests/unit/attacks/anonymeter_tables.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).with_name("anonymeter.json")
NAMES = ("age", "income", "height", "sex", "job", "town")
SECRETS = ("sex", "job", "town")
N = 300


def tables() -> dict[str, dict[str, list[Any]]]:
    """Persons, others like them, and a synthetic release: a third copies, the rest drawn from others."""
    rng = np.random.default_rng(20)
    drawn = []
    for _ in range(3):
        sex, job = rng.integers(0, 2, N), rng.integers(0, 5, N)
        age = rng.normal(30 + 6 * job, 8, N).round(1)
        income = rng.normal(1000 + 30 * age, 200, N).round()
        height = rng.normal(165 + 12 * sex, 7, N).round(1)
        town = (job + rng.integers(0, 3, N)) % 7
        texts = [[f"{name}{one}" for one in cells] for name, cells in (("s", sex), ("j", job), ("t", town))]
        drawn.append(dict(zip(NAMES, [age.tolist(), income.tolist(), height.tolist(), *texts], strict=True)))
    original, others, further = drawn
    release = {name: original[name][:100] + further[name][:200] for name in NAMES}
    return {"original": original, "others": others, "release": release}


def rates_of(evaluator: Any, n_attacks: int) -> list[float]:
    """The success on persons and on others; anonymeter shows the middle of Wilson's interval in place of a rate."""
    found, square = evaluator.results(confidence_level=0.95), 1.959963984540054**2
    shown = [one.value for one in (found.attack_rate, found.control_rate)]
    return [round(value * (1 + square / n_attacks) - square / (2 * n_attacks), 4) for value in shown]


def main() -> None:
    import pandas as pd
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    given = {name: pd.DataFrame(table) for name, table in tables().items()}
    common = {"ori": given["original"], "syn": given["release"], "control": given["others"], "n_attacks": N}
    found: dict[str, Any] = {}
    for secret in SECRETS:
        known = [name for name in NAMES if name != secret]
        one = InferenceEvaluator(**common, aux_cols=known, secret=secret, regression=False).evaluate(n_jobs=1)
        found[f"inference {secret}"] = rates_of(one, N)
    one = LinkabilityEvaluator(**common, aux_cols=(list(NAMES[::2]), list(NAMES[1::2])), n_neighbors=1).evaluate(
        n_jobs=1
    )
    found["linkability"] = rates_of(one, N)
    for mode, width in (("univariate", 1), ("multivariate", 3)):
        rates = []
        for _ in range(5):  # its predicates are drawn without a seed
            each = SinglingOutEvaluator(**{**common, "n_attacks": 500}, n_cols=width).evaluate(mode=mode)
            rates.append(rates_of(each, 500))
        found[f"singling out {mode}"] = np.mean(rates, axis=0).round(4).tolist()
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
