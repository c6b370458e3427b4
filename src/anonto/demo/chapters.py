"""Parameters of synthetic discharges: chapters of ICD-10-CM by age, with their common codes and companions.

A chapter is identified by one of its codes, because the ids of chapters change between releases; codes that a release
does not have are skipped. The shares are invented, but of a realistic size.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_AGES = (0, 1, 15, 50, 65, 80)
"""The first year of each age band."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """How often a chapter is the principal diagnosis, and what accompanies it."""

    common: tuple[str, ...]
    """The most frequent codes, most frequent first."""
    weights: tuple[float, ...]
    """In each age band; the chapter of external causes is never principal."""
    companions: str
    """First letters of the chapters that a secondary diagnosis comes from."""
    body_system: int
    """The branch of the procedures that belong to it."""
    days: float
    """The typical stay."""

    @property
    def letter(self) -> str:
        """The first letter of its codes; H is the eye."""
        return self.common[0][0]


CHAPTERS = (
    Chapter(("A41.9", "A09", "A08.4", "B34.9", "A04.72", "A49.9", "B95.61"), (3, 9, 4, 5, 6, 7), "JNE", 4, 6),
    Chapter(
        ("C34.90", "C50.919", "C18.9", "C61", "C79.51", "D25.9", "C90.00", "C20"), (0.2, 2, 4, 10, 11, 6), "DRC", 5, 7
    ),
    Chapter(("D64.9", "D50.9", "D69.6", "D72.829", "D70.9", "D57.00"), (0.3, 2, 1.5, 1.5, 2, 2.5), "CNE", 3, 4),
    Chapter(
        ("E11.9", "E11.65", "E86.0", "E87.1", "E78.5", "E66.9", "E10.10", "E11.22"), (1, 5, 4, 5, 5, 4), "IIN", 5, 4
    ),
    Chapter(("F32.A", "F10.20", "F20.9", "F41.9", "F31.9", "F17.210", "F03.90"), (0, 4, 9, 4, 2, 2), "FEZ", 1, 8),
    Chapter(("G40.909", "G47.33", "G20.A1", "G30.9", "G35.D", "G89.29", "G45.9"), (0.5, 5, 3, 3, 4, 4), "IFM", 1, 5),
    Chapter(("H25.9", "H40.9", "H33.009", "H10.9", "H35.30"), (0.1, 0.6, 0.3, 0.4, 0.5, 0.3), "EIH", 2, 2),
    Chapter(
        ("I50.9", "I10", "I21.4", "I25.10", "I48.91", "I63.9", "I11.0", "I26.99"),
        (0.3, 0.5, 5, 17, 24, 27),
        "EENJ",
        3,
        5,
    ),
    Chapter(("J18.9", "J44.1", "J45.901", "J96.01", "J21.9", "J69.0", "J44.9"), (4, 18, 4, 7, 11, 14), "IAE", 4, 5),
    Chapter(("K35.80", "K80.20", "K57.32", "K56.609", "K92.2", "K21.9", "K85.90"), (1.5, 9, 9, 11, 9, 8), "KER", 5, 5),
    Chapter(("L03.115", "L03.116", "L02.91", "L89.159", "L40.0"), (0.6, 3, 2, 2.5, 2, 2), "EIL", 8, 5),
    Chapter(("M17.11", "M17.12", "M16.11", "M54.50", "M48.061", "M51.26"), (0.2, 2, 4, 11, 9, 4), "MIE", 8, 3),
    Chapter(("N39.0", "N17.9", "N20.0", "N18.6", "N40.1", "N13.30", "N81.10"), (0.8, 4, 5, 5, 6, 9), "IEA", 6, 5),
    Chapter(
        ("O80", "O34.211", "O82", "O42.02", "O70.1", "O99.824", "O13.3", "O48.0"), (0, 0, 45, 0, 0, 0), "OOZ", 7, 3
    ),
    Chapter(("P07.39", "P59.9", "P22.1", "P92.9", "P05.10", "P70.4", "P61.4"), (40, 0, 0, 0, 0, 0), "PPQ", 7, 6),
    Chapter(("Q21.10", "Q25.0", "Q53.9", "Q38.1", "Q66.89", "Q90.9"), (5, 3, 0.4, 0.1, 0.1, 0), "QPR", 3, 5),
    Chapter(("R07.9", "R55", "R10.9", "R50.9", "R56.9", "R41.82", "R00.0"), (1, 8, 5, 6, 5, 5), "IER", 1, 2),
    Chapter(
        ("S72.001A", "S06.0X0A", "S82.891A", "S22.41XA", "S52.501A", "T81.49XA", "S72.141A"),
        (0.5, 13, 8, 5, 7, 12),
        "WWSM",
        8,
        6,
    ),
    Chapter(("W19.XXXA", "W01.0XXA", "V89.2XXA", "W10.9XXA", "Y92.009", "X58.XXXA"), (0, 0, 0, 0, 0, 0), "S", 8, 1),
    Chapter(("Z38.00", "Z38.01", "Z51.11", "Z47.1", "Z51.5", "Z87.891", "Z79.4"), (40, 1, 2, 3, 3, 2), "CEI", 7, 2),
    Chapter(("U07.1", "U09.9"), (0.2, 0.5, 1, 2, 2.5, 3), "JIE", 4, 6),
)


FOR_ALL, FOR_WOMEN, FOR_MEN, FOR_MOTHERS, FOR_NEWBORNS = range(5)
"""The patients that a code is possible for."""

WORDS = {
    FOR_WOMEN: ("female", "uterus", "cervix uteri", " ovar", "vagin", "vulva"),
    FOR_MEN: (" male ", "prostat", " testi", "penis", "scrotum", "sperm"),
    FOR_MOTHERS: ("pregnan", "postpartum", "puerper", "obstetric", "lactation"),
    FOR_NEWBORNS: ("newborn", "neonat", "perinatal", " infant "),
}
"""Parts of labels that identify it, the last one that fits; a range is more reliable."""

RANGES = {
    FOR_WOMEN: ("A34-A34", "C51-C58", "D25-D28", "N70-N98"),
    FOR_MEN: ("C60-C63", "D29-D29", "N40-N53"),
    FOR_MOTHERS: ("O00-O9A", "Z30-Z37", "Z39-Z3A"),
    FOR_NEWBORNS: ("A33-A33", "P00-P96", "Z38-Z38"),
}
"""First and last categories of codes that identify it."""
