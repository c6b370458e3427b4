import json
from typing import Any

from anonto.masking.release import Release
from anonto.methods.registry import METHODS
from anonto.report.counts import SMALL, SMALLEST_SHOWN
from anonto.report.data import report_data, to_json
from anonto.report.terminal import terminal_summary
from anonto.report.words import guarantee_sentence, method_sentence


def column(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in data["columns"] if one["name"] == name)


def test_the_data_are_plain_and_the_same_each_time(release: Release, data: dict[str, Any]) -> None:
    assert json.loads(to_json(data)) == data
    assert report_data(release) == data


def test_the_table_is_counted(data: dict[str, Any]) -> None:
    table = data["table"]
    assert (table["records"], table["columns"], table["dropped_columns"]) == (120, 7, ["number"])
    assert table["masked"] == ["code <i>", "age", "town", "grade"]
    assert table["released_as_is"] == [{"name": "zip", "role": "quasi-identifier"}, {"name": "left", "role": None}]


def test_quasi_identifiers_and_columns_nobody_described_are_warned_about(data: dict[str, Any]) -> None:
    assert len(data["warnings"]) == 2
    assert "zip" in data["warnings"][0]
    assert "left" in data["warnings"][1]


def test_the_cells_of_a_column_add_up(release: Release, data: dict[str, Any]) -> None:
    cells = column(data, "code <i>")
    assert cells["missing"] == {"count": 13, "share": "10.8%"}
    assert cells["changed"]["count"] + cells["unchanged"]["count"] + 13 == 120
    assert cells["unchanged"]["count"] == release.evidence["steps"][0]["unchanged"]["code <i>"]


def test_swaps_keep_the_frequencies_of_every_level(data: dict[str, Any]) -> None:
    levels = column(data, "code <i>")["ontologies"][0]["levels"]
    assert [level["depth"] for level in levels] == [2, 3]
    for level in levels:
        assert all(row["before"] == row["after"] for row in level["rows"])
    assert [(row["concept"], row["before"]) for row in levels[0]["rows"]] == [
        ("warm", 65),
        ("cold", "not shown"),
        ("odd", SMALL),
    ]
    assert [(row["concept"], row["before"]) for row in levels[1]["rows"]] == [("w1", 40), ("w2", 25)]


def test_columns_without_an_ontology_get_a_sentence(data: dict[str, Any]) -> None:
    assert "no ontology" in column(data, "town")["statement"]
    assert "numbers" in column(data, "age")["statement"]
    assert "ordered" in column(data, "grade")["statement"]


def test_no_small_count_is_in_the_data(data: dict[str, Any]) -> None:
    def walk(part: Any) -> None:
        if isinstance(part, dict):
            for key in ("count", "before", "after"):
                assert not (isinstance(part.get(key), int) and 0 < part[key] < SMALLEST_SHOWN)
            for value in part.values():
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    walk(data)


def test_the_plan_names_ontologies_without_their_folders(data: dict[str, Any]) -> None:
    assert 'ontology = "edges.csv"' in data["plan"]
    assert "secret-folder" not in to_json(data)


def test_every_method_has_a_sentence() -> None:
    assert all(method.words.report.endswith(".") for method in METHODS.values())
    assert "next 7 records" in method_sentence("frequency-swap", {"k": 7})
    assert "other-method" in method_sentence("other-method", {"k": 7})


def test_proved_and_unproved_guarantees_are_distinguished() -> None:
    proved = guarantee_sentence({"kind": "k-anonymity", "k": 5, "proved": True, "conditions": "one record a person"})
    assert proved == "Proved: k-anonymity, k = 5. It holds on these conditions: one record a person."
    assert guarantee_sentence({"kind": "none", "proved": False, "conditions": "…"}).startswith("No mathematical")


def test_the_summary_has_a_line_for_each_masked_column_and_the_warnings(data: dict[str, Any]) -> None:
    lines = terminal_summary(data)
    for name in data["table"]["masked"]:
        assert any(line.startswith(name) and "changed" in line for line in lines)
    assert lines[0] == "120 records, 7 columns"
    assert sum(line.startswith("Warning: ") for line in lines) == 2
