"""The words that names of columns are made of, and what each one means: plain words and the codes of public surveys.

The codes are those of EU-SILC, MEPS, IPUMS, the American Community and Current Population Surveys, NHANES, NHIS, HCUP,
DHS, OMOP and FHIR; the plain words are English, and some German, Spanish and French. Each word has one meaning. Words
are written small, without accents; two neighbouring words of a name are also looked up as one (``zip_code``), and so is
the whole name without its blanks and dots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.profile.column_profile import word_set

if TYPE_CHECKING:
    from collections.abc import Mapping


def _by_word(meanings: Mapping[str, str]) -> dict[str, str]:
    """The meaning of each word."""
    return {word: meaning for meaning, words in meanings.items() for word in words.split()}


# ------------------------------------------------------------------------------------------------ identifiers

DIRECT_WORDS = word_set(
    """ssn mrn nhs nhsnumber email mail phone telephone telefon telefono mobile fax telecom address adresse
    direccion domicilio street strasse calle rue surname firstname lastname forename fullname familyname givenname
    nachname vorname apellido apellidos prenom nom passport pasaporte iban username login url website ip
    ipaddress imei vin
    latitude longitude lat lon lng gps coordinate coordinates easting northing geohash geometry
    nino nif dni nie cif curp cpf aadhaar ahv nir siren siret ein lei npi"""
)
"""Names, contacts, official numbers and places to the metre: they name a person or an organisation by themselves."""

COARSE_PLACES = word_set(
    "city town state country county province district region zip zipcode postal postcode postalcode"
)
"""After a word such as ``address``: a part of it that many people share."""

PERSON_WORDS = word_set(
    """patient person member subject client customer case participant respondent employee worker user student pupil
    resident tenant applicant subscriber beneficiary donor father mother spouse partner parent sibling doctor physician
    provider practitioner surgeon nurse clinician attending interviewer teacher paciente persona versicherter"""
)
NAME_WORDS = word_set("first last full given family middle maiden")
"""Words that after ``name`` are parts of a person's name."""
HOUSEHOLD_WORDS = word_set("household hh hhld family fam dwelling haushalt hogar vivienda menage foyer")
ORGANISATION_WORDS = word_set(
    """company firm employer organisation organization org utility util hospital hosp clinic practice school university
    facility institution institute agency bank business enterprise establishment manufacturer supplier vendor insurer
    firma empresa entreprise krankenhaus klinik"""
)
RECORD_WORDS = word_set(
    """record row seq sequence index idx visit encounter episode event claim specimen document observation"""
)
"""Things of which a table has one a record, or several."""

NUMBERING_WORDS = word_set(
    """id ids nr nbr no num number nummer numero key uid uuid guid identifier identifiant identificador reference ref
    serial idx account acct konto cuenta compte file invoice voucher"""
)
BARE_NUMBERS = word_set("id ids uid uuid guid identifier identifiant identificador")
"""Of `NUMBERING_WORDS`, those that are the whole name of a column of identifiers."""
SOURCE_WORDS = word_set("source value original orig ori")
"""Words for the source of a value, not its meaning."""
CODE_SYSTEM_WORDS = word_set("concept code codes class type category group status level")
"""Words for numbered lists of categories, as in ``gender_concept_id``."""
NUMBERING_ENDINGS = ("id", "idx", "nr", "nbr", "key", "uuid", "guid", "serial", "seqno", "lineno")
NOT_NUMBERING = word_set(
    """paid unpaid prepaid aid kid bid lid mid said void avoid raid grid hybrid acid valid invalid solid fluid liquid
    rapid vivid humid plaid braid squid covid medicaid thyroid steroid opioid opiod lipid typhoid carotid rheumatoid
    amyloid haemorrhoid hemorrhoid placid amid turkey monkey whiskey jersey hockey"""
)
"""Words that only end like a number's name."""

PERSON_NUMBERS = word_set(
    """pid persid personid persnr pernum dupersid rb030 pb030 rb220 rb230 rb240 pb160 pb170 pb180 hb070 hb080 hb090
    patid patientid patnr patno ptid subjectid subjid usubjid participantid memberid empi enrolid bene benesk
    cpsidp cpsid pidp idno seqn mergeid caseid pulineno pppos sporder fpx hhidpn idstud cntstuid visitlink beneid
    desynpufid"""
)
OFFICIAL_NUMBERS = word_set("ssn mrn nhs nhsnumber nino nie dni curp cpf aadhaar ahv nir")
"""Of `DIRECT_WORDS`, those that number persons."""
PERSON_IN_HOUSEHOLD = word_set("pernum sporder pulineno pppos fpx persnr lineno")
"""Of `PERSON_NUMBERS`, those that start anew in each household."""
OTHER_PERSONS = word_set(
    """father mother spouse partner parent sibling doctor physician provider practitioner surgeon nurse clinician
    attending interviewer teacher individual"""
)
"""Of `PERSON_WORDS`, those who have to do with the persons of a table."""
HOUSEHOLD_NUMBERS = word_set(
    """hid hhid hhnr hhno hhnum hidp hserial hserialp hseq hhx fmx duid famid famidyr cpsfamid dufamid ruid db030 rb040
    hb030 px030 hrhhid householdid haushaltsnr idhogar serialno cbserial"""
)
RECORD_NUMBERS = word_set(
    """serial rowid recordid rownum seqno seqnum lineno condidx evntidx eventidx fhirid encounterid hadm hadmid
    icustay stayid keynis hospnis dshospid hospid"""
)

