"""Does a reply agree with what was said before, and does it remember what the user told?

    consistency = 1 - max P(contradicted) over the reply's statements, each beside the earlier ones it shares most with
    retention   = 1 - max P(an earlier statement of the user answers it) over the reply's questions

A reply that states nothing contradicts nothing; one that asks nothing forgets nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score, Span
from quintet.metrics.rag.answers import HOLDS, answer_features
from quintet.metrics.rag.features import Embedded, stems
from quintet.metrics.rag.support import EmbedderMetric
from quintet.models.open import identity, open_model
from quintet.text.content_words import plain_words
from quintet.text.sentences import sentences
from quintet.text.tokens import Piece

BESIDE = 3
"""Earlier statements that each statement of the reply is held against, those that share most words with it."""
LEAST_WORDS = 3
CONTRADICTED, ASKED_AGAIN = "contradicts an earlier turn", "asks what was said already"

_DAYS = stems(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays"
    " sundays weekend weekends weekdays january february march april june july august september october november"
    " december"
)
_PERSONS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are", "you": "I", "your": "my",
    "yours": "mine", "yourself": "myself", "i'm": "you're", "i've": "you've", "i'll": "you'll", "i'd": "you'd",
    "you're": "I'm", "you've": "I've", "you'll": "I'll", "you'd": "I'd",
}  # fmt: skip
_PERSON = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _PERSONS), key=len, reverse=True))})\b", re.IGNORECASE)


def turned(text: str) -> str:
    """A statement of the other speaker as the replier would say it: "I live here" is "You live here"."""
    return _PERSON.sub(lambda match: _PERSONS[match.group().lower()], text.replace("’", "'"))


@dataclass(frozen=True, slots=True)
class Earlier:
    """A statement made before: `text` in the replier's person, its place in `example.text("history")`."""

    text: str
    start: int
    end: int
    words: frozenset[str]
    of_user: bool
    said: str
    """As it was said."""


def earlier(example: Example) -> list[Earlier]:
    """The last turn of a history is the user's, and turns alternate."""
    turns, found, start = example.history or (), [], 0
    for number, turn in enumerate(turns):
        of_user = (len(turns) - number) % 2 == 1
        for piece in sentences(turn, "line"):
            if states(piece.text):
                text = turned(piece.text) if of_user else piece.text
                found.append(
                    Earlier(text, start + piece.start, start + piece.end, stems(piece.text), of_user, piece.text)
                )
        start += len(turn) + 1
    return found


_QUESTIONS = re.compile(
    r",? (?:and|or) (?=(?:what|when|where|who|why|how|which|do|does|did|is|are|can|could|would|will)\b)", re.IGNORECASE
)
_ANSWERED = re.compile(
    r"^\W*(?:yes|no|sure|of course|certainly|right|exactly|sorry|as i said|well|ok(?:ay)?)\b[,.!]? *", re.I
)


def questions(text: str) -> list[Piece]:
    """Its questions, two in one sentence apart."""
    found: list[Piece] = []
    for sentence in sentences(text, "line"):
        if not asks(sentence.text):
            continue
        start = 0
        for cut in (*_QUESTIONS.finditer(sentence.text), None):
            end = len(sentence.text) if cut is None else cut.start()
            found.append(Piece(sentence.text[start:end], sentence.start + start, sentence.start + end))
            start = end if cut is None else cut.end()
    return [piece for piece in found if stems(piece.text)]


def states(text: str) -> bool:
    return not asks(text) and len(plain_words(text)) >= LEAST_WORDS


def asks(text: str) -> bool:
    return text.rstrip().rstrip("\"'”’)").endswith("?")


def nearest(statement: str, known: Sequence[Earlier]) -> list[Earlier]:
    """Where not a word is shared the classifier guesses, and it takes closed on Mondays for not open on Sundays: such
    pairs are left out."""
    own = stems(statement)
    sharing = [one for one in known if own & one.words and not _of_other_days(own, one.words)]
    return sorted(sharing, key=lambda one: (-len(own & one.words), -one.start))[:BESIDE]


def _of_other_days(first: frozenset[str], second: frozenset[str]) -> bool:
    """Another day, and something else said of it."""
    apart = bool(first & _DAYS) and bool(second & _DAYS) and not first & second & _DAYS
    return apart and first - _DAYS != second - _DAYS


Beside = tuple[Piece, Earlier]


@dataclass(frozen=True)
class Consistency(Metric):
    model: str = "bundled:reader"

    name = "conversation-consistency"
    model_role: ClassVar[str] = "reader"
    dimensions = (Dimension("consistency", "Does it agree with what was said before?", ("history",)),)

    def prepare(self) -> None:
        open_model(self.model, self.model_role)

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        beside = [list(_beside(example)) for example in examples]
        statements: dict[str, dict[str, None]] = {}
        for piece, before in (pair for own in beside for pair in own):
            statements.setdefault(before.text, {})[piece.text] = None
        asked = [(before, tuple(texts)) for before, texts in statements.items()]
        found = open_model(self.model, self.model_role).read(asked) if asked else []
        chance = {
            (text, before): reading.contradicted
            for (before, texts), readings in zip(asked, found, strict=True)
            for text, reading in zip(texts, readings, strict=True)
        }
        return [{"consistency": self._one(own, chance)} for own in beside]

    @staticmethod
    def _one(beside: Sequence[Beside], chance: Mapping[tuple[str, str], float]) -> Score:
        worst: dict[Piece, tuple[float, Earlier]] = {}
        for statement, before in beside:
            value = chance[statement.text, before.text]
            if value > worst.get(statement, (-1.0, before))[0]:
                worst[statement] = (value, before)
        spans = tuple(
            Span(s.start, s.end, round(1.0 - value, 4), "sentence", note=CONTRADICTED if value >= 0.5 else "",
                 other=("history", before.start, before.end))
            for s, (value, before) in worst.items()
        )  # fmt: skip
        return Score(1.0 - max((value for value, _ in worst.values()), default=0.0), spans)


def _beside(example: Example) -> Iterator[Beside]:
    known = earlier(example)
    for piece in sentences(example.output, "line"):
        if opening := _ANSWERED.match(piece.text):  # yes and no belong to the question, not to the statement
            piece = Piece(piece.text[opening.end() :], piece.start + opening.end(), piece.end)
        if states(piece.text):
            yield from ((piece, one) for one in nearest(piece.text, known))


@dataclass(frozen=True)
class Retention(EmbedderMetric):
    name = "conversation-retention"
    dimensions = (Dimension("retention", "Does it remember what the user said?", ("history",)),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        asked = [questions(example.output) for example in examples]
        known = [[one for one in earlier(e) if one.of_user] for e in examples]
        both = [(own, told) for own, told in zip(asked, known, strict=True) if own and told]
        vectors = self.embedded(
            text for own, told in both for text in (*(p.text for p in own), *(t.said for t in told))
        )
        rows: list[Row] = []
        for own, told in zip(asked, known, strict=True):
            spans = [_recalled(question, told, vectors) for question in own] if told else []
            rows.append({"retention": Score(min((span.value for span in spans), default=1.0), tuple(spans))})
        return rows


def _recalled(question: Piece, told: Sequence[Earlier], vectors: Mapping[str, Embedded]) -> Span:
    """The question with the user's statement that answers it best."""
    chances = [HOLDS(answer_features(question.text, one.said, vectors)) for one in told]
    value = max(chances)
    best = told[chances.index(value)]
    note = ASKED_AGAIN if value >= 0.5 else ""
    place = ("history", best.start, best.end)
    return Span(question.start, question.end, round(1.0 - value, 4), "sentence", note=note, other=place)
