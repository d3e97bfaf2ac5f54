"""BM25 and TextRank beside plain twins."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet_train.text import textrank
from quintet_train.text.bm25 import Bm25

token = st.sampled_from(["a", "b", "c", "d", "e", "f", "g"])
documents = st.lists(st.lists(token, min_size=1, max_size=12), min_size=1, max_size=8)


def plain_bm25(documents: list[list[str]], query: list[str], k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25):
    """Okapi as `rank_bm25` has it, loop by loop."""
    total = len(documents)
    mean = sum(map(len, documents)) / total
    vocabulary = {word for document in documents for word in document}
    idf = {}
    for word in vocabulary:
        n = sum(word in document for document in documents)
        idf[word] = math.log(total - n + 0.5) - math.log(n + 0.5)
    floor = epsilon * sum(idf.values()) / len(idf)
    idf = {word: value if value >= 0 else floor for word, value in idf.items()}
    out = []
    for document in documents:
        score = 0.0
        for word in query:
            times = document.count(word)
            score += idf.get(word, 0) * times * (k1 + 1) / (times + k1 * (1 - b + b * len(document) / mean))
        out.append(score)
    return out


@given(documents, st.lists(token, max_size=10))
def test_bm25_equals_its_twin(texts: list[list[str]], query: list[str]) -> None:
    assert Bm25(texts).scores(query) == pytest.approx(plain_bm25(texts, query), abs=1e-9)


def test_bm25_golden() -> None:
    """Worked by hand: two of three documents hold `b`, whose idf is negative and becomes a quarter of the mean."""
    ranked = Bm25([["a", "b"], ["b", "c"], ["d", "e"]])
    rare, floor = math.log(2.5 / 1.5), 0.25 * (4 * math.log(2.5 / 1.5) + math.log(1.5 / 2.5)) / 5
    assert ranked.scores(["a", "b"])[0] == pytest.approx(rare + floor)
    assert ranked.top(["b"], 2, skip=frozenset({0})) == [1, 2]


def test_textrank_is_the_leading_eigenvector() -> None:
    rng = Random(4)
    words = ["river", "bridge", "stone", "water", "boat", "town", "market", "flood", "road", "house"]
    texts = [" ".join(rng.choices(words, k=6)) for _ in range(7)]
    stems = [textrank.content_stems(text) for text in texts]
    n = len(texts)
    weights = np.array([[textrank.similarity(stems[i], stems[j]) if i != j else 0 for j in range(n)] for i in range(n)])
    step = 0.85 * weights / weights.sum(axis=1, keepdims=True) + 0.15 / n
    values, vectors = np.linalg.eig(step.T)
    lead = np.abs(vectors[:, np.argmax(values.real)].real)
    assert textrank.rank(texts) == pytest.approx(lead / lead.sum(), abs=1e-6)


def test_sentences_without_a_tie_rank_nothing() -> None:
    assert textrank.rank(["Alpha beta gamma.", "Delta epsilon zeta."]) == [0.0, 0.0]
    assert textrank.rank([]) == []
    assert textrank.summarize(["Cats like warm milk.", "Warm milk helps cats sleep.", "Stones sink."], 0.7) == [0, 1]
