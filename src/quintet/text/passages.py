"""Passages of a long text that matter to a claim: sentences that share its rare words, with their neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from quintet.text.tokens import words

BUDGET = 260
"""Words of a passage: what the reader was trained on, and what fits its window."""

REMEMBERED = 16
"""Claims whose order of sentences is kept: one asks for it several times in a row."""


class Passages:
    """Sentences of one text; `about` chooses among them, always in the text's order."""

    def __init__(self, sentences: Sequence[str]):
        self.sentences = tuple(sentences)
        self.sizes = tuple(len(sentence.split()) for sentence in self.sentences)
        self._ranked: dict[str, list[int]] = {}

    @cached_property
    def _bags(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(word.text.casefold() for word in words(sentence)) for sentence in self.sentences)

    @cached_property
    def _rarity(self) -> dict[str, float]:
        return {word: math.log(1 + len(self._bags) / len(places)) for word, places in self._places.items()}

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """In which sentences each word stands."""
        found: dict[str, list[int]] = {}
        for at, bag in enumerate(self._bags):
            for word in bag:
                found.setdefault(word, []).append(at)
        return found

    def ranked(self, claim: str) -> list[int]:
        """Sentences by the rarity of the words they share with the claim, the nearest first."""
        if claim not in self._ranked:
            if len(self._ranked) >= REMEMBERED:
                self._ranked.clear()
            self._ranked[claim] = self._rank(claim)
        return self._ranked[claim]

    def _rank(self, claim: str) -> list[int]:
        shared: list[list[float]] = [[] for _ in self._bags]
        for word in {word.text.casefold() for word in words(claim)}:
            for at in self._places.get(word, ()):
                shared[at].append(self._rarity[word])
        # Sums that do not depend on the order of a set: that is another in every process.
        scores = [math.fsum(own) / math.sqrt(6 + len(bag)) for own, bag in zip(shared, self._bags, strict=True)]
        return sorted(range(len(scores)), key=lambda index: -scores[index])

    def chosen(self, claims: Sequence[str], budget: int = BUDGET) -> list[int]:
        """Indices of the sentences that are read for these claims; all of them where they fit."""
        if sum(self.sizes) <= budget:
            return list(range(len(self.sentences)))
        orders = [self.ranked(claim) for claim in claims]
        found: set[int] = set()
        spent = 0
        for rank in range(len(self.sentences)):
            for order in orders:
                for index in (order[rank], order[rank] - 1, order[rank] + 1):
                    if not 0 <= index < len(self.sentences) or index in found:
                        continue
                    if found and spent + self.sizes[index] > budget:
                        return sorted(found)
                    found.add(index)
                    spent += self.sizes[index]
        return sorted(found)

    def about(self, claims: Sequence[str], budget: int = BUDGET) -> str:
        return " ".join(self.sentences[index] for index in self.chosen(claims, budget))

    def windows(self, budget: int = BUDGET) -> tuple[str, ...]:
        """The beginning and the end, each as many sentences as fit; they overlap where the text is short of twice the
        budget. Claims about a text that share a window share its reading."""
        first = next((at for at in range(1, len(self.sizes)) if sum(self.sizes[: at + 1]) > budget), len(self.sizes))
        last = next((at for at in range(len(self.sizes)) if sum(self.sizes[at:]) <= budget), len(self.sizes) - 1)
        return (" ".join(self.sentences[:first]), " ".join(self.sentences[min(first, last) :]))

    def window_of(self, claim: str, budget: int = BUDGET) -> int:
        """Which of the windows has most of the sentences that share most with the claim."""
        windows = self.windows(budget)
        near = [self.sentences[at] for at in self.ranked(claim)[:3]]
        shares = [sum(weight for weight, text in zip((3, 2, 1), near, strict=False) if text in own) for own in windows]
        return int(shares[1] > shares[0])

    @cached_property
    def centrality(self) -> tuple[float, ...]:
        """How much of each sentence's rare words other sentences share, the largest 1: the sum over the others, of the
        rarity of what both say by the root of the product of their lengths. A word's share is counted once for all
        that say it, so that the time grows with the text and not with its square."""
        scale = [1 / math.sqrt(1 + len(bag)) for bag in self._bags]
        share = {word: math.fsum(scale[at] for at in places) for word, places in self._places.items()}
        rarity = self._rarity
        found = [
            own * math.fsum(rarity[word] * (share[word] - own) for word in bag if len(self._places[word]) > 1)
            for bag, own in zip(self._bags, scale, strict=True)
        ]
        most = max(found, default=0.0) or 1.0
        return tuple(value / most for value in found)
