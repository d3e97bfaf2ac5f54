"""The fit behind `quintet calibrate`: the map, the threshold, and the uncertainty that is stated with both."""

import dataclasses
import json
import math

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.errors import InputError
from quintet.stats.calibration import (
    ENOUGH,
    Aim,
    Labelled,
    apply_knots,
    auc,
    brier,
    calibrate,
    calibration_error,
    centred_knots,
    check_aim,
    choose,
    fit,
    isotonic,
    pool,
    quality,
)
from quintet.stats.coefficients import Array

NUMBERS = st.floats(-100, 100, allow_nan=False).map(lambda x: round(x, 3))
PAIRS = st.lists(st.tuples(NUMBERS, st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=2, max_size=40)


def labelled(n: int = 200, noise: float = 0.2, seed: int = 4, **more: object) -> Labelled:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    labels = (rng.random(n) < np.clip(scores + rng.normal(0, noise, n), 0, 1)).astype(float)
    return Labelled(scores, labels, **more)  # type: ignore[arg-type]


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_isotonic_is_scipys(values: list[float], random: object) -> None:
    weights = np.array([random.choice([0.5, 1.0, 3.0]) for _ in values])  # type: ignore[attr-defined]
    expected = scipy.optimize.isotonic_regression(values, weights=weights).x
    np.testing.assert_allclose(isotonic(np.array(values), weights), expected, atol=1e-9)


def minimax(values: Array) -> list[float]:
    """The plain twin: Barlow's max-min formula, without pooling anything."""
    n = len(values)
    return [max(min(values[a:b].mean() for b in range(i + 1, n + 1)) for a in range(i + 1)) for i in range(n)]


@given(st.lists(NUMBERS, min_size=1, max_size=12))
def test_isotonic_is_the_max_min_of_means(values: list[float]) -> None:
    np.testing.assert_allclose(isotonic(np.array(values)), minimax(np.array(values)), atol=1e-9)


def test_isotonic_by_hand() -> None:
    means, counts = pool(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4))
    assert means.tolist() == [1.0, 2.5, 4.0]
    assert counts.tolist() == [1, 2, 1]
    assert pool(np.array([0.1, 0.1, 0.1]), np.ones(3))[0].tolist() == [0.1]


@given(PAIRS)
def test_the_map_rises_and_keeps_the_mean_of_every_block(pairs: list[tuple[float, float]]) -> None:
    scores, labels = np.array(pairs).T
    at, values = centred_knots(scores, labels)
    assert (np.diff(at) > 0).all()
    assert (np.diff(values) > 0).all()
    assert values.min() >= labels.min()
    assert values.max() <= labels.max()
    mapped = apply_knots((at, values), np.sort(scores))
    assert (np.diff(mapped) >= 0).all()


@given(PAIRS, st.integers(2, 3))
def test_a_weight_is_a_repetition(pairs: list[tuple[float, float]], times: int) -> None:
    scores, labels = np.array(pairs).T
    weights = np.where(np.arange(len(scores)) % 2 == 0, float(times), 1.0)
    repeated = np.repeat(np.arange(len(scores)), weights.astype(int))
    for ours, plain in zip(
        centred_knots(scores, labels, weights), centred_knots(scores[repeated], labels[repeated]), strict=True
    ):
        np.testing.assert_allclose(ours, plain, atol=1e-9)


@given(PAIRS, st.sampled_from([Aim(), Aim("precision", 0.7), Aim("recall", 0.8)]))
@settings(max_examples=60)
def test_no_other_threshold_is_better(pairs: list[tuple[float, float]], aim: Aim) -> None:
    scores, labels = np.array(pairs).T
    good = labels >= 0.5
    chosen = choose(scores, good, aim)
    if len(np.unique(good)) < 2 or len(np.unique(scores)) < 2:
        assert math.isnan(chosen)
        return
    tried = [quality(scores >= t, good) for t in np.unique(scores)]
    if aim.kind == "balanced accuracy":
        best = max(each.balanced_accuracy for each in tried)
        assert quality(scores >= chosen, good).balanced_accuracy == pytest.approx(best)
        return
    goal, other = ("precision", "recall") if aim.kind == "precision" else ("recall", "precision")
    able = [getattr(each, other) for each in tried if getattr(each, goal) >= aim.target - 1e-12]
    if not able:
        assert math.isnan(chosen)
        return
    found = quality(scores >= chosen, good)
    assert getattr(found, goal) >= aim.target - 1e-9
    assert getattr(found, other) == pytest.approx(max(able))


def test_the_line_lies_between_scores() -> None:
    scores = np.array([0.1, 0.2, 0.4, 0.6])
    assert choose(scores, np.array([False, False, True, True]), Aim()) == pytest.approx(0.3)
    found = quality(np.array([False, True, True, True]), np.array([False, False, True, True]))
    assert (found.balanced_accuracy, found.precision, found.recall) == (0.75, pytest.approx(2 / 3), 1.0)


@given(PAIRS)
def test_auc_counts_pairs(pairs: list[tuple[float, float]]) -> None:
    scores, labels = np.array(pairs).T
    good = labels >= 0.5
    wins = [float(a > b) + 0.5 * float(a == b) for a in scores[good] for b in scores[~good]]
    expected = np.mean(wins) if wins else math.nan
    assert float(auc(scores, good)) == pytest.approx(expected, nan_ok=True)


def test_errors_by_hand() -> None:
    said, truth = np.array([0.0, 0.5, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 0.0])
    assert brier(said, truth) == pytest.approx((0.25 + 1.0) / 4)
    # Two bins: (0, .5) against (0, 1), then (1, 1) against (1, 0).
    assert calibration_error(said, truth, 2) == pytest.approx(0.5 * 0.25 + 0.5 * 0.5)


