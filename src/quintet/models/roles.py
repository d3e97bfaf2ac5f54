"""What a metric may ask of a model: five contracts, none of which names a framework.

| contract | asked for | roles that it fills |
|---|---|---|
| Embedder | `embed(texts)`: a vector per token | embedder |
| TokenLM | `log_probs((context, text))`: a log-probability per token | masked-lm, causal-lm, seq2seq-lm |
| PairModel | `score((first, second))`: named logits, support of each token | judge, pair-classifier, regressor, … |
| PromptModel | `answers(prompts, options)`: a probability per option | yes-no, grader |
| Reader | `read((context, claims))`: verdicts on claims | reader |

A role is what a model is opened as (`open_model(spec, role)`): it says which head of a checkpoint is meant.

Texts are data: a backend must encode them so that separators, prompts or control characters inside a text cannot
change the structure of the model's input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError

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
Context = str | tuple[str, ...] | None
"""What stands with a text: nothing, a text, or several (turns of a dialogue)."""


def one_text(context: Context) -> str | None:
    """For models that know no turns: a line for each."""
    if isinstance(context, tuple):
        return "\n".join(context) if context else None
    return context


@dataclass(frozen=True)
class Masking:
    """How a masked model is asked; models that read from left to right take no notice."""

    mode: Mode = "each"
    last: int | None = None
    """Only the last so many ids, special tokens included, are seen, and the first and last of them are not scored
    (USR: 100)."""
    specials: bool = False
    """With mode none, the special tokens are scored too (GRUEN's code)."""
    long: Long = "window"


EACH = Masking()


@dataclass(frozen=True, eq=False)
class TokenScores:
    """One log-probability per token of a text."""

    text: str
    """As the model saw it: a masked model sees context and text as one."""
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    """Special tokens, where asked for, have start == end."""
    log_probs: NDArray[np.float32]
    cut: int = 0
    """Tokens (of the text, for a causal model of its context) that the model did not see."""
    judgement: PairScore | None = None
    """What the heads of a causal model, where it has some, say about the text, from the same pass."""

    def __len__(self) -> int:
        return len(self.starts)

    def token(self, index: int) -> str:
        return self.text[self.starts[index] : self.ends[index]]


@runtime_checkable
class TokenLM(Protocol):
    identity: str
    max_tokens: int
    taught: tuple[str, ...] = ()
    """The heads that were trained: questions, `nli` for the entailment, `words`. None: no heads."""

    def log_probs(self, pairs: Sequence[tuple[Context, str]], masking: Masking = EACH) -> list[TokenScores]:
        """Log-probability of each token of the text, for pairs of context and text.

        masked: given all other tokens of both, which are read as one text without anything between them; tokens that
        end in the text are scored.
        causal: given the context and what precedes it. Turns are joined by the end-of-text token; a space between the
        two belongs to the text. What does not fit is cut from the start of the context.
        seq2seq: its special tokens included, given the context as input and what precedes it. What is too long loses
        its end.
        """


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

Pair = tuple[str, Context]
"""Two texts in the order in which the model was trained to read them, or one and nothing."""
_NOWHERE = np.empty(0, np.int32)
_NOTHING = np.empty(0, np.float32)


@dataclass(frozen=True, eq=False)
class PairScore:
    """What a model says of a pair from one pass."""

    logits: Mapping[str, float]
    """One number per label; of a regressor, a single one."""
    cut: tuple[int, int] = (0, 0)
    """Tokens of each text that were not seen."""
    starts: NDArray[np.int32] = field(default_factory=lambda: _NOWHERE, repr=False)
    ends: NDArray[np.int32] = field(default_factory=lambda: _NOWHERE, repr=False)
    support: NDArray[np.float32] = field(default_factory=lambda: _NOTHING, repr=False)
    """P(supported) of each token of the text that is judged, or, from a tagger, of each of its words."""
    entailment: NDArray[np.float32] = field(default_factory=lambda: _NOTHING, repr=False)
    """P(entailed), P(neutral), P(contradicted)."""
    pooled: NDArray[np.float32] = field(default_factory=lambda: _NOTHING, repr=False)
    """What the heads read, where further small heads may stand on it."""

    @property
    def values(self) -> NDArray[np.float32]:
        """The logits in the order of the labels."""
        return np.array(list(self.logits.values()), np.float32)

    @property
    def value(self) -> float:
        """The number of a model with one output."""
        (found,) = self.logits.values()
        return found


@runtime_checkable
class PairModel(Protocol):
    """Classifier, regressor, sentence order, tagger, or a multi-task encoder that answers for all of them."""

    identity: str
    max_tokens: int
    labels: tuple[str, ...]
    """Names of the logits; of a multi-task encoder its questions."""
    joint: frozenset[str] = frozenset()
    """Labels of a multi-task encoder for which both texts are to be read as one; the others want them read apart."""
    longest_output: int = 190
    """Tokens of the judged text that a multi-task encoder looks at."""

    def score(self, pairs: Sequence[Pair], limits: Limits = WHOLE, joint: bool = False) -> list[PairScore]:
        """A multi-task encoder judges the first text beside the second, which may be several with a separator between
        them that no text can forge: what is too long loses its end, several contexts lose their start. Only labels
        that want to be read this way (`joint`) have learnt to answer."""

    def prefetch(self, pairs: Sequence[Pair], joint: bool = False) -> None:
        """Says what will be asked for, so that what pairs have in common is computed once, whoever asks. Changes no
        answer."""
        return

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, for cutting documents into windows."""


YES_NO = ("Yes", "No")


@dataclass(frozen=True)
class Answer:
    """How likely a model finds each option; the probabilities sum to one."""

    probabilities: tuple[float, ...]
    cut: int = 0
    """Tokens of the prompt that the model did not see."""

    @classmethod
    def yes(cls, probability: float, cut: int = 0) -> Answer:
        return cls((probability, 1.0 - probability), cut)

    @property
    def value(self) -> float:
        """Of the first option."""
        return self.probabilities[0]


def only_yes_no(identity: str, options: tuple[str, ...]) -> None:
    """Refuses other options, for models that learnt to say Yes or No."""
    if options != YES_NO:
        raise ModelError(f"{identity} answers Yes or No, not one of {', '.join(options)}")


@runtime_checkable
class PromptModel(Protocol):
    identity: str
    max_tokens: int

    def answers(
        self,
        prompts: Sequence[Sequence[str]],
        options: tuple[str, ...] = YES_NO,
        *,
        max_tokens: int | None = None,
        samples: int = 1,
    ) -> list[Answer]:
        """The options' shares of their joint probability, for prompts given as segments; what is too long is cut from
        the right. The model's separator stands between segments and cannot be forged by a text.

        `samples`: how often a model is asked that gives no probabilities, only answers.
        """


COPIED = 0.995
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


Model = Embedder | TokenLM | PairModel | PromptModel | Reader
CONTRACTS: Mapping[str, type] = {
    "reader": Reader,
    "judge": PairModel,
    "embedder": Embedder,
    "masked-lm": TokenLM,
    "causal-lm": TokenLM,
    "seq2seq-lm": TokenLM,
    "pair-classifier": PairModel,
    "token-tagger": PairModel,
    "regressor": PairModel,
    "sentence-order": PairModel,
    "yes-no": PromptModel,
    "grader": PromptModel,
}
"""What a model opened in a role can be asked. The names stand in model.toml, in recipes and in signatures."""
