"""What every metric promises, for aligners D and R and the faithful modes too (the general test sees the default)."""

import math

import pytest

from quintet.metrics import metrics
from test_every_metric import BAD, EXAMPLES, GOOD

NAMES = [entry.name for entry in metrics if entry.name.startswith("ctc-")]
ROLES = {"E": "embedder", "D": "token-tagger", "R": "regressor"}


def build(name, aligner, mode):
    return metrics[name].build(aligner=aligner, mode=mode, model=f"fake:{ROLES[aligner]}")


@pytest.mark.parametrize("mode", ["quintet", "package", "paper"])
@pytest.mark.parametrize("aligner", ROLES)
@pytest.mark.parametrize("name", NAMES)
def test_promises(name, aligner, mode):
    metric = build(name, aligner, mode)
    rows = metric.score(EXAMPLES)
    backwards = metric.score(EXAMPLES[::-1])[::-1]
    for example, row, again in zip(EXAMPLES, rows, backwards, strict=True):
        (alone,) = metric.score([example])
        for dimension in metric.dimensions:
            score = row[dimension.name]
            assert math.isfinite(score.value)
            assert dimension.low <= score.value
            assert dimension.high is None or score.value <= dimension.high
            assert score.value == pytest.approx(again[dimension.name].value, abs=1e-6)
            assert score.value == pytest.approx(alone[dimension.name].value, abs=1e-6)
            for span in score.spans:
                assert 0 <= span.start < span.end <= len(example.text(span.field))
    good, bad = (next(iter(row.values())).value for row in metric.score([GOOD, BAD]))
    if mode == "quintet":
        assert good > bad


@pytest.mark.parametrize("mode", ["quintet", "package", "paper"])
def test_a_cut_is_reported_and_windows_cut_nothing(mode):
    long = [e for e in EXAMPLES if e.id == "long"]
    for aligner in ROLES:
        (row,) = build("ctc-consistency", aligner, mode).score(long)
        assert bool(row["consistency"].cut) == (mode != "quintet")
