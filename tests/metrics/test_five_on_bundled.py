"""Every metric of the five systems on the models that come along, by command and in Python, no settings."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import quintet
from quintet.cli.app import app
from quintet.metrics import metrics
from quintet.models.catalog import bundled

HERE = Path(__file__).parents[2] / "examples"
FAMILIES = ("ctc", "usr", "unieval", "gruen", "im2")
NAMES = [entry.name for entry in metrics if entry.name.partition("-")[0] in FAMILIES]
NEEDED = {"evaluator", "judge-lm", "dialogue-nuf", "dialogue-ies"}
MISSING = sorted(NEEDED - {entry.name for entry in bundled()})

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not bundled here: {', '.join(MISSING)}")

ALIGNERS = [f"{name}:aligner={kind}" for name in NAMES if name.startswith("ctc-") for kind in ("D", "R")]


def example_file(name: str) -> Path:
    """The file of examples/ that has what the metric needs."""
    needs = set(quintet.load(name).fields) - {"output"}
    dialogue = name.startswith(("usr", "im2")) or needs & {"history", "context"}
    return HERE / ("dialogue.jsonl" if dialogue else "summarization.jsonl")


@pytest.mark.parametrize("name", [*NAMES, *ALIGNERS])
def test_it_scores_an_example_file_with_no_settings(name: str, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    command = ["score", str(example_file(name)), "--metric", name, "--limit", "2", "--no-cache", "--evidence"]
    done = CliRunner().invoke(app, [*command, "--out", str(out)])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 2
    metric = quintet.load(name)
    labels = [name if len(metric.dimensions) == 1 else f"{name}/{d.name}" for d in metric.dimensions]
    for row in rows:
        for label in labels:
            assert math.isfinite(row[label]), label


@pytest.mark.parametrize("name", ["usr", "gruen", "im2", "im2-competition", "im2-nuf", "im2-cr", "im2-ies"])
def test_sub_scores_are_the_evidence(name: str) -> None:
    metric = quintet.load(name)
    example = quintet.Example(
        "Yes, the bridge is closed, so we walk. It will open in May.",
        context="The bridge is closed until May.",
        history=("Hi!", "Is the bridge closed?"),
    )
    score = metric.score([example])[0][metric.dimensions[0].name]
    assert len(score.parts) >= len(metric.ingredients)  # type: ignore[attr-defined]
    assert all(math.isfinite(value) for value in score.parts.values())


def test_python_in_three_lines() -> None:
    metric = quintet.load("unieval-summarization")
    rows = metric.score([quintet.Example("The cat sat.", source="The cat sat on the mat.", references=("A cat sat.",))])
    assert set(rows[0]) == {"coherence", "consistency", "fluency", "relevance", "overall"}


GOOD = "The council voted to repair the bridge. Work on it begins in May."
BAD = "Council voted to to repair bridge the. In work begins it May on."


@pytest.mark.parametrize("name", ["gruen", "gruen-grammaticality", "im2-vup", "im2-nuf5"])
def test_garbled_text_scores_lower(name: str) -> None:
    metric = quintet.load(name)
    good, bad = metric.score([quintet.Example(text, history=("What is new?",)) for text in (GOOD, BAD)])
    dimension = metric.dimensions[0].name
    assert good[dimension].value > bad[dimension].value


@pytest.mark.parametrize("name", ["usr", "usr-dr-context", "im2", "im2-grade", "im2-cr"])
def test_a_reply_to_something_else_scores_lower(name: str) -> None:
    metric = quintet.load(name)
    history = ("My sister just had a baby and I can not wait to meet him!",)
    replies = ("Congratulations! When are you going to see the baby?", "The train to Leeds leaves from platform nine.")
    fact = "A newborn baby sleeps up to seventeen hours a day."
    good, bad = metric.score([quintet.Example(text, history=history, context=fact) for text in replies])
    dimension = metric.dimensions[0].name
    assert good[dimension].value > bad[dimension].value
