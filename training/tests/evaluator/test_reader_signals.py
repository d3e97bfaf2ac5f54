"""The research code reads a trained language model's heads as the product does, in the pass of its likelihoods."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from quintet.models.open import open_model
from quintet.text.content_words import STOP
from quintet_train.evaluator.language_texts import data_form, dialogue_form, summary_form

RESEARCH = Path(__file__).parents[3] / "research" / "evaluator"
pytestmark = pytest.mark.skipif(not RESEARCH.is_dir(), reason="the research code is not here")
DOCUMENT = ["The old school was closed.", "Helen Brand opened a new one on Monday."]
OUT = "The school was closed, and a new one was opened."
FACT, TURNS, SLOTS, INPUT = "Schools are closed on Sunday.", ["Hello.", "Is it open?"], "name[school]", "It was closed."
REFERENCES = ["A school was opened.", "The old school is closed."]
ITEMS = [
    {"doc": 0, "refs": REFERENCES},
    {"hist": TURNS, "fact": FACT},
    {"hist": TURNS},
    {"mr": SLOTS},
    {"inp": INPUT},
    {},
]


@pytest.fixture(scope="module")
def scoring():
    sys.path.insert(0, str(RESEARCH))
    try:
        from judge import score

        yield score
    finally:
        sys.path.remove(str(RESEARCH))


def scored(scoring, trained) -> dict[str, np.ndarray]:
    items = [{"id": n, "out": OUT, **item} for n, item in enumerate(ITEMS)]
    return scoring.lm_signals(items, [DOCUMENT], str(trained("judge-lm-heads").folder.parent), "", "lm.")


@pytest.fixture
def signals(scoring, trained) -> dict[str, np.ndarray]:
    return scored(scoring, trained)


def test_heads_are_read_in_every_form_as_the_product_reads_them(signals, trained) -> None:
    model = open_model(f"dir:{trained('judge-lm-heads').folder}", "causal-lm")
    document = summary_form(" ".join(DOCUMENT))
    asked = {
        (0, "doc", "con"): [document], (0, "doc", "cov"): [document], (0, "doc", "rel"): [document],
        (0, "doc", "cohd"): [document], (0, "alone", "acc"): ["TL;DR:"], (3, "alone", "coh"): ["TL;DR:"],
        (0, "refm", "adq"): [summary_form(one) for one in REFERENCES],
        (1, "dlg", "sel"): [dialogue_form(TURNS, FACT)], (1, "dlg", "gro"): [dialogue_form(TURNS, FACT)],
        (1, "h12", "sel"): [dialogue_form(TURNS)], (1, "f", "gro"): [dialogue_form([], FACT)],
        (2, "dlg", "sel"): [dialogue_form(TURNS)], (3, "mr", "d2t"): [data_form(SLOTS)],
        (4, "inp", "adq"): [summary_form(INPUT)], (5, "alone", "acc"): ["TL;DR:"],
    }  # fmt: skip
    for (item, form, head), contexts in asked.items():
        found = [one.judgement.logits[head] for one in model.log_probs([(text, f" {OUT}") for text in contexts])]
        assert signals[f"rd.{form}.{head}"][item] == pytest.approx(np.mean(found), abs=5e-3), (form, head)
    scores = model.log_probs([(document, f" {OUT}")])[0]
    assert signals["lm.doc.mean"][0] == pytest.approx(float(scores.log_probs.mean()), abs=1e-3)
    assert signals["rd.doc.nli"][0] == pytest.approx(float(scores.judgement.entailment[0]), abs=5e-3)
    words = [scores.token(place).strip().lower() for place in range(len(scores))]
    kept = [word not in STOP and any(map(str.isalnum, word)) for word in words]
    assert any(kept)
    assert not all(kept)
    # The tiny tokenizer's line break has a blank of its own before it.
    wanted = scores.judgement.support[: len(kept)][kept]
    assert signals["rd.doc.words"][0] == pytest.approx(float(wanted.mean()), abs=5e-3)


def test_a_form_that_an_item_lacks_has_no_value(signals) -> None:
    assert np.isnan(signals["rd.doc.con"][1:]).all()
    assert np.isnan(signals["rd.f.gro"][[0, 2, 3, 4, 5]]).all()
    assert not np.isnan(signals["rd.alone.acc"]).any()


def test_half_precision_of_products_changes_little(scoring, trained, signals, monkeypatch) -> None:
    """As on a GPU: weights stay float32, and the rounded network chooses what to compute in."""
    monkeypatch.setattr(scoring, "AC", lambda: torch.autocast("cpu", torch.bfloat16))
    half = scored(scoring, trained)
    assert half.keys() == signals.keys()
    for name in ("rd.doc.con", "rd.doc.words", "rd.dlg.sel", "lm.doc.mean", "lm.h12.mean"):
        assert not np.array_equal(half[name], signals[name], equal_nan=True)
        assert np.allclose(half[name], signals[name], atol=0.05, equal_nan=True)


def test_without_heads_nothing_is_read(scoring, trained) -> None:
    items = [{"id": 0, "out": OUT, "doc": 0}]
    found = scoring.lm_signals(items, [DOCUMENT], str(trained("judge-lm").folder.parent), "", "lm.")
    assert "lm.doc.mean" in found
    assert not [name for name in found if name.startswith("rd.")]
