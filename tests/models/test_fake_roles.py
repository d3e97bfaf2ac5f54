"""The fakes keep the promises of their roles, so that a metric tested on them meets nothing new on a true model."""

import inspect

import pytest

from quintet.models.fake import FAKES
from quintet.models.open import identity, open_model
from quintet.models.roles import CONTRACTS, FIRST_WHOLE, Limits, Masking

GOOD = "The children walked to the river and they swam all day."
BAD = "xqzt river river river walked the the bdfg kkkt"


def test_every_role_has_a_fake_that_keeps_its_protocol():
    assert len(set(CONTRACTS.values())) == 5
    assert set(CONTRACTS) <= set(FAKES)
    for role, protocol in CONTRACTS.items():
        model = open_model(f"fake:{role}", role)
        assert isinstance(model, protocol)
        assert model.identity == identity(f"fake:{role}")
        for name, method in inspect.getmembers(protocol, inspect.isfunction):
            if not name.startswith("_"):
                mine = inspect.signature(getattr(model, name)).parameters
                assert list(mine) == list(inspect.signature(method).parameters)[1:], f"{role}.{name}"


def test_masked_likelihood_prefers_plain_sentences():
    model = open_model("fake:masked-lm", "masked-lm")
    good, bad = model.log_probs([(None, GOOD), (None, BAD)])
    assert good.log_probs.mean() > bad.log_probs.mean() + 1
    assert [good.token(i) for i in range(3)] == ["The", "children", "walked"]
    whole = model.log_probs([(None, GOOD)], Masking("none", specials=True))[0]
    assert len(whole) == len(good) + 2
    assert whole.starts[-1] == whole.ends[-1] == len(GOOD)
    (last,) = model.log_probs([(None, GOOD)], Masking(last=6))
    assert [last.token(i) for i in range(len(last))] == ["swam", "all", "day", "."]
    assert last.cut == len(good) + 2 - 6 - 1
    (cut,) = model.log_probs([(None, "word and " * 300)], Masking(long="cut"))
    assert (len(cut), cut.cut) == (510, 90)
    assert len(model.log_probs([(None, "")])[0]) == 0


def test_causal_likelihood_gains_from_the_context():
    model = open_model("fake:causal-lm", "causal-lm")
    alone, given, turns = model.log_probs([("", GOOD), ("a river for children", GOOD), (("a river", "children"), GOOD)])
    assert given.log_probs.sum() > alone.log_probs.sum()
    assert turns.log_probs.sum() == pytest.approx(given.log_probs.sum(), abs=0.1)
    (long,) = model.log_probs([("word and " * 300, GOOD)])
    assert long.cut == 600 - (511 - len(long))


def test_pairs():
    model = open_model("fake:pair-classifier", "pair-classifier")
    good, bad = model.score([(GOOD, None), (BAD, None)])
    assert good.values[1] > good.values[0]
    assert bad.values[1] < bad.values[0]
    same, other = model.score([(GOOD, "children at the river"), (GOOD, "shares fell")])
    assert same.values[1] > other.values[1]
    grades = open_model("fake:pair-classifier-5", "pair-classifier")
    assert grades.labels == ("1", "2", "3", "4", "5")
    assert grades.score([(GOOD, None)])[0].values.argmax() > grades.score([(BAD, None)])[0].values.argmax()
    (short,) = model.score([("one two three four five", "six seven")], Limits(first=2, keep_first="end", total=6))
    assert short.cut == (3, 1)


def test_tagger_and_regressor():
    text = "The river, froze"
    (found,) = open_model("fake:token-tagger", "token-tagger").score([(text, "a river ran")], FIRST_WHOLE)
    words = [text[a:b] for a, b in zip(found.starts, found.ends, strict=True)]
    assert words == ["The", "river,", "froze"]
    assert found.support.argmax() == 1
    assert found.support.argmin() == 2
    right, wrong = open_model("fake:regressor", "regressor").score(
        [("a river ran", "the river"), ("a river", "a bank")]
    )
    assert right.value > wrong.value


def test_order_and_answers():
    model = open_model("fake:sentence-order", "sentence-order")
    right, swapped = model.score([("Ann slept.", "Then she left."), ("Then she left.", "Ann slept.")])
    assert right.value > 0 > swapped.value
    ask = open_model("fake:yes-no", "yes-no")
    good, bad, cut = ask.answers([("question?", GOOD, GOOD), ("question?", BAD, "no"), ("q", "word " * 600)])
    assert 1 > good.value > 0.5 > bad.value > 0
    assert cut.cut == 600 - 511


def test_judge():
    model = open_model("fake:judge", "judge")
    good, bad, cut = model.score([(GOOD, ("children at the river",)), (BAD, ("shares fell",)), ("word " * 200, ())])
    assert set(good.logits) == set(model.labels)
    assert all(good.logits[name] > bad.logits[name] for name in model.labels)
    assert good.entailment.sum() == pytest.approx(1)
    assert [GOOD[a:b] for a, b in zip(good.starts, good.ends, strict=True)][1] == "children"
    assert good.support[1] > good.support[2]
    assert cut.cut == (10, 0)
    assert model.lengths([GOOD, ""]) == [12, 0]
