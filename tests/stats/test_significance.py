"""Resampling against resamples written out, tests against worked examples, p-values against the uniform law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quintet.errors import UserError
from quintet.stats import significance
from quintet.stats.correlate import BY_DOCUMENT, BY_SYSTEM, LEVELS, POOLED, Layout, correlate
from quintet.stats.significance import (
    UNITS,
    bootstrap,
    holm,
    interval,
    permutation_test,
    resamples,
    williams,
    williams_test,
)


@pytest.fixture(scope="module")
def crossed():
    """Ten documents by six systems."""
    rng = np.random.default_rng(11)
    documents, systems = np.repeat(np.arange(10), 6), np.tile(np.arange(6), 10)
    quality = rng.normal(size=60) + 0.5 * systems
    ratings = np.stack([quality.round(), (quality + rng.normal(size=60)).round(1)])
    scores = np.stack([quality + rng.normal(size=60), rng.normal(size=60)])
    return documents, systems, ratings, scores


def written_out(documents, systems, weights, row):
    """Places of the items of one resample; a document or system drawn twice appears as two."""
    if weights.item is not None:
        places = np.repeat(np.arange(60), weights.item[row].astype(int))
        return places, documents[places], systems[places]
    of_document = np.ones(10) if weights.document is None else weights.document[row]
    of_system = np.ones(6) if weights.system is None else weights.system[row]
    places, new_documents, new_systems = [], [], []
    for i in range(60):
        for copy in range(int(of_document[documents[i]])):
            for twin in range(int(of_system[systems[i]])):
                places.append(i)
                new_documents.append(f"{documents[i]} {copy}")
                new_systems.append(f"{systems[i]} {twin}")
    return np.array(places), np.array(new_documents), np.array(new_systems)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall"])
def test_bootstrap_equals_resamples_written_out(crossed, level, unit, statistic):
    documents, systems, ratings, scores = crossed
    layout = Layout.of(60, documents, systems)
    fast = bootstrap(ratings, scores, layout, level, statistic, unit, count=6, seed=2)
    weights = next(resamples(layout, unit, 6, 2, 6))
    for row in range(6):
        places, new_documents, new_systems = written_out(documents, systems, weights, row)
        try:
            slow = correlate(
                ratings[:, places],
                scores[:, places],
                Layout.of(len(places), new_documents, new_systems),
                level,
                [statistic],
            ).values[statistic]
        except UserError:  # fewer than three systems drawn
            continue
        np.testing.assert_allclose(fast[..., row], slow, atol=1e-10)


def test_blocks_do_not_change_the_numbers(crossed, monkeypatch):
    documents, systems, ratings, scores = crossed
    layout = Layout.of(60, documents, systems)
    for level, unit in ((POOLED, "items"), (BY_DOCUMENT, "documents"), (BY_SYSTEM, "both")):
        whole = bootstrap(ratings, scores, layout, level, unit=unit, count=50)
        test = permutation_test(ratings[0], *scores, layout, level, count=50)
        with monkeypatch.context() as patch:
            patch.setattr(significance, "_BLOCK", 60 * 7)
            np.testing.assert_array_equal(whole, bootstrap(ratings, scores, layout, level, unit=unit, count=50))
            assert test == permutation_test(ratings[0], *scores, layout, level, count=50)


def test_seeds_repeat_and_differ(crossed):
    _, _, ratings, scores = crossed
    first = bootstrap(ratings, scores, count=20, seed=1)
    np.testing.assert_array_equal(first, bootstrap(ratings, scores, count=20, seed=1))
    assert not np.array_equal(first, bootstrap(ratings, scores, count=20, seed=2))


def test_missing_values_stay_missing_in_resamples():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    x = y + rng.normal(size=50)
    x[[3, 9]] = np.nan
    drawn = bootstrap(y, x, count=2000, statistic="pearson")[0, 0]
    assert drawn.mean() == pytest.approx(stats.pearsonr(x[np.isfinite(x)], y[np.isfinite(x)]).statistic, abs=0.02)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(4)
    hits = 0
    for trial in range(200):
        x = rng.normal(size=80)
        y = 0.6 * x + 0.8 * rng.normal(size=80)
        low, high = interval(bootstrap(y, x, statistic="pearson", count=400, seed=trial))
        hits += bool(low[0, 0] <= 0.6 <= high[0, 0])
    assert 0.88 <= hits / 200 <= 0.99


def test_interval_without_any_correlation_is_nan():
    low, high = interval(np.full((1, 1, 5), np.nan))
    assert np.isnan(low[0, 0])
    assert np.isnan(high[0, 0])


@pytest.mark.parametrize(
    ("level", "unit", "statistic"),
    [
        (POOLED, "both", "spearman"),
        (POOLED, "items", "kendall"),
        (BY_DOCUMENT, "both", "spearman"),
        (BY_DOCUMENT, "documents", "pearson"),
        (BY_SYSTEM, "systems", "pearson"),
        (BY_SYSTEM, "both", "pearson"),
    ],
)
def test_permutation_p_is_uniform_under_the_null(level, unit, statistic):
    rng = np.random.default_rng(20)
    layout = Layout.of(60, np.repeat(np.arange(10), 6), np.tile(np.arange(6), 10))
    found = []
    for trial in range(300):
        truth = rng.normal(size=60)
        # Equally good, on different scales: the test must see past the scale.
        first, second = truth + rng.normal(size=60), 100 * (truth + rng.normal(size=60)) + 7
        found.append(permutation_test(truth, first, second, layout, level, statistic, unit, 99, trial).p)
    assert stats.kstest(found, "uniform").pvalue > 0.01
    assert np.mean(np.array(found) <= 0.05) < 0.09


def test_permutation_finds_a_real_difference():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=300)
    good, bad = truth + 0.5 * rng.normal(size=300), truth + 3 * rng.normal(size=300)
    test = permutation_test(truth, good, bad, count=999)
    assert test.p == pytest.approx(1 / 1000)
    assert test.difference > 0.4
    assert permutation_test(truth, bad, good, count=999, alternative="greater").p > 0.99


def test_permutation_stops_early_where_nothing_is_to_be_found():
    rng = np.random.default_rng(3)
    truth = rng.normal(size=80)
    first, second = truth + rng.normal(size=80), truth + rng.normal(size=80)
    long = permutation_test(truth, first, second, count=100_000, seed=5)
    assert long.p == pytest.approx(permutation_test(truth, first, second, count=399, seed=8).p, abs=0.1)
    swaps = significance.ENOUGH / long.p
    assert round(swaps) == pytest.approx(swaps)
    assert swaps < 10_000


def test_a_metric_against_itself_is_no_difference():
    x = np.arange(20.0)
    assert permutation_test(x, x, x, count=99).p == 1.0


# Worked examples: Steiger's (1980) case A as printed in the manual of R's psych, and two more printed runs of the
# same test (bruceR's manual; r.test with n = 30).
@pytest.mark.parametrize(
    ("r_first", "r_second", "between", "n", "t", "p", "digits"),
    [
        (0.40, 0.50, 0.10, 103, -0.89, 0.37, 2),
        (0.20, 0.45, 0.80, 100, -4.56, 0.00001, 5),
        (0.50, 0.10, 0.70, 30, 3.38, 0.002, 3),
    ],
)
def test_williams_worked_examples(r_first, r_second, between, n, t, p, digits):
    test = williams(r_first, r_second, between, n)
    assert round(test.t, 2) == t
    assert test.p == pytest.approx(p, abs=0.6 * 10**-digits)
    assert test.df == n - 3


def test_williams_agrees_with_r_psych_to_seven_digits():
    """R's r.test(45, .28583, .15951, .02656) gives 0.2716978 one-sided, 0.5433956 two-sided (printed in nlpstats)."""
    rows = np.random.RandomState(12).random_sample((3, 45))
    first, second, between = np.abs(np.corrcoef(rows)[[0, 1, 0], [2, 2, 1]])
    assert williams(first, second, between, 45).p == pytest.approx(0.5433956, abs=1e-7)
    assert williams(first, second, between, 45, "greater").p == pytest.approx(0.2716978, abs=1e-7)
    assert williams(second, first, between, 45, "greater").p == pytest.approx(1 - 0.2716978, abs=1e-7)


