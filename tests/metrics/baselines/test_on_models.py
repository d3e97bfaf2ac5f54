"""Baselines of the papers' tables that stand on models: what each asks, of which model, and what it makes of it."""

import pytest

from quintet import load
from quintet.core.example import Example
from quintet.errors import ModelError, UnknownName
from quintet.metrics.baselines.fed import follow_ups
from quintet.models.open import open_model

REPLY = Example("I like the old bridge. It is very old.", history=("Do you like it?",), source="The bridge is old.")


def test_fed_is_the_difference_of_mean_losses():
    said = follow_ups()["interesting"]
    model = open_model("fake:causal-lm", "causal-lm")
    context = (*REPLY.history, REPLY.output)
    losses = {
        kind: [-float(one.log_probs.mean()) for one in model.log_probs([(context, text) for text in texts])]
        for kind, texts in said.items()
    }
    expected = sum(losses["negative"]) / 3 - sum(losses["positive"]) / 3
    found = load("fed:model=fake:causal-lm,ask=interesting").score([REPLY])[0]["interesting"]
    assert found.value == pytest.approx(expected)
    assert len(follow_ups()) == 18
    relevant = load("fed:model=fake:causal-lm,ask=relevant").score([REPLY])[0]["relevant"]
    assert relevant.parts["positive"] == 0.0, "no positive follow-up: only the negative ones count"
    with pytest.raises(UnknownName, match="quality of fed"):
        load("fed:ask=funny")


def test_factcc_reads_the_first_class_as_correct_and_bundled_heads_the_last():
    own = load("factcc:model=fake:pair-classifier").score([REPLY])[0]["consistency"]
    turned = load("factcc:model=fake:pair-classifier,correct=last").score([REPLY])[0]["consistency"]
    assert own.value == pytest.approx(1 - turned.value)
    assert len(own.spans) == 2
    assert "|correct:first|" in load("factcc:model=hf:someone/factcc@main").signature
    assert "|correct:last|" in load("factcc").signature


def test_sum_qe_has_five_outputs_or_one_answer():
    five = "sum-qe:model=fake:pair-classifier-5"
    whole = load(five).score([REPLY])[0]["linguistic quality"]
    assert whole.value == pytest.approx(sum(whole.parts.values()) / 5)
    focus = load(f"{five},ask=Q4").score([REPLY])[0]["linguistic quality"]
    assert focus.value == whole.parts["focus"]
    with pytest.raises(ModelError, match="has 2 outputs, not SUM-QE's five"):
        load("sum-qe:model=fake:pair-classifier,ask=Q1").score([REPLY])


def test_bleurt_takes_the_best_reference():
    known = ("The bridge is old and I like it.", "No.")
    example = Example(REPLY.output, references=known)
    best = load("bleurt:model=fake:regressor").score([example])[0]["quality"].value
    alone = [Example(REPLY.output, references=(one,)) for one in known]
    assert best == max(row["quality"].value for row in load("bleurt:model=fake:regressor").score(alone))


def test_a_summary_of_the_source_helps_and_scores_more():
    source = "The council voted to repair the old bridge. Work begins in May. It costs two million euros."
    good, bad = Example("The council will repair the old bridge.", source=source), Example("My cat.", source=source)
    a, b = (row["relevance"].value for row in load("supert:model=fake:embedder").score([good, bad]))
    assert a > b
    model = open_model("fake:masked-lm", "masked-lm")
    sentence = "The council voted to repair the old bridge."
    with_it, without = (
        float(model.log_probs([(front, f" {sentence}")])[0].log_probs.mean()) for front in (good.output, ".")
    )
    one = load("likelihood-gain:model=fake:masked-lm,top=1").score([good])[0]["help"]
    assert one.value == pytest.approx(with_it - without)


def test_usl_h_stands_one_step_on_another_and_routes():
    fakes = "model_vup=fake:pair-classifier,model_nup=fake:pair-classifier,model_mlm=fake:masked-lm"
    whole = load(f"usl-h:{fakes}").score([REPLY])[0]["overall"]
    u, s, liked = whole.parts.values()
    assert whole.value == pytest.approx(0.33 * u + 0.33 * s + 0.34 * s * liked)
    assert load(f"usl-h:{fakes},quality=Engaging").score([REPLY])[0]["Engaging"].value == pytest.approx(liked)
