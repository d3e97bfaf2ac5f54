"""Learns GRADE's topic graph from dialogues: which words occur together more than by chance.

Original: ConceptNet edges between keywords and Numberbatch vectors, neither of which can be shipped here. Instead:
keywords are content words; two are linked when their positive pointwise mutual information (PPMI) over utterances is
among the ten largest of either; vectors are a truncated singular value decomposition of the PPMI matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from quintet.models.torch_trained import NEIGHBOURS, Floats, TopicGraph, content_words


def learn(texts: Sequence[str], vocabulary: int = 5000, width: int = 300, seed: int = 0) -> TopicGraph:
    """PPMI over utterances for the most frequent content words; ties by the alphabet, so that runs agree."""
    per_text = [sorted(set(content_words(text))) for text in texts]
    counts = Counter(word for found in per_text for word in found)
    kept = sorted(counts, key=lambda word: (-counts[word], word))[:vocabulary]
    index = {word: number for number, word in enumerate(kept)}
    together: Counter[tuple[int, int]] = Counter()
    for found in per_text:
        ids = sorted(index[word] for word in found if word in index)
        together.update(combinations(ids, 2))
    size, total = len(kept), max(1, len(texts))
    ppmi = np.zeros((size, size), np.float32)
    for (a, b), times in together.items():
        value = np.log(times * total / (counts[kept[a]] * counts[kept[b]]))
        ppmi[a, b] = ppmi[b, a] = max(0.0, float(value))
    return TopicGraph(tuple(kept), _vectors(ppmi, width, seed), _neighbours(ppmi))


def _neighbours(ppmi: Floats) -> NDArray[np.int32]:
    size = len(ppmi)
    out = np.full((size, NEIGHBOURS), -1, np.int32)
    for word in range(size):
        best = np.argsort(-ppmi[word], kind="stable")[:NEIGHBOURS]
        best = best[ppmi[word, best] > 0]
        out[word, : len(best)] = best
    return out


def _vectors(ppmi: Floats, width: int, seed: int) -> Floats:
    """Randomised truncated SVD with two power rounds; padded with zeros when there are fewer words than `width`."""
    size = len(ppmi)
    rank = min(width, size)
    out = np.zeros((size, width), np.float32)
    if rank:
        start = np.random.default_rng(seed).standard_normal((size, min(size, rank + 10))).astype(np.float32)
        basis = np.linalg.qr(ppmi @ start)[0]
        for _ in range(2):
            basis = np.linalg.qr(ppmi @ (ppmi.T @ basis))[0]
        left, values, _ = np.linalg.svd(basis.T @ ppmi, full_matrices=False)
        out[:, :rank] = (basis @ left)[:, :rank] * np.sqrt(values[:rank])
    norms = np.linalg.norm(out, axis=1, keepdims=True)
    return (out / np.maximum(norms, 1e-12)).astype(np.float32)
