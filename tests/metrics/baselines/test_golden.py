"""Numbers that must not move without a new version. Where `origin` names another library, it made them."""

import json
from pathlib import Path

import pytest

from quintet.core.example import Example
from quintet.metrics import metrics

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "baselines" / "scores.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", GOLDEN["metrics"])
def test_golden(name):
    examples = [
        Example(e["output"], source=e["source"], references=tuple(e["references"]), history=tuple(e["history"]))
        for e in GOLDEN["examples"]
    ]
    entry = metrics[name]
    fake = "fake:" + getattr(entry.build(), "model_role", "embedder")
    metric = entry.build(**({"model": fake} if hasattr(entry.build(), "model") else {}))
    (dimension,) = metric.dimensions
    found = [row[dimension.name].value for row in metric.score(examples)]
    assert found == pytest.approx(GOLDEN["metrics"][name]["values"], abs=2e-6)


def test_every_baseline_has_golden_values():
    baselines = {entry.name for entry in metrics if str(entry.target).startswith("quintet.metrics.baselines")}
    assert baselines == set(GOLDEN["metrics"])
