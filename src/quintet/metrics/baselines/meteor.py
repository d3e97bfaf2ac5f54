"""METEOR (Banerjee & Lavie 2005; Lavie & Agarwal 2007) by exact and stemmed matches, as NLTK aligns them.

The synonym stage needs WordNet, which the user brings. NLTK looks up stems there; here the words themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.metrics.baselines.references import Reference, best_reference
from quintet.text.porter import stem
from quintet.text.tokens import Piece, words
from quintet.text.wordnet import WordNet, read_wordnet, wordnet_identity


@dataclass(frozen=True)
class Meteor(Metric):
    alpha: float = 0.9
    """Weight of recall in the harmonic mean."""
    beta: float = 3.0
    """How sharply the penalty grows with fragmentation."""
    gamma: float = 0.5
    """The largest penalty."""
    stem: bool = True
    wordnet: str | None = None
    """WordNet's folder `dict`: words left over are matched with their synonyms."""

    name = "meteor"
    paper = "Banerjee & Lavie 2005"
    dimensions = (Dimension("meteor", "Do words and word order agree with a reference?", ("references",)),)

    def prepare(self) -> None:
        if self.wordnet is not None:
            read_wordnet(self.wordnet)

    def model_identities(self) -> Mapping[str, str]:
        return {} if self.wordnet is None else {"wordnet": wordnet_identity(self.wordnet)}

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
        """Pairs of places, each used once: equal words first, then equal stems, then synonyms, all from the end."""
        mine = {i: word.lower() for i, word in enumerate(output)}
        theirs = {j: word.lower() for j, word in enumerate(reference)}
        stages: list[Callable[[str], str]] = [str, stem] if self.stem else [str]
        pairs = [pair for stage in stages for pair in _match(mine, theirs, stage)]
        if self.wordnet is not None:
            pairs += _match_synonyms(mine, theirs, read_wordnet(self.wordnet))
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


def _match_synonyms(mine: Mapping[int, str], theirs: Mapping[int, str], wordnet: WordNet) -> list[tuple[int, int]]:
    """Each word of the output with the last word of the reference that shares a synset with it."""
    left = dict(theirs)
    pairs = []
    for i in sorted(mine, reverse=True):
        known = wordnet.synonyms(mine[i])
        j = max((j for j, word in left.items() if word in known), default=None)
        if j is not None:
            pairs.append((i, j))
            del left[j]
    return pairs