# ------------------------------------------------------------------------------------------------ weights

SAMPLING_WEIGHTS = word_set(
    """wgt wght fnlwgt afnlwgt pweight dweight pspwght anweight perwt hhwt famwt saqwt diabw discwt trendwt patwt wtfinl
    asecwt marsupwt pwgtp wgtp pwsswgt hwhhwgt wtint wtmec wtfa wtia llcpwt finalwt finalwgt totwgt houwgt senwgt fstuwt
    fsturwt repwt repwtp phrf hhrf rb050 rb060 rb062 rb063 rb064 rb065 rb066 db080 db090 db095 pb040 pb050 pb060 pb070
    pb080 rl070 v005 hv005 mv005 factorel facexp fexp ponderacion ponderation ponderador gewichtungsfaktor
    hochrechnungsfaktor expansionfactor"""
)
WEIGHT_WORDS = word_set("weight weights wt gewicht poids peso gewichtung")
"""Weights of a sample, or of a body."""
SHORT_FOR_WEIGHT = ("wgt", "wght", "wt")
"""Endings that surveys use for their weights."""
SAMPLING_WORDS = word_set(
    """sampling sample survey design final base analysis analytic person persons household hh discharge replicate
    calibrated calibration poststratification stratification frequency population longitudinal sectional interview exam
    probability inverse respondent expansion"""
)
BODY_WORDS = word_set(
    """kg lb lbs kgs pound pounds gram grams kilogram kilograms ounces body birth baby newborn infant fetal dry lean fat
    gain loss change overweight underweight"""
)
BODY_WEIGHTS = word_set("bmxwt bodyweight birthweight overweight underweight korpergewicht")
BODY_MEASURES = word_set("height bmi waist bmxht bmxbmi stature groesse grosse talla taille estatura")
"""If the table also has one of these, a column of weights is about bodies."""

# ------------------------------------------------------------------------------------------------ free text

TEXT_WORDS = word_set(
    """note notes comment comments remark remarks narrative freetext text memo description descr anamnesis letter
    bemerkung bemerkungen kommentar befund observaciones comentario commentaire remarque"""
)

# ------------------------------------------------------------------------------------------------ quasi-identifiers

