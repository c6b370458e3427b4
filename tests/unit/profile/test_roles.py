"""Roles of columns by their names in public tables, and by values if the name suggests nothing."""

import random
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.profile import vocabulary
from anonto.profile.column_profile import ColumnProfile, open_table
from anonto.profile.guess import Guess, guess_column
from anonto.profile.weights import sampling_weight

N = 300
SOME = random.Random(20)
NUMBERS = [str(1 + n // 3) for n in range(N)]
CODES = [str(1 + n % 4) for n in range(N)]
AMOUNTS = [f"{SOME.lognormvariate(9, 1):.2f}" for _ in range(N)]
WEIGHTS = [f"{SOME.uniform(200, 900):.1f}" for _ in range(N)]
TEXTS = [f"Patient number {n} came in at night and was seen by the doctor" for n in range(N)]

PERSONS = "DUPERSID PID RB030 pb030 person_id patient_nbr SUBJECT_ID patientID subject.reference provider_id SEQN pidp"
HOUSEHOLDS = "DUID db030 rb040 hid HHID household_id hh_id FAMID05 family_id ori_hid HRHHID SERIALNO haushalts_nr"
RECORDS = "SERIAL id record_no encounter.reference visit_occurrence_id UTILITYID utility_id CONDIDX accountNumber KEY"
WEIGHT_NAMES = """PERWT05F FAMWT05F rb050 db090 fnlwgt AFNLWGT discharge_weight "analysis weight" sampling_weight
household_weights pweight HHWT WTINT2YR WTMEC2YR PWGTP v005 FACTOREL weight w final_weight"""
KNOWN = """AGE05X RIDAGEYR rb080 rb090 SEX pb220a db040 REGION05 MARRY05X RACEX HISPANX EDUCYR pl030 hsize DOBMM
BPL OCC2010 STATEFIP PUMA RELATE gender_concept_id race_source_value DRG DX1 icd10 ICD9CODX LOS ATYPE Geschlecht edad
code_postal Familienstand Staatsangehörigkeit nacionalidad birthDate maritalStatus VARSTR psu"""
MONEY_WORDS = """balance_account cost_centre loan income_file cost pension tax_office payment_source charge_unit
salary_band income_group pension_fund benefit_type TOTCHG netIncome Einkommen"""
MONEY = "py010n hy040n TTLP05X INCTOT FAMINC05 TOTEXP05 TOTCHG RESREVENUE COMSALES netIncome readmitted Einkommen"


def profile_of(name: str, cells: list[str]) -> ColumnProfile:
    return open_table(pl.DataFrame({name: pl.Series(cells, dtype=pl.String)})).profile(name)


def guess(name: str, cells: list[str]) -> Guess:
    return guess_column(profile_of(name, cells))


def names(text: str) -> list[str]:
    return [part for n, quoted in enumerate(text.split('"')) for part in ([quoted] if n % 2 else quoted.split())]


# ------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("known", "whose"), [(PERSONS, "the number of a person"), (HOUSEHOLDS, "the number of a household"), (RECORDS, "")]
)
def test_person_household_and_record_numbers_are_dropped_and_need_confirmation(known: str, whose: str) -> None:
    for name in names(known):
        found = guess(name, NUMBERS)
        assert (found.role, found.review) == ("identifier", True), name
        assert whose in found.reasons[0], name


@pytest.mark.parametrize("name", names(WEIGHT_NAMES))
def test_sampling_weights_are_dropped_and_need_confirmation(name: str) -> None:
    found = guess(name, WEIGHTS)
    assert (found.role, found.review) == ("identifier", True)
    assert "sampling weight" in found.reasons[0]
    assert "set role = 'confidential'" in found.reasons[0]


@pytest.mark.parametrize("name", names(KNOWN))
def test_facts_that_others_may_know_are_masked_without_confirmation(name: str) -> None:
    found = guess(name, CODES)
    assert (found.role, found.review) == ("quasi-identifier", False)


@pytest.mark.parametrize("name", names(MONEY))
def test_amounts_and_outcomes_are_confidential_without_confirmation(name: str) -> None:
    found = guess(name, AMOUNTS)
    assert (found.role, found.review) == ("confidential", False)


@pytest.mark.parametrize(
    "name", ["UTILNAME", "utility_name", "hospital name", "doctor_name", "name.family", "latitude"]
)
def test_names_of_persons_and_organisations_and_exact_places_are_dropped(name: str) -> None:
    assert guess(name, CODES).role == "identifier"


@pytest.mark.parametrize("name", ["charge_desc", "cause_of_death", "test_result"])
def test_many_different_texts_are_neither_amounts_nor_outcomes(name: str) -> None:
    found = guess(name, [f"text {n % 40}" for n in range(N)])
    assert (found.role, found.review) == ("quasi-identifier", True)


@pytest.mark.parametrize("name", names(MONEY_WORDS))
def test_a_word_for_money_keeps_no_numbers_of_something_and_no_categories(name: str) -> None:
    for least in (10_000, 10**9):
        numbers = [str(number) for number in SOME.sample(range(least, 10 * least), 500)]
        found = guess(name, numbers)
        assert (found.role, found.review) == ("identifier", True)
    for categories in (["north", "south", "east"], ["1", "2", "3"], ["low", "medium", "high"], ["0.5", "1.5", "2.5"]):
        found = guess(name, categories * 100)
        assert (found.role, found.review) == ("quasi-identifier", True)
    assert guess(name, ["7"] * N).role == "quasi-identifier"


@pytest.mark.parametrize("name", ["readmitted", "died", "outcome", "result", "test_result", "cause_of_death"])
def test_an_outcome_of_few_categories_is_confidential_but_needs_confirmation(name: str) -> None:
    for categories in (["good", "bad"], ["0", "1"], ["<30", ">30", "NO"]):
        found = guess(name, categories * 50)
        assert (found.role, found.review) == ("confidential", True)
    numbers = guess(name, [str(number) for number in SOME.sample(range(10**9, 10**10), 500)])
    assert (numbers.role, numbers.review) == ("identifier", True)


def test_the_reason_of_a_word_for_money_that_the_values_do_not_bear_out_names_the_word() -> None:
    assert "has the word 'tax' (an amount of money), but its values" in guess("tax_office", CODES).reasons[1]
    assert "has the word 'loan' (an amount of money): if its values are" in guess("loan", NUMBERS).reasons[0]


@pytest.mark.parametrize("name", ["address.city", "address_state", "address.postalCode"])
def test_parts_of_an_address_that_many_share_are_masked(name: str) -> None:
    assert guess(name, CODES).role == "quasi-identifier"


@pytest.mark.parametrize("name", ["paid", "thyroid", "medicaid", "valid"])
def test_words_that_end_like_numbers_are_not_numbers(name: str) -> None:
    assert guess(name, ["yes", "no"] * 100).role != "identifier"


def test_every_term_has_one_meaning() -> None:
    meanings = {
        "names": vocabulary.DIRECT_WORDS,
        "person": vocabulary.PERSON_NUMBERS,
        "household": vocabulary.HOUSEHOLD_NUMBERS,
        "record": vocabulary.RECORD_NUMBERS,
        "weight": vocabulary.SAMPLING_WEIGHTS,
        "confidential": frozenset(vocabulary.CONFIDENTIAL_WORDS),
    }
    meanings |= {meaning: frozenset(words.split()) for meaning, words in vocabulary.QUASI.items()}
    for one, other in combinations(meanings, 2):
        assert not meanings[one] & meanings[other], (one, other)
    for words in meanings.values():
        assert all(word == word.casefold() and word.isalnum() for word in words)


# ------------------------------------------------------------------------------------------------ weights


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("weight_kg", ["70.5", "81.2", "64"]),
        ("birth_weight", ["3200", "2900", "3100"]),
        ("BMXWT", ["70.5", "81.2", "64"]),
        ("shell_weight", ["0.15", "0.07", "0.21"]),
        ("weight", ["[0-25)", "[25-50)", "[50-75)"]),
    ],
)
def test_body_weights_are_not_sampling_weights(name: str, cells: list[str]) -> None:
    assert sampling_weight(profile_of(name, cells * 20)) == ""
    assert guess(name, cells * 20).role == "quasi-identifier"


