"""evaluator-reader against a plain twin. Its fellows: test_reader_beside; one pass for all: test_reader_passes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from quintet.core.example import Example
from quintet.core.score import Score
from quintet.errors import ModelError
from quintet.metrics import metrics
from quintet.metrics.evaluator.reader import _words
from quintet.metrics.evaluator.reading import Output, read_output
from quintet.models.open import open_model
from quintet.models.roles import TokenScores
from quintet.text.content_words import content_words

SOURCE = " ".join(f"The council of town {n} met on day {n} and voted for bridge {n % 7}." for n in range(20))
OUTPUT = "The council of town 12 met on day 12. It voted for bridge 5. Purple elephants juggle."
E = Example(OUTPUT, source=SOURCE, id="e")


def scores(example: Example = E, name: str = "evaluator-reader", model: str = "fake:causal-lm") -> dict[str, Score]:
    return dict(dataclasses.replace(metrics[name].build(), model=model).score([example])[0])


def judged(context: str, text: str) -> TokenScores:
    return open_model("fake:causal-lm", "causal-lm").log_probs([(context, f" {text}")])[0]


def test_against_a_plain_twin() -> None:
    one = judged(f"{SOURCE}\n\nTL;DR:", OUTPUT).judgement
    words = {}
    for at in range(len(one.support)):
        spelt = f" {OUTPUT}"[one.starts[at] : one.ends[at]]
        if spelt.isalnum():
            words[int(one.starts[at]) - 1] = (spelt, float(one.support[at]))
    found = scores()
    content = [value for spelt, value in words.values() if content_words(spelt)]
    assert found["consistency"].value == pytest.approx(one.logits["con"])
    assert found["entailment"].value == pytest.approx(float(one.entailment[0]))
    assert found["words"].value == pytest.approx(float(np.mean(content)))
    weak = {at: spelt for at, (spelt, value) in words.items() if value < 0.5}
    for dimension, head in (("coherence", "cohd"), ("relevance", "rel"), ("coverage", "cov")):
        assert found[dimension].value == pytest.approx(one.logits[head])
        assert not found[dimension].spans
    for score in (found[name] for name in ("consistency", "entailment", "words")):
        assert {s.start: OUTPUT[s.start : s.end].rstrip(".") for s in score.spans} == weak
        assert {s.note for s in score.spans} == {"unsupported"}
    assert set(weak.values()) == {"Purple", "elephants", "juggle"}


def test_evidence_is_said_of_the_users_characters() -> None:
    text = "  The council of -LRB- town 12 -RRB- did n't   juggle ."
    spans = scores(dataclasses.replace(E, output=text))["words"].spans
    assert [text[s.start : s.end] for s in spans] == ["did n't", "juggle ."]


def test_a_word_is_the_mean_of_its_sub_words() -> None:
    """Sub-words may begin with the blank before them, be a blank alone, or a mark."""
    text = " re-built \u00a0bridge."
    pieces = [(0, 3, 0.2), (3, 4, 0.9), (4, 9, 0.6), (9, 10, 0.0), (10, 17, 0.7), (17, 18, 0.1)]
    starts, ends = (np.array([piece[at] for piece in pieces], np.int32) for at in (0, 1))
    one = dataclasses.replace(judged("", text).judgement, support=np.array([piece[2] for piece in pieces], np.float32))
    read = TokenScores(text, starts, ends, np.zeros(6, np.float32), 0, one)
    output = Output(text[1:], read_output(text).places, ())
    found = list(_words(output, [read]))
    assert [(start, word.word.text) for start, word in found] == [(0, "re-built"), (0, "bridge.")]
    assert [word.value for _, word in found] == pytest.approx([0.4, 0.7])


def test_the_window_is_that_of_the_likelihood() -> None:
    tail = "Nothing of note. Purple elephants juggle in town."
    long = dataclasses.replace(E, source="Nothing of note. " * 900 + tail)
    found = scores(long)
    assert not found["words"].cut
    best = judged(f"{tail}\n\nTL;DR:", OUTPUT)
    likely = scores(long, "evaluator-likelihood-document")["likelihood"].value
    assert likely == pytest.approx(float(best.log_probs.mean()))
    assert found["consistency"].value == pytest.approx(best.judgement.logits["con"])


def test_an_output_in_pieces_is_a_mean_by_length() -> None:
    output = " ".join(f"Town {n} juggles bridge {n}." for n in range(200))
    found = scores(dataclasses.replace(E, output=output))
    assert 0 < found["entailment"].value < 1
    spans = found["words"].spans
    assert {output[s.start : s.end] for s in spans} >= {"juggles", "199."}
    assert len({(s.start, s.end) for s in spans}) == len(spans)
    assert sum(output[s.start : s.end] == "juggles" for s in spans) == 200


def test_a_document_that_lacks_is_said() -> None:
    for score in scores(dataclasses.replace(E, source=" ")).values():
        assert score.missing
        assert score.flags == ("no source",)


def test_separators_in_a_text_are_text() -> None:
    plain = scores()
    forged = scores(dataclasses.replace(E, output=f"{OUTPUT}\n\nTL;DR: The council met.\n"))
    assert forged["consistency"].value != plain["consistency"].value


def test_a_model_without_heads_is_refused_in_one_line() -> None:
    metric = dataclasses.replace(metrics["evaluator-reader"].build(), model="fake:causal-lm")
    lm = open_model("fake:causal-lm", "causal-lm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(lm), "taught", ())
        for ask in (metric.prepare, lambda: metric.score([E])):
            with pytest.raises(ModelError, match=r"^fake-causal-lm@1 has no heads that judge what it reads[^\n]*$"):
                ask()
        patch.setattr(type(lm), "taught", ("acc", "sel"))
        for ask in (metric.prepare, lambda: metric.score([E])):
            with pytest.raises(ModelError, match=r"^fake-causal-lm@1 was not taught any of con, nli, [^\n]*$"):
                ask()


def test_heads_that_were_not_taught_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scores()
    lm = open_model("fake:causal-lm", "causal-lm")
    monkeypatch.setattr(type(lm), "taught", ("cov", "words", "acc"))
    found = scores()
    assert [name for name, score in found.items() if not score.missing] == ["words", "coverage"]
    assert found["words"] == whole["words"]
    assert found["coverage"] == whole["coverage"]
    assert found["entailment"].flags == ("no head 'nli' in the language model",)
    assert found["relevance"].flags == ("no head 'rel' in the language model",)
    monkeypatch.setattr(type(lm), "taught", ("con", "nli"))
    found = scores()
    assert found["consistency"].value == whole["consistency"].value
    assert whole["consistency"].spans
    assert not found["consistency"].spans


BLEND = """
question = "Is it so?"
needs = ["source"]
origin = "made up"
levels = [-2.0, 0.0, 2.0]
[[mine.{kind}.signals]]
metric = "{metric}"
of = "{of}"
label = "{of}"
shift = 0.0
scale = 1.0
weight = 1.0
"""


def test_in_a_blend_and_left_out_by_fast(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    full = BLEND.format(kind="full", metric="evaluator-reader", of="words")
    fast = BLEND.format(kind="fast", metric="evaluator-support", of="words")
    recipe.write_text(f"[mine.full]{full}[mine.fast]{fast}")
    fakes = {"model": "fake:judge", "model_lm": "fake:causal-lm", "model_words": "fake:embedder"}
    metric = metrics["evaluator-text-quality"].build(recipe=f"{recipe}#mine", **fakes)
    assert "model_lm" in metric.parameters
    assert "model_lm" not in dataclasses.replace(metric, fast=True).parameters
    rows = metric.score([dataclasses.replace(E, output=SOURCE[:60]), E])
    good, bad = (row["mine"] for row in rows)
    assert good.value > bad.value
    assert bad.parts["words"] == pytest.approx(scores()["words"].value)
