"""Token F1, distinct-n, n-gram entropy, response length."""

import collections
import math
import re
import string

import pytest

from quintet.core.example import Example
from quintet.metrics.baselines.counts import Distinct, NgramEntropy, ResponseLength, TokenF1


def f1(output, *references, part="f"):
    return TokenF1(part).score([Example(output, references=references)])[0]["token-f1"].value


def test_token_f1_by_hand():
    assert f1("The cat!", "a cat") == 1.0
    assert f1("in the year 1999", "1999") == pytest.approx(0.5)
    assert f1("cat cat", "cat") == pytest.approx(2 / 3)
    assert f1("dog", "cat", "hot dog") == pytest.approx(2 / 3)
    assert f1("The cat!", "a cat", part="exact") == 1.0
    assert f1("the", "a") == 1.0  # nothing left on both sides
    assert f1("the", "cat") == 0.0


def test_token_f1_same_as_plain_twin(pairs):
    """SQuAD's published normalisation, step by step."""

    def normal(text):
        text = "".join(c for c in text.lower() if c not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split()).split()

    for row, example in zip(TokenF1().score(pairs), pairs, strict=True):
        best = 0.0
        for reference in example.references:
            mine, theirs = normal(example.output), normal(reference)
            same = sum((collections.Counter(mine) & collections.Counter(theirs)).values())
            if not mine or not theirs:
                best = max(best, float(mine == theirs))
            elif same:
                p, r = same / len(mine), same / len(theirs)
                best = max(best, 2 * p * r / (p + r))
        assert row["token-f1"].value == pytest.approx(best)


def test_diversity_by_hand():
    repeated = Example("The cat the cat, the cat!")
    assert Distinct(1).score([repeated])[0]["distinct"].value == pytest.approx(2 / 6)
    assert Distinct(2).score([repeated])[0]["distinct"].value == pytest.approx(2 / 5)
    assert NgramEntropy(1).score([repeated])[0]["ngram-entropy"].value == pytest.approx(math.log(2))
    entropy = -(0.6 * math.log(0.6) + 0.4 * math.log(0.4))
    assert NgramEntropy(2).score([repeated])[0]["ngram-entropy"].value == pytest.approx(entropy)
    assert NgramEntropy(2).score([Example("one two three")])[0]["ngram-entropy"].value == pytest.approx(math.log(2))
    spans = Distinct(1).score([repeated])[0]["distinct"].spans
    assert [repeated.output[s.start : s.end] for s in spans] == ["the", "cat", "the", "cat"]


def test_too_short_is_flagged():
    for metric in (Distinct(2), NgramEntropy(2)):
        (row,) = metric.score([Example("Hello!")])
        (score,) = row.values()
        assert (score.value, score.flags) == (0.0, ("fewer than 2 words",))


def test_response_length():
    assert ResponseLength().score([Example("well , i do n't know .")])[0]["length"].value == 7