def test_a_weight_next_to_a_height_is_a_body_weight() -> None:
    column = profile_of("weight", ["70.5", "81.2", "64"] * 20)
    assert sampling_weight(column) == "weight"
    assert sampling_weight(column, frozenset(("height", "weight"))) == ""


def test_a_constant_weight_is_one_too() -> None:
    assert guess("sampling_weight", ["100"] * 50).role == "identifier"


# ------------------------------------------------------------------------------------------------ values


def test_unknown_columns_are_masked_unless_they_are_amounts_or_number_something() -> None:
    sparse = [str(SOME.randrange(10**6)) for _ in range(N)]
    rounded = [str(SOME.randrange(200) * 500 + (SOME.randrange(500) if n % 2 else 0)) for n in range(N)]
    mostly_zero = ["0" if n % 3 else str(SOME.randrange(1, 10**6)) for n in range(N)]
    below_zero = [str(SOME.randrange(-(10**6), 10**6)) for _ in range(N)]
    ages = [str(20 + SOME.randrange(60)) for _ in range(N)]
    rates = [str(SOME.randrange(8) / 2) for _ in range(N)]
    expected = [
        (AMOUNTS, "confidential"),
        (rounded, "confidential"),
        (mostly_zero, "confidential"),
        (below_zero, "confidential"),
        (sparse, "identifier"),
        (NUMBERS, "identifier"),
        ([f"code {n}" for n in range(N)], "identifier"),
        (ages, "quasi-identifier"),
        (rates, "quasi-identifier"),
        (CODES, "quasi-identifier"),
    ]
    for cells, role in expected:
        found = guess("x7", cells)
        assert (found.role, found.review) == (role, True), cells[:5]


