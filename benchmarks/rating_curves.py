"""What a score means, measured: how people rated the outputs in each tenth of the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quintet.stats.coefficients import Array, average_ranks
from quintet.stats.plots import COLOURS, INK, draw
from quintet.stats.significance import mean_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TENTHS = 10
FEWEST = 10
"""Outputs in a tenth below which no mean is given."""
_PANELS = 3


@dataclass(frozen=True)
class Step:
    """Outputs whose scores lie in [low, high)."""

    low: float
    high: float
    n: int
    mean: float
    """Of what people said; NaN for fewer than ten."""
    least: float
    most: float
    """95 % bootstrap interval of the mean."""


def curve(scores: Array, ratings: Array, tenths: int = TENTHS) -> tuple[Step, ...]:
    """Ratings of any scale by equal steps of the score from 0 to 1."""
    here = np.isfinite(scores) & np.isfinite(ratings)
    place = np.clip((scores[here] * tenths).astype(np.intp), 0, tenths - 1)
    steps = []
    for k in range(tenths):
        said = ratings[here][place == k]
        enough = len(said) >= FEWEST
        least, most = mean_interval(said) if enough else (np.nan, np.nan)
        mean = float(said.mean()) if enough else np.nan
        steps.append(Step(k / tenths, (k + 1) / tenths, len(said), mean, least, most))
    return tuple(steps)


def standing(ratings: Array) -> Array:
    """Each rating as its place among its own set's, from 0 to 1: what ratings of different scales have in common."""
    here = np.isfinite(ratings)
    places = np.full(len(ratings), np.nan)
    places[here] = (average_ranks(ratings[here]) - 0.5) / here.sum()
    return places


def draw_curves(
    panels: Mapping[str, Mapping[str, Sequence[Step]]], path: str | Path, label: str = "mean standing of the rating"
) -> Path:
    """One panel per dimension, one line per set with its intervals; the diagonal would be perfect agreement."""
    rows = -(-len(panels) // _PANELS)

    def paint(figure: Figure) -> None:
        for place, (title, lines) in enumerate(panels.items(), 1):
            axes = figure.add_subplot(rows, _PANELS, place)
            axes.plot([0, 1], [0, 1], color="#BBBBBB", lw=0.7, zorder=0)
            for colour, (name, steps) in zip(COLOURS * 2, lines.items(), strict=False):
                known = [step for step in steps if np.isfinite(step.mean)]
                middle = [(step.low + step.high) / 2 for step in known]
                axes.fill_between(
                    middle, [s.least for s in known], [s.most for s in known], color=colour, alpha=0.15, lw=0
                )
                axes.plot(middle, [s.mean for s in known], color=colour, lw=1.1, marker="o", ms=2.2, label=name)
            axes.set_title(title, loc="left", color=INK)
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1)
            axes.legend(fontsize=5.5, frameon=False, loc="upper left", handlelength=1.2, labelspacing=0.25)
        figure.supxlabel("score", fontsize=8)
        figure.supylabel(label, fontsize=8)

    return draw(path, (7.2, 2.25 * rows + 0.3), paint)
