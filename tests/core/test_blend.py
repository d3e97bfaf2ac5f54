"""Blends: the closed form, stored constants, percentiles, and one line for each mistake in a file."""

import math
from pathlib import Path

import pytest

import quintet.metrics  # fills the table of metrics
from quintet.core.blend import TAIL, Blend, percentile
from quintet.core.example import Example
from quintet.errors import InputError, MissingField, UnknownName

assert quintet.metrics

FILE = """
[pair]
question = "Is it long and various?"
intercept = 0.5
signals = [
  { metric = "response-length", label = "length", shift = 4.0, scale = 2.0, weight = 3.0 },
  { metric = "distinct-1", label = "variety", shift = 0.5, scale = 0.5, clip = [0.0, 0.5], weight = -1.0 },
]
[ranked]
question = "How long is it among others?"
signals = [{ metric = "response-length" }]
levels = [0.0, 2.0, 4.0, 8.0, 8.0]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def test_the_closed_form(file: Path) -> None:
    blend = Blend(recipe=f"{file}#pair")
    (row,) = blend.score([Example("one two three four five six")])
    assert row["pair"].value == pytest.approx(0.5 + 3.0 * (6 - 4) / 2 - min(max((1 - 0.5) / 0.5, 0), 0.5))
    assert row["pair"].parts == {"length": 6.0, "variety": 1.0}


def test_levels_give_the_share_below(file: Path) -> None:
    blend = Blend(recipe=f"{file}#ranked")
    values = [blend.score([Example(" ".join("w" * n))])[0]["ranked"].value for n in (1, 2, 3, 6, 8, 20)]
    assert values == pytest.approx([0.125, 0.25, 0.375, 0.625, 1.0, 1.0], abs=1.01 * TAIL)
    assert values == sorted(set(values))
    assert (blend.dimensions[0].low, blend.dimensions[0].high) == (0.0, 1.0)


def test_percentile_is_monotone_and_defined_at_ties() -> None:
    levels = [0.0, 1.0, 1.0, 1.0, 2.0]
    values = [percentile(x / 10, levels) for x in range(-50, 60)]
    assert values == sorted(set(values))
    assert values[0] > 0.0
    assert values[-1] < 1.0
    assert math.isnan(percentile(math.nan, levels))


def test_a_changed_constant_changes_the_signature(tmp_path: Path) -> None:
    signatures = set()
    for shift in ("4.0", "5.0"):
        path = tmp_path / f"{shift}.toml"
        path.write_text(FILE.replace("shift = 4.0", f"shift = {shift}"))
        signatures.add(Blend(recipe=f"{path}#pair").signature.split("|")[2])
    assert len(signatures) == 2


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("[a]\nquestion = 'x?'\n", InputError, "signals"),
        ("[a]\nquestion = 'x?'\nsignal = []\n", UnknownName, "did you mean signals"),
        ("[a]\nquestion = 'x?'\nsignals = [{ metric = 'rogue-1' }]\n", UnknownName, "did you mean rouge-1"),
        ("[a]\nquestion = 'x?'\nsignals = [{ metric = 'rouge-1', wieght = 2 }]\n", UnknownName, "did you mean weight"),
        ("[b]\nquestion = 'x?'\n", UnknownName, "'a'"),
        ("[a\n", InputError, "not valid TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, error: type[Exception], says: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(error, match=says):
        _ = Blend(recipe=f"{path}#a").signals


LENIENT = """
[kind]
question = "Is it long and like its reference?"
needs = []
either = ["source", "references"]
signals = [
  { metric = "response-length", label = "length", shift = 4.0, scale = 2.0, weight = 0.5 },
  { metric = "evaluator-overlap", label = "overlap", shift = 0.5, scale = 0.25, weight = 0.5 },
]
"""


def test_a_signal_that_cannot_be_had_adds_nothing_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kind.toml"
    path.write_text(LENIENT)
    blend = Blend(recipe=f"{path}#kind")
    whole, without = (
        blend.score([Example("one two three four five six", source=source, references=("x",), id="7")])[0]["kind"]
        for source in ("one two three", None)
    )
    assert whole.value == pytest.approx(0.5 * 1.0 + 0.5 * (2 / 5 - 0.5) / 0.25)
    assert whole.parts["overlap adds"] == pytest.approx(0.5 * (2 / 5 - 0.5) / 0.25)
    assert not whole.flags
    assert without.value == pytest.approx(0.5)
    assert without.flags == ("without overlap (no source)",)
    assert blend.lacks({"output", "source"}) == []
    assert blend.lacks({"output", "history"}) == ["source", "references"]
    with pytest.raises(MissingField, match="source"):
        blend.score([Example("one two")])
