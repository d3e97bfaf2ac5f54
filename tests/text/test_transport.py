import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.text.transport import transport


def problem(rng, kind):
    """A random problem: cost, supply, demand. Kinds bring out degenerate cases."""
    n, m = rng.integers(1, 25, size=2)
    cost = rng.random((n, m))
    supply, demand = rng.random(n), rng.random(m)
    if kind == "counts":
        supply, demand = rng.integers(1, 4, n), rng.integers(1, 4, m)
    if kind == "equal":
        supply, demand = np.ones(n), np.ones(m)
    if kind == "zeros":
        supply, demand = supply * (rng.random(n) < 0.6), demand * (rng.random(m) < 0.6)
        supply[0] = demand[-1] = 0.3
    if kind == "ties":
        cost = rng.integers(0, 3, (n, m)).astype(float)
    if kind == "points":
        points = rng.integers(0, 3, (n + m, 2)).astype(float)
        cost = np.linalg.norm(points[:n, None] - points[None, n:], axis=2)
    if kind == "skewed":
        supply, demand = supply**12, demand**12
    if kind == "negative":
        cost -= 0.5
    return cost, np.asarray(supply, float), np.asarray(demand, float)


KINDS = ["random", "counts", "equal", "zeros", "ties", "points", "skewed", "negative"]


@pytest.mark.parametrize("kind", KINDS)
def test_same_as_pot(kind):
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(7)
    for _ in range(60):
        cost, supply, demand = problem(rng, kind)
        a, b = supply / supply.sum(), demand / demand.sum()
        found = transport(cost, supply, demand)
        assert found.cost == pytest.approx(ot.emd2(a, b, cost), abs=1e-10)
        assert found.plan.min() >= 0
        assert found.plan.sum(axis=1) == pytest.approx(a, abs=1e-12)
        assert found.plan.sum(axis=0) == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_same_as_linear_program(kind):
    """The plain twin: the definition itself, handed to a general solver."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    rng = np.random.default_rng(11)
    for _ in range(4):
        cost, supply, demand = problem(rng, kind)
        n, m = cost.shape
        sums = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
        totals = np.concatenate([supply / supply.sum(), demand / demand.sum()])
        # One sum follows from the others; left in, rounding can make the program infeasible.
        sums, totals = sums[:-1], totals[:-1]
        assert transport(cost, supply, demand).cost == pytest.approx(
            linprog(cost.ravel(), A_eq=sums, b_eq=totals).fun,
            abs=1e-6,  # HiGHS is content with constraints met to 1e-7
        )


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_properties(n, m, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n + m, 3))
    cost = np.linalg.norm(points[:n, None] - points[None, n:], axis=2)
    a, b = rng.random(n) + 0.01, rng.random(m) + 0.01
    value = transport(cost, a, b).cost
    assert transport(cost.T, b, a).cost == pytest.approx(value, abs=1e-12)
    assert transport(cost, 5 * a, b).cost == pytest.approx(value, abs=1e-12)
    order = rng.permutation(n)
    assert transport(cost[order], a[order], b).cost == pytest.approx(value, abs=1e-12)
    # Never below the distance of the centres of mass (Jensen), never above any plan.
    centres = np.linalg.norm(a @ points[:n] / a.sum() - b @ points[n:] / b.sum())
    assert centres - 1e-12 <= value <= (a / a.sum()) @ cost @ (b / b.sum()) + 1e-12


def test_equal_points_cost_nothing():
    points = np.random.default_rng(0).normal(size=(20, 4))
    cost = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    assert transport(cost, np.arange(1, 21), np.arange(1, 21)).cost == 0.0


def test_by_hand():
    # Three quarters stay, a quarter moves from the first place to the second, three apart.
    assert transport([[0, 3], [3, 0]], [0.5, 0.5], [0.25, 0.75]).cost == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("cost", "supply", "demand"),
    [
        ([[1.0]], [0.0], [1.0]),
        ([[1.0]], [-1.0], [1.0]),
        ([[np.nan]], [1.0], [1.0]),
        ([[1.0]], [np.inf], [1.0]),
        ([[1.0, 2.0]], [1.0], [1.0]),
        (np.zeros((0, 1)), [], [1.0]),
    ],
)
def test_impossible_problems_are_refused(cost, supply, demand):
    with pytest.raises(ValueError, match=r"weights|cost"):
        transport(cost, supply, demand)


@pytest.mark.parametrize(("n", "m", "limit"), [(60, 60, 0.1), (60, 500, 0.8), (300, 300, 2.0)])
def test_fast_enough(n, m, limit):
    """Some twenty times what it takes on a quiet machine."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(n, 64)), rng.normal(size=(m, 64))
    cost = np.linalg.norm(x[:, None] - y[None], axis=2)
    began = time.process_time()
    transport(cost, rng.random(n), rng.random(m))
    assert time.process_time() - began < limit
