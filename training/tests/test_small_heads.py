"""Small heads on frozen features: shares of classes, learning, equal weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.errors import InputError
from quintet_train.small_heads import HeadPlan, fit_head, head_points, layers, soft_classes


@given(st.lists(st.floats(1, 5), min_size=1, max_size=20))
def test_the_expected_class_is_the_rating(points: list[float]) -> None:
    shares = soft_classes(np.array(points))
    assert (shares >= 0).all()
    assert shares.sum(1) == pytest.approx(np.ones(len(points)))
    assert shares @ np.arange(1, 6) == pytest.approx(np.array(points))
    assert ((shares > 0).sum(1) <= 2).all()


@pytest.mark.parametrize("bad", [[0.5], [5.5], [float("nan")], []])
def test_ratings_off_the_scale_are_refused(bad: list[float]) -> None:
    with pytest.raises(InputError, match="from 1 to 5"):
        soft_classes(np.array(bad))


def test_a_head_learns_and_is_the_same_every_time() -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    features = np.tanh(rng.normal(size=(400, 24))).astype(np.float32)
    points = np.clip(3 + 2 * features[:, 0] + features[:, 1], 1, 5)
    head = fit_head(features[:300], points[:300], HeadPlan(steps=200))
    found = head_points(features[300:], head)
    assert np.corrcoef(found, points[300:])[0, 1] > 0.8
    assert found.min() >= 1
    assert found.max() <= 5
    again = fit_head(features[:300], points[:300], HeadPlan(steps=200))
    assert all((head[name] == again[name]).all() for name in head)
    (w1, b1), (w2, b2) = layers(head)
    assert (w1.shape, w2.shape) == ((16, 24), (5, 16))
    twin = w2 @ np.tanh(w1 @ features[0] + b1) + b2
    shares = np.exp(twin) / np.exp(twin).sum()
    assert head_points(features[:1], head)[0] == pytest.approx(sum((k + 1) * s for k, s in enumerate(shares)), abs=1e-5)
