"""A text of any length takes a bounded or linear time, and what nobody waits for is not computed."""

from __future__ import annotations

import random
import threading
import time
from itertools import combinations

import numpy as np
import pytest

import quintet
from quintet.core.example import Example
from quintet.core.stopping import Stopped, checkpoint, stopping_when
from quintet.metrics.gruen.redundancy import Redundancy, reach_of
from quintet.metrics.usr.likelihood import MaskedLikelihood
from quintet.models.masked import AT_ONCE, ONE_BY_ONE
from quintet.text.transport import MOST_POINTS, heaviest, transport

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"]


def prose(characters: int, seed: int = 1) -> str:
    draw = random.Random(seed)
    sentences = []
    while sum(map(len, sentences)) < characters:
        sentences.append(" ".join(draw.choices(WORDS, k=draw.randint(6, 20))).capitalize() + ".")
    return " ".join(sentences)[:characters]


@pytest.mark.parametrize("name", ["ter", "gruen-redundancy", "chrf", "rouge-l", "meteor", "cider"])
@pytest.mark.parametrize("kind", ["prose", "one word", "no blanks", "one sentence again and again"])
def test_f11_a_hundred_thousand_characters_are_scored_soon(name: str, kind: str) -> None:
    size = 100_000
    text = {
        "prose": prose(size),
        "one word": "word " * (size // 5),
        "no blanks": "x" * size,
        "one sentence again and again": "The old bridge over the river is closed today. " * (size // 47),
    }[kind]
    row = {"output": text, "references": [prose(size, 2)]}
    began = time.process_time()
    found = quintet.score([row], metrics=name, cache=False)
    assert time.process_time() - began < 20
    assert np.isfinite(found[name][0])


def test_f11_what_a_bound_left_out_is_said() -> None:
    long = prose(100_000)
    row = {"output": long, "references": [prose(100_000, 2)]}
    notes = quintet.score([row], metrics=["ter", "gruen-redundancy"], cache=False).to_dicts()[0]["notes"]
    assert any("shifts were counted as edits" in note for note in notes)
    assert any("apart were not compared" in note for note in notes)
    short = {"output": prose(500), "references": [prose(500, 2)]}
    assert "notes" not in quintet.score([short], metrics=["ter", "gruen-redundancy"], cache=False).to_dicts()[0]


def test_f11_ter_without_shifts_is_never_below_ter() -> None:
    from quintet.metrics.baselines.sacre import Ter

    words = prose(3000).split()
    reference = " ".join(words[:60])
    moved = " ".join(words[20:60] + words[:20])
    exact = Ter().score([Example(moved, references=(reference,))])[0]["ter"].value
    plain = Ter()._without_shifts(moved, [reference]).value
    assert exact <= plain
    assert Ter()._without_shifts(reference, [reference]).value == 0.0


def test_f11_ruling_out_a_shared_run_changes_no_flag() -> None:
    draw = random.Random(7)
    metric = Redundancy()

    def plain(a: str, b: str) -> str:
        checked = metric._may_share
        try:
            object.__setattr__(metric, "_may_share", lambda first, second: True)
            return metric.flags(a, b)
        finally:
            object.__delattr__(metric, "_may_share")
            assert metric._may_share == checked

    for _ in range(400):
        words = draw.choices(WORDS[:9], k=draw.randint(5, 14))
        other = list(words)
        for _ in range(draw.randint(0, 6)):
            other[draw.randrange(len(other))] = draw.choice(WORDS[:12])
        a, b = " ".join(words), " ".join(other[draw.randint(0, 2) :]) + "s" * draw.randint(0, 2)
        assert metric.flags(a, b) == plain(a, b)


def test_f11_the_reach_keeps_to_its_budget() -> None:
    for lengths in ([100] * 200, [100] * 2000, [10, 90_000, 10], [5] * 30):
        reach, n = reach_of(lengths, 4_000_000), len(lengths)
        spent = sum(lengths[i] + lengths[j] for i, j in combinations(range(n), 2) if j - i <= reach)
        assert spent <= 4_000_000 or reach == 1
        assert reach == n - 1 or spent + sum(lengths[i] + lengths[i + reach + 1] for i in range(n - reach - 1)) > 4e6


def test_f11_the_heaviest_points_are_carried() -> None:
    weights = [1.0, 3.0, 1.0, 2.0]
    assert heaviest(weights, 3).tolist() == [0, 1, 3]
    draw = np.random.default_rng(3)
    cost = draw.random((60, 50))
    full = transport(cost, np.ones(60), np.ones(50)).cost
    assert transport(cost[heaviest(np.ones(60))], np.ones(60), np.ones(50)).cost == full
    assert len(heaviest(np.ones(5 * MOST_POINTS))) == MOST_POINTS


def test_f11_passes_of_masked_likelihood_grow_with_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted on the bundled tokenizer, without running a model."""
    from quintet.models.masked import MaskedLikelihood as Masked
    from quintet.models.masked import Probe
    from quintet.models.open import open_model

    subwords = open_model("bundled:evaluator", "judge").subwords

    class Counting(Masked):
        def _run(self, probes: list[Probe]) -> list[np.ndarray]:
            self.passes = getattr(self, "passes", 0) + len(probes)
            return [np.full(len(probe.positions), -1.0, np.float32) for probe in probes]

    def passes(text: str) -> tuple[int, int]:
        model = Counting(subwords, "counting", 512, 1024)
        found = model.log_probs([(None, text)])[0]
        assert (found.log_probs == -1.0).all()  # every sub-word was asked for once and answered
        return model.passes, len(found.log_probs)

    assert passes("a " * 100) == (100, 100)
    few, count = passes("a " * 5000)
    assert count > ONE_BY_ONE
    assert few <= AT_ONCE * (count // 382 + 1)


def test_f01_work_is_estimated_before_it_begins() -> None:
    metric = MaskedLikelihood()
    small, large = (metric.work(Example("word " * n, history=("Hello.",))) for n in (20, 20_000))
    assert small < 2000
    assert 300_000 < large < 2_000_000
    assert Redundancy().work(Example("x" * 400)) == 100


# F1


def test_f01_what_nobody_waits_for_stops_at_the_next_checkpoint() -> None:
    asked = threading.Event()
    with stopping_when(asked.is_set):
        checkpoint()
        asked.set()
        with pytest.raises(Stopped):
            checkpoint()
    checkpoint()
    with stopping_when(lambda: True), pytest.raises(Stopped):
        quintet.score([{"output": prose(5000)}], metrics="gruen-redundancy", cache=False)
    with stopping_when(lambda: True), pytest.raises(Stopped):
        open_encoder().embed(["A text."], 2)


def open_encoder():  # type: ignore[no-untyped-def]
    from quintet.models.open import open_model

    return open_model("bundled:gte-small", "embedder")
