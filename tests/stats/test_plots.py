"""Figures: they are written, they are the same bytes each time, and what is missing is said in one line."""

import builtins
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from quintet.errors import MissingExtra, UserError
from quintet.stats import plots
from quintet.stats.records import Record

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure


def record(metric, dimension, spearman, **more):
    fields = {
        "set": "toy/set", "metric": metric, "dimension": dimension, "level": "pooled", "n": 30, "pearson": spearman,
        "spearman": spearman, "kendall": spearman, "low": spearman - 0.1, "high": spearman + 0.1, "signature": "",
    }  # fmt: skip
    return Record(**fields | more)


RECORDS = [
    record(m, d, v) for m, d, v in [("a", "x", 0.5), ("a", "y", -0.3), ("b_1", "x", 0.2), ("b_1", "y", math.nan)]
]
RECORDS.append(record("people (leave one out)", "x", 0.8, kind="ceiling"))
DRAWINGS = [plots.bars, plots.heat_map, plots.agreement]


@pytest.mark.parametrize("suffix", plots.SUFFIXES)
@pytest.mark.parametrize("draw", DRAWINGS)
def test_figures_are_the_same_bytes_each_time(draw, suffix, tmp_path):
    first = draw(RECORDS, tmp_path / f"one{suffix}").read_bytes()
    second = draw(RECORDS, tmp_path / f"two{suffix}").read_bytes()
    assert first == second
    assert len(first) > 3000
    if suffix == ".svg":
        assert ElementTree.fromstring(first).tag.endswith("svg")
        assert b"<dc:date>" not in first
    else:
        assert first.startswith(b"\x89PNG")


def test_scatter_is_repeatable_and_leaves_out_what_is_missing(tmp_path):
    rng = np.random.default_rng(0)
    ratings, scores = rng.integers(1, 4, 100).astype(float), rng.normal(size=100)
    ratings[3] = scores[4] = np.nan
    pictures = [plots.scatter(ratings, scores, tmp_path / f"{i}.png", RECORDS[0]).read_bytes() for i in range(2)]
    assert pictures[0] == pictures[1]
    plots.scatter(rng.normal(size=50), scores[:50], tmp_path / "continuous.svg")
    plots.scatter([2.0, 2.0], [1.0, 3.0], tmp_path / "constant.png")


def painted(monkeypatch, draw, records=RECORDS):
    """The figure itself instead of a file."""
    kept = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: kept.append(figure))
    draw(records, "unused.png")
    return kept[0]


def test_bars_are_as_high_as_the_values(monkeypatch):
    axes = painted(monkeypatch, plots.bars).axes[0]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights[:3] == [0.5, -0.3, 0.2]
    assert math.isnan(heights[3])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["x", "y"]


def test_the_heat_map_prints_the_values_and_the_people(monkeypatch):
    axes = painted(monkeypatch, plots.heat_map).axes[0]
    assert [text.get_text() for text in axes.texts] == [".50", "-.30", ".20", ".80"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b_1", "people"]


def test_the_ceiling_is_drawn_in(monkeypatch):
    first, second = painted(monkeypatch, plots.agreement).axes[:2]
    assert 0.8 in [line.get_xdata()[0] for line in first.lines]
    assert len(first.patches) == 1
    assert len(second.patches) == 0


def test_all_figures_of_a_run(tmp_path):
    other = [record("a", "x", 0.1, level="by document", excluded=("Ground Truth",))]
    undefined = [record("a", "x", math.nan, set="empty")]
    written = plots.draw_all([*RECORDS, *other, *undefined], tmp_path, (".svg",))
    assert [path.name for path in written] == [
        "toy-set-pooled-bars.svg",
        "toy-set-pooled-heat-map.svg",
        "toy-set-pooled-agreement.svg",
        "toy-set-pooled-caption.txt",
        "toy-set-by-document-without-Ground-Truth-bars.svg",
        "toy-set-by-document-without-Ground-Truth-heat-map.svg",
        "toy-set-by-document-without-Ground-Truth-agreement.svg",
        "toy-set-by-document-without-Ground-Truth-caption.txt",
    ]
    assert all(path.stat().st_size for path in written)
    assert written[3].read_text().startswith("toy/set: Spearman ρ with human ratings, pooled, n = 30")


def test_many_metrics_fit(tmp_path):
    many = [record(f"metric number {i}", d, 0.05 * i) for i in range(18) for d in "xyzuvw"]
    for draw in DRAWINGS:
        assert draw(many, tmp_path / "many.png").stat().st_size > 10_000


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch, tmp_path):
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=r"needs matplotlib.*\[plot\]"):
        plots.bars(RECORDS, tmp_path / "x.png")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plots.bars(RECORDS, "x.gif"), "unknown kind of picture '.gif'"),
        (lambda: plots.bars([*RECORDS, record("a", "x", 0.1, set="other")], "x.png"), "one set at one level, not 2"),
        (lambda: plots.bars([], "x.png"), "nothing to draw"),
        (lambda: plots.bars(RECORDS, "x.png", "r2"), "unknown statistic 'r2'"),
        (lambda: plots.scatter([np.nan], [1], "x.png"), "nothing to draw"),
    ],
)
def test_bad_input_is_one_clear_line(call, words):
    with pytest.raises(UserError, match=words):
        call()


def test_points_of_checkpoints(tmp_path):
    points = [("step-10", 0.71, 0.2), ("step-20", 0.78, 0.31), ("step-30", 0.8, 0.33)]
    paths = plots.draw_points(points, ("accuracy", "Pearson"), "toy", tmp_path / "new", "toy/set-words")
    assert {path.name for path in paths} == {f"toy-set-words{suffix}" for suffix in plots.SUFFIXES}
    assert all(path.stat().st_size > 3000 for path in paths)
