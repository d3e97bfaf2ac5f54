"""Small heads on frozen features: shares of classes, learning, equal bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.errors import InputError
from quintet.train.small_heads import HeadPlan, fit_head, head_points, save_heads, soft_classes


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


def test_a_head_learns_and_is_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    features = np.tanh(rng.normal(size=(400, 24))).astype(np.float32)
    points = np.clip(3 + 2 * features[:, 0] + features[:, 1], 1, 5)
    head = fit_head(features[:300], points[:300], HeadPlan(steps=200))
    found = head_points(features[300:], head)
    assert np.corrcoef(found, points[300:])[0, 1] > 0.8
    assert found.min() >= 1
    assert found.max() <= 5
    for name in ("a", "b"):
        save_heads(tmp_path / name, {"nuf5": fit_head(features[:300], points[:300], HeadPlan(steps=200))})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with np.load(tmp_path / "a", allow_pickle=False) as read:
        assert {name: read[name].shape for name in read} == {
            "nuf5.w1": (24, 16), "nuf5.b1": (16,), "nuf5.w2": (16, 5), "nuf5.b2": (5,),
        }  # fmt: skip
        twin = np.tanh(features[:1] @ read["nuf5.w1"] + read["nuf5.b1"]) @ read["nuf5.w2"] + read["nuf5.b2"]
    shares = np.exp(twin[0]) / np.exp(twin[0]).sum()
    assert head_points(features[:1], head)[0] == pytest.approx(sum((k + 1) * s for k, s in enumerate(shares)), abs=1e-5)
