"""Signals of a document on a tiny real judge: each window is read once for all, and no score depends on that."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models"))
pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

from tiny_judges import PlainEvaluator

from quintet import _api as api
from quintet.core.cache import fresh
from quintet.core.example import Example
from quintet.core.item import Item
from quintet.core.options import Options
from quintet.metrics.evaluator.judged_alone import Acceptability
from quintet.metrics.evaluator.judged_beside import DocumentFit
from quintet.metrics.evaluator.judged_support import Support
from quintet.metrics.evaluator.windows import SIZES, USUAL
from quintet.models import onnx_judge
from quintet.models.open import open_model

SOURCES = [" ".join(f"{who} sat on the {what}. a {what} barked at it." for what in ("mat", "house", "rain", "old dog"))
           for who in ("the cat", "Yes")]  # fmt: skip
OUTPUTS = ["the cat sat.", "a dog barked. the rain fell.", "Yes it was the old house.", "the mat"]
EXAMPLES = [Example(output, source) for source in SOURCES for output in OUTPUTS]


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return f"dir:{PlainEvaluator(rounded=False).export(tmp_path_factory.mktemp('shared'), 'fp32')}"


@pytest.fixture(autouse=True)
def tiny_windows(monkeypatch):
    monkeypatch.setitem(SIZES, "big", (24, 8))
    monkeypatch.setitem(SIZES, "small", (12, 4))
    fresh()


def table(spec, examples):
    metrics = [DocumentFit(model=spec), Support(model=spec, best=0), Acceptability(model=spec)]
    plan = api.make_plan(Options(metrics=metrics))
    rows = api.stream(plan, [Item(e) for e in examples], api.open_store(False))
    return [{label: (score.value, score.spans) for label, score in row.scores.items()} for row in rows]


def test_a_window_is_read_once_whoever_asks(spec):
    judge = open_model(spec, "judge")
    before = judge.contexts_read
    table(spec, EXAMPLES)
    windows = {w.text for e in EXAMPLES for w in Support()._windows(judge, e.source, USUAL)}
    assert len(windows) > 4
    assert judge.contexts_read - before == len(windows)


def test_a_row_alone_is_the_same_row(spec):
    together = table(spec, EXAMPLES)
    assert table(spec, EXAMPLES[::-1])[::-1] == together
    for example, row in zip(EXAMPLES, together, strict=True):
        fresh()
        assert table(spec, [example]) == [row]


def test_little_memory_changes_no_score(spec, monkeypatch):
    together = table(spec, EXAMPLES)
    fresh()
    monkeypatch.setattr(onnx_judge, "STATE_BYTES", 1)
    assert table(spec, EXAMPLES) == together
