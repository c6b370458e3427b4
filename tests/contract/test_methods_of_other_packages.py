"""A method of another package is used like our own: the example is installed, and nothing else is touched."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import anonto
from anonto.cli.main import run
from anonto.errors import AnontoWarning, MemoryLimitError
from anonto.masking.plan_schema import plan_schema
from anonto.methods import registry
from anonto.methods.registry import METHODS, OWN, method_of
from anonto.report.charts import FAMILIES, _family, risk_utility_chart
from anonto.report.words import no_levels_sentence
from anonto.web.pages.parameters import first_parameters
from anonto.web.tasks import TASKS

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[2] / "examples" / "plugin"
NAME = "neighbour-draw"
PLAN: dict[str, Any] = {
    "columns": {
        "age": {"kind": "numeric"},
        "stay": {"kind": "numeric"},
        "pay": {"kind": "numeric", "role": "confidential"},
    },
    "steps": [{"method": NAME, "columns": ["age", "stay"], "k": 5}],
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installed the example into."""
    folder = tmp_path_factory.mktemp("site")
    tools = ["--no-build-isolation"] if find_spec("hatchling") else []
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", *tools]
    subprocess.run([*command, "--target", str(folder), str(PACKAGE)], check=True, capture_output=True)
    return folder


@pytest.fixture
def plugin(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from found_in(installed, monkeypatch)


def found_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(folder))
    registry._plugins.cache_clear()
    yield
    registry._plugins.cache_clear()


