"""How people rated the outputs in each tenth of the scores."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from rating_curves import FEWEST, curve, draw_curves, standing


def test_means_by_tenth() -> None:
    scores = np.repeat([0.05, 0.55, 1.0], [20, 20, FEWEST - 1])
    ratings = np.concatenate([np.tile([1.0, 3.0], 10), np.full(20, 4.0), np.full(FEWEST - 1, 5.0)])
    steps = curve(scores, ratings)
    assert [step.n for step in steps] == [20, 0, 0, 0, 0, 20, 0, 0, 0, FEWEST - 1]
    assert (steps[0].mean, steps[5].mean) == (2.0, 4.0)
    assert steps[0].least < 2.0 < steps[0].most
    assert (steps[5].least, steps[5].most) == (4.0, 4.0)
    assert np.isnan(steps[9].mean)


def test_a_perfect_score_lies_on_the_diagonal() -> None:
    ratings = np.random.default_rng(0).normal(size=2000)
    steps = curve(standing(ratings), standing(ratings))
    for step in steps:
        assert step.mean == pytest.approx((step.low + step.high) / 2, abs=0.002)


def test_standing_is_a_place_among_its_own() -> None:
    found = standing(np.array([5.0, 1.0, np.nan, 1.0, 3.0]))
    np.testing.assert_allclose(found, [0.875, 0.25, np.nan, 0.25, 0.625])


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_the_picture_is_the_same_bytes_twice(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(1)
    lines = {name: curve(rng.random(300), rng.random(300)) for name in ("one", "two")}
    paths = [draw_curves({"a": lines, "b": lines}, tmp_path / f"{n}{suffix}") for n in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
