"""A causal language model on ONNX Runtime that reads a context once for all texts that follow it.

One sequence a run: a score cannot depend on what else is asked. A context always goes through the model by itself and
a text after it, whether its keys and values were kept or not, so remembering changes no bit either.

A model with heads (`lm_heads`) reads a line break after each text and judges it from the states of the same run.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quintet.core.cache import current
from quintet.errors import ModelError
from quintet.models import packed_weights
from quintet.models.batching import once_each
from quintet.models.folder import Description
from quintet.models.lm_heads import Heads
from quintet.models.memo import KeptStates
from quintet.models.onnx_backend import LateSession
from quintet.models.roles import (
    EACH,
    YES_NO,
    Answer,
    Context,
    Masking,
    PairScore,
    PromptModel,
    TokenLM,
    TokenScores,
    only_yes_no,
)
from quintet.models.subwords import Pieces, Subwords

# Keys and values of a language model, under the names its graph has for them.

States = tuple[NDArray[np.float32], ...]
"""Keys and values of each layer in turn: (1, heads, tokens, width of a head)."""


class StateNames(NamedTuple):
    past: tuple[str, ...]
    """Inputs: of what was read before."""
    present: tuple[str, ...]
    """Outputs: of that and of what is read now, to be another run's past as they are."""


def state_names(layers: int) -> StateNames:
    kinds = [f"{kind}_{layer}" for layer in range(layers) for kind in ("key", "value")]
    return StateNames(tuple(f"past_{kind}" for kind in kinds), tuple(f"present_{kind}" for kind in kinds))


def size(states: States) -> int:
    """In bytes."""
    return sum(part.nbytes for part in states)


# Questions answered by a language model that was taught to chat: the odds of Yes against No as its first word.
#
# A model of this size knows little: its answers hardly agree with people (docs/models.md). It is here so that any
# question in words has an answer without a download.

OPENS, CLOSES = "<|im_start|>", "<|im_end|>"
ANSWERS = ("Yes", "No")
_ASK = "\nAnswer Yes or No."


class ChatYesNo(PromptModel):
    def __init__(self, model: OnnxCausalLM, identity: str) -> None:
        self._model = model
        self.identity, self.max_tokens = identity, model.max_tokens
        split = model.subwords.split
        opens, closes = model.subwords.id(OPENS), model.subwords.id(CLOSES)
        self._before = np.concatenate([[opens], split("user\n").ids])
        self._after = np.concatenate(
            [split(_ASK).ids, [closes], split("\n").ids, [opens], split("assistant\n").ids]
        )  # fmt: skip
        self._between = split("\n").ids
        self._answers = [int(split(word).ids[0]) for word in ANSWERS]

    def answers(
        self,
        prompts: Sequence[Sequence[str]],
        options: tuple[str, ...] = YES_NO,
        *,
        max_tokens: int | None = None,
        samples: int = 1,
    ) -> list[Answer]:
        only_yes_no(self.identity, options)
        limit = min(max_tokens or self.max_tokens, self.max_tokens)
        asked = [tuple(prompt) for prompt in prompts]
        return once_each(asked, lambda distinct: [self._one(prompt, limit) for prompt in distinct])

    def _one(self, prompt: tuple[str, ...], limit: int) -> Answer:
        """The context comes before the output and the question last, so that equal documents are read once."""
        question, own, *beside = prompt
        parts = [*beside, own, question] if beside else [own, question]
        split = [self._model.subwords.split(part.strip()).ids for part in parts]
        room = max(0, limit - len(self._before) - len(self._after) - len(self._between) * (len(split) - 1))
        kept, cut = _cut(split, room)
        body = np.concatenate([piece for part in kept for piece in (self._between, part)][1:])
        ids = np.concatenate([self._before, body, self._after]).astype(np.int64)
        yes, no = self._model.next_log_probs(ids, self._answers).tolist()
        return Answer.yes(float(0.5 * (1.0 + np.tanh(0.5 * (yes - no)))), cut)


