"""A calibration as a file, and as a metric that applies it."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.core.calibration import Calibrated, Calibration, Curve, read_calibration, write_calibration
from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.errors import InputError
from quintet.runner.batches import asked_dimensions, calibrated_plan
from quintet.runner.desk import Tally
from quintet.runner.plan import Column, Plan
from quintet.runner.run import run
from quintet.runner.store import DiskStore

CURVE = Curve((0.1, 0.4, 0.8), (1.0, 2.5, 5.0), 1.0, 5.0, True, 0.5)


@dataclass(frozen=True)
class Length(Metric):
    name = "length"
    dimensions = (Dimension("length", "Is it long?", high=None),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"length": Score(len(e.output) / 10, parts={"letters": float(len(e.output))})} for e in examples]


@given(st.floats(-1, 2))
def test_the_curve_is_numpys_interpolation(score: float) -> None:
    assert CURVE.value(score) == pytest.approx(float(np.interp(score, CURVE.scores, CURVE.values)))


@given(st.floats(-1, 2), st.floats(-1, 2))
def test_more_never_gives_less(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert CURVE.value(low) <= CURVE.value(high)
    falling = Curve(CURVE.scores, CURVE.values[::-1], 1.0, 5.0, False, 0.5)
    assert falling.value(low) >= falling.value(high)


def test_the_threshold_itself_is_accepted() -> None:
    assert [CURVE.accepts(x) for x in (0.49, 0.5, 0.9)] == [0.0, 1.0, 1.0]
    falling = Curve((0.0, 1.0), (1.0, 0.0), higher_is_better=False, threshold=0.5)
    assert [falling.accepts(x) for x in (0.49, 0.5, 0.9)] == [1.0, 1.0, 0.0]
    assert math.isnan(CURVE.accepts(math.nan))
    assert math.isnan(CURVE.value(math.nan))


def test_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    given = Calibration({"length": CURVE}, {"length": "length|v:1"}, {"length": {"n": 60}})
    write_calibration(given, path)
    found = read_calibration(path)
    assert found.curves == given.curves
    assert found.signatures == given.signatures
    assert found.facts == given.facts
    assert found.digest("length") == given.digest("length")
    other = Calibration({"length": Curve((0.1, 0.4, 0.8), (1.0, 2.5, 4.9), 1.0, 5.0, True, 0.5)})
    assert other.digest("length") != given.digest("length")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": [0.4, 0.1, 0.8]}, "do not rise"),
        ({"values": [1.0, 5.0, 2.0]}, "not monotone"),
        ({"values": [1.0, 2.0]}, "not pairs"),
        ({"scores": ["a", 1, 2]}, "a text instead of a number"),
        ({"scores": []}, "not pairs"),
    ],
)
def test_a_damaged_map_is_refused_in_one_line(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = tmp_path / "c.json"
    write_calibration(Calibration({"length": CURVE}), path)
    plain = json.loads(path.read_text())
    plain["dimensions"]["length"].update(change)
    path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match=words) as error:
        read_calibration(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", '{"format": "x"}', '{"format": "quintet-calibration-1", "dimensions": {}}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a calibration"):
        read_calibration(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_calibration(tmp_path / "none.json")


def test_the_metric_keeps_evidence_and_says_what_it_did() -> None:
    metric = Calibrated(Length(), "length", CURVE, "12345678")
    rows = metric.score([Example("abcdef"), Example("ab"), Example(" ")])
    assert rows[0]["length"].value == pytest.approx(CURVE.value(0.6))
    assert rows[0]["length"].parts == {"letters": 6.0, "uncalibrated": 0.6}
    assert [row["length.accepted"].value for row in rows] == [1.0, 0.0, 0.0]
    assert rows[2]["length"].value == 1.0
    assert rows[2]["length"].flags == ("empty output",)
    assert metric.signature == Length().signature + "|calibration:12345678"


def test_a_plan_goes_through_the_map_without_scoring_again(tmp_path: Path) -> None:
    from quintet.core.item import Item

    plan = Plan((Column("length", Length(), "length"), Column("other", Length(), "length")), {})
    known = Calibration({"length": CURVE}, {"length": Length().signature.replace("quintet:", "quintet:9.")})
    changed = calibrated_plan(plan, known)
    assert [c.label for c in changed.columns] == ["length", "length.accepted", "other"]
    items = [Item(Example("abcdef", id="1"))]
    store = DiskStore(tmp_path / "s.sqlite")
    list(run(plan.columns, items, store))
    tally = Tally()
    (row,) = run(changed.columns, items, store, tally=tally)
    store.close()
    assert (tally.computed, tally.known) == (0, 1)
    assert row.scores["other"].value == 0.6
    assert row.scores["length.accepted"].value == 1.0
    assert changed.columns[1].about.high == 1.0
    assert asked_dimensions(["length.accepted", "length", "x"]) == ["length", "x"]


def test_scores_of_another_metric_are_refused() -> None:
    plan = Plan((Column("length", Length(), "length"),), {})
    with pytest.raises(InputError, match="for other scores"):
        calibrated_plan(plan, Calibration({"length": CURVE}, {"length": "length|v:2|quintet:0.1.0"}))
    with pytest.raises(InputError, match="none of them is scored"):
        calibrated_plan(plan, Calibration({"x": CURVE}))
