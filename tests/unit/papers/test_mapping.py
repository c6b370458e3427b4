"""Discharges in concepts of a release, with a release and a map that are synthetic."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

import anonto
from anonto.cli.main import run
from anonto.errors import AnontoWarning, ColumnError, TooFewRecordsError
from anonto.papers import whole
from anonto.papers.mapping import map_to_snomed_ct
from anonto.papers.measurement import SEEDS
from anonto.papers.noise_runs import add_noise
from anonto.papers.samples import moderate_sample, noise_samples, strong_samples
from anonto.papers.source import CODES
from anonto.papers.swapping_runs import swap_sample

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.papers.source import RecordSource

pytestmark = pytest.mark.filterwarnings(f"ignore::{AnontoWarning.__module__}.{AnontoWarning.__name__}")

IS_A, INFERRED, FSN = "116680003", "900000000000011006", "900000000000003001"
CONCEPT = "id effectiveTime active moduleId definitionStatusId"
DESCRIPTION = "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId"
RELATIONSHIP = (
    "id effectiveTime active moduleId sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId"
)
ROOT = "10000"


@pytest.fixture(scope="module")
def numbers(synthetic: RecordSource) -> dict[str, str]:
    """A synthetic concept id for each diagnosis and procedure, inner ones included."""
    ids = [*synthetic.diagnoses.ids, *synthetic.procedures.ids]
    return {code: str(20000 + place) for place, code in enumerate(ids)}


@pytest.fixture(scope="module")
def release(synthetic: RecordSource, numbers: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both hierarchies below one root, and some diagnoses below a second parent."""
    folder = tmp_path_factory.mktemp("release")
    where = folder / "Snapshot" / "Terminology"
    where.mkdir(parents=True)
    edges = [
        (numbers[code], numbers[parent])
        for taxonomy in (synthetic.diagnoses, synthetic.procedures)
        for code in taxonomy.ids
        for parent in taxonomy.parents(code)
    ]
    edges += [(numbers[taxonomy.roots[0]], ROOT) for taxonomy in (synthetic.diagnoses, synthetic.procedures)]
    chapters = synthetic.diagnoses.children(synthetic.diagnoses.roots[0])
    leaves = [code for code in synthetic.diagnoses.ids if not synthetic.diagnoses.children(code)]
    edges += [(numbers[leaf], numbers[chapters[place % 3]]) for place, leaf in enumerate(leaves[::10])]
    rows = {
        ("sct2_Concept_Snapshot_INT_20200101.txt", CONCEPT): [
            [number, "20200101", "1", "9", "8"] for number in (ROOT, *numbers.values())
        ],
        ("sct2_Description_Snapshot-en_INT_20200101.txt", DESCRIPTION): [
            [f"7{number}", "20200101", "1", "9", number, "en", FSN, f"Concept {number} (finding)", "6"]
            for number in (ROOT, *numbers.values())
        ],
        ("sct2_Relationship_Snapshot_INT_20200101.txt", RELATIONSHIP): [
            [f"8{place}", "20200101", "1", "9", child, parent, "0", IS_A, INFERRED, "7"]
            for place, (child, parent) in enumerate(edges)
        ],
    }
    for (name, header), lines in rows.items():
        text = "".join("\t".join(line) + "\r\n" for line in [header.split(), *lines])
        (where / name).write_bytes(text.encode())
    return folder


def written(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def mapped(
    synthetic: RecordSource, release: Path, numbers: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> RecordSource:
    """All codes but one mapped, one of them twice and one to a concept that the release lacks."""
    left_out = synthetic.discharges["principal_dx"].mode().sort()[0]
    rows = [(code, number, "text") for code, number in numbers.items() if code != left_out]
    path = tmp_path_factory.mktemp("map") / "map.csv"
    written(path, [("code", "concept", "label"), *rows, (rows[5][0], "999", "second"), ("unused", "12345", "")])
    return map_to_snomed_ct(synthetic, release, path)


def test_records_with_an_unmapped_code_are_left_out_and_counted(synthetic: RecordSource, mapped: RecordSource) -> None:
    left_out = synthetic.discharges["principal_dx"].mode().sort()[0]
    without = synthetic.discharges.filter(pl.all_horizontal(pl.col(CODES) != left_out))
    assert len(mapped.discharges) == len(without) < len(synthetic.discharges)
    assert mapped.discharges["chapter"].equals(without["chapter"])
    assert (
        f"{len(synthetic.discharges) - len(without):,} of {len(synthetic.discharges):,} discharges" in mapped.notes[0]
    )
    assert "mapped to SNOMED CT" in mapped.name
    assert not any("stand in" in note for note in mapped.notes)


def test_experiments_run_on_concepts(mapped: RecordSource) -> None:
    sample = moderate_sample(mapped)
    assert set(sample.table["principal_dx"]) <= set(mapped.diagnoses.ids)
    found = swap_sample(sample, "rank-swap-joint", {"k": 10}, SEEDS[:1])
    assert 0 < found.rmse["principal_dx"].mean < 1
    assert found.changed_frequencies.mean == 0
    second, _ = strong_samples(mapped)
    assert swap_sample(second, "rank-swap-joint", {"k": 2}, SEEDS[:1]).rmse["principal_dx"].mean == 0


def test_the_domain_of_noise_is_what_stands_above_all_diagnoses(
    synthetic: RecordSource, mapped: RecordSource, numbers: dict[str, str]
) -> None:
    samples = noise_samples(mapped, 100)
    assert samples["strong"].root == numbers[synthetic.diagnoses.roots[0]]
    assert not mapped.diagnoses.is_tree
    for name in ("strong", "narrow"):
        found = add_noise(samples[name], "semantic-noise-joint", {"noise_level": 0.2}, SEEDS[:1])
        assert 0 < found.correlation.mean <= 1


def test_a_map_without_its_columns_or_with_too_few_codes_is_refused(
    synthetic: RecordSource, release: Path, numbers: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(ColumnError, match=r"The table has no column.*'concept'"):
        map_to_snomed_ct(synthetic, release, written(tmp_path / "a.csv", [("code", "sctid"), ("A00", "1")]))
    few = list(numbers.items())[:50]
    with pytest.raises(TooFewRecordsError, match="complete the map"):
        map_to_snomed_ct(synthetic, release, written(tmp_path / "b.csv", [("code", "concept"), *few]))


def test_too_few_equal_discharges_for_the_second_sample_are_refused(synthetic: RecordSource) -> None:
    few = replace(synthetic, discharges=synthetic.discharges.unique(["principal_dx", "procedure"]))
    with pytest.raises(TooFewRecordsError, match="there are 0"):
        strong_samples(few)


def test_the_command_refuses_a_file_that_is_not_a_release(
    synthetic: RecordSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(whole, "synthetic_source", lambda: synthetic)
    path = written(tmp_path / "map.csv", [("code", "concept"), ("A00", "1")])
    words = ["reproduce", "--snomed", str(tmp_path / "none"), "--map", str(path), "--out", str(tmp_path / "out")]
    assert run(words) == 2
    assert "none" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_release_is_read_as_one_ontology(release: Path, numbers: dict[str, str]) -> None:
    assert anonto.read_ontology(release).roots == (ROOT,)
    assert len(anonto.read_ontology(release)) == len(numbers) + 1
