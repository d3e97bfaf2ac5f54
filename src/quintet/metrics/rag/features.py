"""How a claim stands to a passage and a text to a question: a few numbers each, put together by a logistic model."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quintet.models.roles import TokenVectors
from quintet.text.content_words import STOP, content_words, plain_words
from quintet.text.porter import stem
from quintet.text.sentences import sentences
from quintet.text.tokens import Piece

_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_COUNTED, 1)}
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w’'-]+")
_CAPITAL = re.compile(r"\b[A-Z][\w’'-]+")
_NOT = re.compile(r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|\w+n['’]t)\b", re.IGNORECASE)
_DATE = re.compile(
    r"\b(?:1\d{3}|20\d\d|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|today|tomorrow|morning|evening|night|century|\d+ ?[ap]m"
    r"|\d{1,2}[:.]\d\d|noon|midnight|spring|summer|autumn|winter|weeks?|days?|months?|years?|hours?|minutes?)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:in|at|on|near|from|to|into|along|behind|beside|under|outside|inside) (?:the |a )?\w+", re.I)
_CAUSE = re.compile(
    r"\b(?:because|since|so that|due to|in order to|to \w+|as|for|owing|caused|after|by|thanks)\b", re.IGNORECASE
)
_QUANTITY = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundreds?|thousands?|half|twice|once"
    r"|none|many|several|few|all|both|third|quarter)\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must)\b", re.I)
_YES = re.compile(r"^\W*(?:yes|no|yeah|nope|not|indeed|correct|right|true|false)\b", re.IGNORECASE)
_ASKED = (
    (re.compile(r"\bhow (?:many|much|old|long|far|tall|high|big|large|often|fast|deep|heavy|wide)\b", re.I), _QUANTITY),
    (re.compile(r"\b(?:when|what (?:year|date|day|time|month)|which (?:year|day|month)|how long)\b", re.I), _DATE),
    (re.compile(r"\b(?:who|whom|whose)\b", re.I), _CAPITAL),
    (re.compile(r"\bwhere\b", re.I), _PLACE),
    (re.compile(r"\bwhy\b", re.I), _CAUSE),
)


def stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in content_words(text))


def numbers(text: str) -> frozenset[str]:
    found = {number.replace(",", "") for number in _DIGITS.findall(text)}
    return frozenset(found | {_NUMBER_WORDS[word] for word in plain_words(text) if word in _NUMBER_WORDS})


def pieces(text: str) -> list[Piece]:
    return sentences(text, "line")


def share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / len(part) if part else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """A text's pieces that carry content, at unit length, and the mean vector of all of them."""

    content: NDArray[np.float32]
    mean: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: TokenVectors) -> Embedded:
        inner = vectors.inner
        carries = [
            index
            for index in range(len(inner))
            if (token := inner.token(index).lower()).isalnum() and token not in STOP and len(token) > 1
        ]
        chosen = inner.vectors[carries] if carries else inner.vectors
        return cls(_unit(chosen), _unit(vectors.vectors.mean(axis=0)))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-9), np.float32)


def nearest(claim: Embedded, passage: Embedded) -> float:
    """Of each piece of the claim the cosine of its nearest in the passage, on average."""
    if not len(claim.content) or not len(passage.content):
        return 0.0
    return float((claim.content @ passage.content.T).max(axis=1).mean())


SUPPORT = ("words", "words in one sentence", "nearest pieces", "numbers missing", "names missing", "negation differs")


def support(claim: str, passage: str, near: float) -> tuple[float, ...]:
    """What speaks for the passage supporting the claim; the names stand in SUPPORT."""
    own, there = stems(claim), stems(passage)
    inside = [(share(own, stems(piece.text)), piece.text) for piece in pieces(passage)]
    best, sentence = max(inside, default=(0.0, ""))
    counted, names = numbers(claim), frozenset(name.lower() for name in _NAME.findall(claim))
    known = frozenset(plain_words(passage))
    return (
        share(own, there),
        best,
        near,
        1.0 - share(counted, numbers(passage)),
        1.0 - share(frozenset(w for name in names for w in plain_words(name)), known),
        float(bool(_NOT.search(claim)) != bool(_NOT.search(sentence))),
    )


ANSWER = ("question's words", "nearest pieces", "meaning alike", "kind of answer", "new words", "echo")


def answer(question: str, text: str, near: float, alike: float) -> tuple[float, ...]:
    """What speaks for the text answering the question: not likeness alone, but the kind of thing that was asked for."""
    asked, said = stems(question), stems(text)
    new = len(said - asked) + len(numbers(text) - numbers(question))
    return (
        share(asked, said),
        near,
        alike,
        kind(question, text),
        math.log1p(new),
        float(text.rstrip().endswith("?") or (bool(said) and said <= asked and not _YES.match(text))),
    )


def kind(question: str, text: str) -> float:
    """1: the kind of thing that was asked for is there; -1: it is not; 0: the question does not say what kind."""
    for pattern, wanted in _ASKED:
        if pattern.search(question):
            known = frozenset(word for word in plain_words(question))
            found = [m.group().lower() for m in wanted.finditer(text)]
            if wanted is _CAPITAL:
                found = [name for name in found if name not in known]
            return 1.0 if found else -1.0
    if _YES_NO.match(question.strip()):
        return 1.0 if _YES.match(text) else 0.0
    return 0.0


@dataclass(frozen=True, slots=True)
class Logistic:
    intercept: float
    weights: tuple[float, ...]

    def __call__(self, features: Sequence[float]) -> float:
        value = self.intercept + math.fsum(w * f for w, f in zip(self.weights, features, strict=True))
        return 0.5 * (1.0 + math.tanh(0.5 * value))
