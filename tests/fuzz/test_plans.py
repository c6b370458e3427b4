"""Plans with bytes changed, and with values of every wrong type, depth and length, given to what reads one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from contract.test_every_method import EXAMPLES
from fuzz.harness import all_hold, fault_of, mutated, outcome, rng_of

if TYPE_CHECKING:
    from pathlib import Path

N_ROWS = 40
LONG = "q" * 100_000
ROOM = 300
"""A message may quote so much of a plan in all: a few names of at most 80 characters."""

COLUMNS = {
    "name": {"role": '"identifier"'},
    "illness": {"ontology": '"illnesses"'},
    "other": {"ontology": '["illnesses", "codes.csv"]', "unmatched": '"keep"', "na": '["?"]'},
    "age": {"kind": '"numeric"', "decimal": '"."', "missing": '"drop"'},
    "pain": {"kind": '"ordinal"', "order": '["low", "mid", "high"]', "review": "true"},
    "note": {"role": '"confidential"'},
}
STEPS = {
    **EXAMPLES,
    "rank-swap-joint": {"k": 3, "weights": [1.0, 2.0], "interval": "all"},
    "equi-width-swap": {"width": 0.5, "odd": "cyclic"},
    "microaggregate": {"k": 3, "t": 0.9, "confidential": "note", "refine": True},
    "group-swap": {"k": 3, "move": "together", "refine": False, "block_rows": 300},
}
KEYS = (
    *("kind", "role", "ontology", "root", "measure", "information_content", "spelling", "missing", "missing_codes"),
    *("unmatched", "order", "decimal", "na", "review", "k", "percent", "width", "bins", "rate", "epsilon", "t"),
    *("noise_level", "weights", "interval", "move", "odd", "scale", "columns", "method", "delimiter", "encoding"),
    *("sheet", "block_rows", "confidential", "candidates", "distribution", "round", "metric", "aggregate"),
)
VALUES = (
    *("0", "-1", "1", "3", "0.5", "-0.0", "1e308", "-1e308", "nan", "inf", "-inf", "true", "false", "0x7f", "1_000"),
    *("9" * 19, "9" * 40, "-" + "9" * 400, "9" * 5_000, "1e-320", "2147483648", "9223372036854775807"),
    *('""', '" "', '"x"', '"?"', '"id"', '"lcs"', '"root"', '"age"', '"\\u0000"', '"\\ufeff"', '"\\u202e\\n"', "'\t'"),
    *('"\U0001f600"', f'"{LONG}"', f"'{'../' * 3_000}'", '"/dev/zero"', '"."', '"codes.csv"', '"table.csv"', '"utf-7"'),
    *(
        '"hex"',
        '"idna"',
        '"rot13"',
        '"utf-16"',
        '"ab"',
        '"\\""',
        '"\\n"',
        "1979-05-27",
        "07:32:00",
        "1979-05-27T07:32:00Z",
    ),
    *("[]", "[[]]", '["x", 1]', '["low", "low"]', "[nan]", "[true]", '[["x"]]', "{}", "{x = 1}", "{x.y.z = [{}]}"),
    *("[" * 50 + "]" * 50, "[" * 3_000 + "]" * 3_000, "{x=" * 200 + "1" + "}" * 200, "x." * 3_000 + "x = 1"),
    *(f"[{'1,' * 20_000}]", f"[{', '.join(f'{chr(34)}v{n}{chr(34)}' for n in range(3_000))}]", f'["{LONG}"]'),
)
"""As they stand in a file."""


def written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def plan_of(method: str, rng: np.random.Generator) -> list[list[str]]:
    """The lines of a good plan, section by section."""
    masked = ["illness"] if method == "taxonomy-exponential" else ["illness", "age"]
    sections = [["[table]", 'delimiter = ","', 'encoding = "utf-8"']] if rng.integers(2) else []
    sections += [
        [f"[columns.{name}]", *(f"{key} = {value}" for key, value in keys.items())] for name, keys in COLUMNS.items()
    ]
    parameters = [f"{key} = {written(value)}" for key, value in STEPS[method].items()]
    return [*sections, ["[[steps]]", f'method = "{method}"', f"columns = {written(masked)}", *parameters]]


def twisted(sections: list[list[str]], rng: np.random.Generator) -> str:
    """A plan with one to three values, keys or headings replaced."""
    for _ in range(int(rng.integers(1, 4))):
        section = sections[int(rng.integers(len(sections)))]
        place = int(rng.integers(len(section)))
        value = VALUES[int(rng.integers(len(VALUES)))]
        if rng.integers(3) == 0:
            section.append(f"{KEYS[int(rng.integers(len(KEYS)))]} = {value}")
        elif place > 0:
            section[place] = f"{section[place].partition(' = ')[0]} = {value}"
        elif rng.integers(2):
            name = value if value.startswith(('"', "'")) else '"x"'
            section[0] = str(
                rng.choice(["[columns]", "[steps]", "[[columns]]", "[[table]]", f"[columns.{name}]", "[x]"])
            )
        else:
            section[:] = [f"{rng.choice(['columns', 'steps', 'table', 'x'])} = {value}"]
    return "\n".join("\n".join(section) for section in sections)


def commands(folder: Path) -> tuple[list[str], ...]:
    plan, table = f"--plan={folder / 'plan.toml'}", str(folder / "table.csv")
    return (
        *[["mask", table, plan, "--output", str(folder / "out.csv"), "--force"]] * 4,
        ["profile", table, plan],
        ["assess", table, str(folder / "masked.csv"), plan, "--same-order"],
        ["verify", str(folder / "one.csv"), str(folder / "masked.csv"), plan],
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    header = "name,illness,other,age,pain,note\n"
    rows = [
        f"Person{n},{rng.choice(['flu', 'measles', 'burn'])},{rng.choice(['flu', 'zzsecret', '?'])},{rng.integers(90)},"
        f"{rng.choice(['low', 'mid', 'high'])},free{n % 5}\n"
        for n in range(N_ROWS)
    ]
    for name, part in (("table", rows), ("masked", rows), ("one", rows[:1])):
        (tmp_path / f"{name}.csv").write_text(header + "".join(part))
    (tmp_path / "codes.csv").write_text("id,parent\nroot,\nflu,root\nmeasles,root\n")
    return tmp_path


def test_no_plan_crashes_the_program(folder: Path) -> None:
    methods, words = sorted(STEPS), commands(folder)

    def fault(number: int) -> str | None:
        rng = rng_of("plans", number)
        sections = plan_of(methods[int(rng.integers(len(methods)))], rng)
        if rng.integers(2):
            content = twisted(sections, rng).encode()
        else:
            content = mutated("\n".join("\n".join(section) for section in sections).encode(), rng)
        (folder / "plan.toml").write_bytes(content)
        seen = outcome(words[int(rng.integers(len(words)))])
        quoted = max((len(run) for run in seen.err.replace("…", " ").split()), default=0)
        if "q" * 81 in seen.err or quoted > ROOM:
            return f"a message quotes {quoted:,} characters: {seen.err[:200]}"
        return fault_of(seen, secrets=["Person", "zzsecret", *(f"free{n}" for n in range(10))])

    all_hold("plans", 70, fault)