def _cut(parts: list[Ids], room: int) -> tuple[list[Ids], int]:
    """The longest part loses its end."""
    over = sum(map(len, parts)) - room
    if over <= 0:
        return parts, 0
    longest = max(range(len(parts)), key=lambda i: len(parts[i]))
    lost = min(over, len(parts[longest]))
    shorter = [part[: len(part) - lost] if i == longest else part for i, part in enumerate(parts)]
    kept, more = _cut(shorter, room) if lost < over else (shorter, 0)
    return kept, lost + more


Ids = NDArray[np.int64]
Before = str | tuple[str, ...]

STATE_BYTES = 192 * 2**20
"""Memory for contexts already read, the least recently used out first; a token takes 46 kB."""
REMEMBERED = 16384
"""Scores kept."""
CONTEXT_STEP = TEXT_STEP = 128
"""Tokens a run: bounds the memory of attention, and of probabilities over the whole vocabulary."""
LINE_BREAK = "\n"
_NOTHING: Ids = np.zeros(0, np.int64)


class _Read(NamedTuple):
    """What runs over a text gave."""

    log_probs: list[NDArray[np.float32]]
    states: list[NDArray[np.float32]]
    """Of its tokens and of what closes it; none without heads."""


class _Kept:
    """States of contexts and scores."""

    def __init__(self) -> None:
        self.states: KeptStates[States] = KeptStates(STATE_BYTES, size)
        self.known: OrderedDict[tuple[Before, str], TokenScores] = OrderedDict()


