"""Readers on a tiny real language model: each costs the pass of its likelihood, and no sub-word more."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models"))
pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

from tiny_judges import QUESTIONS, PlainLanguageModel

from quintet.core.cache import fresh
from quintet.core.example import Example
from quintet.metrics import metrics
from quintet.models.open import open_model

DOCUMENT = "The cat sat on the mat, and the dog looked at it."
OUTPUTS = ("A dog barked.", "the cat was there all day long, and the dog looked at it", "x", "the cat sat " * 30)
EXAMPLES = [
    Example(
        output,
        source=source,
        context="Dogs bark at cats.",
        references=("The dog looked at the cat.", DOCUMENT),
        history=("Is it raining?", "No, the cat is on the mat."),
        id=f"{at}-{len(source)}",
    )
    for at, output in enumerate(OUTPUTS)
    for source in (DOCUMENT, f"{DOCUMENT} A cat barked. " * 12)
]
SHARED = {
    "reader": ("likelihood-document",),
    "reader-alone": ("likelihood-nothing",),
    "reader-dialogue": ("likelihood-dialogue",),
    "reader-record": ("likelihood-record",),
    "reader-input": ("likelihood-document",),
}


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    twin = PlainLanguageModel(rounded=False, heads=True)
    return f"dir:{twin.export(tmp_path_factory.mktemp('readers'), taught=(*QUESTIONS, 'nli', 'words'))}"


def cost(spec, *names):
    """Sub-words that metrics read one after the other, and their rows."""
    fresh()
    model = open_model(spec, "causal-lm")
    before = model.tokens_read
    rows = {name: metrics[f"evaluator-{name}"].build(model=spec).score(EXAMPLES) for name in names}
    return model.tokens_read - before, rows


@pytest.mark.parametrize(("name", "others"), SHARED.items())
def test_reader_and_likelihood_cost_one_pass(spec, name, others):
    alone, first = cost(spec, name)
    assert alone > 0
    for order in ((name, *others), (*others, name)):
        together, rows = cost(spec, *order)
        assert together == alone
        assert rows[name] == first[name]
    assert cost(spec, *others)[0] == alone


def test_the_gain_pays_for_the_readers_of_a_document_and_alone(spec):
    gain, _ = cost(spec, "gain-document")
    assert cost(spec, "gain-document", "reader", "reader-alone", "reader-input")[0] == gain
    assert cost(spec, "gain-fact")[0] == cost(spec, "gain-fact", "reader-dialogue")[0]


def test_a_reference_is_read_where_a_document_is(spec):
    """The second reference is the document of half of the examples."""
    apart = cost(spec, "reader-reference")[0] + cost(spec, "reader")[0]
    assert cost(spec, "reader-reference", "reader")[0] < apart


@pytest.mark.parametrize("name", [*SHARED, "reader-reference"])
def test_a_row_alone_is_the_same_row(spec, name):
    _, rows = cost(spec, name)
    metric = metrics[f"evaluator-{name}"].build(model=spec)
    for example, row in list(zip(EXAMPLES, rows[name], strict=True))[::3]:
        fresh()
        assert metric.score([example]) == [row]


def test_readers_say_what_the_heads_say(spec):
    example = EXAMPLES[0]
    model = open_model(spec, "causal-lm")
    contexts = {
        "reader": f"{DOCUMENT}\n\nTL;DR:",
        "reader-alone": "TL;DR:",
        "reader-dialogue": "Dogs bark at cats.\n\n- Is it raining?\n- No, the cat is on the mat.\n-",
        "reader-record": f"{DOCUMENT}\n=>",
        "reader-input": f"{DOCUMENT}\n\nTL;DR:",
    }
    for name, context in contexts.items():
        metric = metrics[f"evaluator-{name}"].build(model=spec)
        (read,) = model.log_probs([(context, f" {example.output}")])
        (row,) = metric.score([example])
        for dimension, head in zip(metric.dimensions, metric.heads, strict=True):
            if head in QUESTIONS:
                assert row[dimension.name].value == read.judgement.logits[head]
