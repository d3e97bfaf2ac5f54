"""What a network is shown: one frozen record per kind of lesson, free of any framework."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PairItem:
    """One or two texts and a class; `second` None for a single text."""

    first: str
    second: str | None
    label: int


@dataclass(frozen=True)
class TargetItem:
    """Two texts and a number (CTC's R, IM2's five classes under squared error)."""

    first: str
    second: str | None
    target: float


@dataclass(frozen=True)
class WordItem:
    """Whitespace words with one label each (0 supported, 1 made up), and the text they are held against."""

    words: tuple[str, ...]
    labels: tuple[int, ...]
    context: str


@dataclass(frozen=True)
class YesNoItem:
    """Parts of a prompt (the question first); the network puts its own separator between them."""

    parts: tuple[str, ...]
    yes: bool
    task: str = ""


@dataclass(frozen=True)
class TextItem:
    """Running text for a language model."""

    text: str


@dataclass(frozen=True)
class RankItem:
    """Two responses to one context, the first of them the better."""

    context: str
    better: str
    worse: str


Item = PairItem | TargetItem | WordItem | YesNoItem | TextItem | RankItem