def test_williams_from_vectors_leaves_out_missing_values():
    rng = np.random.default_rng(0)
    people = rng.normal(size=40)
    first, second = people + rng.normal(size=40), people + 2 * rng.normal(size=40)
    first[3] = second[5] = np.nan
    here = np.isfinite(first) & np.isfinite(second)
    r = np.corrcoef([first[here], second[here], people[here]])
    found, expected = williams_test(people, first, second), williams(r[0, 2], r[1, 2], r[0, 1], 38)
    assert (found.p, found.df) == (pytest.approx(expected.p), 35)


def test_williams_edges():
    assert williams(0.5, 0.5, 0.3, 20).p == 1.0
    assert williams(1.0, 0.2, 0.2, 20).p < 0.001
    with pytest.raises(UserError, match="more than 3 items"):
        williams(0.5, 0.4, 0.3, 3)
    with pytest.raises(UserError, match="constant"):
        williams_test(np.arange(5), np.ones(5), np.arange(5))


def test_holm_worked_example():
    # Holm by hand: .01*4, .02*3, .03*2, .04*1, made monotone.
    np.testing.assert_allclose(holm([0.04, 0.01, 0.03, 0.02]), [0.06, 0.04, 0.06, 0.06])
    np.testing.assert_allclose(holm([[0.5, np.nan], [0.01, 0.9]]), [[1.0, np.nan], [0.03, 1.0]])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_plain_and_bonferroni(p_values):
    corrected = holm(p_values)
    assert (corrected >= np.array(p_values) - 1e-15).all()
    assert (corrected <= np.minimum(1, np.array(p_values) * len(p_values)) + 1e-15).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bootstrap([1, 2, 3], [1, 2, 3], unit="documents"), "needs document ids"),
        (lambda: bootstrap([1, 2, 3], [1, 2, 3], unit="both"), "needs document ids"),
        (lambda: bootstrap([1, 2, 3], [1, 2, 3], unit="rows"), "unknown resampling unit"),
        (lambda: permutation_test([1, 2, 3], [1, 1, 1], [1, 2, 3]), "constant"),
        (lambda: permutation_test([1, 2, np.nan], [1, 2, 1], [1, 2, 3]), "only 2 items"),
        (lambda: permutation_test([1, 2, 3], [1, 2, 1], [1, 2, 3], unit="rows"), "unknown permutation unit"),
    ],
)
def test_bad_input_is_one_clear_line(call, words):
    with pytest.raises(UserError, match=words):
        call()
