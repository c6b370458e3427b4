from pathlib import Path

import numpy as np
import polars as pl

from anonto.ontology.read import read_ontology
from anonto.profile.candidates import Candidate, candidates, is_real_hierarchy, listed_candidates
from anonto.profile.column_profile import ColumnProfile, open_table
from anonto.profile.recognise import Recognised, recognise
from anonto.taxonomy.taxonomy import Taxonomy


def profile_of(name: str, cells: list[str | None]) -> ColumnProfile:
    return open_table(pl.DataFrame({name: pl.Series(cells, dtype=pl.String)})).profile(name)


def taxonomy(folder: Path, text: str, name: str = "ontology.csv") -> Taxonomy:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_ontology(path)


def recognised(name: str, cells: list[str | None], *taxonomies: Taxonomy) -> Recognised | None:
    return recognise(profile_of(name, cells), [Candidate(one, one) for one in taxonomies])


# ------------------------------------------------------------------------------------------------ ontologies


CODES = "id,parent,label\nall,,all illnesses\n" + "".join(f"{c},all,{c} of\n" for c in ("A", "B", "V27"))
CODES += "".join(f"{n:03d},A,illness {n}\n250.{n:02d},B,sugar {n}\n" for n in range(40))


def test_values_are_recognised_and_the_reason_counts(tmp_path: Path) -> None:
    found = recognised("diag_1", ["250.01", "250.02", "8", "12", "V27", "008"], taxonomy(tmp_path, CODES, "icd.csv"))
    assert found is not None
    assert found.unmatched == "refuse"
    assert found.reasons == ("ontology: 6 of 6 distinct values are codes of icd.csv, 2 after restoring zeros",)


def test_short_numbers_alone_are_not_recognised(tmp_path: Path) -> None:
    known = taxonomy(tmp_path, CODES, "icd.csv")
    assert recognised("admission_type_id", ["1", "2", "3", "4"], known) is None
    assert recognised("diag_code_type", ["1", "2", "3", "4"], known) is None
    assert recognised("drg", [str(n) for n in range(1, 40)], known) is None
    assert recognised("diag", [str(n) for n in range(1, 40)], known) is not None


def test_the_proposed_spelling_is_that_of_most_cells(tmp_path: Path) -> None:
    known = taxonomy(tmp_path, CODES, "icd.csv")
    for codes, spelling in (
        (["25001", "25002", "25003", "25004", "25005", "250.06"], "id-without-dots"),
        (["250.01", "250.02", "250.03", "250.04", "250.05", "25006"], "id"),
        ([f"sugar {n}" for n in range(8)], "label"),
    ):
        found = recognised("dx", codes, known)
        assert found is not None
        assert found.spelling == spelling


def test_values_without_a_code_go_to_the_nearest_or_stay(tmp_path: Path) -> None:
    known = taxonomy(tmp_path, CODES, "icd.csv")
    codes: list[str | None] = [f"250.{n:02d}" for n in range(20)]
    nearest = recognised("dx", [*codes, "250.013"], known)
    assert nearest is not None
    assert nearest.unmatched == "nearest-ancestor"
    stays = recognised("dx", [*codes, "strange", "Unknown"], known)
    assert stays is not None
    assert (stays.unmatched, stays.na) == ("keep", ("Unknown",))
    assert all("strange" not in reason and "Unknown" not in reason for reason in stays.reasons)


def test_a_column_with_too_few_known_cells_is_not_recognised(tmp_path: Path) -> None:
    codes: list[str | None] = [f"250.{n:02d}" for n in range(30)]
    known = taxonomy(tmp_path, CODES, "icd.csv")
    assert recognised("dx", [*codes, *["strange"] * 7], known) is not None
    assert recognised("dx", [*codes, *["strange"] * 8], known) is None


def test_the_hierarchy_with_the_name_of_the_column_wins_a_tie(tmp_path: Path) -> None:
    levels = "yes;*\nno;*\n"
    smoker, drinker = (taxonomy(tmp_path, levels, f"adult_hierarchy_{name}.csv") for name in ("smoker", "drinker"))
    for order in ((smoker, drinker), (drinker, smoker)):
        found = recognised("drinker", ["yes", "no", "yes"], *order)
        assert found is not None
        assert found.candidate.taxonomy is drinker