QUASI = {
    "age": "age ages agep aage agey ageyr ageyrs prtage peage ridageyr ridagemn rx010 rx020 v012 alter edad idade",
    "sex": "sex gender sexo sexe genero geschlecht female male riagendr rb090 pb150 pesex birthsex",
    "race or ethnicity": "race raced racex racev racethx racethnx rac ethnic ethnicity ethnie ethnicgroup hispanic "
    "hispan hispanx hisp hispand ridreth ptdtrace pehspnon indigenous tribe caste raza",
    "a place": "region regions province provincia provinz district distrito bezirk kreis county comarca condado canton "
    "city ciudad ville stadt town village municipality municipio gemeinde commune comuna state states bundesland "
    "departement zip zipcode zcta postcode postal postalcode plz cp codigopostal country land pais pays place location "
    "site area zone tract block ward puma statefip statefips countyfip countyfips countyicp fips gestfips metro "
    "metarea metfips msa cbsa urban rural urbrur urbanicity urbanization locality residence wohnort nuts db040 db100 "
    "v024 v025 hv024 hv025 plnchs hospital department facility clinic",
    "the design of a sample": "stratum strata psu cluster varstr varpsu sdmvpsu sdmvstra db050 db060 db070 db075 ssu "
    "rotation panel wave",
    "marital status": "marital marry marst marstat maritalstatus civil civilstatus hhcivil married dmdmartl "
    "pemaritl pb190 pb200 familienstand estadocivil",
    "a family": "household family families famsize hsize hhsize hhsiz dmdhhsiz relationship relat relate relation relp "
    "children child kids nchild nchlt dependents siblings parents rusize famsze hx040 hx060 kinder hijos enfants "
    "haushalt hogar persons members",
    "education": "education educ educa educd educyr schooling school schl degree hideg grade isced dmdeduc pe010 pe020 "
    "pe030 pe040 pe041 peeduca diploma literacy bildung studium estudios etudes",
    "work": "occupation occ occp job profession employer employment employed empstat empst labforce labour workclass "
    "work working classwkr industry indp nace isco retired unemployed unemployment hours hoursperweek pl030 pl031 "
    "pl032 pl040 pl050 pl051 pl060 pl111 rb210 beruf profesion ocupacion metier branch sector",
    "origin": "nationality nacionalidad nationalite staatsangehorigkeit citizenship citizen citzn dmdcitzn "
    "native nativity natcit immigrant immigration yrimmig migration migrant migrate refugee asylum bpl bpld birthplace "
    "pobp dmdborn pb210 pb220 pb220a pb220b origin language langue lengua idioma sprache speakeng "
    "religion religious faith konfession denomination",
    "a date": "date dates datetime birth birthday birthdate born dob dobmm dobyy year month day quarter week "
    "weekday weekend rb070 rb080 pb110 pb130 pb140 hb050 hb060 naissance nacimiento geburt geburtsdatum geburtsjahr "
    "fecha datum jahr monat mes ano amonth ayear svyyr interviewdate deceased start end onset",
    "an illness or a treatment": "diag diagnosis diagnoses dx icd icd9 icd10 icdcode drg msdrg mdc ccs ccsr snomed "
    "loinc atc ndc rxnorm cpt hcpcs proc px pr disease illness condition comorbidity comorbidities allergy surgery "
    "procedure treatment therapy medication medications medicine drug drugs dose vaccine disability disabled handicap "
    "limitation chronic health ph010 ph020 ph030 diagnostico krankheit enfermedad maladie pregnancy pregnant gravidity "
    "parity smoker smoking smoke alcohol",
    "a stay": "adm admission admit admitted admtype atype asource discharge discharged disposition dispuniform dc "
    "payer payor pay insurance insurer insured inscov coverage specialty specialism stay los aufenthalt "
    "inpatient outpatient emergency transfer referral aweekend visits",
    "a body": "height weight bmi waist bmxht bmxbmi bmxwt bodyweight birthweight groesse grosse talla taille stature "
    "estatura handedness eye eyes hair bloodtype rhesus twin",
    "a dwelling": "tenure ownershp rent rented rooms bedrooms roof walls floor water electcon electricity toilet "
    "dwelling gq hh010 hh020 hh021 hh030 car cars vehicles vivienda wohnung",
    "a status": "veteran vetstat military dmqmiliz poverty povcat hx050 eqss party vote voted prison",
}
QUASI_WORDS = _by_word(QUASI)
"""The meaning of each word for facts that others may know about a person."""
QUASI_BEGINNINGS = {
    "diagnos": "an illness or a treatment",
    "procedur": "an illness or a treatment",
    "operation": "an illness or a treatment",
    "admiss": "a stay",
    "discharg": "a stay",
    "occupat": "work",
    "nation": "origin",
    "educat": "education",
    "ethnic": "race or ethnicity",
    "geburt": "a date",
    "birth": "a date",
    "zip": "a place",
}

# ------------------------------------------------------------------------------------------------ confidential

OUTCOME = "an outcome"
CONFIDENTIAL = {
    "an amount of money": """charge charges totchg cost costs income incomes inctot incwage ftotinc faminc hhincome
    salary salaries wage wages wagep wagp pincp earnings revenue revenues sales turnover profit profits debt
    debts loan loans mortgage assets liabilities funds treasury depreciation balance capital price amount amt
    payment payments savings saving wealth networth expend expenditure expenditures expenses totexp totslf tax taxes
    fedtax statetax taxinc agi fica emcontrb pension pensions benefit benefits allowance allowances dividends
    ttlp ptotval pothval intval pearnval wsalval ernval py hy hx090 eqincome netincome grossincome eqinc einkommen
    gehalt lohn umsatz kosten ingresos ingreso renta salario gastos gasto coste precio revenu revenus salaire depenses
    cout prix""",
    OUTCOME: """outcome outcomes result results readmitted readmission died death dead deaths mortality survival
    ergebnis resultado resultat""",
}
CONFIDENTIAL_WORDS = _by_word(CONFIDENTIAL)
"""The meaning of each word for what a release is about, where the values are amounts or an outcome."""
CONFIDENTIAL_ENDINGS = {
    "result": OUTCOME,
    "results": OUTCOME,
    "outcome": OUTCOME,
    "income": "an amount of money",
    "revenue": "an amount of money",
    "sales": "an amount of money",
    "salary": "an amount of money",
    "expenditure": "an amount of money",
}