def test_the_fit_on_a_known_truth() -> None:
    """Labels drawn with P(yes) = score² lie inside the stated band, and the error goes down."""
    rng = np.random.default_rng(5)
    scores = rng.random(500)
    found = fit(Labelled(scores, (rng.random(500) < scores**2).astype(float)))
    inside = [
        low - 0.02 <= at**2 <= high + 0.02 for at, (low, high) in zip(found.curve.scores, found.band, strict=True)
    ]
    assert np.mean(inside) >= 0.8
    assert found.before is not None
    assert found.after[1] < found.before[1]
    assert found.after[0] < found.before[0] < found.constant
    assert found.line is not None
    assert found.line.score.low <= found.line.score.value <= found.line.score.high
    # Balanced accuracy is best where P(score | good) = P(score | bad), which is at 1/√3.
    assert found.line.score.low <= 1 / math.sqrt(3) <= found.line.score.high
    assert found.auc is not None
    assert found.auc.low < found.auc.value < found.auc.high
    assert found.warnings == ()
    json.dumps(found.to_json(), allow_nan=False)


def test_the_same_bytes_twice() -> None:
    assert fit(labelled()).to_json() == fit(labelled()).to_json()


def test_less_is_better_is_the_mirror_image() -> None:
    data = labelled()
    up = fit(data)
    down = fit(dataclasses.replace(data, scores=1.0 - data.scores, higher_is_better=False))
    for score in (0.0, 0.2, 0.55, 0.9, 1.0):
        assert down.curve.value(1.0 - score) == pytest.approx(up.curve.value(score))
        assert down.curve.accepts(1.0 - score) == up.curve.accepts(score)
    assert down.before == pytest.approx(up.before)
    assert down.spearman.value == pytest.approx(up.spearman.value)
    np.testing.assert_allclose(down.band[::-1], up.band)
    assert up.line is not None
    assert down.line is not None
    assert (down.line.score.low, down.line.score.high) == pytest.approx((1 - up.line.score.high, 1 - up.line.score.low))


def test_ratings_keep_their_scale() -> None:
    rng = np.random.default_rng(2)
    scores = rng.random(150)
    labels = np.clip(np.round(1 + 4 * scores + rng.normal(0, 0.7, 150)), 1, 5)
    found = fit(Labelled(scores, labels, scale=(1.0, 7.0)), accept=4.0)
    assert found.kind == "rating"
    assert (found.curve.low, found.curve.high) == (1.0, 7.0)
    assert 1.0 <= min(found.curve.values) < max(found.curve.values) <= 5.0
    assert found.good == int((labels >= 4).sum())
    assert found.line is not None
    assert fit(Labelled(scores, labels)).line is None
    with pytest.raises(InputError, match="scale 1 to 3"):
        fit(Labelled(scores, labels, scale=(1.0, 3.0)))


def test_groups_widen_the_interval() -> None:
    """Ten copies of each row are no more evidence than one, if they are known to belong together."""
    data = labelled(40)
    copies = np.repeat(np.arange(40), 10)
    many = Labelled(data.scores[copies], data.labels[copies])
    grouped = dataclasses.replace(many, groups=[str(k) for k in copies])
    alone, together = fit(many).spearman, fit(grouped).spearman
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_rows_without_label_or_score_are_counted() -> None:
    data = labelled(80)
    data.scores[3], data.labels[7] = math.nan, math.nan
    found = fit(data)
    assert (found.n, found.dropped) == (78, 2)


def test_what_is_too_little_is_said() -> None:
    assert f"only {ENOUGH - 1} labelled rows" in fit(labelled(ENOUGH - 1)).warnings[0]
    assert not any("only" in line for line in fit(labelled(ENOUGH)).warnings)
    with pytest.raises(InputError, match="9 of 9 rows"):
        fit(labelled(9))
    same = labelled(60)
    with pytest.raises(InputError, match="all labels are the same"):
        fit(dataclasses.replace(same, labels=np.ones(60)))
    with pytest.raises(InputError, match="all scores are the same"):
        fit(dataclasses.replace(same, scores=np.ones(60)))
    ratings = np.arange(60) % 5 + 1.0
    assert "one side" in " ".join(fit(dataclasses.replace(same, labels=ratings), accept=0.5).warnings)
    assert "--lower-is-better" in " ".join(fit(dataclasses.replace(same, scores=-same.scores)).warnings)
    noise = Labelled(same.scores, (np.arange(60) % 2).astype(float))
    assert "say little" in " ".join(fit(noise).warnings) or fit(noise).spearman.value <= 0
    with pytest.raises(InputError, match="no threshold reaches"):
        fit(Labelled(np.arange(60.0), (np.arange(60) % 2 == 0).astype(float)), Aim("precision", 0.9))


def test_one_bad_dimension_is_left_out_and_two_aims_are_one_too_many() -> None:
    notes: list[str] = []
    bad = dataclasses.replace(labelled(60), labels=np.zeros(60))
    found = calibrate({"a": labelled(60), "b": bad}, on_note=notes.append, signatures={"a": "x|v:1", "b": "y"})
    assert list(found.curves) == ["a"]
    assert dict(found.signatures) == {"a": "x|v:1"}
    assert notes == ["b was left out: all labels are the same"]
    with pytest.raises(InputError, match="b: all labels are the same"):
        calibrate({"b": bad})
    with pytest.raises(InputError, match="both"):
        check_aim(0.5, 0.5)
    with pytest.raises(InputError, match="precision of 2"):
        check_aim(2.0, None)
    assert str(check_aim(0.9, None)) == "precision of at least 0.9"
