"""Non-redundancy: -0.1 for every test that calls a pair of sentences repetitive (GRUEN section 3.2, Table 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Literal

from rapidfuzz.distance import Levenshtein

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.core.stopping import checkpoint
from quintet.metrics.gruen.sentences import has_two_words, place, released_sentences
from quintet.text.overlap import longest_common_substring
from quintet.text.punkt import RULES, sentences_identity, splitter

ALL_FLAGS = "ABCD"
MOST = 4_000_000
"""Characters in all pairs that are compared: those of 200 sentences of usual length, each with every other. In longer
texts each sentence is compared with as many neighbours as that allows, so that the time stays the same."""
_GRAM = 5


@dataclass(frozen=True, eq=False, slots=True)
class _Sentence:
    text: str
    words: list[str]
    vocabulary: frozenset[str]
    pieces: list[str]
    grams: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Sentence:
        words = text.split()
        pieces = [text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1)]
        return cls(text, words, frozenset(words), pieces, frozenset(pieces))


def reach_of(lengths: Sequence[int], most: int = MOST) -> int:
    """How far apart sentences may stand to be compared, nearer pairs having at most `most` characters; at least 1."""
    before = list(accumulate(lengths, initial=0))
    spent, count = 0, len(lengths)
    for apart in range(1, count):
        spent += before[count - apart] + before[count] - before[apart]
        if spent > most and apart > 1:
            return apart - 1
    return max(1, count - 1)


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
    sentences: str = RULES
    """punkt:FOLDER: by NLTK's Punkt, as released; FOLDER is punkt_tab/english of NLTK's data."""

    version = 2
    """2: in long texts only neighbours are compared."""
    name = "gruen-redundancy"
    paper = "Zhu & Bhat 2020"
    dimensions = (
        Dimension("non-redundancy", "Does the text avoid saying a thing twice?", low=-float("inf"), high=0.0),
    )

    def model_identities(self) -> Mapping[str, str]:
        return {"sentences": sentences_identity(self.sentences)}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"non-redundancy": self._score_text(example.output)} for example in examples]

    def _score_empty(self, example: Example) -> Row:
        return {"non-redundancy": Score(0.0, flags=(EMPTY_OUTPUT,))}

    def _score_text(self, text: str) -> Score:
        if self.mode == "released":
            sentences = released_sentences(text, self.sentences)
            places = place(text, sentences)
        else:
            pieces = [piece for piece in splitter(self.sentences)(text) if has_two_words(piece.text)]
            places = [(piece.start, piece.end) for piece in pieces]
            sentences = [piece.text for piece in pieces]
        spans, total = [], 0
        known = [_Sentence.of(sentence) for sentence in sentences]
        reach = reach_of([len(sentence) for sentence in sentences])
        for i, first in enumerate(known):
            checkpoint()
            for j in range(i + 1, min(len(known), i + 1 + reach)):
                flags = self._flags(first, known[j])
                if flags:
                    total += len(flags)
                    value = -self.penalty * len(flags)
                    spans.append(Span(*places[j], value, "pair", note=flags, other=("output", *places[i])))
        parts = {"sentences": len(sentences), "flags": total}
        near = (f"long: sentences more than {reach} apart were not compared",) if reach < len(known) - 1 else ()
        # Adding 0.0 turns a text without repetition into 0.0, not -0.0.
        return Score(-self.penalty * total + 0.0, tuple(spans), parts, near)

    def flags(self, a: str, b: str) -> str:
        """The tests that fire: A shared characters, B words within them, C edit distance, D shared words."""
        return self._flags(_Sentence.of(a), _Sentence.of(b))

    def _flags(self, first: _Sentence, second: _Sentence) -> str:
        a, b = first.text, second.text
        if a in b or b in a:
            return ALL_FLAGS
        words_a, words_b = first.words, second.words
        if max(len(words_a), len(words_b)) < self.shortest:
            return ""
        if self.mode == "released":
            match = SequenceMatcher(None, a, b).find_longest_match(0, len(a), 0, len(b))
            shared = a[match.a : match.a + match.size]
        elif self._may_share(first, second):
            run = longest_common_substring(a, b)
            shared = a[run.start_first : run.start_first + run.length]
        else:
            shared = ""
        shorter_words = min(len(words_a), len(words_b))
        tests = {
            "A": len(shared) > self.overlap * min(len(a), len(b)),
            "B": len(shared.split()) > self.overlap * shorter_words,
            "C": self._close(a, b),
            "D": sum(map(second.vocabulary.__contains__, words_a)) > self.overlap * shorter_words,
        }
        return "".join(name for name, fired in tests.items() if fired)

    def _may_share(self, first: _Sentence, second: _Sentence) -> bool:
        """Whether a shared run can be long enough for A or B; looking for it takes much longer than ruling it out."""
        shorter, longer = sorted((first, second), key=lambda one: len(one.text))
        least = int(self.overlap * len(shorter.text)) + 1
        # A run of n characters holds n - 4 pieces of five, and each of them stands in both sentences.
        if least < _GRAM or sum(map(longer.grams.__contains__, shorter.pieces)) > least - _GRAM:
            return True
        # Of the words in a run only the first and the last can be cut.
        fewer, more = sorted((first, second), key=lambda one: len(one.words))
        return sum(map(more.vocabulary.__contains__, fewer.words)) > self.overlap * len(fewer.words) - 2

    def _close(self, a: str, b: str) -> bool:
        limit = self.distance * max(len(a), len(b))
        # The cutoff lets the distance stop early; what lies beyond it is reported as cutoff + 1.
        return Levenshtein.distance(a, b, score_cutoff=int(limit) + 1) < limit
