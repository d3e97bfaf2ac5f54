"""Coefficients against scipy, against a plain count of pairs, and against resamples written out in full."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from quintet.stats.coefficients import (
    COEFFICIENTS,
    average_ranks,
    kendall,
    kendall_by_merging,
    kendall_by_pairs,
    pearson,
    spearman,
)

FOREIGN = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
}
few_values = st.integers(0, 4).map(float)
any_value = st.floats(-1e3, 1e3, allow_subnormal=False)


def varies(*vectors):
    return all(np.ptp(v) > 1e-6 * (1 + np.abs(v).max()) for v in vectors)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 150).flatmap(lambda n: arrays(float, (2, n), elements=st.one_of(few_values, any_value))))
def test_coefficients_agree_with_scipy(both):
    x, y = both
    if not varies(x, y):
        return
    for name, foreign in FOREIGN.items():
        assert COEFFICIENTS[name](x, y, None) == pytest.approx(foreign(x, y), abs=1e-9), name


@settings(deadline=None)
@given(st.integers(1, 40).flatmap(lambda n: arrays(float, n, elements=few_values)))
def test_ranks_agree_with_scipy(values):
    assert np.array_equal(average_ranks(values), stats.rankdata(values))


@pytest.mark.parametrize("n", [5, 40, 200])
@pytest.mark.parametrize("name", list(COEFFICIENTS))
def test_weights_equal_a_resample_written_out(name, n):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=n).round(1), rng.integers(0, 5, n).astype(float)
    draws = rng.integers(0, n, (20, n))
    weights = np.array([np.bincount(row, minlength=n) for row in draws], dtype=float)
    fast = COEFFICIENTS[name](x, y, weights)
    slow = [FOREIGN[name](x[row], y[row]) if varies(x[row], y[row]) else np.nan for row in draws]
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_weights_over_rows_of_documents():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(7, 12)), rng.integers(0, 4, (7, 12)).astype(float)
    weights = rng.integers(0, 3, (5, 1, 12)).astype(float)
    for function in COEFFICIENTS.values():
        got = function(x, y, weights)
        assert got.shape == (5, 7)
        for b in range(5):
            for d in range(7):
                np.testing.assert_allclose(got[b, d], function(x[d], y[d], weights[b, 0]), atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 60).flatmap(lambda n: arrays(float, (3, n), elements=few_values)))
def test_merging_equals_counting_pairs(rows):
    x, y, weights = rows
    np.testing.assert_allclose(kendall_by_merging(x, y, weights), kendall_by_pairs(x, y, weights), atol=1e-12)


def test_kendall_of_many_long_rows():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 90)), rng.normal(size=(3, 90))
    np.testing.assert_allclose(kendall(x, y), [stats.kendalltau(a, b).statistic for a, b in zip(x, y, strict=True)])


def test_kendall_is_not_quadratic():
    rng = np.random.default_rng(1)
    x = rng.normal(size=40_000).round(2)
    y = (x + rng.normal(size=40_000)).round(1)
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 1e9 + 0.1, 7.0])
def test_constant_values_have_no_correlation(constant):
    x = np.full(101, constant)
    y = np.arange(101.0)
    for function in COEFFICIENTS.values():
        assert np.isnan(function(x, y, None))
        assert np.isnan(function(y, x, None))


def test_a_small_spread_on_a_large_value_is_not_constant():
    x = 1e6 + np.arange(10) * 1e-4
    assert pearson(x, np.arange(10.0)) == pytest.approx(1.0)
    assert spearman(x, np.arange(10.0)) == pytest.approx(1.0)


@settings(deadline=None)
@given(st.integers(3, 30).flatmap(lambda n: arrays(float, (2, n), elements=few_values)), st.floats(0.1, 10))
def test_rank_statistics_ignore_monotone_changes(both, scale):
    x, y = both
    if not varies(x, y):
        return
    for function in (spearman, kendall):
        assert function(np.exp(x / scale), y) == pytest.approx(float(function(x, y)), abs=1e-12)
        assert function(-x, y) == pytest.approx(-float(function(x, y)), abs=1e-12)
