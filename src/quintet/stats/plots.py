"""Figures for a paper: bars, heat map, scatter, agreement beside the human ceiling. PNG or SVG by the file's suffix.

matplotlib is loaded inside the functions only. The same input gives the same bytes: no dates, no random names, fixed
fonts (those that matplotlib ships) and seeded jitter.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from quintet.core.plain import Foreign
from quintet.errors import InputError, MissingExtra, UnknownName
from quintet.stats.inputs import Ratings, Scores
from quintet.stats.records import CEILING, HUMAN, Record, decimal
from quintet.stats.tables import LABELS, caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe and Ito (2008): told apart by colour-blind readers, and in print. The ninth is the first, hatched or hollow."""
PEOPLE = "#555555"
INK = "#222222"
_LETTER = 0.066
"""Inches that a letter of a label takes."""

_STYLE: Foreign = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "quintet",
    "svg.fonttype": "path",
    "figure.dpi": 100,
}


def draw(path: str | Path, size: tuple[float, float], paint: Callable[[Figure], None]) -> Path:
    """Paints a figure in the house style and writes it."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise UnknownName("kind of picture", target.suffix or str(target), SUFFIXES)
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "drawing figures") from None
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        paint(figure)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix.lower() == ".svg":
            figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
        else:
            figure.savefig(target, format="png", dpi=300, metadata={"Software": None})
    return target


class _Wall:
    """The records of one set and level, by metric and dimension."""

    def __init__(self, records: Sequence[Record], statistic: str) -> None:
        if not any(r.kind != CEILING for r in records):
            raise InputError("no metric's records, so there is nothing to draw")
        kinds = {(r.set, r.level, r.excluded) for r in records}
        if len(kinds) != 1:
            raise InputError(f"a figure shows one set at one level, not {len(kinds)} of them")
        self.statistic = statistic or records[0].interval_of
        if self.statistic not in LABELS:
            raise UnknownName("statistic", self.statistic, LABELS)
        self.records = list(records)
        self.dimensions = list(dict.fromkeys(r.dimension for r in records))
        self.metrics = list(dict.fromkeys(r.metric for r in records if r.kind != CEILING))
        self.place = {(r.metric, r.dimension): r for r in records if r.kind != CEILING}
        self.people = {r.dimension: r for r in records if r.kind == CEILING}

    def value(self, record: Record | None) -> float:
        return math.nan if record is None else record.value(self.statistic)

    def bounds(self, record: Record | None) -> tuple[float, float]:
        """How far the interval reaches below and above the value; nothing for other statistics than its own."""
        if record is None or self.statistic != record.interval_of or not math.isfinite(record.low):
            return 0.0, 0.0
        return max(0.0, self.value(record) - record.low), max(0.0, record.high - self.value(record))

    def reach(self) -> tuple[float, float]:
        """The lowest and highest number to show."""
        shown = [self.value(r) for r in self.records]
        lows = [v - self.bounds(r)[0] for v, r in zip(shown, self.records, strict=True) if math.isfinite(v)]
        highs = [v + self.bounds(r)[1] for v, r in zip(shown, self.records, strict=True) if math.isfinite(v)]
        return min([0.0, *lows]), max([0.0, *highs])

    @property
    def title(self) -> str:
        first = self.records[0]
        numbers = sorted({r.n for r in self.records if r.kind != CEILING} or {first.n})
        n = f"n = {numbers[0]}" if len(numbers) == 1 else f"n = {numbers[0]}–{numbers[-1]}"
        without = f", without {', '.join(first.excluded)}" if first.excluded else ""
        return f"{first.set + ', ' if first.set else ''}{first.level}, {n}{without}"


def bars(records: Sequence[Record], path: str | Path, statistic: str = "") -> Path:
    """A group of bars per dimension, a bar per metric, with intervals; people's own agreement as a line across."""
    wall = _Wall(records, statistic)
    count = len(wall.metrics)
    width = min(0.28, 0.8 / max(1, count))

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        centres = np.arange(len(wall.dimensions))
        for k, metric in enumerate(wall.metrics):
            own = [wall.place.get((metric, d)) for d in wall.dimensions]
            spans = np.array([wall.bounds(r) for r in own]).T
            axes.bar(
                centres + (k - (count - 1) / 2) * width,
                [wall.value(r) for r in own],
                width * 0.92,
                yerr=spans if spans.any() else None,
                color=COLOURS[k % len(COLOURS)],
                hatch=("", "////", "....", "xxxx")[k // len(COLOURS) % 4],
                edgecolor="white",
                linewidth=0,
                error_kw={"elinewidth": 0.7, "capsize": min(2.0, 14 * width), "capthick": 0.7, "ecolor": INK},
                label=metric,
            )
        for i, dimension in enumerate(wall.dimensions):
            if dimension in wall.people:
                height = wall.value(wall.people[dimension])
                label = HUMAN if dimension == next(iter(wall.people)) else None
                axes.plot([i - 0.44, i + 0.44], [height] * 2, color=PEOPLE, lw=1.1, ls=(0, (4, 1.5)), label=label)
        axes.axhline(0, color=INK, lw=0.6)
        axes.spines["bottom"].set_visible(False)
        axes.set_xlim(-0.55, len(wall.dimensions) - 0.45)
        axes.set_xticks(centres, wall.dimensions)
        axes.tick_params(axis="x", length=0)
        axes.set_ylabel(LABELS[wall.statistic])
        axes.set_title(_wrapped(wall.title, broad - 0.6), loc="left")
        _leave_room(axes, *wall.reach())
        handles, names = axes.get_legend_handles_labels()
        order = sorted(range(len(names)), key=lambda i: names[i] == HUMAN)
        across = max(1, min(len(names), int(broad / (0.5 + _LETTER * max(map(len, names))))))
        figure.legend(
            [handles[i] for i in order],
            [names[i] for i in order],
            loc="outside lower center",
            ncols=across,
            frameon=False,
        )

    group = max(0.16 * count + 0.25, _LETTER * max(map(len, wall.dimensions)) + 0.1)
    broad = min(12.0, max(3.4, 0.6 + len(wall.dimensions) * group))
    return draw(path, (broad, 2.9), paint)


def _wrapped(text: str, inches: float) -> str:
    return "\n".join(textwrap.wrap(text, max(20, int(inches / _LETTER))))


def _leave_room(axes: Axes, low: float, high: float) -> None:
    margin = 0.04 * (high - low)
    axes.set_ylim(low - margin if low < 0 else 0.0, high + margin)
    axes.yaxis.get_major_locator().set_params(nbins=6)  # type: ignore[call-arg]
    axes.grid(axis="y", color="#DDDDDD", lw=0.5)
    axes.set_axisbelow(True)


def heat_map(records: Sequence[Record], path: str | Path, statistic: str = "") -> Path:
    """Metrics by dimensions, the number in each cell; people in a row of their own below."""
    wall = _Wall(records, statistic)
    rows = [*wall.metrics, *(["people"] if wall.people else [])]
    shown = [[wall.place.get((metric, d)) for d in wall.dimensions] for metric in wall.metrics]
    shown += [[wall.people.get(d) for d in wall.dimensions]] if wall.people else []
    table = np.array([[wall.value(record) for record in row] for row in shown])

    def paint(figure: Figure) -> None:
        from matplotlib import colormaps

        axes = figure.add_subplot()
        edge = float(np.nanmax(np.abs(table))) if np.isfinite(table).any() else 1.0
        # Diverging and centred on zero: a metric that disagrees with people must not look like a weak one.
        shades = colormaps["RdBu"].with_extremes(bad="#F2F2F2")
        image = axes.imshow(table, cmap=shades, vmin=-edge, vmax=edge, aspect="auto")
        for (i, j), value in np.ndenumerate(table):
            if math.isfinite(value):
                shade = "white" if abs(value) > 0.5 * edge else INK
                axes.text(j, i, decimal(value, 2), ha="center", va="center", color=shade, fontsize=7.5)
        axes.set_xticks(range(len(wall.dimensions)), wall.dimensions, rotation=25, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xticks(np.arange(len(wall.dimensions) + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", lw=1.5)
        axes.tick_params(which="minor", length=0)
        if wall.people:
            axes.axhline(len(wall.metrics) - 0.5, color="white", lw=5)
        bar = figure.colorbar(image, ax=axes, pad=0.02, fraction=0.05)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=2)
        bar.set_label(LABELS[wall.statistic])
        axes.set_title(_wrapped(wall.title, size[0] - _LETTER * longest - 0.9), loc="left")

    longest = max(len(row) for row in rows)
    size = (1.3 + _LETTER * longest + 0.55 * len(wall.dimensions), 1.2 + 0.27 * len(rows))
    return draw(path, size, paint)


def agreement(records: Sequence[Record], path: str | Path, statistic: str = "") -> Path:
    """A panel per dimension: each metric as a dot with its interval, and the band that people reach themselves."""
    wall = _Wall(records, statistic)
    across = min(3, len(wall.dimensions))
    down = math.ceil(len(wall.dimensions) / across)
    order = list(reversed(wall.metrics))

    def paint(figure: Figure) -> None:
        grid: Foreign = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        low, high = wall.reach()
        for axes, dimension in zip(grid.flat, wall.dimensions, strict=False):
            people = wall.people.get(dimension)
            if people is not None:
                top = wall.value(people)
                below, above = wall.bounds(people)
                axes.axvspan(top - below, top + above, color="#E3E3E3", lw=0, zorder=0)
                axes.axvline(top, color=PEOPLE, lw=1.0, ls=(0, (4, 1.5)), zorder=1)
            for k, metric in enumerate(order):
                record = wall.place.get((metric, dimension))
                if record is None or not math.isfinite(wall.value(record)):
                    continue
                place = len(order) - 1 - k
                colour = COLOURS[place % len(COLOURS)]
                middle = colour if place < len(COLOURS) else "white"
                value, (below, above) = wall.value(record), wall.bounds(record)
                axes.plot([value - below, value + above], [k, k], color=colour, lw=1.4, zorder=2)
                axes.plot(value, k, "o", color=colour, mfc=middle, ms=4.5, zorder=3)
            axes.axvline(0, color=INK, lw=0.6)
            axes.set_title(dimension, loc="left")
            axes.set_yticks(range(len(order)), order)
            axes.tick_params(axis="y", length=0)
            axes.set_ylim(-0.6, len(order) - 0.4)
            axes.set_xlim(min(0.0, low) - 0.03, min(1.0, high) + 0.03)
            axes.grid(axis="x", color="#DDDDDD", lw=0.5)
            axes.set_axisbelow(True)
            axes.spines["left"].set_visible(False)
        for axes in grid.flat[len(wall.dimensions) :]:
            axes.set_visible(False)
        shaded = "; dashed line and grey band: people, leave one out" if wall.people else ""
        told = _wrapped(f"{wall.title}{shaded}", size[0])
        figure.supxlabel(f"{LABELS[wall.statistic]}\n{told}", fontsize=8)

    longest = max(len(metric) for metric in wall.metrics)
    size = (_LETTER * longest + 2.15 * across, 0.85 + down * (0.42 + 0.2 * len(order)))
    return draw(path, size, paint)


def scatter(
    ratings: npt.ArrayLike,
    scores: npt.ArrayLike,
    path: str | Path,
    record: Record | None = None,
    labels: tuple[str, str] = ("human rating", "score"),
    seed: int = 0,
) -> Path:
    """Scores against ratings. Ratings take few values: dots are moved sideways a little so that all can be seen.

    The median and the middle half of the scores are drawn for each rating that at least five items have.
    """
    people, given = np.asarray(ratings, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    here = np.isfinite(people) & np.isfinite(given)
    people, given = people[here], given[here]
    if not len(people):
        raise InputError("no item has both a score and a rating, so there is nothing to draw")
    values, counts = np.unique(people, return_counts=True)
    step = float(np.min(np.diff(values))) if len(values) > 1 else 1.0
    # Continuous ratings have room enough of their own.
    reach = 0.3 * step if len(values) <= 40 else 0.0
    moved = people + np.random.default_rng(seed).uniform(-reach, reach, len(people))

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        faint = min(0.6, max(0.12, 150 / len(people)))
        axes.scatter(moved, given, s=7, color=COLOURS[0], alpha=faint, linewidths=0, rasterized=len(people) > 3000)
        for value in values[counts >= 5] if reach else ():
            low, middle, high = np.quantile(given[people == value], [0.25, 0.5, 0.75])
            axes.plot([value] * 2, [low, high], color=INK, lw=1.1, zorder=3)
            axes.plot([value - reach * 0.8, value + reach * 0.8], [middle] * 2, color=COLOURS[5], lw=1.8, zorder=4)
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        axes.set_title("" if record is None else record.line(), loc="left")

    return draw(path, (3.4, 2.8), paint)


def draw_all(records: Sequence[Record], folder: str | Path, suffixes: Sequence[str] = SUFFIXES) -> list[Path]:
    """Bars, heat map and agreement for each set and level, named after them; with the caption in a text file beside."""
    parts: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        parts.setdefault((record.set, record.variant, record.level, record.excluded), []).append(record)
    written = []
    for part in parts.values():
        if not any(r.kind != CEILING and math.isfinite(r.value()) for r in part):
            continue
        excluded = "-without-" + "-".join(part[0].excluded) if part[0].excluded else ""
        variant = f"-{part[0].variant}" if part[0].variant else ""
        stem = _file_name(f"{part[0].set or 'ratings'}{variant}-{part[0].level}{excluded}")
        for name, picture in (("bars", bars), ("heat-map", heat_map), ("agreement", agreement)):
            written += [picture(part, Path(folder) / f"{stem}-{name}{suffix}") for suffix in suffixes]
        told = Path(folder) / f"{stem}-caption.txt"
        told.write_text(caption(part) + "\n", encoding="utf-8")
        written.append(told)
    return written


def draw_scatters(
    name: str, ratings: Ratings, scores: Sequence[Scores], records: Sequence[Record], folder: str | Path
) -> list[Path]:
    """One scatter for each metric and dimension of a set, over all its items."""
    written = []
    for each in scores:
        for dimension, row in zip(
            ratings.dimensions, each.rows(ratings.dimensions, ratings.ids, ratings.ids), strict=True
        ):
            found = [r for r in records if (r.set, r.metric, r.dimension) == (name, each.metric, dimension)]
            if row is None or not found:
                continue
            stem = _file_name(f"{name}-{each.metric}-{dimension}-scatter")
            labels = (f"human rating of {dimension}", each.metric)
            written += [
                scatter(ratings.rating(dimension), row, Path(folder) / f"{stem}{suffix}", found[0], labels)
                for suffix in SUFFIXES
            ]
    return written


def draw_pairs(pairs: Sequence[tuple[str, float, float]], title: str, folder: str | Path, name: str) -> list[Path]:
    """Two bars for each label: a figure as printed, and ours."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        places = np.arange(len(pairs))
        for column, (label, colour) in enumerate((("printed", COLOURS[1]), ("ours", COLOURS[0])), start=1):
            axes.barh(places + 0.4 * column - 0.6, [pair[column] for pair in pairs], 0.38, color=colour, label=label)
        axes.set_yticks(places, [pair[0] for pair in pairs])
        axes.invert_yaxis()
        axes.axvline(0.0, color=INK, linewidth=0.6)
        axes.legend(frameon=False)
        axes.set_title(textwrap.fill(title, 90))

    height = 1.0 + 0.24 * len(pairs)
    return [draw(Path(folder) / f"{_file_name(name)}{suffix}", (7.0, height), paint) for suffix in SUFFIXES]


def draw_points(
    points: Sequence[tuple[str, float, float]],
    axes_of: tuple[str, str],
    title: str,
    folder: str | Path,
    name: str,
) -> list[Path]:
    """A labelled point for each entry: two figures of the same thing against each other."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.scatter([x for _, x, _ in points], [y for _, _, y in points], color=COLOURS[0], s=18)
        for label, x, y in points:
            axes.annotate(textwrap.shorten(label, 40), (x, y), xytext=(4, 4), textcoords="offset points", fontsize=6)
        axes.set_xlabel(axes_of[0])
        axes.set_ylabel(axes_of[1])
        axes.set_title(textwrap.fill(title, 90))

    Path(folder).mkdir(parents=True, exist_ok=True)
    return [draw(Path(folder) / f"{_file_name(name)}{suffix}", (5.0, 4.0), paint) for suffix in SUFFIXES]


def _file_name(text: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in text.replace("/", "-"))