@pytest.mark.parametrize(
    "cells",
    [
        [f"2010-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(N)],
        [f"{1 + n % 28:02}.{1 + n % 12:02}.{1990 + n % 30}" for n in range(N)],
        [f"{1990 + n % 30}{1 + n % 12:02}{1 + n % 28:02}" for n in range(N)],
        [f"2010-01-05T10:{n % 60:02}:00+01:00" for n in range(N)],
        [f"{1 + n % 28:02}JAN{1990 + n % 30}" for n in range(N)],
    ],
)
def test_dates_are_masked_whatever_their_name(cells: list[str]) -> None:
    for name in ("x7", "death", "amount"):
        found = guess(name, cells)
        assert (found.role, found.review) == ("quasi-identifier", False)


def test_addresses_and_references_are_dropped_whatever_their_name() -> None:
    forms = [
        "someone{}@example.org",
        "https://example.org/{}",
        "555-810-{:04}",
        "123-45-{:04}",
        "Patient/{}",
        "129c6ac7-8d06-89de-ad63-0204a9{:06}",
    ]
    for form in forms:
        assert guess("status", [form.format(n // 2) for n in range(N)]).role == "identifier", form


@pytest.mark.parametrize("name", ["x7", "discharge_summary", "diagnosis", "notes"])
def test_free_text_is_dropped_whatever_its_name(name: str) -> None:
    found = guess(name, TEXTS)
    assert (found.role, found.review) == ("free-text", True)


CELLS = st.one_of(
    st.lists(st.integers(-50, 10**6).map(str), min_size=1, max_size=60),
    st.lists(st.floats(-1e6, 1e6).map(lambda x: f"{x:.2f}"), min_size=1, max_size=60),
    st.lists(st.text("abc ", max_size=6), min_size=1, max_size=60),
)


@given(st.sampled_from(["x7", "q", "zz_top", "income", "loan", "cost_centre", "tax_office"]), CELLS)
def test_only_amounts_are_released_by_default(name: str, cells: list[str]) -> None:
    found = guess(name, cells)
    assert found.role in {"identifier", "quasi-identifier", "confidential", "free-text"}
    if found.role == "confidential":
        assert found.review or "its name has the word" in found.reasons[1]
        assert found.kind == "numeric"
        assert len(set(cells)) >= 20
