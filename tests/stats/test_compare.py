"""Comparing systems: against scipy, tables of power, the uniform law, and bad input."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from quintet.errors import UserError
from quintet.stats.compare import System, compare, examples_needed, sign_flip_p

RNG = np.random.default_rng(3)
IDS = [str(i) for i in range(60)]
BASE = RNG.normal(size=60)


def pair(shift, noise=0.3):
    return [
        System("a", {"fluency": BASE + shift + noise * RNG.normal(size=60), "length": BASE}, IDS),
        System("b", {"fluency": BASE, "length": BASE}, IDS),
    ]


def test_a_clear_difference_is_settled():
    fluency, length = compare(pair(0.5))
    assert (fluency.better, fluency.more) == ("a", 0)
    assert fluency.low < fluency.difference < fluency.high
    assert fluency.low > 0
    assert fluency.p == pytest.approx(1 / 10_001)
    assert fluency.p_holm == pytest.approx(2 / 10_001)
    assert (length.difference, length.p, length.effect, length.ties) == (0, 1.0, 0.0, 60)
    assert (length.better, length.more, length.superiority) == ("", None, 0.5)


def test_few_pairs_are_told_how_many_the_test_itself_needs():
    """Four pairs cannot be significant, nor can five; the size of the effect alone would ask for one more."""
    high = {f"d{k}": np.array([0.9, 0.91, 0.92, 0.93]) for k in range(12)}
    low = {name: values - 0.5 - np.array([0, 0.001, 0, 0.002]) for name, values in high.items()}
    found = compare([System("a", high, tuple("wxyz")), System("b", low, tuple("wxyz"))])
    assert all(each.more == 5 for each in found)
    assert 12 * 2 * 0.5**9 < 0.05 <= 12 * 2 * 0.5**8


def test_an_unclear_difference_says_how_many_more():
    gaps = np.tile([0.11, -0.1], 30)
    (found,) = compare([System("a", {"fluency": BASE + gaps}, IDS), System("b", {"fluency": BASE}, IDS)])
    assert found.better == ""
    assert found.more == examples_needed(found.effect) - 60
    assert found.p_holm > 0.05


def test_the_order_of_rows_does_not_matter():
    a, b = pair(0.1)
    order = RNG.permutation(60)
    shuffled = System("b", {k: np.asarray(v)[order] for k, v in b.values.items()}, [IDS[i] for i in order])
    assert compare([a, b]) == compare([a, shuffled])


def test_counts_and_effects_by_hand():
    one = System("x", {"q": [1.0, 2.0, 3.0, np.nan, 5.0]}, list("abcde"))
    two = System("y", {"q": [1.0, 1.0, 4.0, 1.0, 2.0]}, list("abcde"))
    (found,) = compare([one, two])
    assert (found.wins, found.ties, found.losses, found.dropped, found.n) == (2, 1, 1, 1, 4)
    gaps = np.array([0.0, 1, -1, 3])
    assert found.effect == pytest.approx(gaps.mean() / gaps.std(ddof=1))
    assert found.superiority == pytest.approx(2.5 / 4)
    (near,) = compare([one, two], tie=1.0)
    assert (near.wins, near.ties, near.losses) == (1, 3, 0)


def test_lower_may_be_better():
    a, b = pair(0.5)
    (found,) = compare([a, b], ["fluency"], lower_is_better=["fluency"])
    assert found.better == "b"
    assert found.losses > found.wins
    assert found.superiority < 0.5


def test_three_systems_are_three_pairs_under_one_correction():
    a, b = pair(0.5)
    third = System("c", {"fluency": BASE + 0.01 * RNG.normal(size=60)}, IDS)
    found = compare([a, b, third], ["fluency"])
    assert [(each.first, each.second) for each in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found[0].p_holm == pytest.approx(3 * found[0].p)


@settings(deadline=None, max_examples=30)
@given(st.integers(3, 10).flatmap(lambda n: arrays(float, n, elements=st.integers(-3, 3).map(float))))
def test_few_examples_are_tested_exactly(gaps):
    def total(x, axis):
        return np.sum(x, axis=axis)

    if not gaps.any():
        assert sign_flip_p(gaps) == 1.0
        return
    exact = stats.permutation_test((gaps,), total, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_p(gaps) == pytest.approx(min(1.0, exact.pvalue))


def test_many_examples_agree_with_the_t_test():
    gaps = np.random.default_rng(9).normal(0.12, 1, 400)
    assert sign_flip_p(gaps) == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue, abs=0.01)


def test_p_is_uniform_under_the_null():
    rng = np.random.default_rng(100)
    found = [sign_flip_p(rng.standard_t(4, 40), seed) for seed in range(600)]
    assert stats.kstest(found, "uniform").pvalue > 0.01


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_examples_needed_agree_with_cohens_table(effect, n):
    """G*Power for a two-sided paired t test, alpha .05, power .8: 199, 34, 15."""
    assert examples_needed(effect) == n


def test_the_promised_power_is_kept():
    rng = np.random.default_rng(5)
    n = examples_needed(0.4, alpha=0.05, power=0.8)
    hits = sum(stats.ttest_1samp(rng.normal(0.4, 1, n), 0).pvalue < 0.05 for _ in range(2000))
    assert hits / 2000 == pytest.approx(0.8, abs=0.03)


def test_the_line_for_the_paper():
    (found,) = compare([System("A", {"fluency": BASE + 0.5}, IDS), System("B", {"fluency": BASE}, IDS)])
    gap = f"{BASE.mean() + 0.5:.2f}, B {BASE.mean():.2f}, difference +0.50 [+0.50, +0.50]"
    assert found.line(2) == f"fluency: A {gap}, p < .001, n=60"


def test_records_are_plain():
    plain = compare(pair(0.5))[0].to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    same_everywhere = compare([System("a", {"q": [2.0] * 20}), System("b", {"q": [1.0] * 20})])[0]
    assert math.isinf(same_everywhere.effect)
    assert same_everywhere.to_json()["effect"] is None
    assert same_everywhere.better == "a"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: compare(pair(0)[:1]), "at least two systems"),
        (lambda: compare([pair(0)[0]] * 2), "two systems have the same name"),
        (lambda: compare([System("a", {"q": [1, 2]}), System("b", {"q": [1, 2]})]), "only 2 examples"),
        (lambda: compare([System("a", {"q": [1, 2, 3]}), System("b", {"r": [1, 2, 3]})]), "no dimension in common"),
        (lambda: compare([System("a", {"q": [1, 2, 3]}), System("b", {"q": [1, 2]})]), "3 and 2 examples without ids"),
        (
            lambda: compare([System("a", {"q": [1, 2, 3]}, "xyz"), System("b", {"q": [1, 2, 3]}, "yzw")]),
            "a, b: the ids differ: 2 shared, 1 only in the first, 1 only in the second",
        ),
        (lambda: compare(pair(0), ["humour"]), "a: no scores of humour"),
        (lambda: System("a", {"q": [1, 2]}, ["x", "x"]), "a: the id 'x' occurs twice"),
        (lambda: System("a", {"q": [1, 2]}, ["x"]), "a: 2 scores of q for 1 examples"),
    ],
)
def test_bad_input_is_one_clear_line(call, words):
    with pytest.raises(UserError) as caught:
        call()
    assert words in str(caught.value)


def test_shared_ids_can_be_compared_alone():
    one, two = System("a", {"q": [1.0, 2, 3, 4]}, "wxyz"), System("b", {"q": [4.0, 3, 2, 9]}, "zyxu")
    (found,) = compare([one, two], common_only=True)
    assert (found.n, found.difference) == (3, 0.0)
