"""Is it real? Bootstrap intervals, permutation tests, Williams' test, Holm's correction.

What is drawn again says what the answer holds for (Deutsch, Dror and Roth 2021, TACL): other documents, other
systems, or both. Seeds make every number repeatable, and the size of the blocks in which work is done never changes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from quintet.errors import InputError, UnknownName
from quintet.stats.coefficients import Array, Indices, coefficient
from quintet.stats.correlate import (
    BY_DOCUMENT,
    BY_SYSTEM,
    FEWEST,
    POOLED,
    Correlator,
    Layout,
    Rows,
    View,
    Weights,
    tables,
)

# Probability distributions the tests need: normal, beta, Student's t. Standard library only, so that scipy is not.

_TINY = 1e-300
_CLOSE = 1e-15
_MOST_STEPS = 10_000


def normal_quantile(p: float) -> float:
    return NormalDist().inv_cdf(p)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised: I_x(a, b), by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if not 0.0 <= x <= 1.0:
        return math.nan
    if x in (0.0, 1.0):
        return x
    # The fraction converges fast only below the mean; above it the symmetry I_x(a, b) = 1 - I_{1-x}(b, a) helps.
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """1/(1 + d1/(1 + d2/(1 + …))), evaluated from the front (modified Lentz)."""
    value, above, below = 1.0, 1.0, 0.0
    for step in range(1, _MOST_STEPS):
        m = step // 2
        if step % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        below = 1.0 / ((1.0 + d * below) or _TINY)
        above = (1.0 + d / above) or _TINY
        value *= above * below
        if abs(above * below - 1.0) < _CLOSE:
            break
    return 1.0 / value


def t_cdf(t: float, df: float) -> float:
    tail = 0.5 * t_two_sided(t, df)
    return tail if t < 0 else 1.0 - tail


def t_two_sided(t: float, df: float) -> float:
    """The chance of a value at least as far from zero as `t`."""
    if math.isinf(t):
        return 0.0
    if abs(t) < 1.0:  # df / (df + t²) would round to one and lose a small t
        return 1.0 - incomplete_beta(0.5, df / 2.0, t * t / (df + t * t))
    return incomplete_beta(df / 2.0, 0.5, df / (df + t * t))


# Bootstrap interval of a mean, for the closing table of a run.

RESAMPLES = 1000
_DRAWS_AT_ONCE = 2_000_000
_DRAWS_IN_ALL = 50_000_000
"""Over large samples the interval is narrow and fewer resamples pin it down; this bounds the time."""


def mean_interval(values: NDArray[np.float64], confidence: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap over items; NaN for a single value, which says nothing of how others would spread."""
    n = len(values)
    if n < 2:
        return float("nan"), float("nan")
    values = np.sort(values)  # the same values in another order get the same interval
    resamples = max(100, min(RESAMPLES, _DRAWS_IN_ALL // n))
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    step = max(1, _DRAWS_AT_ONCE // n)
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        means[start : start + count] = values[rng.integers(0, n, (count, n))].mean(axis=1)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(means, (tail, 1.0 - tail))
    return float(low), float(high)


UNITS = ("items", "documents", "systems", "both")
ENOUGH = 400
"""A permutation test stops when this many swaps beat the observed difference: p is then known to a twentieth."""

Alternative = Literal["two-sided", "greater"]

_BLOCK = 400_000
"""Numbers per block: a few megabytes, so that a block stays in the processor's cache."""


@dataclass(frozen=True)
class Test:
    """A test of whether the first metric agrees with people otherwise (or better) than the second."""

    __test__ = False  # pytest collects classes of this name

    difference: float
    p: float
    t: float = math.nan
    df: float = math.nan


def check_unit(layout: Layout, unit: str) -> None:
    if unit not in UNITS:
        raise UnknownName("resampling unit", unit, UNITS)
    if unit in ("documents", "both") and layout.document is None:
        raise InputError(f"drawing {unit} again needs document ids, and these items have none")
    if unit in ("systems", "both") and layout.system is None:
        raise InputError(f"drawing {unit} again needs system ids, and these items have none")


def usual_unit(level: str, layout: Layout) -> str:
    """What is drawn again unless something else is asked for: what the level runs over or is averaged over.

    Five systems drawn again alone give wild or empty intervals (a perfect order stays perfect), so that `by system`
    draws documents as well where it can (Deutsch et al. 2021, Boot-Both).
    """
    if level == BY_SYSTEM:
        return "systems" if layout.document is None else "both"
    return "documents" if level == BY_DOCUMENT else "items"


def resamples(layout: Layout, unit: str, count: int, seed: int, rows: int) -> Iterator[Weights]:
    """In blocks of at most `rows`; each kind has a stream of its own, so that the blocks do not matter."""
    check_unit(layout, unit)
    streams = {kind: np.random.default_rng([seed, i]) for i, kind in enumerate(("item", "document", "system"))}
    sizes = {"item": layout.n, "document": layout.documents, "system": layout.systems}
    kinds = {"items": ("item",), "documents": ("document",), "systems": ("system",), "both": ("document", "system")}
    for done in range(0, count, rows):
        size = min(rows, count - done)
        yield Weights(**{kind: _counts(streams[kind], sizes[kind], size) for kind in kinds[unit]})


def _counts(rng: np.random.Generator, n: int, rows: int) -> Array:
    drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def bootstrap(
    ratings: npt.ArrayLike,
    scores: npt.ArrayLike,
    layout: Layout | None = None,
    level: str = POOLED,
    statistic: str = "spearman",
    unit: str | None = None,
    count: int = 1000,
    seed: int = 0,
) -> Array:
    """The statistic in each resample: metrics by dimensions by resamples.

    Every metric and dimension sees the same resamples, so that differences of two rows are paired.
    """
    people, rows = tables(ratings, scores)
    return bootstrap_rows(people, rows, layout or Layout(people.shape[1]), level, statistic, unit, count, seed)


def bootstrap_rows(
    people: Array,
    rows: Rows,
    layout: Layout,
    level: str,
    statistic: str,
    unit: str | None = None,
    count: int = 1000,
    seed: int = 0,
) -> Array:
    layout.check(level)
    unit = unit or usual_unit(level, layout)
    # Documents drawn again leave each document's own correlation as it was: it is computed once for all resamples.
    width = layout.documents if (level, unit) == (BY_DOCUMENT, "documents") else layout.n
    found = np.full((len(rows), len(people), count), np.nan)
    done = 0
    for weights in resamples(layout, unit, count, seed, max(1, _BLOCK // max(1, width))):
        correlator = Correlator(layout, level, statistic, weights)
        size = len(next(w for w in (weights.item, weights.document, weights.system) if w is not None))
        for m, d in np.ndindex(len(rows), len(people)):
            row = rows[m][d]
            if row is not None:
                found[m, d, done : done + size] = correlator.finish(correlator.pair(row, people[d], d))
        done += size
    return found


def interval(draws: Array, confidence: float = 0.95) -> tuple[Array, Array]:
    """The percentile interval over the last axis; resamples without a correlation do not count."""
    tail = (1.0 - confidence) / 2.0
    nowhere = np.isnan(draws).all(axis=-1)
    low, high = np.nanquantile(np.where(np.expand_dims(nowhere, -1), 0.0, draws), [tail, 1.0 - tail], axis=-1)
    return np.where(nowhere, np.nan, low), np.where(nowhere, np.nan, high)


def permutation_test(
    ratings: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    layout: Layout | None = None,
    level: str = POOLED,
    statistic: str = "spearman",
    unit: str = "both",
    count: int = 1000,
    seed: int = 0,
    alternative: Alternative = "two-sided",
) -> Test:
    """Paired: if the metrics were equally good, who gave which score would not matter, so the scores are swapped.

    Deutsch et al. (2021): `documents` swaps all scores of a document together (PERM-INPUTS), `systems` all of a
    system (PERM-SYSTEMS), `both` each output's on its own (PERM-BOTH; `items` is the same). Scores are standardised
    first, since a swap between scales would compare nothing. Items that lack a value anywhere are left out.
    """
    people, given = tables(ratings, np.stack([np.asarray(first, float), np.asarray(second, float)]))
    layout = layout or Layout(people.shape[1])
    layout.check(level)
    pair = np.array([given[0][0], given[1][0]])
    here = np.isfinite(people[0]) & np.isfinite(pair).all(axis=0)
    if here.sum() < FEWEST:
        raise InputError(f"only {int(here.sum())} items have a rating and both scores; a test needs {FEWEST}")
    view = View(layout, level, mask=here)
    one, other = (_scaled(row, here) for row in pair)
    rating = view.arrange(people[0])

    def advantage(a: Array, b: Array) -> Array:
        by_group = [coefficient(statistic)(view.arrange(x), rating, view.inner) for x in (a, b)]
        return view.finish(by_group[0]) - view.finish(by_group[1])

    observed = float(advantage(one, other))
    if not math.isfinite(observed):
        raise InputError("a metric's scores or the ratings are constant, so there is no correlation to test")
    rng = np.random.default_rng(seed)
    extreme = 0
    rows = max(1, _BLOCK // layout.n)
    for done in range(0, count, rows):
        swap = _swaps(rng, layout, unit, min(rows, count - done))
        drawn = advantage(np.where(swap, other, one), np.where(swap, one, other))
        beaten = extreme + np.cumsum(_at_least(drawn, observed, alternative))
        if beaten[-1] >= ENOUGH:
            # Besag and Clifford (1991): stopping at the h-th success after l swaps leaves h / l a valid p-value.
            return Test(observed, ENOUGH / (done + int(np.argmax(beaten >= ENOUGH)) + 1))
        extreme = int(beaten[-1])
    return Test(observed, (extreme + 1) / (count + 1))


def _scaled(values: Array, here: npt.NDArray[np.bool_]) -> Array:
    spread = float(np.std(values[here]))
    return (np.where(here, values, 0.0) - float(np.mean(values[here]))) / (spread or 1.0)


def _swaps(rng: np.random.Generator, layout: Layout, unit: str, rows: int) -> npt.NDArray[np.bool_]:
    by_unit: dict[str, tuple[int, Indices | None]] = {
        "items": (layout.n, None),
        "both": (layout.n, None),
        "documents": (layout.documents, layout.document),
        "systems": (layout.systems, layout.system),
    }
    if unit in ("documents", "systems", "items"):
        check_unit(layout, unit)
    elif unit != "both":
        raise UnknownName("permutation unit", unit, UNITS)
    size, codes = by_unit[unit]
    swap = rng.random((rows, size)) < 0.5
    return swap if codes is None else np.take(swap, codes, axis=-1)


def _at_least(drawn: Array, observed: float, alternative: Alternative) -> npt.NDArray[np.bool_]:
    # A swap that changes nothing must count as equal, whatever the rounding.
    if alternative == "greater":
        return drawn >= observed - 1e-12
    return np.abs(drawn) >= abs(observed) - 1e-12


def williams(r_first: float, r_second: float, r_between: float, n: int, alternative: Alternative = "two-sided") -> Test:
    """Williams' (1959) t for two correlations with the same ratings, in the form of Graham and Baldwin (2014).

    `r_between`: the correlation of the two metrics with each other. For n items, n - 3 degrees of freedom. The
    distribution is right for Pearson's r; GRUEN's Table 8 uses it for Spearman and Kendall too, which is usual.
    Signs are kept: a metric with r = -.5 is worse than one with r = .1. (WMT's scripts compare sizes instead.)
    """
    if n <= FEWEST:
        raise InputError(f"Williams' test needs more than {FEWEST} items, not {n}")
    determinant = 1 - r_first**2 - r_second**2 - r_between**2 + 2 * r_first * r_second * r_between
    mean = (r_first + r_second) / 2
    below = 2 * (n - 1) / (n - 3) * max(0.0, determinant) + mean**2 * (1 - r_between) ** 3
    difference = r_first - r_second
    scale = math.sqrt((n - 1) * (1 + r_between) / below) if below > 0 else math.inf
    t = difference * scale if difference else 0.0
    p = t_two_sided(t, n - 3) if alternative == "two-sided" else t_cdf(-t, n - 3)
    return Test(difference, p, t, n - 3)


def williams_test(
    ratings: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    statistic: str = "pearson",
    alternative: Alternative = "two-sided",
) -> Test:
    """Williams' test from vectors, pooled; items that lack a value anywhere are left out."""
    rows = np.stack([np.asarray(v, dtype=np.float64) for v in (ratings, first, second)])
    people, one, other = rows[:, np.isfinite(rows).all(axis=0)]
    measure = coefficient(statistic)
    found = [float(measure(a, b, None)) for a, b in ((one, people), (other, people), (one, other))]
    if not all(math.isfinite(r) for r in found):
        raise InputError("a metric's scores or the ratings are constant, so there is no correlation to test")
    return williams(found[0], found[1], found[2], len(people), alternative)


def holm(p_values: npt.ArrayLike) -> Array:
    """Holm's (1979) step-down correction; NaN stays NaN and is not counted as a test."""
    given = np.asarray(p_values, dtype=np.float64)
    flat = given.ravel()
    tested = np.flatnonzero(np.isfinite(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    raised = flat[order] * np.arange(len(order), 0, -1)
    corrected = np.full(flat.shape, np.nan)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(raised))
    return corrected.reshape(given.shape)
