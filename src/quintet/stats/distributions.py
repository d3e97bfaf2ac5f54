"""Probability distributions the tests need: normal, beta, Student's t. Standard library only, so that scipy is not."""

from __future__ import annotations

import math
from statistics import NormalDist

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
