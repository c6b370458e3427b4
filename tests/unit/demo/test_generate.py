import numpy as np
import polars as pl
import pytest

from anonto import stats
from anonto.demo.codes import pool_of
from anonto.demo.generate import MISSING_SHARES, discharges
from anonto.demo.procedures import procedure_taxonomy, procedures_by_system
from anonto.ontology.catalogue import open_ontology
from anonto.taxonomy.taxonomy import Taxonomy

N_RECORDS = 4_000
DIAGNOSES = ("principal_dx", "secondary_dx")


@pytest.fixture(scope="module")
def icd() -> Taxonomy:
    return open_ontology("icd10cm")


@pytest.fixture(scope="module")
def table(icd: Taxonomy) -> pl.DataFrame:
    return discharges(N_RECORDS, 7, taxonomy=icd)


def test_the_same_seed_gives_the_same_records_and_another_seed_others(icd: Taxonomy, table: pl.DataFrame) -> None:
    assert discharges(N_RECORDS, 7).equals(table)
    other = discharges(N_RECORDS, 8, taxonomy=icd)
    assert other.schema == table.schema
    assert all((other[name] != table[name]).any() for name in table.columns)


@pytest.mark.parametrize("n_records", [1, 2, 13])
def test_a_table_of_any_size_can_be_made(icd: Taxonomy, n_records: int) -> None:
    assert discharges(n_records, 1, taxonomy=icd).height == n_records


def test_codes_are_text_and_numbers_are_numbers(table: pl.DataFrame) -> None:
    text = ("record_number", *DIAGNOSES, "procedure", "sex", "region")
    assert set(table.columns) == {*text, "age", "length_of_stay", "charge"}
    assert all(table[name].dtype == pl.String for name in text)
    assert all(table[name].dtype.is_numeric() for name in ("age", "length_of_stay", "charge"))
    assert table["record_number"].n_unique() == N_RECORDS


def test_every_code_is_in_its_taxonomy(icd: Taxonomy, table: pl.DataFrame) -> None:
    for name in DIAGNOSES:
        assert [code for code in table[name].drop_nulls().unique() if code not in icd or icd.children(code)] == []
    known = {code for code, _, _ in procedure_taxonomy()}
    assert set(table["procedure"].drop_nulls()) <= known


def test_the_taxonomy_of_procedures_is_a_tree_with_one_root_and_a_label_for_each_concept() -> None:
    edges = procedure_taxonomy()
    ids = [code for code, _, _ in edges]
    assert len(set(ids)) == len(ids)
    assert 140 <= len(ids) <= 180
    assert [code for code, parent, _ in edges if not parent] == ["PROC"]
    assert all(parent in ids for _, parent, _ in edges if parent)
    assert all(label for _, _, label in edges)
    assert len({label for _, _, label in edges}) == len(edges)
    assert len([code for code, parent, _ in edges if parent == "PROC"]) == 8
    assert all(procedures_by_system())


def test_the_two_diagnoses_of_a_record_are_related(icd: Taxonomy, table: pl.DataFrame) -> None:
    principal, secondary = (table[name] for name in DIAGNOSES)
    related = stats.distance_correlation(principal, secondary, icd, icd)
    by_chance = stats.distance_correlation(principal, secondary.shuffle(seed=1), icd, icd)
    assert related > 0.4
    assert related > 2 * by_chance
    assert (principal == secondary).sum() == 0


def test_procedures_go_with_diagnoses(table: pl.DataFrame) -> None:
    both = table.drop_nulls(["principal_dx", "procedure"])
    of_hearts = both.filter(pl.col("principal_dx").str.starts_with("I"))["procedure"].str.starts_with("03").mean()
    of_others = both.filter(~pl.col("principal_dx").str.starts_with("I"))["procedure"].str.starts_with("03").mean()
    assert of_hearts > 3 * of_others


def test_pregnancies_are_those_of_women_and_births_those_of_newborns(icd: Taxonomy) -> None:
    table = discharges(40_000, 3, taxonomy=icd)
    for name in DIAGNOSES:
        mothers = table.filter(pl.col(name).str.starts_with("O")).drop_nulls(["age", "sex"])
        assert mothers.height > 100
        assert mothers["age"].is_between(15, 49).all()
        assert (mothers["sex"] == "female").all()
        newborns = table.filter(pl.col(name).str.starts_with("P") | pl.col(name).str.starts_with("Z38"))["age"]
        assert newborns.len() > 100
        assert (newborns.drop_nulls() == 0).all()
        prostates = table.filter(pl.col(name).str.contains("^(C61|N40)"))["sex"].drop_nulls()
        assert (prostates == "male").all()


def test_frequencies_are_skewed_and_many_codes_occur_once(table: pl.DataFrame) -> None:
    for name in DIAGNOSES:
        counts = table[name].drop_nulls().value_counts(sort=True)["count"]
        assert counts.head(20).sum() > 0.15 * counts.sum()
        assert (counts == 1).sum() > 0.2 * counts.len()


@pytest.mark.parametrize("column", MISSING_SHARES)
def test_some_cells_are_missing(table: pl.DataFrame, column: str) -> None:
    assert 0.01 < table[column].null_count() / N_RECORDS < 0.065


def test_procedures_are_often_missing_and_record_numbers_never(table: pl.DataFrame) -> None:
    assert 0.3 < table["procedure"].null_count() / N_RECORDS < 0.6
    assert table["record_number"].null_count() == 0


def test_a_longer_stay_and_a_procedure_cost_more(table: pl.DataFrame) -> None:
    known = table.drop_nulls(["length_of_stay", "charge"])
    assert np.corrcoef(np.log(known["length_of_stay"]), np.log(known["charge"]))[0, 1] > 0.5
    by_procedure = known.group_by(pl.col("procedure").is_null()).agg(pl.col("charge").median()).sort("procedure")
    assert by_procedure["charge"][0] > by_procedure["charge"][1]
    assert known["length_of_stay"].min() >= 1
    assert table["age"].drop_nulls().is_between(0, 100).all()


def test_a_pool_draws_from_the_group_alone_by_weight_and_knows_empty_groups() -> None:
    pool = pool_of(np.array([10, 11, 12, 13]), np.array([1, 1, 3, 3]), np.array([1.0, 3.0, 0.0, 1.0]))
    rng = np.random.default_rng(1)
    groups = np.repeat([0, 1, 2, 3, 4], 4_000)
    drawn = pool.draw(groups, rng)
    assert all((drawn[groups == empty] == -1).all() for empty in (0, 2, 4))
    assert (drawn[groups == 3] == 13).all()
    assert abs((drawn[groups == 1] == 11).mean() - 0.75) < 0.03
