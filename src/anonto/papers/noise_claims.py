"""Claims of the paper on noise, and the verdicts on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.papers.claims import Comparisons, count_below, count_growing, judge, total
from anonto.papers.measurement import Measurement, not_above
from anonto.papers.noise_runs import ALL, ALONE, NARROW, PLAIN, STRONG, TOGETHER, TOGETHER_EQUAL, WEAK, A, B

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.papers.claims import Claim
    from anonto.papers.noise_runs import NoiseRuns

NO_GAIN = 0.02
BITES = 0.1


def claims(runs: NoiseRuns) -> list[Claim]:
    """All claims about noise."""
    return [
        _above(runs, "12a", TOGETHER, "at the scales of the paper"),
        _above(runs, "12b", TOGETHER_EQUAL, "at equal noise variance"),
        *_gap_grows(runs),
        _elsewhere(runs),
        *_errors_grow(runs),
        _weak_gains_nothing(runs),
    ]


def _show_range(gains: Sequence[Measurement]) -> str:
    return f"{min(one.mean for one in gains):+.3f} to {max(one.mean for one in gains):+.3f}"


def _above(runs: NoiseRuns, key: str, variant: str, where: str) -> Claim:
    pairs = zip(runs.correlations(STRONG, ALONE), runs.correlations(STRONG, variant), strict=True)
    tally = total(count_below(alone, together) for alone, together in pairs)
    return judge(
        key,
        f"Correlated noise keeps more of a strong correlation than uncorrelated noise, {where}.",
        holds=tally.holds,
        found=f"{tally}; it keeps {_show_range(runs.gains(STRONG, variant))} more "
        f"({_show_range(runs.corrected_gains(STRONG, variant))} without the bias of samples).",
        why="What it gains comes from drawing the noise of both columns together; the direction by the partner adds "
        "little, and noise that changes both columns by different concepts still blurs what they share.",
    )


def _gap_grows(runs: NoiseRuns) -> list[Claim]:
    gains = {which: runs.gains(which, TOGETHER_EQUAL) for which in (STRONG, WEAK)}
    with_level = count_growing(gains[STRONG])
    with_correlation = total(count_below(weak, strong) for weak, strong in zip(gains[WEAK], gains[STRONG], strict=True))
    return [
        judge(
            "12c",
            "The gain grows with the noise level (strong correlation, equal variance).",
            holds=with_level.holds,
            found=f"{with_level}; from {gains[STRONG][0].mean:+.3f} at α = {runs.levels[0]} to "
            f"{gains[STRONG][-1].mean:+.3f} at α = {runs.levels[-1]}.",
            why="More noise first separates the methods and then destroys what either could keep; truncation works "
            "on both.",
        ),
        judge(
            "12d",
            "The gain is larger for a strong correlation than for a weak one (equal variance).",
            holds=with_correlation.holds,
            found=f"{with_correlation}; strong {_show_range(gains[STRONG])}, weak {_show_range(gains[WEAK])}.",
            why="The gain depends on the domain and on how the blocks lie in it as much as on the correlation.",
        ),
    ]


def _elsewhere(runs: NoiseRuns) -> Claim:
    gains = {which: runs.gains(which, TOGETHER_EQUAL) for which in (PLAIN, NARROW)}
    above = total(Comparisons(int(gain.mean > 0), 1) for of_sample in gains.values() for gain in of_sample)
    return judge(
        "12e",
        "Correlated noise keeps more in other correlated samples too: a plain one, and one of a narrow domain (equal "
        "variance).",
        holds=above.holds,
        found=f"{above}; plain (original {runs.original(PLAIN).correlation:.3f}) {_show_range(gains[PLAIN])}, narrow "
        f"(original {runs.original(NARROW).correlation:.3f}) {_show_range(gains[NARROW])}.",
        why="Which kind of noise keeps more depends on where the semantic mean lies, and on how near to each other "
        "the two values of a record are. It is no property of the methods alone.",
    )


def _errors_grow(runs: NoiseRuns) -> list[Claim]:
    grows, over, at_edge = Comparisons(0, 0), Comparisons(0, 0), []
    for which in ALL:
        for variant in (ALONE, TOGETHER):
            found = [runs.one(which, variant, level) for level in runs.levels]
            for column in (A, B):
                grows += count_growing([one.rmse[column] for one in found])
                for level, one in zip(runs.levels, found, strict=True):
                    is_over = one.rmse[column].mean > one.target[column].mean
                    over += Comparisons(int(is_over), 1)
                    if not is_over:
                        at_edge.append((level, one.truncated[column].mean, variant))
    least = min((share for _, share, _ in at_edge), default=1.0)
    edge = f"; in the others {least:.0%} of the noise or more is truncated" if at_edge else ""
    return [
        judge(
            "13a",
            "The errors of both methods grow with the noise level.",
            holds=grows.holds,
            found=f"{grows}.",
            why="Truncation stops the growth where most noise reaches the edge of the domain.",
        ),
        judge(
            "13b",
            f"Values move farther than meant, except where more than {BITES:.0%} of the noise is truncated.",
            holds=over.holds or least > BITES,
            found=f"The actual error is above the target in {over}{edge}.",
            why="Where noise reaches beyond the farthest concept it is truncated, and the error stays below the "
            "target; a small domain has its edge near.",
        ),
    ]


def _weak_gains_nothing(runs: NoiseRuns) -> Claim:
    gains = runs.gains(WEAK, TOGETHER_EQUAL)
    small = [abs(gain.mean) <= NO_GAIN or not_above(gain, Measurement((0.0,))) for gain in gains]
    return judge(
        "14",
        f"With a weak correlation correlated noise gains nothing (equal variance, within {NO_GAIN}).",
        holds=all(small),
        found=f"It keeps {_show_range(gains)} more "
        f"({_show_range(runs.corrected_gains(WEAK, TOGETHER_EQUAL))} without the bias of samples); the original "
        f"correlation is {runs.original(WEAK).correlation:.3f} "
        f"({runs.original(WEAK).corrected:.3f}).",
        why="Noise in the direction of, or away from, the other value of the record makes a dependence of its own, "
        "also where the columns had little.",
    )
