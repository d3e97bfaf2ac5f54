"""The bundled evaluator and language model themselves: they open, know right from wrong, give the same bits always."""

import numpy as np
import pytest

from quintet.core.cache import fresh
from quintet.models import catalog
from quintet.models.open import identity, open_model

DOCUMENT = (
    "The council met on Monday. It decided to close the old bridge in May, because two of its pillars had cracked."
)
TRUE, FALSE = "The council will close the old bridge.", "The council will open a new airport."
GOLDEN_HEADS = {"con": 2.1116, "acc": 1.207, "sel": 1.6933}
GOLDEN_MEAN = -1.4419
GOLDEN_READ = {TRUE: {"con": 2.691, "adq": 1.9, "acc": 0.808}, FALSE: {"con": -5.23, "adq": -2.383, "acc": 0.449}}
"""Heads of the language model, of the same texts."""
JUDGE, LM = "bundled:evaluator", "bundled:judge-lm"


@pytest.fixture(scope="module")
def judged():
    pairs = [(TRUE, (DOCUMENT,)), (FALSE, (DOCUMENT,)), ("The cat sat on the mat.", ()), ("cat the mat on sat the", ())]
    return open_model(JUDGE, "judge").score(pairs)


def test_heads_know_right_from_wrong(judged):
    true, false, fluent, garbled = judged
    assert true.logits["con"] > false.logits["con"] + 1
    assert true.entailment[0] > false.entailment[0]
    assert fluent.logits["acc"] > garbled.logits["acc"] + 1
    assert true.support.mean() > false.support.mean()


def test_every_head_that_questions_ask_for_is_there():
    from quintet.models.adapters import known_questions

    heads = {head for question in known_questions().values() for head, _ in question.heads}
    judge = open_model(JUDGE, "judge")
    assert heads <= set(judge.labels)
    assert set(judge.aliases.values()) <= set(judge.labels)
    assert judge.identity == identity(JUDGE)


def test_no_bit_of_a_judgement_depends_on_the_company(judged):
    judge = open_model(JUDGE, "judge")
    fresh()
    other = judge.score([(FALSE, (DOCUMENT,)), (FALSE, (DOCUMENT * 3,)), ("Yes.", ()), (TRUE, (DOCUMENT,))])
    assert np.array_equal(other[3].pooled, judged[0].pooled)
    assert other[0].logits == judged[1].logits


def test_replies_orders_and_masked_words():
    answer = open_model(f"{JUDGE}#sel", "pair-classifier")
    right, wrong = answer.score(
        [("Do you like dogs?", "Yes, I have two of them."), ("Do you like dogs?", "Shares fell by two per cent.")]
    )
    assert right.values[1] > wrong.values[1]
    first, swapped = open_model(JUDGE, "sentence-order").score(
        [("A man came into a bank with a gun.", "He took the money and fled."),
         ("He took the money and fled.", "A man came into a bank with a gun.")]
    )  # fmt: skip
    assert first.value > swapped.value
    plain, garbled = open_model(JUDGE, "masked-lm").log_probs(
        [(None, "The cat sat on the mat."), (None, "Mat the on cat sat the.")]
    )
    assert plain.log_probs.mean() > garbled.log_probs.mean() + 1


def test_the_language_model_prefers_what_the_document_says():
    model = open_model(LM, "causal-lm")
    pairs = [(f"{DOCUMENT}\n\nTL;DR:", f" {TRUE}"), (f"{DOCUMENT}\n\nTL;DR:", f" {FALSE}"), ("TL;DR:", f" {TRUE}")]
    true, false, alone = model.log_probs(pairs)
    assert true.log_probs.mean() > false.log_probs.mean() + 0.5
    assert true.log_probs.mean() > alone.log_probs.mean() + 0.5
    fresh()
    (again,) = model.log_probs(pairs[:1])
    assert np.array_equal(again.log_probs, true.log_probs)


def test_golden_values():
    """On another kind of processor last bits flip roundings: a head moves by .02, seldom by .3 (docs/models.md)."""
    (true,) = open_model(JUDGE, "judge").score([(TRUE, (DOCUMENT,))])
    golden = {name: true.logits[name] for name in ("con", "acc", "sel")}
    assert golden == pytest.approx(GOLDEN_HEADS, abs=0.25)
    (scores,) = open_model(LM, "causal-lm").log_probs([(f"{DOCUMENT}\n\nTL;DR:", f" {TRUE}")])
    # A last bit can flip a rounding, and thirty layers make it larger: .14 for a sub-word, less for a mean of ten.
    assert float(scores.log_probs.mean()) == pytest.approx(GOLDEN_MEAN, abs=0.12)


def test_golden_values_of_the_heads_of_the_language_model():
    model = open_model(LM, "causal-lm")
    asked = [(f"{DOCUMENT}\n\nTL;DR:", f" {text}") for text in GOLDEN_READ]
    true, false = (scores.judgement for scores in model.log_probs(asked))
    for found, golden in zip((true, false), GOLDEN_READ.values(), strict=True):
        assert {name: found.logits[name] for name in golden} == pytest.approx(golden, abs=0.5)
    assert true.entailment[0] > 0.5 > false.entailment[0]
    # "new airport" against "close the old bridge"; the article is not wrong.
    assert true.support[3:7].min() > 0.7 > false.support[5:7].max()


def test_weights_stay_within_their_limits():
    sizes = {entry.name: entry.size for entry in catalog.bundled()}
    assert sizes["evaluator"] <= 40_000_000
    assert sizes["judge-lm"] <= 95_000_000
