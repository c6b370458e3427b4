"""Samples are chosen by their rules, from the unmasked records alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.errors import AnontoWarning
from anonto.papers.equi_width_runs import swap_in_bins
from anonto.papers.experiments import Experiment, run_experiments
from anonto.papers.marginality_runs import DX, measure_squared_errors, rename_at_random
from anonto.papers.measurement import SEEDS
from anonto.papers.noise_runs import FittedNoise
from anonto.papers.samples import category_samples, moderate_sample, noise_samples, strong_samples
from anonto.papers.source import NumberTable, synthetic_numbers

if TYPE_CHECKING:
    from anonto.papers.samples import Sample
    from anonto.papers.source import RecordSource

pytestmark = pytest.mark.filterwarnings(f"ignore::{AnontoWarning.__module__}.{AnontoWarning.__name__}")


@pytest.fixture(scope="module")
def noise(synthetic: RecordSource) -> dict[str, Sample]:
    return noise_samples(synthetic, 200)


def test_the_first_sample_has_the_size_and_nearly_the_correlation_of_the_paper(synthetic: RecordSource) -> None:
    sample = moderate_sample(synthetic)
    assert sample.table.height == 1_172
    assert sample.correlation("principal_dx", "procedure") == pytest.approx(0.4595, abs=0.03)
    assert f"{sample.correlation('principal_dx', 'procedure'):.4f}" in sample.rule


def test_the_second_sample_has_whole_classes_of_three_records_at_least(synthetic: RecordSource) -> None:
    second, third = strong_samples(synthetic)
    assert 1_000 <= second.table.height <= 1_012
    assert second.table.group_by(second.columns).len()["len"].min() >= 3  # type: ignore[operator]
    assert second.correlation("principal_dx", "procedure") == pytest.approx(0.6392, abs=0.03)
    assert third.columns == [*second.columns, "secondary_dx"]
    assert third.table.select(second.columns).equals(second.table)


def test_the_categories_are_whole_chapters(synthetic: RecordSource) -> None:
    for name, sample in category_samples(synthetic).items():
        chapter = synthetic.categories[name]
        of_chapter = synthetic.discharges.filter(pl.col("chapter") == chapter)
        assert sample.table.equals(of_chapter.select(sample.columns))
        assert set(sample.table["principal_dx"]) <= synthetic.diagnoses.descendants(chapter)


def test_strong_and_weak_samples_of_noise_are_so(noise: dict[str, Sample]) -> None:
    found = {name: sample.correlation(*sample.columns) for name, sample in noise.items()}
    assert found["strong"] > 0.9 > found["plain"] > found["weak"]
    assert all(sample.table.height == 200 for sample in noise.values())
    narrow = noise["narrow"]
    domain = narrow.taxonomies["principal_dx"].descendants(narrow.root)
    assert {*narrow.table["principal_dx"], *narrow.table["secondary_dx"]} <= domain


def test_the_generated_ontology_has_the_codes_in_use_and_their_ancestors(synthetic: RecordSource) -> None:
    codes = {*synthetic.discharges["principal_dx"], *synthetic.discharges["secondary_dx"]}
    leaves = {concept for concept in synthetic.diagnoses.ids if not synthetic.diagnoses.children(concept)}
    assert leaves <= codes <= set(synthetic.diagnoses.ids)
    assert all(synthetic.diagnoses.depth(code) >= 3 for code in codes)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("semantic-noise", {"noise_level": 0.2}),
        ("semantic-noise-joint", {"noise_level": 0.4, "scale": "semantic"}),
        ("taxonomy-exponential", {"epsilon": 8.0}),
    ],
)
@pytest.mark.parametrize("name", ["plain", "narrow"])
def test_noise_measured_once_is_what_masking_releases(
    noise: dict[str, Sample], name: str, method: str, parameters: dict[str, float]
) -> None:
    sample = noise[name]
    drawn = FittedNoise(sample, method, parameters)
    for seed in SEEDS[:2]:
        release = anonto.mask(sample.table, sample.plan(method, sample.columns, parameters), seed=seed)
        table = drawn.release(seed)
        assert table.equals(release.table)
        for column, error in release.evidence["steps"][0]["rmse"].items():
            assert drawn.rmse(column, table) == pytest.approx(error, abs=1e-12)


def test_renaming_changes_the_order_of_names_and_nothing_else(synthetic: RecordSource) -> None:
    sample = category_samples(synthetic)["neoplasm"]
    renamed = rename_at_random(sample, DX, np.random.default_rng(1))
    assert [name.split(" ", 1)[1] for name in renamed.table[DX]] == sample.table[DX].to_list()
    assert renamed.table[DX].to_numpy().argsort().tolist() != sample.table[DX].to_numpy().argsort().tolist()
    some = sorted(set(sample.table[DX]))[:20]
    names = dict(zip(sample.table[DX], renamed.table[DX], strict=True))
    expected = sample.taxonomies[DX].distances(some, measure="ancestor")
    assert (renamed.taxonomies[DX].distances([names[one] for one in some], measure="ancestor") == expected).all()


def test_a_classic_method_gains_from_the_order_of_codes_and_meaning_does_not_need_it(synthetic: RecordSource) -> None:
    """Why codes are renamed: in the order of their names codes of one block stand together."""
    sample = category_samples(synthetic)["neoplasm"]
    found = measure_squared_errors(sample, "nominal", "classic", 10, SEEDS[:2])[DX].mean
    plan = sample.plan("microaggregate", [DX], {"k": 10, "semantics": "classic", "refine": False, "centroid": "sample"})
    in_order = anonto.mask(sample.table.select(DX), plan, seed=SEEDS[0]).evidence["steps"][0]["sse"][DX]
    assert in_order < 0.9 * found


# ------------------------------------------------------------------------------------------------ numbers, processes


def test_swapping_in_bins_keeps_what_moves_together_and_says_what_it_lost() -> None:
    numbers = synthetic_numbers(4_000)
    assert np.corrcoef(numbers.columns.to_numpy().T)[0, 1] == pytest.approx(0.5, abs=0.05)
    for method in ("MEWS", "MEDS"):
        found = swap_in_bins(numbers, method, 50, SEEDS[:2])
        assert abs(found.degree - 50) <= 10
        assert max(found.within.values) < 1e-12
        assert max(found.changed_rows.values) == 0
        assert 0 < found.across.mean < 0.5
        assert max(found.over_width.values) <= 1
        assert (found.over_width.mean > 0.5) == (method == "MEWS")


def test_tables_of_two_columns_have_nothing_across() -> None:
    columns = pl.DataFrame({"x": [float(n % 7) for n in range(60)], "y": [float(n % 5) for n in range(60)]})
    found = swap_in_bins(
        NumberTable("small", columns.with_columns(z=pl.col("x") * 2), ("x", "y"), ""), "MEDS", 6, SEEDS[:1]
    )
    assert max(found.within.values) < 1e-12


def test_processes_find_what_one_process_finds() -> None:
    jobs = [Experiment(("power", n), pow, "base", (n,)) for n in range(10)]
    counted: list[int] = []
    alone = run_experiments(jobs, {"base": 3}, workers=1, done=lambda: counted.append(1))
    assert alone == {("power", n): 3**n for n in range(10)}
    assert run_experiments(jobs, {"base": 3}, workers=2, done=lambda: counted.append(1)) == alone
    assert len(counted) == 20