def test_ids_as_they_are_beat_ids_that_need_repair(tmp_path: Path) -> None:
    exact = taxonomy(tmp_path, "id,parent\nr,\n" + "".join(f"10{n:02d},r\n" for n in range(20)), "exact.csv")
    zeros = taxonomy(tmp_path, "id,parent\nr,\n" + "".join(f"0010{n:02d},r\n" for n in range(20)), "zeros.csv")
    found = recognised("thing", [f"10{n:02d}" for n in range(20)], zeros, exact)
    assert found is not None
    assert found.candidate.taxonomy is exact


def test_an_example_of_a_paper_is_used_only_if_it_has_all_values_and_nothing_else_fits(tmp_path: Path) -> None:
    column = profile_of("illness", ["flu", "measles", "burn"])
    known = listed_candidates([column])
    assert {one.title for one in known} >= {"illnesses", "dementias"}
    found = recognise(column, known)
    assert found is not None
    assert found.candidate.title == "illnesses"
    assert recognise(profile_of("illness", ["flu", "measles", "burn", "rain"]), known) is None
    own = taxonomy(tmp_path, "flu;infection;*\nmeasles;infection;*\nburn;injury;*\n")
    better = recognise(column, [*known, Candidate(own, own)])
    assert better is not None
    assert better.candidate.taxonomy is own


def test_large_ontologies_are_opened_only_for_columns_that_may_be_in_them() -> None:
    assert "icd10cm" not in {one.title for one in listed_candidates([profile_of("diag", ["250.1", "276", "V27"])])}
    assert "icd10cm" in {one.title for one in listed_candidates([profile_of("x", ["E11.9", "I10", "J45.909"])])}


# ------------------------------------------------------------------------------------------------ files


def test_files_are_recognised_as_ontologies_by_content_and_others_skipped(tmp_path: Path) -> None:
    taxonomy(tmp_path, "flu;infection;*\nburn;injury;*\nmeasles;infection;*\n", "levels.txt")
    taxonomy(tmp_path, CODES, "edges.data")
    (tmp_path / "broken.csv").write_text("id,parent\na,b\nb,a\n")
    (tmp_path / "people.csv").write_text("name,age\nJane,4\nJoe,5\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x00\x01")
    (tmp_path / "deeper").mkdir()
    taxonomy(tmp_path / "deeper", CODES, "hidden.csv")
    table = tmp_path / "table.csv"
    table.write_text("id,parent\na,\nb,a\nc,a\n")
    found = candidates((), [tmp_path], leave_out=[table])
    assert [one.title for one in found] == ["edges.data", "levels.txt"]


def test_the_same_ontology_in_two_files_is_one_candidate(tmp_path: Path) -> None:
    taxonomy(tmp_path, CODES, "a.csv")
    taxonomy(tmp_path, CODES, "b.csv")
    found = candidates([tmp_path / "b.csv"], [tmp_path])
    assert [one.title for one in found] == ["b.csv"]


def test_a_table_about_people_is_not_read_as_a_hierarchy(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [
        f"p{n};{rng.choice(['f', 'm'])};{rng.choice(['north', 'south', 'east'])};{rng.choice(['a', 'b'])};Spain"
        for n in range(60)
    ]
    assert not is_real_hierarchy(taxonomy(tmp_path, "\n".join(rows)))
    without_id = [row.partition(";")[2] for row in rows]
    assert not is_real_hierarchy(taxonomy(tmp_path, "\n".join(without_id)))
    assert not is_real_hierarchy(taxonomy(tmp_path, "p1;Spain\np2;Spain\np3;Spain\n"))
    assert not is_real_hierarchy(taxonomy(tmp_path, "id,parent\na,\nb,\nc,\nd,a\n"))


def test_small_and_deep_hierarchies_are_real(tmp_path: Path) -> None:
    assert is_real_hierarchy(taxonomy(tmp_path, "Male;*\nFemale;*\n"))
    assert is_real_hierarchy(taxonomy(tmp_path, "flu;infection;ill\nburn;injury;ill\nmeasles;infection;ill\n"))
    assert is_real_hierarchy(taxonomy(tmp_path, "".join(f"{n};{n // 5};{n // 10};*\n" for n in range(100, 200))))