class OnnxCausalLM(TokenLM):
    """A graph: ids, past, rows, targets to logp, present, and states if it has heads (see `train.export_judge_lm`)."""

    def __init__(self, folder: Path, description: Description, identity: str) -> None:
        self.identity, self.max_tokens = identity, description.max_tokens
        if len(description.states) != 4:
            raise ModelError(f"{folder / 'model.toml'} does not say the shape of the model's states")
        self.subwords = Subwords.read(folder / "tokenizer.json", description.prefix_space)
        self._start, self._end = self.subwords.id(description.start), self.subwords.id(description.end)
        layers, _, heads, width = description.states
        self._names = state_names(layers)
        self._nothing: States = tuple(np.zeros((1, heads, 0, width), np.float32) for _ in self._names.past)
        self.taught = description.taught
        self._heads = Heads.of(folder, description)
        self._closing = _NOTHING if self._heads is None else self.subwords.split(LINE_BREAK).ids[-1:]
        self._late = LateSession(folder / description.file, folder / packed_weights.FILE)
        self._lock = threading.RLock()
        self.tokens_read = 0
        """Tokens that went through the model."""

    @property
    def _kept(self) -> _Kept:
        return current().store(self, _Kept)

    def log_probs(self, pairs: Sequence[tuple[Context, str]], masking: Masking = EACH) -> list[TokenScores]:
        plain: list[tuple[Before, str]] = [(context or "", text) for context, text in pairs]
        with self._lock:
            known = self._kept.known
            found = {pair: known[pair] for pair in dict.fromkeys(plain) if pair in known}
            texts: dict[Before, list[str]] = {}
            for context, text in dict.fromkeys(plain):
                if (context, text) not in found:
                    # Texts after one context follow one another, so that it is read once.
                    texts.setdefault(context, []).append(text)
            for context, own in texts.items():
                before = self._context(context)
                found.update({(context, text): self._read(before, text, self.subwords.split(text)) for text in own})
            for pair, scores in found.items():
                known[pair] = scores
                known.move_to_end(pair)
            while len(known) > REMEMBERED:
                known.popitem(last=False)
            return [found[pair] for pair in plain]

    def soon(self) -> None:
        self._late.soon()

    def forget(self) -> None:
        current().drop(self)

    def next_log_probs(self, ids: Ids, answers: Sequence[int]) -> NDArray[np.float32]:
        """Log-probability of each of `answers` as the token after `ids`."""
        with self._lock:
            rows = np.zeros(len(answers), np.int64)
            return self._scored(ids[-1:], self._state(ids[:-1]), rows, np.array(answers, np.int64))

    def judge_after(self, context: Ids, own: Pieces) -> PairScore:
        """What its heads say of a text, for callers that cut texts in their own way."""
        with self._lock:
            judgement = self._read(context, "", own).judgement
        if judgement is None:
            raise ModelError(f"{self.identity} has no heads that judge what it reads")
        return judgement

    def longest_context(self, own: int) -> int:
        """Tokens of a context that it looks at, before a text of so many."""
        # Room for short texts is left free whatever their length, so that they all follow the same context.
        return self.max_tokens - 1 - max(own, min(self.max_tokens // 8, self.max_tokens - 1))

    def _context(self, context: Before) -> Ids:
        if isinstance(context, str):
            return self.subwords.split(context).ids
        parts = [np.append(self.subwords.split(turn).ids, self._end) for turn in context]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _read(self, context: Ids, text: str, own: Pieces) -> TokenScores:
        """The start of the context gives way; a text longer than the model is read in pieces of half its length, each
        after as much of what precedes it as fits."""
        if not len(own) and self._heads is None:
            return TokenScores(text, own.starts, own.ends, np.zeros(0, np.float32), 0)
        step = max(1, len(own)) if len(own) < self.max_tokens else self.max_tokens // 2
        room = self.longest_context(step)
        cut = max(0, len(context) - room)
        whole = np.concatenate([context, own.ids])
        read = _Read([], [])
        for at in range(0, max(1, len(own)), step):
            end = len(context) + at
            before = np.concatenate([[self._start], whole[max(0, end - room) : end]])
            self._after(before, own.ids[at : at + step], self._closing if at + step >= len(own) else _NOTHING, read)
        judgement = None if self._heads is None else self._heads.judge(own, np.concatenate(read.states), cut)
        return TokenScores(text, own.starts, own.ends, np.concatenate(read.log_probs), cut, judgement)

    def _after(self, before: Ids, own: Ids, closing: Ids, read: _Read) -> None:
        """Adds to `read` the log-probabilities of `own` and, for heads, the states of it and of what closes it."""
        past = self._state(before[:-1])
        answers = ("logp",) if self._heads is None else ("logp", "states")
        runs = self._runs(before[-1:], own, closing)
        states: list[NDArray[np.float32]] = []
        for number, (ids, targets) in enumerate(runs, 1):
            wanted = answers if number == len(runs) else (*answers, *self._names.present)
            found = self._run(wanted, ids, past, np.arange(len(targets)), targets)
            read.log_probs.append(found[0])
            states.extend(found[1 : len(answers)])
            past = tuple(found[len(answers) :])
        if states:
            read.states.append(np.concatenate(states)[1:])

    def _runs(self, before: Ids, own: Ids, closing: Ids) -> list[tuple[Ids, Ids]]:
        """What each run is fed after the context but for its last token, `before`, and the tokens that follow."""
        fed = np.concatenate([before, own[:-1]])
        runs = [(fed[at : at + TEXT_STEP], own[at : at + TEXT_STEP]) for at in range(0, len(fed), TEXT_STEP)]
        if self._heads is not None:
            tail = np.concatenate([own[-1:], closing])
            ids, targets = runs[-1]
            # One token by itself goes through other arithmetic than several: it stays alone with heads as without.
            runs[-1:] = [(np.concatenate([ids, tail]), targets)] if len(ids) > 1 else [runs[-1], (tail, _NOTHING)]
        return runs

    def _state(self, ids: Ids) -> States:
        """Keys and values of a context, from memory if it was read lately."""
        key = ids.tobytes()
        states = self._kept.states
        kept = states.get(key)
        if kept is not None:
            return kept
        past = self._nothing
        for at in range(0, len(ids), CONTEXT_STEP):
            past = tuple(self._run(self._names.present, ids[at : at + CONTEXT_STEP], past, _NOTHING, _NOTHING))
        states.put(key, past)
        return past

    def _scored(self, ids: Ids, past: States, rows: Ids, targets: Ids) -> NDArray[np.float32]:
        return self._run(("logp",), ids, past, rows, targets)[0]

    def _run(
        self, wanted: Sequence[str], ids: Ids, past: States, rows: Ids, targets: Ids
    ) -> Sequence[NDArray[np.float32]]:
        self.tokens_read += len(ids)
        given = {"ids": ids.astype(np.int64), "rows": rows, "targets": targets}
        found: Sequence[NDArray[np.float32]] = self._late.get().run(
            list(wanted), {**given, **dict(zip(self._names.past, past, strict=True))}
        )
        return found
