"""Policy 0070 of the European Medicines Agency: a threshold of 0.09 for clinical data that are published."""

from __future__ import annotations

from anonto.report.frames.clinical_data import ClinicalDataFrame


class Ema0070(ClinicalDataFrame):
    """The threshold of the European Medicines Agency."""

    name = "ema-0070"
    title = "EMA Policy 0070: publication of clinical data"
    rule = (
        "European Medicines Agency, External guidance on the implementation of the policy on the publication of "
        "clinical data for medicinal products for human use (EMA/90915/2016)"
    )
    about = (
        "Either the three criteria of Opinion 05/2014 are met (see the frame wp29), or the risk of re-identification "
        "is evaluated; the guidance gives a maximum risk of 0.09 for data that everybody may read. It is about the "
        "person with the highest risk, so only a bound for every person can meet it: 1/k for k of 12 or more (1/11 is "
        "0.0909)."
    )
    max_risk = 0.09
