"""Roles of the columns of public tables that are not among the real data: their names, with synthetic values."""

import random
from collections.abc import Callable

import polars as pl
import pytest

from anonto.profile.propose import Proposal, propose

N = 1_500
SOME = random.Random(1)
LEAST_SHARE_RIGHT = 0.95

FORMS: dict[str, Callable[[int], str]] = {
    "serial": lambda n: str(n + 1),
    "shared": lambda n: str(5_001 + n // 2),
    "binary": lambda _: str(SOME.randrange(2)),
    "code": lambda _: str(SOME.randrange(1, 6)),
    "count": lambda _: str(SOME.randrange(1, 70)),
    "place": lambda _: str(SOME.randrange(10_000, 99_999)),
    "text": lambda _: SOME.choice("abcd"),
    "label": lambda _: f"Label of {SOME.randrange(120)}",
    "date": lambda _: f"20{SOME.randrange(10, 20)}-0{SOME.randrange(1, 10)}-{SOME.randrange(10, 29)}",
    "name": lambda n: f"{SOME.choice(['Ann', 'Bob', 'Cy'])} {SOME.choice(['Xu', 'Yi', 'Ze'])}{n}",
    "file": lambda _: f"13{SOME.randrange(10**6):06}CF10A",
    "amount": lambda _: "0" if SOME.random() < 0.5 else str(SOME.randrange(1, 400) * 50),
    "real": lambda _: f"{SOME.lognormvariate(7, 1):.2f}",
    "weight": lambda _: f"{SOME.uniform(100, 900):.3f}",
}
RIGHT = {
    "drop": {"identifier"},
    "mask": {"quasi-identifier"},
    "keep": {"confidential"},
    "either": {"quasi-identifier", "confidential"},
}
TABLES = {
    "COMPAS": """drop: id/serial name/name last/name c_case_number/file
        mask: compas_screening_date/date sex/text dob/date age/count age_cat/text race/text c_jail_in/date
        c_jail_out/date c_offense_date/date c_arrest_date/date
        either: juv_fel_count/code decile_score/code priors_count/count days_b_screening_arrest/count
        c_charge_degree/text c_charge_desc/label is_recid/binary score_text/text v_type_of_assessment/text""",
    "Titanic": """drop: PassengerId/serial Name/name Ticket/file Cabin/place
        mask: Pclass/code Sex/text Age/count SibSp/code Parch/code Embarked/text
        keep: Fare/real
        either: Survived/binary""",
    "MIMIC admissions": """drop: ROW_ID/serial SUBJECT_ID/shared HADM_ID/serial
        mask: ADMITTIME/date DISCHTIME/date DEATHTIME/date ADMISSION_TYPE/text ADMISSION_LOCATION/text
        DISCHARGE_LOCATION/text INSURANCE/text LANGUAGE/text RELIGION/text MARITAL_STATUS/text ETHNICITY/text
        EDREGTIME/date DIAGNOSIS/label
        either: HOSPITAL_EXPIRE_FLAG/binary HAS_CHARTEVENTS_DATA/binary""",
    "bank marketing": """mask: age/count job/text marital/text education/text housing/text day/count month/text
        keep: balance/amount
        either: default/text loan/binary contact/text duration/count campaign/code pdays/count previous/code
        poutcome/text y/binary""",
    "school": """mask: school/text sex/text age/count address/text famsize/text Pstatus/text Medu/code Fedu/code
        Mjob/text Fjob/text guardian/text
        either: reason/text traveltime/code studytime/code failures/code internet/binary romantic/binary health/code
        absences/count G1/count G3/count""",
    "IPUMS": """drop: SERIAL/shared CBSERIAL/shared HHWT/weight PERNUM/code PERWT/weight
        mask: YEAR/code CLUSTER/shared STRATA/count GQ/code SEX/binary AGE/count MARST/code RACE/code HISPAN/code
        BPL/count EDUC/code EMPSTAT/code OCC/count IND/count STATEFIP/count PUMA/count
        keep: INCTOT/amount
        either: SAMPLE/text""",
    "NHANES": """drop: SEQN/serial WTINT2YR/weight WTMEC2YR/weight
        mask: RIAGENDR/binary RIDAGEYR/count RIDRETH3/code DMDBORN4/binary DMDCITZN/binary DMDEDUC2/code DMDMARTL/code
        DMDHHSIZ/code
        either: INDFMPIR/real INDHHIN2/code SDMVPSU/binary SDMVSTRA/count BMXWT/real BMXHT/real LBXGLU/count""",
    "DHS": """drop: caseid/file v002/count v003/code v005/weight
        mask: v001/count v012/count v024/code v025/binary v106/code v130/code v201/code
        either: v190/code v701/code""",
    "EU-SILC": """drop: db030/shared rb030/serial db090/weight rb050/weight
        mask: hsize/code db040/text age/count rb090/text pl030/code pb220a/text
        keep: py010n/amount py050n/amount py090n/amount hy040n/amount hy110n/amount eqIncome/real
        either: eqSS/code""",
    "EIA": """drop: UTILITYID/shared UTILNAME/name
        mask: STATE/text YEAR/code MONTH/code
        keep: RESREVENUE/amount RESSALES/amount COMREVENUE/amount COMSALES/amount TOTREVENUE/amount""",
    "a German hospital": """drop: Fallnummer/serial PatientenID/shared Nachname/name Gewichtungsfaktor/weight
        mask: Geburtsdatum/date Geschlecht/text PLZ/place Aufnahmedatum/date Entlassungsdatum/date Hauptdiagnose/text
        Krankenkasse/text
        keep: Kosten/real""",
}


def columns_of(text: str) -> dict[str, tuple[str, str]]:
    """The right treatment and the form of each column."""
    found, treatment = {}, ""
    for word in text.split():
        if word.endswith(":"):
            treatment = word.removesuffix(":")
        else:
            name, _, form = word.partition("/")
            found[name] = (treatment, form)
    return found


@pytest.fixture(scope="module")
def proposals() -> dict[str, Proposal]:
    frames = {
        table: pl.DataFrame({name: [FORMS[form](n) for n in range(N)] for name, (_, form) in columns_of(text).items()})
        for table, text in TABLES.items()
    }
    return {table: propose(frame) for table, frame in frames.items()}


@pytest.mark.parametrize("table", TABLES)
def test_no_identifying_column_is_released_unchanged(table: str, proposals: dict[str, Proposal]) -> None:
    described = proposals[table].plan.columns
    for name, (treatment, form) in columns_of(TABLES[table]).items():
        if treatment in {"drop", "mask"}:
            assert described[name].role in {"identifier", "quasi-identifier"}, name
        if form == "weight":
            assert (described[name].role, described[name].review) == ("identifier", True), name


def test_almost_all_columns_have_the_right_role(proposals: dict[str, Proposal]) -> None:
    judged = [
        (table, name, proposals[table].plan.columns[name].role in RIGHT[treatment])
        for table, text in TABLES.items()
        for name, (treatment, _) in columns_of(text).items()
    ]
    wrong = [one[:2] for one in judged if not one[2]]
    assert len(wrong) <= (1 - LEAST_SHARE_RIGHT) * len(judged), wrong
