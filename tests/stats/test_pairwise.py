"""Tie calibration against a plain search over every epsilon."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quintet.errors import UserError
from quintet.stats import study as pairwise
from quintet.stats.study import pairwise_accuracy


def plain_accuracy(people, scores, groups, epsilon):
    shares = []
    for group in np.unique(groups):
        right = []
        members = np.flatnonzero(groups == group)
        for i in members:
            for j in members[members > i]:
                human = np.sign(people[i] - people[j])
                metric = np.sign(scores[i] - scores[j]) if abs(scores[i] - scores[j]) > epsilon else 0
                right.append(human == metric)
        if right:
            shares.append(np.mean(right))
    return np.mean(shares)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(3, 14).flatmap(
        lambda n: st.tuples(
            arrays(float, n, elements=st.integers(1, 3).map(float)),
            arrays(float, n, elements=st.integers(0, 8).map(float)),
            arrays(np.intp, n, elements=st.integers(0, 1)),
        )
    )
)
def test_calibration_finds_the_best_epsilon(case):
    people, scores, groups = case
    if max(np.bincount(groups)) < 2:
        return
    found = pairwise_accuracy(people, scores, groups)
    tried = {e: plain_accuracy(people, scores, groups, e) for e in np.arange(0, 9.0)}
    best = max(tried.values())
    assert found.value == pytest.approx(best)
    assert found.epsilon == min(e for e, value in tried.items() if value > best - 1e-9)
    exact = pairwise_accuracy(people, scores, groups, calibrate=False)
    assert exact.value == pytest.approx(tried[0.0])


def test_a_metric_that_never_ties_is_helped_by_calibration():
    people = np.array([1.0, 1, 2, 2, 3, 3])
    scores = np.array([0.11, 0.12, 0.51, 0.52, 0.91, 0.92])
    assert pairwise_accuracy(people, scores, calibrate=False).value == pytest.approx(12 / 15)
    found = pairwise_accuracy(people, scores)
    assert (found.value, found.pairs) == (pytest.approx(1.0), 15)
    assert found.epsilon == pytest.approx(0.01)


def test_missing_values_are_left_out():
    people = np.array([1.0, 2, np.nan, 3])
    scores = np.array([1.0, np.nan, 5, 3])
    assert pairwise_accuracy(people, scores).pairs == 1


def test_no_pairs_is_one_clear_line():
    with pytest.raises(UserError, match="no pair to judge"):
        pairwise_accuracy(np.arange(3.0), np.arange(3.0), np.arange(3))


def test_a_sample_of_pairs_stands_for_all(monkeypatch):
    rng = np.random.default_rng(0)
    people = rng.integers(1, 6, 400).astype(float)
    scores = people + rng.normal(size=400)
    full = pairwise_accuracy(people, scores)
    monkeypatch.setattr(pairwise, "MOST_PAIRS", 20_000)
    sampled = pairwise_accuracy(people, scores)
    assert sampled.pairs == 20_000
    assert sampled.value == pytest.approx(full.value, abs=0.02)
    assert sampled == pairwise_accuracy(people, scores)
