"""What a metric may ask of a model. A role never names a framework.

Texts are data: a backend must encode them so that separators, prompts or control characters inside a text cannot
change the structure of the model's input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Long = Literal["window", "cut"]
"""What to do with a text longer than the model: overlapping windows (nothing lost), or cut as the papers do."""


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """The tokens of one text at one layer, first and last being the model's special tokens."""

    text: str
    starts: NDArray[np.int32]
    """First character of each token in `text`; specials have start == end."""
    ends: NDArray[np.int32]
    vectors: NDArray[np.float32]
    """(tokens, width), as the model gives them, not normalised."""
    cut: int = 0
    """Tokens at the end of the text that the model did not see."""
    unknown: NDArray[np.bool_] | None = None
    """Tokens that the vocabulary does not have: they all look the same to the model."""
    pieces: tuple[str, ...] = ()
    """The tokens as the vocabulary writes them, a blank for its sign of one: ` the`, `##s`."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def inner(self) -> TokenVectors:
        """Without the two special tokens."""
        unknown = None if self.unknown is None else self.unknown[1:-1]
        inside = self.starts[1:-1], self.ends[1:-1], self.vectors[1:-1]
        return TokenVectors(self.text, *inside, self.cut, unknown, self.pieces[1:-1])

    def token(self, index: int) -> str:
        return self.text[self.starts[index] : self.ends[index]]


@runtime_checkable
class Embedder(Protocol):
    """One vector per token of a text, at any layer; layer 0 is the row of the embedding table, without
    positions, `layers` the last."""

    identity: str
    """Name, digest, backend and precision, for signatures: `gte-small@1a2b3c4d/onnx/int8`."""
    layers: int
    width: int
    max_tokens: int

    def announce(self, layer: int) -> None:
        """Says that `layer` will be asked for, so that one pass over a text serves every metric of a run."""

    def embed(self, texts: Sequence[str], layer: int, long: Long = "window") -> list[TokenVectors]: ...


Mode = Literal["each", "none"]
"""Masked likelihood: every token masked in turn (the papers' formula), or one pass over the unmasked text."""
Keep = Literal["start", "end"]
Strategy = Literal["longest_first", "only_second"]


@dataclass(frozen=True, eq=False)
class TokenScores:
    """One log-probability per token of a text."""

    text: str
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    """Special tokens, where asked for, have start == end."""
    log_probs: NDArray[np.float32]
    cut: int = 0
    """Tokens (of the text, for a causal model of its context) that the model did not see."""
    judgement: Judgement | None = None
    """What a causal model with heads says about the text, from the same pass."""

    def __len__(self) -> int:
        return len(self.starts)

    def token(self, index: int) -> str:
        return self.text[self.starts[index] : self.ends[index]]


@dataclass(frozen=True)
class Limits:
    """How much of two texts goes into one input, in tokens."""

    total: int | None = None
    """Special tokens included; None: as long as the model takes."""
    strategy: Strategy = "longest_first"
    first: int | None = None
    """At most so many of the first text, before anything else (CTC-D: 255)."""
    second: int | None = None
    keep_first: Keep = "start"
    """Which end of a text survives a cut (IM2 keeps the end of the context)."""
    keep_second: Keep = "start"
    closed: bool = True
    """False: a pair that is too long loses its last separator before a token (the scripts of CTC's paper)."""


WHOLE = Limits()
FIRST_WHOLE = Limits(strategy="only_second")


@dataclass(frozen=True, eq=False)
class Logits:
    values: NDArray[np.float32]
    cut: tuple[int, int] = (0, 0)
    """Tokens of each text that the model did not see."""


@dataclass(frozen=True, eq=False)
class WordClasses:
    """Class probabilities of each white-space word of a text that has a token."""

    text: str
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    probabilities: NDArray[np.float32]
    """(words, classes)"""
    cut: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Value:
    """One number about a text or pair."""

    value: float
    cut: tuple[int, int] = (0, 0)


Pair = tuple[str, str | None]
"""Two texts, or one and None."""


@runtime_checkable
class MaskedLM(Protocol):
    identity: str
    max_tokens: int

    def log_probs(
        self,
        texts: Sequence[str],
        mode: Mode = "each",
        *,
        last: int | None = None,
        specials: bool = False,
        long: Long = "window",
        after: Sequence[int] | None = None,
    ) -> list[TokenScores]:
        """Log-probability of each token given all others.

        `last`: only the last so many ids, special tokens included, are seen, and the first and last of them are not
        scored (USR: 100). `specials`: with mode none, the special tokens are scored too (GRUEN's code). `after`: for
        each text the character after which tokens must end to be scored; those before it are only seen.
        """


@runtime_checkable
class CausalLM(Protocol):
    identity: str
    max_tokens: int

    def log_probs(self, pairs: Sequence[tuple[str | tuple[str, ...], str]]) -> list[TokenScores]:
        """Log-probability of each token of the second text given the first and what precedes it.

        A tuple of texts as context is joined by the end-of-text token (turns of a dialogue). The two texts are split
        apart, so a space between them belongs to the second. What does not fit is cut from the start of the context.
        """


@runtime_checkable
class Seq2SeqLM(Protocol):
    identity: str
    max_tokens: int

    def log_probs(self, pairs: Sequence[tuple[str, str]]) -> list[TokenScores]:
        """Log-probability of each token of the second text, its special tokens included, given the first as input
        and what precedes it. What is too long loses its end."""


@runtime_checkable
class JudgingLM(CausalLM, Protocol):
    """A causal model whose scores have a judgement."""

    taught: tuple[str, ...]
    """The heads that were trained: questions, `nli` for the entailment, `words`. Others say nothing. None: no heads."""


@runtime_checkable
class PairClassifier(Protocol):
    identity: str
    max_tokens: int
    labels: int

    def logits(self, pairs: Sequence[Pair], limits: Limits = WHOLE, order: Literal["ab", "ba"] = "ab") -> list[Logits]:
        """One logit per label; `ba` gives the second text to the model first (`cut` stays in the order of `pairs`)."""


@runtime_checkable
class TokenTagger(Protocol):
    identity: str
    max_tokens: int
    labels: int

    def tag(self, pairs: Sequence[Pair], limits: Limits = FIRST_WHOLE) -> list[WordClasses]:
        """Classes of the words of the first text beside the second; a word is the sum of its tokens' vectors."""


@runtime_checkable
class Regressor(Protocol):
    identity: str
    max_tokens: int

    def values(self, pairs: Sequence[Pair], limits: Limits = WHOLE) -> list[Value]: ...


@runtime_checkable
class SentenceOrder(Protocol):
    identity: str
    max_tokens: int

    def log_odds(self, pairs: Sequence[tuple[str, str]], limits: Limits = WHOLE) -> list[Value]:
        """log P(the first text comes first) - log P(they were swapped)."""


@runtime_checkable
class YesNo(Protocol):
    identity: str
    max_tokens: int

    def probabilities(self, prompts: Sequence[Sequence[str]], max_tokens: int | None = None) -> list[Value]:
        """P(Yes) / (P(Yes) + P(No)) for a prompt given as segments; what is too long is cut from the right.

        The model's separator stands between segments and cannot be forged by a text. `cut[0]` counts ids left out.
        """


@dataclass(frozen=True)
class Grades:
    """How likely a model finds each grade of a scale; the probabilities sum to one."""

    probabilities: tuple[float, ...]
    cut: int = 0
    """Tokens of the prompt that the model did not see."""


@runtime_checkable
class Grader(Protocol):
    identity: str
    max_tokens: int

    def grades(self, prompts: Sequence[Sequence[str]], low: int, high: int, samples: int = 1) -> list[Grades]:
        """The grades `low` to `high` for a prompt given as segments, as for YesNo.

        `samples`: how often a model is asked that gives no probabilities, only answers.
        """


@dataclass(frozen=True, eq=False)
class Judgement:
    """What one pass over (output, context) says about the output."""

    heads: dict[str, float]
    """One logit per question the model was trained on."""
    entailment: NDArray[np.float32]
    """P(entailed), P(neutral), P(contradicted)."""
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    words: NDArray[np.float32]
    """P(supported) of each token of the output."""
    pooled: NDArray[np.float32]
    """What the heads read; further small heads may stand on it. Empty from a language model, which keeps many."""
    cut: tuple[int, int] = (0, 0)
    """Tokens of the output and of the context that were not seen."""


@runtime_checkable
class Judge(Protocol):
    """A multi-task encoder: every head in one pass."""

    identity: str
    max_tokens: int
    questions: tuple[str, ...]
    together: frozenset[str]
    """Questions for which output and context are to be read as one text; the others want them read apart."""
    longest_output: int
    """Tokens of an output that it looks at."""

    def judge(self, pairs: Sequence[tuple[str, tuple[str, ...]]], together: bool = False) -> list[Judgement]:
        """An output beside its context: no text, one, or several with a separator between them, which a text cannot
        forge. What is too long loses its end; several contexts (turns of a dialogue) lose their start. Only questions
        that want to be read this way have learnt to answer."""

    def foresee(self, pairs: Sequence[tuple[str, tuple[str, ...]]], together: bool = False) -> None:
        """Says what will be asked for, so that what pairs have in common is computed once, whoever asks. Changes no
        answer."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, for cutting documents into windows."""


COPIED = 0.97
"""P(supported), at least, of what the source says word for word."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What the reader says of one claim held against a context."""

    supported: float
    contradicted: float
    absent: float
    """The three probabilities sum to one; `absent`: the context does not say."""
    fit: float
    """How well the claim serves as a summary, reply or answer."""
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    faults: NDArray[np.float32]
    """P(at fault) of each token of the claim."""
    cut: tuple[int, int] = (0, 0)
    """Tokens of context and claim that were not seen."""

    def with_cut(self, context: int) -> Reading:
        return replace(self, cut=(context, self.cut[1]))

    def copied(self) -> Reading:
        """As it is where the source says the claim word for word."""
        supported = max(self.supported, COPIED)
        left = (1.0 - supported) / max(self.contradicted + self.absent, 1e-9)
        contradicted, absent = min(1.0, self.contradicted * left), min(1.0, self.absent * left)
        nothing = np.zeros_like(self.faults)
        return replace(self, supported=supported, contradicted=contradicted, absent=absent, faults=nothing)


@runtime_checkable
class Reader(Protocol):
    """Holds claims against a context: supported, contradicted or absent, and which words are at fault."""

    identity: str
    max_tokens: int
    """Tokens of a context."""

    def read(self, asked: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[Reading, ...]]:
        """For each context the readings of its claims. No claim changes the answer to another."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, for choosing passages that fit."""


ROLES = (
    "reader",
    "judge",
    "embedder",
    "masked-lm",
    "causal-lm",
    "seq2seq-lm",
    "pair-classifier",
    "token-tagger",
    "regressor",
    "sentence-order",
    "yes-no",
    "grader",
)
