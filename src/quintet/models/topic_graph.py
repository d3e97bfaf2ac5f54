"""GRADE's topic graph without ConceptNet: keywords, their vectors and which of them occur together.

Learnt by `train.topics` from dialogues and kept beside a model's weights. Hop distances, the ten one-hop and ten
two-hop neighbours, 16 keywords and distance 20 for the unreachable are GRADE's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quintet.text.stopwords import ENGLISH
from quintet.text.tokens import words

UNREACHABLE = 20
MAX_KEYWORDS = 16
NEIGHBOURS = 10

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TopicGraph:
    """Keywords, their vectors and their ten best neighbours (-1 where there are fewer)."""

    words: tuple[str, ...]
    vectors: Floats
    neighbours: NDArray[np.int32]

    @property
    def width(self) -> int:
        return int(self.vectors.shape[1])

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def keywords(self, text: str) -> list[int]:
        """Known content words of a text in order, each once, at most sixteen."""
        found = dict.fromkeys(self._index[word] for word in content_words(text) if word in self._index)
        return list(found)[:MAX_KEYWORDS]

    def one_hop(self, word: int) -> list[int]:
        return [int(other) for other in self.neighbours[word] if other >= 0]

    def two_hop(self, word: int) -> list[int]:
        near = self.one_hop(word)
        seen = {word, *near}
        far = dict.fromkeys(other for one in near for other in self.one_hop(one) if other not in seen)
        return list(far)[:NEIGHBOURS]

    def node(self, word: int) -> Floats:
        """Own vector, mean of one-hop neighbours, mean of two-hop neighbours."""
        zero = np.zeros(self.width, np.float32)
        rings = [self.one_hop(word), self.two_hop(word)]
        means = [self.vectors[ring].mean(axis=0) if ring else zero for ring in rings]
        return np.concatenate([self.vectors[word], *means]).astype(np.float32)

    def hops(self, first: int, second: int) -> int:
        """1 or 2 along the graph, otherwise unreachable: GRADE looks no further than K = 2."""
        if first == second:
            return 1
        if second in self.one_hop(first):
            return 1
        return 2 if second in self.two_hop(first) else UNREACHABLE

    def graph(self, context: str, response: str) -> tuple[Floats, Floats]:
        """Node features and edge weights: every context keyword with every response keyword by 1 / hops, and itself.

        A pair without known keywords has one empty node.
        """
        left, right = self.keywords(context), self.keywords(response)
        ids = [*left, *right]
        if not ids:
            return np.zeros((1, 3 * self.width), np.float32), np.ones((1, 1), np.float32)
        edges = np.eye(len(ids), dtype=np.float32)
        for i, a in enumerate(left):
            for j, b in enumerate(right, len(left)):
                edges[i, j] = edges[j, i] = 1.0 / self.hops(a, b)
        return np.stack([self.node(word) for word in ids]), edges

    def batch(self, pairs: Sequence[tuple[str, str]]) -> dict[str, NDArray[Any]]:
        """Graphs of several pairs, padded: `nodes`, `edges`, `node_mask`."""
        graphs = [self.graph(context, response) for context, response in pairs]
        most = max(len(nodes) for nodes, _ in graphs)
        nodes = np.zeros((len(graphs), most, 3 * self.width), np.float32)
        edges = np.zeros((len(graphs), most, most), np.float32)
        mask = np.zeros((len(graphs), most), np.int64)
        for number, (own, links) in enumerate(graphs):
            nodes[number, : len(own)], edges[number, : len(own), : len(own)] = own, links
            mask[number, : len(own)] = 1
        return {"nodes": nodes, "edges": edges, "node_mask": mask}

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        save_file({"vectors": self.vectors, "neighbours": self.neighbours}, folder / "topics.safetensors")
        (folder / "topics.json").write_text(json.dumps({"words": self.words}, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> TopicGraph:
        from safetensors.numpy import load_file

        arrays = load_file(folder / "topics.safetensors")
        names = json.loads((folder / "topics.json").read_text(encoding="utf-8"))["words"]
        return cls(tuple(names), arrays["vectors"], arrays["neighbours"])


def content_words(text: str) -> list[str]:
    low = (piece.text.lower() for piece in words(text))
    return [word for word in low if word not in ENGLISH and len(word) > 1 and any(c.isalpha() for c in word)]
