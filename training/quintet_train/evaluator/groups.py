"""What a head learns from: groups of judged texts, and what all builders draw on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quintet_train.evaluator import facts
from quintet_train.evaluator.tables import Span, Tables

QUESTIONS: Mapping[str, str] = {
    "sel": "Is this reply the one that follows this history?",
    "coh": "Do these sentences belong together, in this order?",
    "cohd": "Is this a coherent summary, seen beside its document?",
    "acc": "Is this well-formed, fluent text?",
    "con": "Does the document support this claim?",
    "adq": "Does this say what the other text says?",
    "rel": "Does this summary hold what matters in the document?",
    "cov": "How much of the other text is in this one?",
    "d2t": "Does this text say this meaning representation, no more and no less?",
    "gro": "Does this reply use this fact?",
    "ord": "Do these sentences come before those?",
    "abba": "Does this turn answer that one, rather than the other way round?",
    "abac": "Is this the reply to this history, and not the nearest reply of another dialogue?",
}
"""Heads with one output, in the order of the weights."""
ENTAILMENT = "nli"
HEADS = (*QUESTIONS, ENTAILMENT)
ENTAILMENT_LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3}
TURN_MARK = " [SEP] "

BETTER, WORSE = -1.0, -2.0
"""Labels that only rank inside their group, since nobody knows whether the better one is good."""
HELD = -3.0
"""Label of a text of which nothing is learnt: answers to it stay what they were (lesson.Held)."""
UNTOLD = -4.0
"""Label of a text that only a teacher can judge (teaching.relabelled); without one nothing is learnt of it."""


class Judged(NamedTuple):
    output: str
    grounds: str
    label: float
    wrong: Sequence[tuple[int, int]] | None = None
    """Characters of the output that the grounds do not support; None where nobody knows."""
    unsure: Sequence[tuple[int, int]] = ()
    """Characters of which nobody knows, where others are known."""


class Group(NamedTuple):
    head: str
    texts: list[Judged]
    ranked: bool = True
    """Whether texts with higher labels are to be put above those with lower ones."""
    beside: str = ""
    """What else a language model may be shown: the fact of a reply (sel), the turns before it (gro). The encoder is
    not."""


@dataclass(frozen=True)
class Neighbours:
    turns: NDArray[np.int32]
    """For each turn the rows of near turns of other dialogues."""
    sentences: NDArray[np.int32]
    words: Mapping[str, Sequence[str]]
    """Words of the same kind, by word."""


class Times:
    """How often a text of a corpus is used for a head: the recipe's `times` tables."""

    def __init__(self, table: Mapping[str, Mapping[str, float]]) -> None:
        self._table = table

    def of(self, head: str, source: str) -> float:
        own = self._table.get(head, {})
        return float(own.get(source, own.get("other", 1)))

    def names(self, table: str, head: str) -> bool:
        """Whether a table that most recipes lack has this head."""
        return bool(self._table.get(table, {}).get(head))

    def whole(self, head: str, source: str) -> int:
        return int(self.of(head, source))

    def drawn(self, head: str, source: str, rng: Random) -> int:
        """2.5 is twice or three times."""
        times = self.of(head, source)
        return int(times) + (rng.random() < times % 1)


@dataclass(frozen=True)
class Material:
    """Tables, neighbours, the recipe's shares and one generator: all that a builder sees."""

    tables: Tables
    neighbours: Neighbours
    times: Times
    rng: Random

    def any_turn(self) -> str:
        return self.tables.turns[self.rng.randrange(len(self.tables.turns))]

    def any_sentence(self) -> str:
        return self.tables.sentences[self.rng.randrange(len(self.tables.sentences))]

    def near_turn(self, dialogue: int, turn: int) -> str:
        rows = self.neighbours.turns[self.tables.first_turn[dialogue] + turn]
        return self.tables.turns[int(self.rng.choice(rows))]

    def near_sentence(self, span: Span) -> str:
        """A sentence of another text that is near one of the span."""
        return self.tables.sentences[self.near_row(span)]

    def near_row(self, span: Span) -> int:
        return int(self.rng.choice(self.neighbours.sentences[span.first + self.rng.randrange(span.size)]))

    def history(self, turns: Sequence[str], count: int = 0) -> str:
        """The last turns; sometimes without marks between them, as some callers join them."""
        rng = self.rng
        count = count or rng.choice([1, 2, 3, 3, 4, 5, 6])
        return (TURN_MARK if rng.random() < 0.6 else " ").join(turns[-count:])

    def styled(self, text: str) -> str:
        return styled(text, self.rng)

    def donors(self, sentence: str) -> facts.Donors:
        """What one foreign sentence lends."""
        lent = [found.text for found in facts.names(sentence)]
        return facts.Donors(lent, (), facts.phrases(sentence))

    def hidden(self, sentence: str, count: int = 0) -> str:
        """A sentence among `count` neighbouring sentences of other texts."""
        rng, sentences = self.rng, self.tables.sentences
        count = count or rng.choice([0, 1, 2, 4, 8, 12])
        if not count:
            return sentence
        start = rng.randrange(max(1, len(sentences) - count))
        others = sentences[start : start + count]
        others.insert(rng.randrange(len(others) + 1), sentence)
        return " ".join(others)


def styled(text: str, rng: Random) -> str:
    """Lower case now and then; what else must not matter is drawn for a whole group (surface.py)."""
    return text.lower() if rng.random() < 0.2 else text


def part_of(size: int, part: int, parts: int) -> range:
    return range(part, size, parts)
