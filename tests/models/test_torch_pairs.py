"""Heads over pairs equal Hugging Face's own, one pair at a time."""

import numpy as np
import pytest
from tiny_models import POSITIONS, build, hugging_face, torch

from quintet.errors import ModelError
from quintet.models.open import open_model
from quintet.models.roles import FIRST_WHOLE, Limits, PairModel

PAIRS = [
    ("The cat sat on the mat.", "A dog barked."),
    ("Yes", None),
    ("", ""),
    ("unbelievable", "The cat sat on the mat, and the dog looked at it while rain fell. " * 3),
    ("A dog barked at the old house and the cat. " * 4, "No"),
    ("The cat sat on the mat.", "A dog barked."),
]
KINDS = {"bert": "Bert", "roberta": "Roberta", "albert": "Albert"}


def plain_pair(tokenizer, kind, first, second, total=POSITIONS, strategy="longest_first"):
    """Hugging Face's ids for each text, shortened one by one, in the tokenizer's own frame."""
    a = tokenizer(first, add_special_tokens=False)["input_ids"]
    b = [] if second is None else tokenizer(second, add_special_tokens=False)["input_ids"]
    frame = 2 if second is None else (4 if kind == "roberta" else 3)
    while len(a) + len(b) > total - frame:
        (a if (len(a) > len(b) and strategy == "longest_first") or not b else b).pop()
    start, end = tokenizer("")["input_ids"]
    if second is None:
        return [start, *a, end], [0] * (len(a) + 2)
    middle = [end, end] if kind == "roberta" else [end]
    types = [0] * (1 + len(a) + len(middle)) + [1] * (len(b) + 1)
    return [start, *a, *middle, *b, end], types


def feed(kind, ids, types):
    inputs = {"input_ids": torch.tensor([ids])}
    return inputs if kind == "roberta" else {**inputs, "token_type_ids": torch.tensor([types])}


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def classifier(kind, tmp_path_factory):
    family = f"{KINDS[kind]}ForSequenceClassification"
    folder = build(tmp_path_factory.mktemp(kind), kind, family, num_labels=3)
    return open_model(f"dir:{folder}", "pair-classifier"), *hugging_face(folder, family)


def test_the_frame_is_the_tokenizers_own(kind, classifier):
    _, _, tokenizer = classifier
    for first, second in PAIRS[:2]:
        texts = [t for t in (first, second) if t is not None]
        assert tokenizer(*texts)["input_ids"] == plain_pair(tokenizer, kind, first, second)[0]


@pytest.mark.parametrize("strategy", ["longest_first", "only_second"])
def test_classifier_equals_one_pair_at_a_time(kind, classifier, strategy):
    ours, model, tokenizer = classifier
    assert isinstance(ours, PairModel)
    assert ours.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    limits = Limits(total=32, strategy=strategy)
    for (first, second), row in zip(PAIRS, ours.score(PAIRS, limits), strict=True):
        ids, types = plain_pair(tokenizer, kind, first, second, 32, strategy)
        with torch.no_grad():
            expected = model(**feed(kind, ids, types)).logits[0].numpy()
        assert row.values == pytest.approx(expected, abs=1e-5)
        assert ours.score([(first, second)], limits)[0].values == pytest.approx(row.values, abs=1e-5)
        whole = plain_pair(tokenizer, kind, first, second, total=10**6)[0]
        assert sum(row.cut) == len(whole) - len(ids)


def test_limits_on_each_text_and_which_end_survives(kind, classifier):
    ours, _, tokenizer = classifier
    long = "the cat and the dog and the rain"
    (row,) = ours.score([(long, long)], Limits(first=3, second=2, keep_first="end"))
    ids = tokenizer(long, add_special_tokens=False)["input_ids"]
    assert row.cut == (len(ids) - 3, len(ids) - 2)
    framed = ours._framed((long, long), Limits(first=3, second=2, keep_first="end"))
    assert framed.ids[framed.first].tolist() == ids[-3:]
    assert framed.ids[-3:-1].tolist() == ids[:2]


def test_a_separator_in_a_text_is_text(kind, classifier):
    ours = classifier[0]
    for text in ("a [SEP] b", "a </s></s> b"):
        forged, true = ours._framed((text, None), Limits()), ours._framed(("a", "b"), Limits())
        assert (forged.ids == true.ids[-1]).sum() == 1