def people(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame({"age": rng.integers(1, 99, n), "stay": rng.integers(1, 40, n), "pay": rng.integers(9, 99, n)})


def written(folder: Path) -> tuple[str, str]:
    people().write_csv(folder / "people.csv")
    lines = [
        f'[columns.{name}]\nkind = "numeric"\nrole = "{role}"'
        for name, role in (("age", "quasi-identifier"), ("stay", "quasi-identifier"), ("pay", "confidential"))
    ]
    step = f'[[steps]]\nmethod = "{NAME}"\ncolumns = ["age", "stay"]\nk = 5'
    (folder / "plan.toml").write_text("\n".join([*lines, step]), encoding="utf-8")
    return str(folder / "people.csv"), str(folder / "plan.toml")


def test_the_example_is_one_short_module() -> None:
    modules = list(PACKAGE.glob("*.py"))
    assert len(modules) == 1
    assert len(modules[0].read_text(encoding="utf-8").splitlines()) <= 80


def test_without_the_package_there_is_no_such_method() -> None:
    assert NAME not in METHODS
    assert list(METHODS) == list(OWN)


@pytest.mark.usefixtures("plugin")
def test_it_is_registered_behind_our_own() -> None:
    assert list(anonto.methods()) == [*OWN, NAME]
    assert METHODS[NAME].words.proves == "nothing"


@pytest.mark.usefixtures("plugin")
def test_the_map_and_the_report_say_nothing_that_its_class_does_not_say() -> None:
    point = {"label": "a", "risk": 0.1, "utility": 0.9, "on_front": True}
    names = [NAME, "microaggregate", "rank-swap", "taxonomy-exponential", f"{NAME} + rank-swap", "rank-swapper"]
    shapes = ["triangle", "square", "circle", "diamond", "circle", "triangle"]
    assert [FAMILIES[_family(name)][0] for name in names] == shapes
    both = risk_utility_chart([{**point, "method": NAME}, {**point, "method": "microaggregate"}], "t")
    assert "other methods" in both
    assert "microaggregation" in both
    keeps = [name for name in METHODS if "exactly as often" in no_levels_sentence("numeric", name)]
    assert keeps == [name for name in OWN if "swap" in name]
    assert "exactly as often" not in no_levels_sentence("numeric", "noise-swap-of-nobody")


@pytest.mark.usefixtures("plugin")
def test_it_masks_and_is_assessed_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, plan = written(tmp_path)
    out = str(tmp_path / "out.csv")
    assert run(["mask", table, "--plan", plan, "--output", out, "--report", str(tmp_path / "r.html")]) == 0
    masked = pl.read_csv(out)
    assert set(masked["age"]) <= set(people()["age"])
    assert sorted(masked["age"]) != sorted(people()["age"])
    assert "Draw" not in capsys.readouterr().err
    assert "picked by chance among its nearest" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert run(["assess", table, out, "--plan", plan, "--private", f"{out}.private.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["attack"] for one in found["risk"]} >= {"distance-linkage"}


@pytest.mark.usefixtures("plugin")
def test_the_same_seed_gives_the_same_release_also_within_little_memory(tmp_path: Path) -> None:
    table, plan = written(tmp_path)
    whole = anonto.mask(people(), PLAN, seed=1 << 100).table
    for name in ("one.csv", "other.csv"):
        anonto.mask_file(table, plan, tmp_path / name, seed=1 << 100, memory="500MB", keep_order=True)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()
    assert pl.read_csv(tmp_path / "one.csv").equals(pl.DataFrame(whole))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The table, with missing cells, as a folder of files."""
    found = tmp_path / "people"
    found.mkdir()
    for number, part in enumerate(with_missing_cells().iter_slices(25)):
        part.write_parquet(found / f"{number}.parquet")
    return found


def with_missing_cells() -> pl.DataFrame:
    return people().with_columns(age=pl.when(pl.col("age") > 15).then("age"))


@pytest.mark.usefixtures("plugin")
def test_a_folder_of_files_is_masked_as_in_memory(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("anonto.engine.memory.source.InMemory", None)
        over_files = anonto.mask_file(folder, PLAN, tmp_path / "out.parquet", seed=1 << 100, keep_order=True)
    whole = anonto.mask(with_missing_cells(), PLAN, seed=1 << 100)
    assert pl.read_parquet(tmp_path / "out.parquet").equals(pl.DataFrame(whole.table))
    assert whole.table["age"].null_count() == with_missing_cells()["age"].null_count() > 0
    assert over_files.evidence["steps"][0]["columns"] == whole.evidence["steps"][0]["columns"]


@pytest.mark.usefixtures("plugin")
def test_what_it_says_a_row_takes_counts_over_files(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, _ = written(tmp_path)
    monkeypatch.setattr(METHODS[NAME], "bytes_per_row", lambda *_: 10_000_000)
    for source in (folder, table):  # a file that fits is not masked in memory, as its step does not fit
        with pytest.raises(MemoryLimitError, match=f"{NAME} .* so many records.*of memory may be used"):
            anonto.mask_file(source, PLAN, tmp_path / "out.parquet", memory="500MB")
    assert not (tmp_path / "out.parquet").exists()
    anonto.mask_file(folder, PLAN, tmp_path / "out.parquet", memory="2GB")


@pytest.mark.usefixtures("plugin")
def test_it_is_listed_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["methods", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)["methods"]}
    assert [one["name"] for one in listed[NAME]["parameters"]] == ["k"]
    assert run(["methods", NAME]) == 0
    assert "either side" in capsys.readouterr().out


@pytest.mark.usefixtures("plugin")
def test_the_app_offers_it_with_parameters_that_it_takes() -> None:
    card = TASKS["methods"]({}, lambda _: None)["methods"][NAME]
    assert card["title"] == "Draw a neighbour’s number"
    assert method_of(NAME, first_parameters(card, {})).name == NAME


@pytest.mark.usefixtures("plugin")
def test_a_sweep_tries_it() -> None:
    found = anonto.sweep(people(), PLAN, grid={NAME: {"k": [3, 9]}, "random-swap": {}})
    assert sum(NAME in point.label for point in found.points) == 3  # the plan's own, and two of the grid
    from anonto.sweep.grid import default_grid

    assert default_grid(60)[NAME] == {"k": [5, 10, 20, 30]}


@pytest.mark.usefixtures("plugin")
def test_the_schema_of_plans_has_it() -> None:
    jsonschema.validate(PLAN, plan_schema())
    wrong = {**PLAN, "steps": [{"method": NAME, "columns": ["age"], "k": 0}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, plan_schema())
    with pytest.raises(anonto.InputError, match="k must be a whole number, 1 or more"):
        method_of(NAME, {"k": 0})


# ------------------------------------------------------------------------------------------------ packages with faults


@pytest.mark.parametrize(
    ("name", "module", "fault"),
    [
        ("broken", "import nothing_of_this_name", "ModuleNotFoundError"),
        ("group-swap", "class Method: ...", "there is a method of this name already"),
        ("no-method", "class Method: ...", "not a dataclass"),
    ],
)
def test_a_package_with_a_fault_is_left_out_with_one_warning(
    name: str, module: str, fault: str, tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = tmp_path / "faulty-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(f"[anonto.methods]\n{name} = faulty_package:Method\n", encoding="utf-8")
    (tmp_path / "faulty_package.py").write_text(module, encoding="utf-8")
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.delitem(sys.modules, "faulty_package", raising=False)
    for _ in found_in(tmp_path, monkeypatch):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert set(METHODS) == {*OWN, NAME}
            assert len(METHODS) == len(OWN) + 1
        assert [one.category for one in said] == [AnontoWarning]
        assert "update or remove that package" in str(said[0].message)
        assert name in str(said[0].message)
        assert fault in str(said[0].message)


def test_the_entry_point_has_the_name_of_the_method(installed: Path) -> None:
    given = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))
    assert list(given["project"]["entry-points"]["anonto.methods"]) == [NAME]
    assert (installed / "anonto_neighbour_draw.py").exists()
