"""Fits our scores to a user's own labels: a rising map, a threshold, and how sure one can be of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from quintet.core.calibration import Calibration, Curve
from quintet.core.plain import JsonObject
from quintet.errors import InputError, UnknownName
from quintet.stats.coefficients import Array, Indices, average_ranks, spearman
from quintet.stats.correlate import Layout
from quintet.stats.significance import interval

# Where to draw the line between outputs to accept and to refuse.

Flags = npt.NDArray[np.bool_]
Kind = Literal["balanced accuracy", "precision", "recall"]
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Aim:
    """What a threshold is chosen for: the best balanced accuracy, or most of the one once the other is reached."""

    kind: Kind = "balanced accuracy"
    target: float = 0.0

    def __str__(self) -> str:
        return self.kind if self.kind == "balanced accuracy" else f"{self.kind} of at least {self.target:g}"


@dataclass(frozen=True, slots=True)
class Quality:
    balanced_accuracy: float
    precision: float
    recall: float


def quality(accepted: Flags, good: Flags, weights: Array | None = None) -> Quality:
    """Precision: the share of accepted outputs that are good. Recall: the share of good outputs that are accepted."""
    mass = np.ones(len(good)) if weights is None else weights
    hits, kept = float(mass[accepted & good].sum()), float(mass[accepted].sum())
    goods, bads = float(mass[good].sum()), float(mass[~good].sum())
    recall = hits / goods if goods else math.nan
    refused = 1.0 - (kept - hits) / bads if bads else math.nan
    return Quality((recall + refused) / 2.0, hits / kept if kept else math.nan, recall)


def choose(scores: Array, good: Flags, aim: Aim, weights: Array | None = None) -> float:
    """The threshold, halfway between two scores; more is better. NaN with one class, or where none reaches the aim."""
    mass = np.ones(len(scores)) if weights is None else weights
    here = mass > 0
    places, inverse = np.unique(scores[here], return_inverse=True)
    goods = np.bincount(inverse, mass[here] * good[here], len(places))
    bads = np.bincount(inverse, mass[here] * ~good[here], len(places))
    if goods.sum() == 0 or bads.sum() == 0 or len(places) < 2:
        return math.nan
    # Entry k: what is accepted when everything from place k on is.
    hits, slips = np.cumsum(goods[::-1])[::-1], np.cumsum(bads[::-1])[::-1]
    recall, precision = hits / goods.sum(), hits / (hits + slips)
    merit = {
        "balanced accuracy": (recall + 1.0 - slips / bads.sum()) / 2.0,
        "precision": np.where(precision >= aim.target - _ROUNDING, recall, -1.0),
        "recall": np.where(recall >= aim.target - _ROUNDING, precision, -1.0),
    }[aim.kind]
    best = np.flatnonzero(merit >= merit.max() - _ROUNDING)
    if merit.max() < 0.0:
        return math.nan
    # Of equally good places the one in the middle is the least chance's child.
    place = int(best[len(best) // 2])
    return float(places[0] if place == 0 else (places[place - 1] + places[place]) / 2.0)


def check_aim(precision: float | None, recall: float | None) -> Aim:
    if precision is not None and recall is not None:
        raise InputError("both a precision and a recall were asked for", todo="give --precision or --recall")
    for kind, target in (("precision", precision), ("recall", recall)):
        if target is None:
            continue
        if not 0.0 < target <= 1.0:
            raise InputError(f"a {kind} of {target:g}", f"--{kind}", "give a number above 0 and up to 1")
        return Aim("precision" if kind == "precision" else "recall", target)
    return Aim()


# Isotonic regression: the rising values closest to the given ones; neighbours that fall are pooled (Barlow 1972).


def pool(values: Array, weights: Array) -> tuple[Array, Indices]:
    """Means of the pooled blocks, strictly rising, and how many neighbours each holds. Weights are positive."""
    means: list[float] = []
    masses: list[float] = []
    counts: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, count = value, weight, 1
        while means and means[-1] >= mean:
            before, more = means.pop(), masses.pop()
            # Equal values stay exactly equal, so that rounding makes no new steps.
            mean = mean if before == mean else (before * more + mean * mass) / (more + mass)
            mass, count = mass + more, count + counts.pop()
        means.append(mean)
        masses.append(mass)
        counts.append(count)
    return np.array(means), np.array(counts, dtype=np.intp)


def isotonic(values: Array, weights: Array | None = None) -> Array:
    """The least-squares fit that never falls, one value for each given one."""
    means, counts = pool(values, np.ones(len(values)) if weights is None else weights)
    return np.repeat(means, counts)


def centred_knots(scores: Array, labels: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """A rising map as knots: each block at the mean of its scores (Oron and Flournoy 2017), joined by lines.

    Unlike the plain steps it keeps the order of scores inside, and it was closer to smooth truths from 50 labels on.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    here = weights > 0
    places, inverse = np.unique(scores[here], return_inverse=True)
    mass: Array = np.bincount(inverse, weights[here]).astype(np.float64)
    means = np.bincount(inverse, weights[here] * labels[here]) / mass
    blocks, counts = pool(means, mass)
    starts = np.cumsum(counts) - counts
    return np.add.reduceat(places * mass, starts) / np.add.reduceat(mass, starts), blocks


