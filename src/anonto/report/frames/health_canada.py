"""Public Release of Clinical Information of Health Canada: a threshold of 0.09."""

from __future__ import annotations

from anonto.report.frames.clinical_data import ClinicalDataFrame


class HealthCanada(ClinicalDataFrame):
    """The threshold of Health Canada."""

    name = "health-canada"
    title = "Health Canada: public release of clinical information"
    rule = "Health Canada, Guidance document: Public Release of Clinical Information (2019)"
    about = (
        "Information is anonymised where there is no serious possibility that a person is identified, alone or with "
        "other information; the guidance recommends a threshold of 0.09 for the risk of re-identification. It is "
        "compared here with a bound for every person, and with the share of persons that attacks link."
    )
    max_risk = 0.09
