import polars as pl
import pytest

from anonto.io.table import Labels, Origin, Table
from anonto.profile.column_profile import ColumnProfile, name_words, open_table
from anonto.profile.guess import Guess, guess_column
from anonto.profile.kinds import missing_texts, order_of


def profile_of(name: str, cells: list[str | None]) -> ColumnProfile:
    return open_table(pl.DataFrame({name: pl.Series(cells, dtype=pl.String)})).profile(name)


def guess(name: str, cells: list[str | None]) -> Guess:
    return guess_column(profile_of(name, cells))


# ------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("admission_type_id", ("admission", "type", "id")),
        ("marital-status", ("marital", "status")),
        ("patientAge", ("patient", "age")),
        ("diag_1", ("diag", "1")),
        ("HTTPCode", ("http", "code")),
        ("Körper_größe", ("körper", "grösse")),
        ("", ()),
    ],
)
def test_names_fall_into_words(name: str, words: tuple[str, ...]) -> None:
    assert name_words(name) == words


# ------------------------------------------------------------------------------------------------ missing


def test_signs_for_missing_are_found_whatever_their_case_and_blanks() -> None:
    assert missing_texts(profile_of("x", ["?", "n/a", " ", "NULL", "a", "b", None])) == (" ", "?", "NULL", "n/a")


def test_a_minus_among_pluses_and_na_among_country_codes_are_values() -> None:
    assert missing_texts(profile_of("rhesus", ["+", "-", "?"])) == ("?",)
    countries = [a + b for a in "DEFGH" for b in "ABCDE"]
    assert missing_texts(profile_of("country", [*countries, "NA"])) == ()
    assert missing_texts(profile_of("grade", ["A", "B", "NA"])) == ("NA",)


def test_a_word_for_unknown_is_missing_only_among_numbers() -> None:
    assert missing_texts(profile_of("age", ["1", "2", "Unknown", "not_stated"])) == ("Unknown", "not_stated")
    assert missing_texts(profile_of("race", ["white", "black", "unknown"])) == ()


def test_a_guess_counts_missing_cells_and_shows_none() -> None:
    found = guess("income", ["1", "2", "unknown", "unknown", "3"])
    assert found.na == ("unknown",)
    assert found.kind == "numeric"
    assert "na: 1 text in 2 cells is taken for missing" in found.reasons


# ------------------------------------------------------------------------------------------------ kinds


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("length_of_stay", ["1", "12", "3"], "numeric"),
        ("charge", ["1.250,50", "3,5", "7"], "numeric"),
        ("code", ["008", "012", "100"], "nominal"),
        ("procedure", ["06.2", "99.15", "45.73"], "nominal"),
        ("admission_type_id", ["1", "2", "3", "4"], "nominal"),
        ("drg", ["627", "543", "9"], "nominal"),
        ("age_group", ["1", "2", "3"], "nominal"),
        ("number_diagnoses", ["1", "2", "3"], "numeric"),
        ("education-num", ["1", "2", "3"], "numeric"),
        ("died", ["0", "1", "0"], "nominal"),
        ("place", [str(n) for n in range(10115, 10165)] * 5, "nominal"),
        ("income", [str(n) for n in range(10115, 10165)] * 5, "numeric"),
        ("when", ["2010-01-05", "2010-02-11", "2011-03-01"], "date"),
    ],
)
def test_numbers_are_numeric_unless_they_are_codes(name: str, cells: list[str | None], kind: str) -> None:
    assert guess(name, cells).kind == kind


def test_numbers_with_labels_in_the_file_are_codes() -> None:
    frame = pl.DataFrame({"roof": [1, 2, 3, 2, 9], "rooms": [1, 2, 3, 4, 5]})
    labels = Labels(value_labels={"roof": {1: "tile", 2: "straw", 3: "tin"}}, missing_codes={"roof": (9,)})
    opened = open_table(Table(frame, Origin(name="survey.sav", format="spss", labels=labels)))
    roof = opened.profile("roof")
    assert roof.values == ("1", "2", "3")
    assert guess_column(roof).kind == "nominal"
    assert guess_column(opened.profile("rooms")).kind == "numeric"


@pytest.mark.parametrize(
    "ordered",
    [
        ("[0-10)", "[10-20)", "[90-100)"),
        ("<5", "5-9", "10-14", "15+"),
        ("(0, 10]", "(10, 20]", "(20, 30]"),
        ("under 18", "18 to 64", "65 and over"),
        ("Low", "Medium", "HIGH"),
        ("none", "mild", "severe"),
        ("never", "sometimes", "often", "always"),
        ("0", "1-4", "5-9", "10+"),
    ],
)
def test_bands_and_usual_scales_are_found_and_put_in_order(ordered: tuple[str, ...]) -> None:
    assert order_of(sorted(ordered)) == ordered


@pytest.mark.parametrize(
    "values",
    [
        ("0-10", "5-15", "10-20"),
        ("555-1234", "555-4321", "556-1111"),
        ("<=50K", ">50K"),
        ("<30", ">30", "NO"),
        ("low", "high", "blue"),
        ("medium", "mid", "high"),
        ("1", "2", "3"),
    ],
)
def test_values_without_an_order_are_not_called_ordinal(values: tuple[str, ...]) -> None:
    assert order_of(values) == ()


# ------------------------------------------------------------------------------------------------ roles


MANY = [f"value {n}" for n in range(100)]
FEW = ["a", "b"] * 50


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("record_id", MANY, "identifier"),
        ("patient_nbr", [f"{n // 3}" for n in range(100)], "identifier"),
        ("first_name", FEW, "identifier"),
        ("email", FEW, "identifier"),
        ("notes", MANY, "free-text"),
        ("hospital_id", FEW, "quasi-identifier"),
        ("drug_name", FEW, "quasi-identifier"),
        ("age", ["1", "2"] * 50, "quasi-identifier"),
        ("principal_diagnosis", MANY, "quasi-identifier"),
        ("discharge_disposition_id", FEW, "quasi-identifier"),
        ("birth_date", MANY, "quasi-identifier"),
        ("admission_charge", ["1.5", "2.5"] * 50, "quasi-identifier"),
        ("admission_charge", [f"{n}.5" for n in range(100)], "confidential"),
        ("A1Cresult", FEW, "confidential"),
        ("colour", FEW, "quasi-identifier"),
        ("region", ["north"] * 100, "quasi-identifier"),
        ("sex", [None] * 100, "identifier"),
        ("measured", [f"{n}.5" for n in range(100)], "confidential"),
        ("counted", [str(n) for n in range(100)], "identifier"),
    ],
)
def test_roles_come_from_names_and_uniqueness(name: str, cells: list[str | None], role: str) -> None:
    assert guess(name, cells).role == role


def test_a_column_with_one_value_needs_no_ontology_and_no_review() -> None:
    alike = guess("colour", ["red", "?", "red"])
    assert (alike.role, alike.review, alike.may_have_an_ontology) == ("quasi-identifier", False, False)
    assert guess("colour", ["red", "blue"]).may_have_an_ontology


def test_no_reason_shows_a_cell() -> None:
    cells = ["zebra", "okapi", "unknown", "?", "zebra", "[1-2)"]
    for name in ("sex", "x", "patient_name", "result", "code"):
        for reason in guess(name, cells).reasons:
            assert not any(cell in reason for cell in ("zebra", "okapi", "unknown", "?", "[1-2)"))
