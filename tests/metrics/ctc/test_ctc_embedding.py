"""Aligner E against a plain twin, on the fake encoder and on a random BERT."""

import math

import ctc_twin as twin
import pytest
from tiny_models import build

from quintet.core.example import Example
from quintet.metrics import metrics
from quintet.models.open import open_model
from quintet.text.content_words import ENGLISH


def vectors(spec, text, layer):
    return [v.tolist() for v in open_model(spec).embed([text], layer)[0].inner.vectors]


@pytest.fixture(scope="module", params=["fake", "bert"])
def spec(request, tmp_path_factory):
    if request.param == "fake":
        return "fake:embedder"
    return f"dir:{build(tmp_path_factory.mktemp('e'), 'bert', 'BertModel')}"


def alignment(spec, a, b, layer=3):
    return twin.align_embeddings(vectors(spec, a, layer), vectors(spec, b, layer))


def score(name, examples, **parameters):
    rows = metrics[name].build(**parameters).score(examples)
    return [next(iter(row.values())) for row in rows]


def test_aspects_of_means_equal_the_twin(spec, examples):
    settings = {"model": spec, "layer": 3, "center": False, "unit": "subword"}
    for e, consistency, relevance, preservation in zip(
        examples,
        score("ctc-consistency", examples, **settings),
        score("ctc-relevance", examples, **settings),
        score("ctc-preservation", examples, **settings),
        strict=True,
    ):
        p = twin.mean(alignment(spec, e.output, e.source))
        covered = twin.mean([twin.mean(alignment(spec, r, e.output)) for r in e.references])
        r = twin.mean(alignment(spec, e.source, e.output))
        assert consistency.value == pytest.approx(p, abs=1e-5)
        assert relevance.value == pytest.approx(p * covered, abs=1e-5)
        assert preservation.value == pytest.approx(twin.harmonic(p, r), abs=1e-5)


def test_one_by_one_equals_all_at_once(spec, examples):
    for name in ("ctc-consistency", "ctc-relevance", "ctc-engagingness", "ctc-dialogue"):
        together = score(name, examples, model=spec, layer=3)
        apart = [score(name, [e], model=spec, layer=3)[0] for e in examples]
        assert [s.value for s in together] == pytest.approx([s.value for s in apart], abs=1e-5)


def test_the_sum_leaves_out_listed_words_and_by_default_marks(examples):
    """The stop-word sum of the facts: 179 words, compared stripped and in lower case."""
    e = Example("The cat, it sat.", context="A cat sat")
    settings = {"model": "fake:embedder", "layer": 0}
    values = dict(zip(["the", "cat", ",", "it", "sat", "."], alignment("fake:embedder", e.output, e.context, 0)))  # noqa: B905
    listed = sum(v for word, v in values.items() if word not in ENGLISH)
    assert score("ctc-groundedness", [e], stopwords="drop-listed", **settings)[0].value == pytest.approx(listed)
    words = values["cat"] + values["sat"]
    assert score("ctc-groundedness", [e], **settings)[0].value == pytest.approx(words)
    assert words == pytest.approx(2.0, abs=1e-6)
    everything = score("ctc-groundedness", [e], stopwords="keep", **settings)[0].value
    assert everything == pytest.approx(sum(values.values()))
    # Words without a sign of a blank, as BERT writes them, are looked up the same way in the paper's run.
    assert score("ctc-groundedness", [e], stopwords="drop-unstripped", **settings)[0].value == pytest.approx(listed)


def test_only_stop_words_give_zero():
    for aggregate in ("mean", "sum"):
        found = score("ctc-groundedness", [Example("it is", context="x")], model="fake:embedder", aggregate=aggregate)
        assert found[0].value == 0.0


def test_evidence_names_the_word_and_its_support(examples):
    for span in score("ctc-consistency", examples[:1], model="fake:embedder", layer=0)[0].spans:
        field, start, end = span.other
        word = examples[0].output[span.start : span.end].lower()
        if math.isclose(span.value, 1.0, abs_tol=1e-4):
            assert examples[0].text(field)[start:end].lower() == word


def test_evidence_of_references_and_inputs(examples):
    found = score("ctc-informativeness", examples[:1], model="fake:embedder", layer=0)[0]
    text = examples[0].text("references")
    words = [text[s.start : s.end] for s in found.spans]
    assert words == ["The", "cat", "sat", "on", "the", "mat", "while", "rain", "fell", ".", "A", "cat", "sat", "."]
    both = score("ctc-preservation", examples[:1], model="fake:embedder", layer=0)[0]
    assert {s.field for s in both.spans} == {"output", "source"}