def test_regressor(kind, tmp_path):
    family = f"{KINDS[kind]}ForSequenceClassification"
    folder = build(tmp_path, kind, family, num_labels=1)
    ours = open_model(f"dir:{folder}", "regressor")
    assert isinstance(ours, PairModel)
    model, tokenizer = hugging_face(folder, family)
    for (first, second), value in zip(PAIRS, ours.score(PAIRS), strict=True):
        with torch.no_grad():
            expected = model(**feed(kind, *plain_pair(tokenizer, kind, first, second))).logits[0, 0].item()
        assert value.value == pytest.approx(expected, abs=1e-5)


def test_a_classifier_is_no_regressor(kind, tmp_path):
    folder = build(tmp_path, kind, f"{KINDS[kind]}ForSequenceClassification", num_labels=2)
    with pytest.raises(ModelError, match="2 outputs; a regressor has one"):
        open_model(f"dir:{folder}", "regressor")


def test_sentence_order(tmp_path):
    folder = build(tmp_path, "albert", "AlbertForPreTraining")
    ours = open_model(f"dir:{folder}", "sentence-order")
    assert isinstance(ours, PairModel)
    model, tokenizer = hugging_face(folder, "AlbertForPreTraining")
    pairs = [(a, b) for a, b in PAIRS if b is not None]
    for (first, second), value in zip(pairs, ours.score(pairs), strict=True):
        with torch.no_grad():
            right, swapped = model(**feed("albert", *plain_pair(tokenizer, "albert", first, second))).sop_logits[0]
        assert value.value == pytest.approx((right - swapped).item(), abs=1e-5)


def test_sentence_order_needs_the_head(tmp_path):
    folder = build(tmp_path, "bert", "BertForPreTraining")
    with pytest.raises(ModelError, match="no sentence-order head"):
        open_model(f"dir:{folder}", "sentence-order")


def plain_words(model, tokenizer, kind, first, second):
    """CTC-D by hand: sub-words of each white-space word, vectors added up, one linear layer, softmax."""
    ids, types = plain_pair(tokenizer, kind, first, second, strategy="only_second")
    with torch.no_grad():
        states = model.base_model(**feed(kind, ids, types)).last_hidden_state[0]
    at, rows = 1, []
    for index, word in enumerate(first.split()):
        # RoBERTa's vocabulary has the blank before a word in the word; before the first there is none.
        written = f" {word}" if kind == "roberta" and index else word
        size = len(tokenizer(written, add_special_tokens=False)["input_ids"])
        with torch.no_grad():
            rows.append(torch.softmax(model.classifier(states[at : at + size].sum(0)), -1).numpy())
        at += size
    return np.array(rows).reshape(-1, 2)


@pytest.fixture(scope="module")
def tagger(kind, tmp_path_factory):
    family = f"{KINDS[kind]}ForTokenClassification"
    folder = build(tmp_path_factory.mktemp(kind), kind, family, num_labels=2)
    return open_model(f"dir:{folder}", "token-tagger"), *hugging_face(folder, family)


def test_tagger_equals_the_words_by_hand(kind, tagger):
    ours, model, tokenizer = tagger
    assert isinstance(ours, PairModel)
    pairs = [pair for pair in PAIRS if len(pair[0]) < 40]
    for (first, second), found in zip(pairs, ours.score(pairs, FIRST_WHOLE), strict=True):
        assert [first[a:b] for a, b in zip(found.starts, found.ends, strict=True)] == first.split()
        expected = plain_words(model, tokenizer, kind, first, second)
        assert np.abs(found.support - expected[:, 0]).max(initial=0) < 1e-5


def test_tagger_reports_what_it_cut(tagger):
    ours = tagger[0]
    text = "The cat sat on the mat and the dog looked at it. " * 3
    (found,) = ours.score([(text, "Yes")], Limits(strategy="only_second", first=6))
    assert found.cut[0] > 0
    assert found.ends[-1] < len(text)
    assert text[: found.ends[-1]].split() == [text[a:b] for a, b in zip(found.starts, found.ends, strict=True)]


def test_tagger_takes_line_breaks_and_odd_text(tagger):
    ours = tagger[0]
    text = "one\ntwo\n\nthree"
    found = ours.score([(text, "x"), ("\ud800 a\x00b 😀", "y"), ("   ", "z")], FIRST_WHOLE)
    assert [text[a:b] for a, b in zip(found[0].starts, found[0].ends, strict=True)] == [
        "one",
        "two",
        "three",
    ]
    assert len(found[2].starts) == 0
    for one in found:
        assert ((one.support >= 0) & (one.support <= 1)).all()