def apply_knots(knots: tuple[Array, Array], scores: Array) -> Array:
    """Lines between the knots, flat outside; NaN stays NaN."""
    return np.where(np.isfinite(scores), np.interp(scores, *knots), np.nan)


# How good probabilities are: ranking (AUC), squared error (Brier), and whether they mean what they say (ECE).

BINS = 10


def auc(scores: Array, good: Flags, weights: Array | None = None) -> Array:
    """The chance that a good output scores above a bad one, ties half; weights may add leading axes."""
    mass = np.ones(len(scores)) if weights is None else weights
    ranks = average_ranks(scores, mass)
    goods, bads = (mass * good).sum(axis=-1), (mass * ~good).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return ((mass * ranks * good).sum(axis=-1) - goods * (goods + 1.0) / 2.0) / (goods * bads)


def brier(predicted: Array, truth: Array) -> float:
    """Mean squared error; both on the scale 0 to 1."""
    return float(np.mean((predicted - truth) ** 2))


def calibration_error(predicted: Array, truth: Array, bins: int = BINS) -> float:
    """ECE over bins of equal numbers: the mean distance between what was said and what came true."""
    order = np.argsort(predicted, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return float(sum(len(p) * abs(predicted[p].mean() - truth[p].mean()) for p in parts) / len(predicted))


FEWEST = 10
ENOUGH = 50
FOLDS = 10
LABEL, RATING = "yes or no", "rating"


@dataclass(frozen=True, eq=False)
class Labelled:
    """Scores and what people said of the same outputs; rows without either are left out."""

    scores: Array
    labels: Array
    groups: Sequence[str | None] | None = None
    """Outputs of one input are not independent: they are drawn, and held out, together."""
    scale: tuple[float, float] | None = None
    """The ends of the scale people used; by default the lowest and highest label."""
    higher_is_better: bool = True

    @property
    def kind(self) -> str:
        return LABEL if set(np.unique(self.labels)) <= {0.0, 1.0} else RATING

    @property
    def ends(self) -> tuple[float, float]:
        if self.scale is not None:
            return self.scale
        return (0.0, 1.0) if self.kind == LABEL else (float(self.labels.min()), float(self.labels.max()))

    def complete(self) -> Labelled:
        here = np.isfinite(self.scores) & np.isfinite(self.labels)
        groups = None if self.groups is None else [g for g, keep in zip(self.groups, here, strict=True) if keep]
        # Rows without a group stand alone, so that they do not become one large group.
        named = None if groups is None else [g if g is not None else f"row {k}" for k, g in enumerate(groups)]
        return replace(self, scores=self.scores[here], labels=self.labels[here], groups=named)

    def units(self) -> Indices:
        layout = Layout.of(len(self.scores), None if self.groups is None else [str(g) for g in self.groups])
        return np.arange(len(self.scores)) if layout.document is None else layout.document


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float

    def to_json(self) -> list[float | None]:
        return [None if math.isnan(v) else round(v, 6) for v in (self.value, self.low, self.high)]


@dataclass(frozen=True)
class Line:
    """A threshold, and what it did on rows that it was not chosen on."""

    score: Estimate
    aim: str
    accept_from: float
    held_out: Quality


@dataclass(frozen=True)
class Fit:
    curve: Curve
    band: tuple[tuple[float, float], ...]
    """A 95 % bootstrap interval of the value at each knot."""
    kind: str
    n: int
    dropped: int
    good: int | None
    """Labels that count as accepted; none for ratings without a line."""
    spearman: Estimate
    auc: Estimate | None
    before: tuple[float, float] | None
    """Brier and calibration error of the score as it was, where it lies between 0 and 1."""
    after: tuple[float, float]
    """The same after calibration, on held-out rows; labels and values on the scale 0 to 1."""
    constant: float
    """Brier of always saying the mean label."""
    held_out_spearman: float
    line: Line | None
    warnings: tuple[str, ...]

    def to_json(self) -> JsonObject:
        found: JsonObject = {
            "labels": self.kind, "n": self.n, "dropped": self.dropped, "good": self.good,
            "value_intervals": [[round(low, 6), round(high, 6)] for low, high in self.band],
            "spearman": self.spearman.to_json(), "spearman_held_out": _plain(self.held_out_spearman),
            "auc": None if self.auc is None else self.auc.to_json(),
            "brier": {"before": self.before and _plain(self.before[0]), "held_out": _plain(self.after[0]),
                      "always_the_mean": _plain(self.constant)},
            "calibration_error": {"before": self.before and _plain(self.before[1]), "held_out": _plain(self.after[1])},
            "warnings": list(self.warnings),
        }  # fmt: skip
        if self.line is not None:
            held = self.line.held_out
            found["threshold_facts"] = {
                "score": self.line.score.to_json(), "chosen_for": self.line.aim, "accept_from": self.line.accept_from,
                "held_out": {"balanced_accuracy": _plain(held.balanced_accuracy), "precision": _plain(held.precision),
                             "recall": _plain(held.recall)},
            }  # fmt: skip
        return found


def fit(
    given: Labelled, aim: Aim | None = None, accept: float | None = None, resamples: int = 1000, seed: int = 0
) -> Fit:
    """`accept`: the lowest rating that is good enough; yes/no labels need none. InputError where nothing fits."""
    data = given.complete()
    _check(data, given)
    good = data.labels >= (accept if accept is not None else 1.0) if accept is not None or data.kind == LABEL else None
    sign = 1.0 if data.higher_is_better else -1.0
    rising = replace(data, scores=sign * data.scores)
    knots = centred_knots(rising.scores, rising.labels)
    one_class = good is not None and len(np.unique(good)) < 2
    drawn = _bootstrap(rising, None if one_class else good, aim or Aim(), knots[0], resamples, seed)
    held = _held_out(rising, None if one_class else good, aim or Aim(), seed)
    line = None
    if good is not None and not one_class:
        score = choose(rising.scores, good, aim or Aim())
        if math.isnan(score):
            raise InputError(f"no threshold reaches a {aim}", todo="ask for less, or label more rows")
        low, high = _span(drawn.thresholds)
        ends = (low, high) if sign > 0 else (-high, -low)
        from_label = 1.0 if accept is None else accept
        line = Line(Estimate(sign * score, *ends), str(aim or Aim()), from_label, held.quality)
    found = Fit(
        curve=_curve(knots, data, line),
        band=tuple(zip(*(tuple(map(float, side)) for side in interval(drawn.maps)), strict=True))[:: int(sign)],
        kind=data.kind,
        n=len(data.scores),
        dropped=len(given.scores) - len(data.scores),
        good=None if good is None else int(good.sum()),
        spearman=Estimate(float(spearman(rising.scores, data.labels)), *_span(drawn.spearman)),
        auc=None if good is None or one_class else Estimate(float(auc(rising.scores, good)), *_span(drawn.auc)),
        before=_before(rising, sign),
        after=_errors(held.values, data),
        constant=float(np.var(_unit(data.labels, data.ends))),
        held_out_spearman=float(spearman(held.values, data.labels)),
        line=line,
        warnings=(),
    )
    return replace(found, warnings=tuple(_warnings(found, one_class)))


def _check(data: Labelled, given: Labelled) -> None:
    if len(data.scores) < FEWEST:
        what = f"{len(data.scores)} of {len(given.scores)} rows have both a label and a score"
        raise InputError(what, todo=f"{FEWEST} are the least; label {ENOUGH} to 500")
    if len(np.unique(data.labels)) < 2:
        raise InputError("all labels are the same", todo="add rows that people judged otherwise")
    if len(np.unique(data.scores)) < 2:
        raise InputError("all scores are the same, so that they say nothing about the labels")
    low, high = data.ends
    if not low < high or data.labels.min() < low or data.labels.max() > high:
        raise InputError(f"labels from {data.labels.min():g} to {data.labels.max():g} on a scale {low:g} to {high:g}")


def _curve(knots: tuple[Array, Array], data: Labelled, line: Line | None) -> Curve:
    scores, values = knots if data.higher_is_better else (-knots[0][::-1], knots[1][::-1])
    threshold = None if line is None else line.score.value
    low, high = data.ends
    return Curve(tuple(map(float, scores)), tuple(map(float, values)), low, high, data.higher_is_better, threshold)


@dataclass(frozen=True, eq=False)
class _Draws:
    maps: Array
    thresholds: Array
    spearman: Array
    auc: Array


def _bootstrap(data: Labelled, good: Flags | None, aim: Aim, at: Array, count: int, seed: int) -> _Draws:
    units = data.units()
    rng = np.random.default_rng(seed)
    number = int(units.max()) + 1
    weights = np.stack([np.bincount(rng.integers(0, number, number), minlength=number)[units] for _ in range(count)])
    mass = weights.astype(np.float64)
    maps = np.stack([apply_knots(centred_knots(data.scores, data.labels, row), at) for row in mass], axis=-1)
    nothing = np.full(count, np.nan)
    return _Draws(
        maps,
        nothing if good is None else np.array([choose(data.scores, good, aim, row) for row in mass]),
        spearman(data.scores, data.labels, mass),
        nothing if good is None else auc(data.scores, good, mass),
    )


@dataclass(frozen=True, eq=False)
class _HeldOut:
    values: Array
    quality: Quality


def _held_out(data: Labelled, good: Flags | None, aim: Aim, seed: int) -> _HeldOut:
    """Each row's value from a map that has not seen its group, and what thresholds chosen so would have accepted."""
    units = data.units()
    number = int(units.max()) + 1
    fold = np.random.default_rng(seed).permutation(number)[units] % min(FOLDS, number)
    values, accepted = np.empty(len(units)), np.zeros(len(units), dtype=bool)
    judged = np.zeros(len(units), dtype=bool)
    for k in range(int(fold.max()) + 1):
        out, seen = fold == k, fold != k
        values[out] = apply_knots(centred_knots(data.scores[seen], data.labels[seen]), data.scores[out])
        if good is not None and not math.isnan(line := choose(data.scores[seen], good[seen], aim)):
            accepted[out], judged[out] = data.scores[out] >= line, True
    nothing = Quality(math.nan, math.nan, math.nan)
    return _HeldOut(values, nothing if good is None else quality(accepted[judged], good[judged]))


def _before(rising: Labelled, sign: float) -> tuple[float, float] | None:
    scores = rising.scores if sign > 0 else 1.0 + rising.scores
    if scores.min() < 0.0 or scores.max() > 1.0:
        return None
    truth = _unit(rising.labels, rising.ends)
    return brier(scores, truth), calibration_error(scores, truth)


def _errors(values: Array, data: Labelled) -> tuple[float, float]:
    said, truth = _unit(values, data.ends), _unit(data.labels, data.ends)
    return brier(said, truth), calibration_error(said, truth)


def _unit(values: Array, ends: tuple[float, float]) -> Array:
    return (values - ends[0]) / (ends[1] - ends[0])


def _warnings(found: Fit, one_class: bool) -> list[str]:
    lines = []
    if found.n < ENOUGH:
        lines.append(f"only {found.n} labelled rows: the intervals are wide; label {ENOUGH} to 500")
    if one_class:
        lines.append("every label is on one side of the line: no threshold was chosen")
    if found.spearman.value <= 0.0:
        lines.append("the scores do not rise with the labels; if less is better, pass --lower-is-better")
    elif found.after[0] >= found.constant:
        lines.append("held-out error is no smaller than that of always saying the mean: these scores say little here")
    return lines


def _span(draws: Array) -> tuple[float, float]:
    known = draws[np.isfinite(draws)]
    if len(known) == 0:
        return math.nan, math.nan
    low, high = np.quantile(known, (0.025, 0.975))
    return float(low), float(high)


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 6)


# Several dimensions fitted one by one into one calibration.


def calibrate(
    columns: Mapping[str, Labelled],
    *,
    accept: Mapping[str, float] | float | None = None,
    aim: Aim | None = None,
    signatures: Mapping[str, str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    on_note: Callable[[str], None] = lambda note: None,
) -> Calibration:
    """A dimension that cannot be fitted is named and left out; it is an error where it is the only one."""
    if isinstance(accept, Mapping):
        for name in accept:
            if name not in columns:
                raise UnknownName("dimension in --accept", name, columns)
    curves, facts = {}, {}
    for name, labelled in columns.items():
        line = accept.get(name) if isinstance(accept, Mapping) else accept
        try:
            found = fit(labelled, aim, line, resamples, seed)
        except InputError as error:
            if len(columns) == 1:
                raise InputError(error.what, name, error.todo) from None
            on_note(f"{name} was left out: {error.what}")
            continue
        for warning in found.warnings:
            on_note(f"{name}: {warning}")
        curves[name], facts[name] = found.curve, found.to_json()
    if not curves:
        raise InputError("nothing could be calibrated", todo="see the lines above")
    kept = {name: signature for name, signature in (signatures or {}).items() if name in curves}
    return Calibration(curves, kept, facts)
