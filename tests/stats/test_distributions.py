"""The distributions against scipy's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from quintet.stats.significance import incomplete_beta, normal_quantile, t_cdf, t_two_sided


@given(st.floats(1e-9, 1 - 1e-9))
def test_normal_quantile_agrees_with_scipy(p):
    assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-9, abs=1e-9)


@given(st.floats(0.5, 3000), st.floats(0.5, 3000), st.floats(0, 1))
def test_incomplete_beta_agrees_with_scipy(a, b, x):
    assert incomplete_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-8, abs=1e-13)


@given(st.floats(-40, 40), st.floats(1, 5000))
def test_t_agrees_with_scipy(t, df):
    assert t_two_sided(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-8, abs=1e-14)
    assert t_cdf(t, df) == pytest.approx(stats.t.cdf(t, df), rel=1e-8, abs=1e-13)


def test_edges():
    assert incomplete_beta(2, 3, 0) == 0
    assert incomplete_beta(2, 3, 1) == 1
    assert math.isnan(incomplete_beta(2, 3, 1.5))
    assert t_two_sided(math.inf, 5) == 0
    assert t_two_sided(0, 5) == 1
    assert np.isclose(t_cdf(2.228, 10), 0.975, atol=1e-4)  # the table in every textbook
