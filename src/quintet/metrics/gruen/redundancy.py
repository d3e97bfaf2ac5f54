"""Non-redundancy: -0.1 for every test that calls a pair of sentences repetitive (GRUEN section 3.2, Table 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from typing import Literal

from rapidfuzz.distance import Levenshtein

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.metrics.gruen.sentences import has_two_words, place, released_sentences
from quintet.text.overlap import longest_common_substring
from quintet.text.sentences import sentences as split

ALL_FLAGS = "ABCD"


@dataclass(frozen=True)
class Redundancy(Metric):
    overlap: float = 0.8
    """Share of the shorter sentence above which shared text counts as repetition: tests A, B and D."""
    distance: float = 0.6
    """Share of the longer sentence below which the edit distance counts as repetition: test C."""
    shortest: int = 5
    """Pairs whose longer sentence has fewer words are not tested, unless one contains the other."""
    penalty: float = 0.1
    mode: Literal["quintet", "released"] = "quintet"
    """released: the authors' sentence clean-up and difflib's junk heuristic, blind to overlaps in long sentences."""

    name = "gruen-redundancy"
    paper = "Zhu & Bhat 2020"
    dimensions = (
        Dimension("non-redundancy", "Does the text avoid saying a thing twice?", low=-float("inf"), high=0.0),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"non-redundancy": self._score_text(example.output)} for example in examples]

    def _score_empty(self, example: Example) -> Row:
        return {"non-redundancy": Score(0.0, flags=(EMPTY_OUTPUT,))}

    def _score_text(self, text: str) -> Score:
        if self.mode == "released":
            sentences = released_sentences(text)
            places = place(text, sentences)
        else:
            pieces = [piece for piece in split(text) if has_two_words(piece.text)]
            places = [(piece.start, piece.end) for piece in pieces]
            sentences = [piece.text for piece in pieces]
        spans, total = [], 0
        for i, j in combinations(range(len(sentences)), 2):
            flags = self.flags(sentences[i], sentences[j])
            if flags:
                total += len(flags)
                value = -self.penalty * len(flags)
                spans.append(Span(*places[j], value, "pair", note=flags, other=("output", *places[i])))
        # Adding 0.0 turns a text without repetition into 0.0, not -0.0.
        return Score(-self.penalty * total + 0.0, tuple(spans), {"sentences": len(sentences), "flags": total})

    def flags(self, a: str, b: str) -> str:
        """The tests that fire: A shared characters, B words within them, C edit distance, D shared words."""
        if a in b or b in a:
            return ALL_FLAGS
        words_a, words_b = a.split(), b.split()
        if max(len(words_a), len(words_b)) < self.shortest:
            return ""
        if self.mode == "released":
            match = SequenceMatcher(None, a, b).find_longest_match(0, len(a), 0, len(b))
            shared = a[match.a : match.a + match.size]
        else:
            run = longest_common_substring(a, b)
            shared = a[run.start_first : run.start_first + run.length]
        shorter_words = min(len(words_a), len(words_b))
        tests = {
            "A": len(shared) > self.overlap * min(len(a), len(b)),
            "B": len(shared.split()) > self.overlap * shorter_words,
            "C": self._close(a, b),
            "D": sum(word in set(words_b) for word in words_a) > self.overlap * shorter_words,
        }
        return "".join(name for name, fired in tests.items() if fired)

    def _close(self, a: str, b: str) -> bool:
        limit = self.distance * max(len(a), len(b))
        # The cutoff lets the distance stop early; what lies beyond it is reported as cutoff + 1.
        return Levenshtein.distance(a, b, score_cutoff=int(limit) + 1) < limit
