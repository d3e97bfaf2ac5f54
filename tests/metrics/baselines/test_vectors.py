"""Word vectors, mover's distances and MoverScore against plain twins, and transport against POT."""

import string

import numpy as np
import pytest

from quintet.core.example import Example
from quintet.metrics.baselines.contextual import MoverScore
from quintet.metrics.baselines.movers import MoversDistance
from quintet.metrics.baselines.units import continues, word_vectors
from quintet.metrics.baselines.word_vectors import WordVectors
from quintet.models.open import open_model
from quintet.models.roles import TokenVectors
from quintet.text.content_words import is_stopword
from quintet.text.tokens import words

FAKE = "fake:embedder"


def fake_words(text, layer=0):
    """Words (or else marks) and the mean of what the fake says about the pieces inside each."""
    (tokens,) = open_model(FAKE).embed([text], layer)
    pieces = words(text) or words(text, punctuation=True)
    found = []
    for piece in pieces:
        inside = [i for i in range(1, len(tokens) - 1) if piece.start < tokens.ends[i] <= piece.end]
        if inside:
            found.append((piece.text, tokens.vectors[inside].astype(float).mean(axis=0)))
    return found


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def plain_similarity(how, output, reference):
    a, b = ([vector for _, vector in fake_words(text)] for text in (output, reference))
    if how == "average":
        return cosine(sum(a), sum(b))
    if how == "extrema":
        return cosine(*(np.array([max(axis, key=abs) for axis in zip(*side, strict=True)]) for side in (a, b)))
    forth = [max(cosine(x, y) for y in b) for x in a]
    back = [max(cosine(x, y) for x in a) for y in b]
    return (np.mean(forth) + np.mean(back)) / 2


@pytest.mark.parametrize("how", ["average", "greedy", "extrema"])
def test_word_vectors_same_as_plain_twin(pairs, how):
    some = pairs[:30]
    for example, row in zip(some, WordVectors(model=FAKE, how=how).score(some), strict=True):
        expected = max(plain_similarity(how, example.output, r) for r in example.references)
        assert row["similarity"].value == pytest.approx(expected, abs=1e-6)


def emd2(a, weights_a, b, weights_b):
    ot = pytest.importorskip("ot")
    a, b = (np.array([v / np.linalg.norm(v) for v in side]) for side in (a, b))
    cost = np.linalg.norm(a[:, None] - b[None], axis=2)
    weights_a, weights_b = (np.array(w, float) / np.sum(w) for w in (weights_a, weights_b))
    return ot.emd2(weights_a, weights_b, cost)


def bag(text):
    content = [(w, v) for w, v in fake_words(text) if not is_stopword(w)] or fake_words(text)
    groups = {}
    for word, vector in content:
        groups.setdefault(word.lower(), []).append(vector)
    return [np.mean(vectors, axis=0) for vectors in groups.values()], [len(vectors) for vectors in groups.values()]


def test_word_movers_distance_same_as_pot(pairs):
    some = pairs[:40]
    for example, row in zip(some, MoversDistance(model=FAKE).score(some), strict=True):
        expected = min(emd2(*bag(example.output), *bag(r)) for r in example.references)
        assert row["distance"].value == pytest.approx(expected, abs=1e-6)


def test_sentence_movers_by_hand():
    metric = MoversDistance(model=FAKE, units="sentences")
    output, reference = "The cat sat. It rained all day.", "It rained all day. The cat sat."
    assert metric.score([Example(output, references=(reference,))])[0]["distance"].value == pytest.approx(0, abs=1e-6)
    # One sentence against two: each part travels to the mean of the whole.
    whole = "the cat sat while it rained all day"
    halves = "The cat sat. It rained all day."

    def mean(text):
        return np.mean([vector for _, vector in fake_words(text)], axis=0)

    expected = emd2([mean(whole)], [8], [mean("the cat sat"), mean("it rained all day")], [3, 4])
    (row,) = metric.score([Example(whole, references=(halves,))])
    assert row["distance"].value == pytest.approx(expected, abs=1e-6)
    (span,) = row["distance"].spans
    assert span.kind == "sentence"


def test_both_lies_between_words_and_sentences():
    example = Example("The cat sat. It rained.", references=("A dog ran. It was sunny all day.",))
    words_, sentences, both = (
        MoversDistance(model=FAKE, units=units).score([example])[0]["distance"].value
        for units in ("words", "sentences", "both")
    )
    assert min(words_, sentences) - 0.1 <= both <= max(words_, sentences) + 0.1


def plain_moverscore(output, reference, layer):
    sides = []
    for text in (output, reference):
        (tokens,) = open_model(FAKE).embed([text], layer)
        inner = tokens.inner
        whole = [i for i in range(len(inner)) if not continues(tokens)[i + 1]]
        kept = [i for i in whole if any(c not in string.punctuation for c in inner.token(i))]
        sides += [inner.vectors[kept or range(len(inner))].astype(float), np.ones(len(kept) or len(inner))]
    return 1 / (1 + emd2(*sides))


def test_moverscore_same_as_pot(pairs):
    some = pairs[:40]
    for example, row in zip(some, MoverScore(model=FAKE, layer=3).score(some), strict=True):
        expected = max(plain_moverscore(example.output, r, 3) for r in example.references)
        assert row["moverscore"].value == pytest.approx(expected, abs=1e-6)


def test_moverscore_bigrams():
    """The same words in another order differ in their pairs only."""
    swapped = Example("cat the sat mat", references=("the cat mat sat",))
    single, double = (MoverScore(model=FAKE, layer=0, ngram=n).score([swapped])[0]["moverscore"] for n in (1, 2))
    assert single.value == pytest.approx(1.0, abs=1e-6)
    assert double.value < 1.0
    assert MoverScore(model=FAKE, ngram=5).score([Example("a", references=("a b",))])[0]["moverscore"].value > 0


def test_words_are_means_of_their_pieces():
    text = "unbelievable cats, 3.5"
    starts, ends = np.array([[0, 0], [0, 2], [2, 12], [13, 17], [17, 18], [19, 20], [20, 21], [21, 22], [22, 22]]).T
    vectors = np.arange(9, dtype=np.float32)[:, None] * np.ones((1, 2), np.float32)
    found = word_vectors(TokenVectors(text, starts.astype(np.int32), ends.astype(np.int32), vectors))
    assert [p.text for p in found.pieces] == ["unbelievable", "cats", "3.5"]
    assert found.vectors[:, 0].tolist() == [1.5, 3.0, 6.0]
    cut = TokenVectors(text, starts[:4].astype(np.int32), ends[:4].astype(np.int32), vectors[:4], cut=5)
    assert [p.text for p in word_vectors(cut).pieces] == ["unbelievable"]


def test_marks_and_nothing():
    for metric in (WordVectors(model=FAKE), MoversDistance(model=FAKE), MoverScore(model=FAKE)):
        same, other = metric.score([Example("?!", references=("?!",)), Example("?!", references=("cat",))])
        (a,), (b,) = same.values(), other.values()
        better = a.value - b.value
        assert better > 0 if metric.dimensions[0].higher_is_better else better < 0


def test_what_was_cut_is_said():
    long = Example("word " * 900, references=("word",))
    assert MoverScore(model=FAKE).score([long])[0]["moverscore"].cut == {"output": 390}
    assert MoversDistance(model=FAKE).score([long])[0]["distance"].cut == {}
    assert MoversDistance(model=FAKE, long="cut").score([long])[0]["distance"].cut == {"output": 390}
