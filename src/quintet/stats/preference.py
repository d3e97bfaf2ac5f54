"""Which of two outputs is better, from the difference of their scores; and the strength of many systems.

    P(first better) = 1 / (1 + exp(threshold - slope * difference))
    P(second better) = 1 / (1 + exp(threshold + slope * difference))          P(tie) is what is left

(Rao and Kupper 1967.) Swapping the two swaps the probabilities, whatever the scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quintet.core.plain import Cells, JsonObject
from quintet.stats.significance import mean_interval

Array = npt.NDArray[np.float64]
OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class Scale:
    """How differences become probabilities; fitted to pairs that people judged (docs/comparing.md)."""

    slope: float = 4.5
    threshold: float = 0.5

    def chances(self, difference: float) -> tuple[float, float, float]:
        """First better, tie, second better."""
        if math.isnan(difference):
            return math.nan, math.nan, math.nan
        first = _logistic(self.slope * difference - self.threshold)
        second = _logistic(-self.slope * difference - self.threshold)
        return first, 1.0 - first - second, second


def _logistic(value: float) -> float:
    return 0.5 * (1.0 + math.tanh(0.5 * value))


@dataclass(frozen=True, slots=True)
class Preference:
    """Of one dimension between two systems.

    `first`, `tie` and `second` are mean probabilities over the items. A tie counts half in the win rate.
    """

    dimension: str
    first_name: str
    second_name: str
    n: int
    first: float
    tie: float
    second: float
    low: float
    high: float
    """95 % bootstrap interval of the win rate; NaN for a single item."""

    @property
    def win_rate(self) -> float:
        return self.first + 0.5 * self.tie

    def to_json(self) -> JsonObject:
        return _json({**{name: getattr(self, name) for name in self.__slots__}, "win_rate": self.win_rate})


def _json(plain: Cells) -> JsonObject:
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in plain.items()}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often the output that people chose is the one with the higher score; equal scores count half."""

    n: int
    """Pairs of which people preferred one."""
    share: float
    low: float
    high: float
    """95 % bootstrap interval; NaN for a single pair."""

    def __str__(self) -> str:
        interval = "" if math.isnan(self.low) else f" [{self.low * 100:.0f}, {self.high * 100:.0f}]"
        return f"{self.share * 100:.0f} %{interval}"

    def to_json(self) -> JsonObject:
        return _json({name: getattr(self, name) for name in self.__slots__})


def agreement(differences: Mapping[str, float], choices: Mapping[str, int]) -> Agreement | None:
    """`choices` by id: 1 the first, -1 the second; pairs that people call equal say nothing here."""
    both = [
        0.5 + 0.5 * np.sign(difference) * choices[at]
        for at, difference in differences.items()
        if choices.get(at) and not math.isnan(difference)
    ]
    if not both:
        return None
    low, high = mean_interval(np.array(both))
    return Agreement(len(both), float(np.mean(both)), low, high)


Table = Mapping[str, Mapping[str, float]]
"""By dimension and id, more is better."""


def differences(first: Table, second: Table) -> dict[str, dict[str, float]]:
    """By dimension and id, first minus second; `overall` is their mean over the dimensions."""
    found = {
        name: {at: first[name][at] - second[name][at] for at in sorted(first[name].keys() & second[name].keys())}
        for name in first
        if name in second
    }
    ids = sorted({at for values in found.values() for at in values})
    if len(found) > 1:
        found[OVERALL] = {at: _mean([values[at] for values in found.values() if at in values]) for at in ids}
    return found


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def preferences(first: Table, second: Table, names: tuple[str, str], scale: Scale) -> list[Preference]:
    found = []
    for dimension, values in differences(first, second).items():
        chances = np.array([scale.chances(value) for value in values.values() if not math.isnan(value)])
        if not len(chances):
            continue
        one, tie, two = (float(mean) for mean in chances.mean(axis=0))
        low, high = mean_interval(chances[:, 0] + 0.5 * chances[:, 1])
        found.append(Preference(dimension, *names, len(chances), one, tie, two, low, high))
    return found


def bradley_terry(wins: Array, steps: int = 1000) -> Array:
    """Strengths that sum to one, from how often (or how surely) the row beat the column; a tie is half a win each.

    Hunter's (2004) minorise-maximise steps. Half a win is added to each pair that met, so that a system that never
    won has a strength above zero.
    """
    met = (wins + wins.T) > 0
    wins = wins + 0.5 * met
    games = wins + wins.T
    strength = np.full(len(wins), 1.0 / len(wins))
    for _ in range(steps):
        apart = np.divide(games, strength[:, None] + strength[None, :], where=games > 0, out=np.zeros_like(games))
        new = wins.sum(axis=1) / np.maximum(apart.sum(axis=1), 1e-12)
        new /= new.sum()
        if np.abs(new - strength).max() < 1e-10:
            return np.asarray(new, np.float64)
        strength = new
    return np.asarray(strength, np.float64)
