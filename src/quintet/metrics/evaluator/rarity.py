"""How rare words are, from a table counted once on training texts; never on the texts that are scored."""

from __future__ import annotations

import lzma
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from quintet.text.content_words import content_words


@dataclass(frozen=True, slots=True, eq=False)
class WordTable:
    texts: int
    counts: dict[str, int]
    """In how many of the texts a word stands."""

    def idf(self, word: str) -> float:
        """ln((n + 1) / (texts with the word + 1)), at most ln(n / 2): a word seen in two texts is as rare as can be."""
        return min(math.log(self.texts / 2), math.log((self.texts + 1) / (self.counts.get(word, 0) + 1)))

    def weight(self, words: Iterable[str]) -> float:
        """The sum over distinct words, in one order, so that it comes out the same to the last digit."""
        return math.fsum(self.idf(word) for word in sorted(set(words)))

    def information(self, text: str) -> float:
        return self.weight(content_words(text))


@cache
def word_table() -> WordTable:
    """`idf.txt.xz`: the number of texts, then a line for each count with its words."""
    packed = files("quintet.metrics.evaluator").joinpath("idf.txt.xz").read_bytes()
    first, *lines = lzma.decompress(packed).decode("utf-8").splitlines()
    counts = {}
    for line in lines:
        count, *words = line.split(" ")
        counts.update(dict.fromkeys(words, int(count)))
    return WordTable(int(first), counts)
