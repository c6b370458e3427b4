"""Readers of other packages are found by name and content, like ours; a broken one is reported and skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

import anonto
from anonto.cli.main import run
from anonto.errors import AnontoWarning, FileError, MalformedFileError
from anonto.ontology.read import sniff, warn_once
from anonto.ontology.readers import OWN, Reader, file_endings, plugin_readers, reader_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

INDENTED = """
from anonto.ontology.readers import Reader
from anonto.taxonomy.build import Draft
from anonto.taxonomy.taxonomy import Provenance


def read(source):
    draft, above = Draft(), []
    for line in source.text.split("\\n")[1:]:
        if line.strip():
            depth = len(line) - len(line.lstrip("\\t"))
            above[depth:] = [line.strip()]
            draft.concept(line.strip())
            if depth:
                draft.edge(line.strip(), above[depth - 1])
    return draft.finish(Provenance(source=source.name, format="indented", sha256=source.sha256))


READER = Reader(
    name="indented",
    sentence="a text in which a tab more means one level further down",
    endings=(".tree",),
    read=read,
    recognises=lambda start: start.first.startswith("INDENTED"),
)
"""
CODES = """
import json
from anonto.ontology.readers import Reader
from anonto.taxonomy.build import Draft
from anonto.taxonomy.taxonomy import Provenance


def read(source):
    draft = Draft()
    for concept, parent in json.loads(source.text)["codes"].items():
        draft.concept(concept)
        if parent:
            draft.edge(concept, parent)
    return draft.finish(Provenance(source=source.name, format="codes", sha256=source.sha256))


READER = Reader(name="codes", sentence="codes in JSON", read=read, recognises=lambda start: '"codes"' in start.text)
"""
BROKEN = {
    "raises": "raise RuntimeError('no such library')",
    "no-reader": "READER = 'indented'",
    "other-name": "from anonto.ontology.readers import Reader\nREADER = Reader(name='x', sentence='x')",
    "obo": "from anonto.ontology.readers import Reader\nREADER = Reader(name='obo', sentence='not ours')",
}
LEFT_OUT = (
    "The ontology reader 'raises' of another package (more_raises:READER) is ignored: RuntimeError: no such library; "
    "update or remove that package."
)
TREE = "INDENTED\nall\n\tinner\n\t\ta\n\t\tb\n\touter\n\t\tc\n\t\td\n"


def forget() -> None:
    plugin_readers.cache_clear()
    warn_once.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Put a package with readers where Python finds it, as an installer would."""

    def put(**modules: str) -> Path:
        packages = tmp_path / "packages"
        info = packages / "more_readers-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more-readers\nVersion: 1.0\n")
        lines = [f"{name.replace('_', '-')} = more_{name}:READER" for name in modules]
        (info / "entry_points.txt").write_text("\n".join(["[anonto.ontologies]", *lines, ""]))
        for name, code in modules.items():
            (packages / f"more_{name}.py").write_text(code)
        monkeypatch.syspath_prepend(packages)
        forget()
        return packages

    yield put
    forget()
    for name in [name for name in sys.modules if name.startswith("more_")]:
        del sys.modules[name]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "codes.tree").write_text(TREE)
    return tmp_path / "codes.tree"


def test_a_reader_of_another_package_is_used_by_its_content_and_by_its_name(
    install: Callable[..., Path], tree: Path
) -> None:
    with pytest.raises(FileError, match="known formats are"):
        anonto.read_ontology(tree)
    install(indented=INDENTED)
    for format_name in (None, "indented"):
        taxonomy = anonto.read_ontology(tree, format=format_name)
        assert taxonomy.parents("a") == ("inner",)
        assert taxonomy.provenance.format == "indented"
    assert ".tree" in file_endings()
    with pytest.raises(FileError, match=r"did you mean 'indented'.*; known formats are"):
        anonto.read_ontology(tree, format="indentd")


def test_a_reader_of_another_package_is_used_by_a_plan(install: Callable[..., Path], tree: Path) -> None:
    install(indented=INDENTED)
    plan = {
        "columns": {"code": {"kind": "nominal", "role": "quasi-identifier", "ontology": str(tree)}},
        "steps": [{"method": "rank-swap", "columns": ["code"], "k": 2}],
    }
    release = anonto.mask(pl.DataFrame({"code": ["a", "b", "c", "d"] * 5}), plan, seed=1 << 100)
    assert sorted(release.table["code"]) == sorted(["a", "b", "c", "d"] * 5)
    assert release.evidence["steps"][0]["method"] == "rank-swap"


def test_a_reader_of_another_package_is_used_on_the_command_line(install: Callable[..., Path], tree: Path) -> None:
    packages = install(indented=INDENTED, raises=BROKEN["raises"])
    paths = os.pathsep.join([str(packages), *(path for path in sys.path if path)])
    command = [sys.executable, "-m", "anonto", "ontology", str(tree)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "codes.tree (indented)" in done.stdout
    assert " ".join(done.stderr.split()) == f"Warning: {LEFT_OUT}"


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_reader_is_warned_about_once_and_harms_no_other(
    install: Callable[..., Path], tree: Path, name: str
) -> None:
    install(**{name.replace("-", "_"): BROKEN[name], "indented": INDENTED})
    with pytest.warns(AnontoWarning, match=name) as told:
        assert "a" in anonto.read_ontology(tree)
    assert len(told) == 1
    assert "b" in anonto.read_ontology(tree)  # warnings are errors here: it is not told again
    assert reader_of("obo") is not None
    assert sniff("format-version: 1.2\n", "x").sentence.startswith("OBO flat files")


def test_a_reader_that_fails_over_a_file_ends_in_one_of_our_errors(
    install: Callable[..., Path], tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(
        indented=INDENTED.replace("    draft, above", "    raise KeyError(source.text)\n    draft, above"),
        looks=INDENTED.replace('"indented"', '"looks"').replace("start.first.", "start.nothing."),
    )
    with pytest.warns(AnontoWarning, match="'looks' .* looking at a file raised AttributeError"):
        assert sniff("a;x;*\nb;x;*\n", "x").name == "level-csv"
    assert sniff("a;x;*\nb;x;*\n", "x").name == "level-csv"  # told once
    with pytest.raises(MalformedFileError, match=r"not a valid indented file: its reader raised KeyError"):
        anonto.read_ontology(tree, format="indented")
    assert run(["ontology", str(tree), "--format", "indented"]) == 2
    assert "outer" not in capsys.readouterr().err


def test_formats_we_know_but_do_not_read_may_be_read_by_plugins(install: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "codes.json").write_text('{"codes": {"a": "", "b": "a"}}')
    with pytest.raises(FileError, match="which is not supported"):
        anonto.read_ontology(tmp_path / "codes.json")
    install(codes=CODES)
    assert anonto.read_ontology(tmp_path / "codes.json").parents("b") == ("a",)


def test_files_of_our_formats_load_no_other_package(install: Callable[..., Path], tmp_path: Path) -> None:
    install(raises=BROKEN["raises"])
    (tmp_path / "o").write_text("id,parent\na,\nb,a\n")
    assert len(anonto.read_ontology(tmp_path / "o")) == 2
    assert "more_raises" not in sys.modules


def test_each_of_our_readers_has_a_name_a_sentence_and_a_way_to_read() -> None:
    for name in OWN:
        reader = reader_of(name)
        assert isinstance(reader, Reader)
        assert reader.name == name
        assert reader.sentence
        assert (reader.read is None) != (reader.read_path is None)
