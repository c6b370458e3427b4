"""The transcribed tables agree with what the papers say of them, and with themselves."""

import math

import pytest

from anonto.papers.equi_width_runs import corner_records, printed_cells
from anonto.papers.marginality_runs import EXAMPLE, printed_marginalities
from anonto.papers.printed_tables import printed_table

ORIGINAL = {"sdCor_AB": 0.6392, "sdCor_AC": 0.4229, "sdCor_BC": 0.3703}


@pytest.mark.parametrize("number", [2, 3, 4])
def test_changes_of_the_correlation_are_those_to_the_original(number: int) -> None:
    known = dict(printed_table("rank-swapping-table-1").rows())
    table = printed_table(f"rank-swapping-table-{number}")
    assert table["k"].to_list() == [2, 5, 10, 20, 50, 100]
    for row in table.iter_rows(named=True):
        assert row["abs_diff_sdCor_AB"] == pytest.approx(float(known["sdCor_AB"]) - row["sdCor_AB"], abs=1.01e-4)
        assert (row["sdVar_A"], row["sdVar_B"]) == (float(known["sdVar_A"]), float(known["sdVar_B"]))


def test_the_correlations_of_the_later_data_sets_start_at_the_same_numbers() -> None:
    """One printed difference is off by 0.0003, in the row of AC with k = 50; it is left as printed."""
    off = []
    for number, pairs in ((5, ["AB"]), (6, ["AB", "AC", "BC"])):
        for row in printed_table(f"rank-swapping-table-{number}").iter_rows(named=True):
            for pair in pairs:
                lost = ORIGINAL[f"sdCor_{pair}"] - row[f"sdCor_{pair}"]
                if abs(lost - row[f"abs_diff_sdCor_{pair}"]) > 1.01e-4:
                    off.append((number, row["k"], pair))
    assert off == [(6, 50, "AC")]


def test_errors_of_the_rank_swapping_tables_grow_with_k() -> None:
    for number in (2, 3, 4, 5):
        table = printed_table(f"rank-swapping-table-{number}")
        assert all(table[name].is_sorted() for name in ("RMSE_A", "RMSE_B"))


@pytest.mark.paper("pakdd-2010", "Table 1")
def test_the_table_of_privacy_is_a_formula() -> None:
    rows = printed_table("equi-width-table-1").rows()
    assert len(rows) == len(printed_cells()) == 18
    for n, width, rho, p, q in rows:
        assert corner_records(n, width, rho) == q
        assert math.log(q) / q == pytest.approx(p, abs=5.1e-5)


def test_every_case_of_the_table_of_correlations_is_there() -> None:
    table = printed_table("equi-width-table-2")
    assert table.select("dataset", "method", "partition_degree").n_unique() == len(table) == 18
    for _, part in table.group_by("dataset", "method"):
        assert part.sort("partition_degree")["delta_rho"].is_sorted(descending=True)


def test_the_distances_of_the_example_are_symmetric_and_sum_to_its_marginalities() -> None:
    matrix = printed_table("marginality-example-distances").drop("").to_numpy()
    assert (matrix == matrix.T).all()
    assert (matrix.diagonal() == 0).all()
    known = printed_table("marginality-table-1")
    assert printed_marginalities() == pytest.approx(known["marginality"].to_list(), abs=1e-9)
    assert [value.split()[0] for value in known["value"]] == [value.split()[0] for value in EXAMPLE]


@pytest.mark.parametrize(("number", "at_2", "at_20"), [(4, 0.38, 0.76), (5, 0.0, 0.42)])
def test_what_meaning_saves_is_what_the_text_says(number: int, at_2: float, at_20: float) -> None:
    """The text says 38 % to 75 % of neoplasms, and up to 42 % of the others."""
    table = printed_table(f"marginality-table-{number}")
    saved = [1 - ours / classic for _, classic, ours in table.rows()]
    assert table["k"].to_list() == list(range(2, 21, 2))
    assert saved[0] == pytest.approx(at_2, abs=0.005)
    assert saved[-1] == pytest.approx(at_20, abs=0.01)


def test_the_targets_of_noise_are_roots_of_its_level() -> None:
    """√(α · variance) at α = 0.4 is √2 times that at 0.2, to the printed digits."""
    table = {row[0]: row[1:] for row in printed_table("noise-table-1").rows()}
    for letter in "AB":
        for low, high in (table[f"target_RMSE({letter})"][:2], table[f"target_RMSE({letter})"][2:]):
            assert high / low == pytest.approx(math.sqrt(2), abs=0.07)
