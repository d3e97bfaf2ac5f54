"""The text that the evaluator learns from, one table for each kind, and the lists that neighbours are looked up in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

READ_SENTENCES = 40
"""Sentences of a document that examples are made of; the whole text may still be the ground of a claim."""


@dataclass(frozen=True)
class Dialogue:
    source: str
    turns: tuple[str, ...]
    facts: tuple[str, ...] = ()
    """What the speaker of each turn could read; empty texts where nothing."""
    human: tuple[bool, ...] = ()
    """Which turns a person wrote; empty if all."""


@dataclass(frozen=True)
class Choice:
    """A history, several replies, the right one."""

    history: tuple[str, ...]
    replies: tuple[str, ...]
    right: int


@dataclass(frozen=True)
class Document:
    source: str
    sentences: tuple[str, ...]
    summary: tuple[str, ...]

    @property
    def read(self) -> tuple[str, ...]:
        return self.sentences[:READ_SENTENCES]

    @property
    def text(self) -> str:
        return " ".join(self.sentences)


@dataclass(frozen=True)
class Story:
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Ending:
    sentences: tuple[str, ...]
    coherent: bool


@dataclass(frozen=True)
class Entailment:
    source: str
    premise: str
    hypothesis: str
    label: str
    """entailment, neutral, contradiction, not_entailment"""


@dataclass(frozen=True)
class Similarity:
    source: str
    text: str
    other: str
    similarity: float
    grammar: float | None = None
    """How well formed `text` is, where that was rated as well."""


@dataclass(frozen=True)
class Translation:
    """A machine's sentence, a person's correction of it, and what they thought of it."""

    machine: str
    corrected: str
    rating: float
    """0 to 100."""
    edits: float | None
    """Share of words that the correction touched."""
    words: str = ""
    """The machine's words between blanks, where they are marked."""
    marks: str = ""
    """0 for a wrong word or gap, 1 for a right one: gap, word, gap, …"""


@dataclass(frozen=True)
class Preference:
    reference: str
    better: str
    worse: str


@dataclass(frozen=True)
class MinimalPair:
    good: str
    bad: str


@dataclass(frozen=True)
class Acceptable:
    text: str
    value: float
    thinned: bool = False
    """Mostly left out where it is lower case: search queries would teach that lower case is bad."""


class Slot(NamedTuple):
    act: str
    name: str
    value: str


@dataclass(frozen=True)
class Described:
    """Slots of a meaning representation and texts that say them."""

    source: str
    slots: tuple[Slot, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Continued:
    """A claim about a document that a language model ended without having read it."""

    document: int
    claim: str
    """What is true of the document."""
    kept: str
    """The beginning of the claim that was left."""
    ending: str
    """With the blank before it, if there is one."""


@dataclass(frozen=True)
class Retold:
    """A claim that a language model made of a document it had read, and what a teacher says of it."""

    document: int
    claim: str
    supported: float | None = None
    """How likely the document supports it; None before it was judged."""
    wrong: tuple[tuple[int, int], ...] = ()
    """Characters that it does not support,"""
    unsure: tuple[tuple[int, int], ...] = ()
    """and those of which the teacher is not sure."""


@dataclass(frozen=True)
class Told:
    """What a language model told of a document it had read: one or several whole sentences."""

    document: int
    text: str


@dataclass(frozen=True)
class Answered:
    """A reply that a language model wrote at a turn of a dialogue."""

    dialogue: int
    turn: int
    reply: str
    aware: bool
    """Whether it had read the turns before; else it read those of another dialogue."""


Written = TypeVar("Written", Continued, Retold, Told, Answered)


def save_written(made: Sequence[Written], path: Path) -> None:
    """Whole or not at all: a run that goes on takes the file as it is."""
    part = path.with_suffix(".part")
    part.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in made), encoding="utf-8")
    part.replace(path)


def load_written(kind: type[Written], path: Path) -> list[Written]:
    return [kind(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


Record = (
    Dialogue | Choice | Document | Story | Ending | Entailment | Similarity
    | Translation | Preference | MinimalPair | Acceptable | Described
)  # fmt: skip


class Span(NamedTuple):
    """Rows of a flat list that belong to one text."""

    first: int
    size: int


@dataclass(frozen=True)
class Tables:
    dialogues: list[Dialogue] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    stories: list[Story] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    entailments: list[Entailment] = field(default_factory=list)
    similarities: list[Similarity] = field(default_factory=list)
    translations: list[Translation] = field(default_factory=list)
    preferences: list[Preference] = field(default_factory=list)
    acceptable: list[MinimalPair | Acceptable] = field(default_factory=list)
    described: list[Described] = field(default_factory=list)
    continued: list[Continued] = field(default_factory=list)
    """Written after the rest was read: by a language model, about the documents above."""
    retold: list[Retold] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    """All turns of all dialogues, in order; neighbours are rows of this list."""
    turn_dialogue: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    first_turn: list[int] = field(default_factory=list)
    """Row of each dialogue's first turn."""
    sentences: list[str] = field(default_factory=list)
    """Sentences of a usual length of documents and summaries."""
    sentence_document: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    body: list[Span] = field(default_factory=list)
    """Rows of each document's own sentences."""
    summary: list[Span] = field(default_factory=list)


_TABLE: dict[type, str] = {
    Dialogue: "dialogues",
    Choice: "choices",
    Document: "documents",
    Story: "stories",
    Ending: "endings",
    Entailment: "entailments",
    Similarity: "similarities",
    Translation: "translations",
    Preference: "preferences",
    MinimalPair: "acceptable",
    Acceptable: "acceptable",
    Described: "described",
}


def fill(records: Iterable[Record]) -> Tables:
    """Every record in the table of its kind, and the flat lists of turns and sentences."""
    lists: dict[str, list[Any]] = {name: [] for name in set(_TABLE.values())}
    for record in records:
        lists[_TABLE[type(record)]].append(record)
    turns, of_turn, first = _turns(lists["dialogues"])
    sentences, of_sentence, body, summary = _sentences(lists["documents"])
    return Tables(
        **lists,
        turns=turns,
        turn_dialogue=np.array(of_turn, np.int64),
        first_turn=first,
        sentences=sentences,
        sentence_document=np.array(of_sentence, np.int64),
        body=body,
        summary=summary,
    )


def _turns(dialogues: list[Dialogue]) -> tuple[list[str], list[int], list[int]]:
    turns: list[str] = []
    owner: list[int] = []
    first: list[int] = []
    for number, dialogue in enumerate(dialogues):
        first.append(len(turns))
        turns += dialogue.turns
        owner += [number] * len(dialogue.turns)
    return turns, owner, first


def _sentences(documents: list[Document]) -> tuple[list[str], list[int], list[Span], list[Span]]:
    sentences: list[str] = []
    owner: list[int] = []
    spans: tuple[list[Span], list[Span]] = ([], [])
    for number, document in enumerate(documents):
        for kept, (texts, least) in zip(spans, ((document.read, 5), (document.summary, 3)), strict=True):
            usual = [text for text in texts if least <= len(text.split()) <= 60]
            kept.append(Span(len(sentences), len(usual)))
            sentences += usual
            owner += [number] * len(usual)
    return sentences, owner, *spans
