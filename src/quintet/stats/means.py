"""Bootstrap interval of a mean, for the closing table of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
_DRAWS_AT_ONCE = 2_000_000
_DRAWS_IN_ALL = 50_000_000
"""Over large samples the interval is narrow and fewer resamples pin it down; this bounds the time."""


def mean_interval(values: NDArray[np.float64], confidence: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap over items; one value has no interval but itself."""
    n = len(values)
    if n == 0:
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
