"""METEOR (Banerjee & Lavie 2005; Lavie & Agarwal 2007) by exact and stemmed matches, as NLTK aligns them.

The synonym stage needs WordNet, which is not shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.metrics.baselines.references import Reference, best_reference
from quintet.text.porter import stem
from quintet.text.tokens import Piece, words


@dataclass(frozen=True)
class Meteor(Metric):
    alpha: float = 0.9
    """Weight of recall in the harmonic mean."""
    beta: float = 3.0
    """How sharply the penalty grows with fragmentation."""
    gamma: float = 0.5
    """The largest penalty."""
    stem: bool = True

    name = "meteor"
    paper = "Banerjee & Lavie 2005"
    dimensions = (Dimension("meteor", "Do words and word order agree with a reference?", ("references",)),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"meteor": self._score_one(example)} for example in examples]

    def _score_one(self, example: Example) -> Score:
        output = words(example.output, punctuation=True)
        return best_reference(example, lambda reference: self._against(output, reference))

    def _against(self, output: list[Piece], reference: Reference) -> Score:
        other = words(reference.text, punctuation=True)
        pairs = self.align([p.text for p in output], [p.text for p in other])
        if not pairs:
            return Score(0.0, parts={"p": 0.0, "r": 0.0, "penalty": 0.0})
        precision, recall = len(pairs) / len(output), len(pairs) / len(other)
        mean = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
        chunks = 1 + sum((k + 1, m + 1) != after for (k, m), after in pairwise(pairs))
        penalty = self.gamma * (chunks / len(pairs)) ** self.beta
        spans = tuple(reference.matched(output[i], other[j]) for i, j in pairs)
        return Score(mean * (1 - penalty), spans, {"p": precision, "r": recall, "penalty": penalty})

    def align(self, output: Sequence[str], reference: Sequence[str]) -> list[tuple[int, int]]:
        """Pairs of places, each used once: equal words first, then equal stems, both from the end, ascending."""
        mine = {i: word.lower() for i, word in enumerate(output)}
        theirs = {j: word.lower() for j, word in enumerate(reference)}
        stages: list[Callable[[str], str]] = [str, stem] if self.stem else [str]
        pairs = [pair for stage in stages for pair in _match(mine, theirs, stage)]
        return sorted(pairs)


def _match(mine: dict[int, str], theirs: dict[int, str], form: Callable[[str], str]) -> list[tuple[int, int]]:
    """Last with last among words of the same form; what is matched is taken out of both."""
    places: dict[str, list[int]] = {}
    for j in sorted(theirs):
        places.setdefault(form(theirs[j]), []).append(j)
    pairs = []
    for i in sorted(mine, reverse=True):
        if found := places.get(form(mine[i])):
            pairs.append((i, found.pop()))
    for i, j in pairs:
        del mine[i], theirs[j]
    return pairs
