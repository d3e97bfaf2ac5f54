"""The multi-task encoder on ONNX Runtime: every question about an output answered in one pass.

`[CLS] context [SEP]` goes through the model by itself, once for all outputs that stand beside it; `[CLS] output [SEP]`
looks at itself and at what was kept of the context. Contexts are always read apart, kept or not, and how far a text is
filled up depends on its own length alone: so neither memory nor company changes a bit.

Questions that compare two short texts (`joint`) read them as one, `[CLS] output [SEP] context [SEP]`, where each
sees the other: little would be shared there.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from quintet.core.cache import current
from quintet.core.plain import Foreign
from quintet.errors import ModelError
from quintet.models.batching import equal_batches
from quintet.models.folder import Description
from quintet.models.memo import KeptStates
from quintet.models.onnx_backend import input_names, mapped, open_cut, output_names
from quintet.models.roles import WHOLE, Context, Limits, Pair, PairModel, PairScore
from quintet.models.subwords import Pieces, Subwords

# What a judge keeps of contexts it has read: keys and values of every layer, for all outputs that stand beside them.

STATE_BYTES = 64 * 2**20
"""Memory for contexts already read; a token takes 37 kB. Questions come sorted by their contexts, so a few suffice."""

States = NDArray[np.float32]
"""(layers, 2, heads, tokens, width of a head)"""
Names = list[tuple[str, str]]
"""Of keys and values, layer by layer."""


def past_names(layers: int) -> Names:
    """The graph's inputs for the states of the context. One input for all would be cut up, that is copied, at every
    run."""
    return [(f"past_key_{index}", f"past_value_{index}") for index in range(layers)]


def fresh_names(layers: int) -> Names:
    """The graph's outputs for the states of what it was given, each (heads, texts, tokens, width of a head)."""
    return [(f"fresh_key_{index}", f"fresh_value_{index}") for index in range(layers)]


def as_inputs(states: States) -> dict[str, States]:
    """Views, not copies."""
    return {
        name: part
        for names, own in zip(past_names(len(states)), states, strict=True)
        for name, part in zip(names, own, strict=True)
    }


def from_outputs(fresh: Sequence[States], text: int, length: int) -> States:
    """The states of one text of a run, without what it was filled up with."""
    own = np.stack([part[:, text, :length] for part in fresh])
    return own.reshape(len(fresh) // 2, 2, *own.shape[1:])


Key = tuple[bytes, bytes, bool]
OUTPUTS = ("heads", "nli", "words", "pooled")
WORDS = "word_logp"
STEP = 4
"""Texts are filled up to a multiple of this and go with texts of that length. A run costs as much as twelve tokens
whatever is in it, so that few runs are worth some filling."""
BUDGET = 256
"""Tokens of a run: scores on all tokens of the context then stay near the processor, and few states are held."""
REMEMBERED = 16384
"""Judgements and split texts kept, of each the latest."""
NOTHING = {"rows": np.zeros((0, 2), np.int64), "targets": np.zeros(0, np.int64)}
"""No word of the vocabulary is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What the graph says, before it is tied to places in a text."""

    heads: dict[str, float]
    entailment: NDArray[np.float32]
    words: NDArray[np.float32]
    pooled: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One question: an output beside its context, which may be none."""

    output: Pieces
    context: NDArray[np.int64]
    cut: tuple[int, int] = (0, 0)
    """Tokens of the output and of the context that are left out."""
    joint: bool = False
    """Whether the two are read as one text."""

    @property
    def key(self) -> Key:
        """Digests: the ids of a window are as large as all answers about it, and thousands are kept."""
        return _digest(self.output.ids), _digest(self.context), self.as_one

    @property
    def as_one(self) -> bool:
        """An output without context is the same text in either way."""
        return self.joint and len(self.context) > 0

    def scored(self, answers: Answers) -> PairScore:
        return PairScore(
            answers.heads, self.cut, self.output.starts, self.output.ends, answers.words, answers.entailment,
            answers.pooled,
        )  # fmt: skip


class _Kept:
    """Texts split, answers, states of contexts and what will be asked for."""

    def __init__(self) -> None:
        self.pieces: OrderedDict[str, Pieces] = OrderedDict()
        self.known: OrderedDict[Key, Answers] = OrderedDict()
        self.states: KeptStates[States] = KeptStates(STATE_BYTES, lambda states: states.nbytes)
        self.prefetched: list[Asked] = []


class OnnxJudge(PairModel):
    """A graph: ids, types, output_mask, rows, targets and keys and values of contexts, to heads, nli, words, pooled,
    word_logp and fresh keys and values (see `train.export_evaluator`)."""

    def __init__(self, folder: Path, description: Description, identity: str) -> None:
        self.identity = identity
        self.max_tokens = description.max_tokens
        self.labels, self.aliases = description.questions, description.aliases
        self.joint = frozenset(description.together)
        self.width = description.width
        self.longest_output = description.longest_output
        self.subwords = Subwords.read(folder / "tokenizer.json")
        self.passes = 0
        """Outputs that went through the model."""
        self.contexts_read = 0
        """Contexts that did."""
        self._first, self._last = self.subwords.frame
        self._path = folder / description.file
        self._sessions: dict[tuple[str, ...], Foreign] = {}
        self._lock = threading.RLock()
        self._fresh = [name for names in fresh_names(description.layers) for name in names]
        self._check(description)
        layers, two, heads, each = description.states
        self._none: States = np.zeros((layers, two, heads, 0, each), np.float32)

    @property
    def _kept(self) -> _Kept:
        return current().store(self, _Kept)

    def _check(self, description: Description) -> None:
        model = mapped(self._path)
        missing = {*OUTPUTS, WORDS} - set(output_names(model))
        if missing:
            raise ModelError(f"{self._path} has no output {min(missing)!r}; it is not a judge")
        past = {name for names in past_names(description.layers) for name in names}
        if (
            len(description.states) != 4
            or past - set(input_names(model))
            or set(self._fresh) - set(output_names(model))
        ):
            raise ModelError(f"{self._path} cannot read contexts apart from outputs; export it anew with this version")

    def longest_context(self, output: int, joint: bool = False) -> int:
        """Tokens of context that it looks at, beside an output of so many; read apart, those do not matter."""
        return self.max_tokens - (output + 3 if joint else 2)

    @property
    def separator(self) -> int:
        """The id between contexts."""
        return self._last

    def filled(self, length: int) -> int:
        """Tokens of an input with a text of `length` tokens in its frame."""
        return min(-(-(length + 2) // STEP) * STEP, self.max_tokens)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(self.split(text)) for text in texts]

    def score(self, pairs: Sequence[Pair], limits: Limits = WHOLE, joint: bool = False) -> list[PairScore]:
        """How much of either text is seen is settled; `limits` are for models that read both as one."""
        return self.score_asked([self._asked(output, context, joint) for output, context in pairs])

    def prefetch(self, pairs: Sequence[Pair], joint: bool = False) -> None:
        """Pairs that will be asked for: they are answered with the next question that has no answer yet, all that share
        contexts together, whoever asks for them."""
        with self._lock:
            prefetched = self._kept.prefetched
            room = max(0, REMEMBERED // 2 - len(prefetched))
            prefetched += [self._asked(output, context, joint) for output, context in pairs[:room]]

    def score_asked(self, asked: Sequence[Asked]) -> list[PairScore]:
        """For callers that cut their texts in their own way. Equal inputs are judged once, whoever asks, until
        `forget`."""
        with self._lock:
            kept, keys = self._kept, [one.key for one in asked]
            answers = {key: kept.known[key] for key in keys if key in kept.known}
            if len(answers) < len(set(keys)):
                prefetched, kept.prefetched = kept.prefetched, []
                wanted = {one.key: one for one in (*asked, *prefetched)}
                answers.update(self._answered([one for key, one in wanted.items() if key not in kept.known]))
            for key, answer in answers.items():
                _remember(kept.known, key, answer)
            return [one.scored(answers[key]) for key, one in zip(keys, asked, strict=True)]

    def forget(self) -> None:
        current().drop(self)

    def split(self, text: str) -> Pieces:
        with self._lock:
            known = self._kept.pieces
            pieces = known.get(text)
            if pieces is None:
                pieces = self.subwords.split(text)
            _remember(known, text, pieces)
            return pieces

    def split_output(self, text: str) -> Pieces:
        """It reads outputs as it does contexts."""
        return self.split(text)

    def _asked(self, output_text: str, given: Context, joint: bool) -> Asked:
        texts = given if isinstance(given, tuple) else () if given is None else (given,)
        whole = self.split(output_text)
        output = whole[: self.longest_output]
        context = self._joined([self.split(text).ids for text in texts])
        lost = max(0, len(context) - self.longest_context(len(output), joint))
        kept = context[lost:] if len(texts) > 1 else context[: len(context) - lost]
        return Asked(output, kept, (len(whole) - len(output), lost), joint)

    def _joined(self, parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        if len(parts) == 1:
            return parts[0]  # no copy: many outputs are prefetched beside one window
        between = np.array([self._last], np.int64)
        return np.concatenate([np.empty(0, np.int64), *[one for part in parts for one in (between, part)][1:]])

    def _answered(self, rows: Sequence[Asked]) -> dict[Key, Answers]:
        """Context by context, so that few states are held at a time."""
        beside: dict[bytes, list[Asked]] = {}
        for row in rows:
            if not row.as_one:
                beside.setdefault(row.context.tobytes(), []).append(row)
        texts = list(beside.values())
        answers = self._beside([row for row in rows if row.as_one], self._none)
        for some in equal_batches([self.filled(len(own[0].context)) for own in texts], BUDGET):
            for index, past in zip(some, self._read([texts[i][0].context for i in some]), strict=True):
                answers.update(self._beside(texts[index], past))
        return answers

    def _beside(self, rows: Sequence[Asked], past: States) -> dict[Key, Answers]:
        """Outputs beside the same context, or read as one text with their own."""
        texts = [self._text(row) for row in rows]
        answers: dict[Key, Answers] = {}
        for batch in equal_batches([self.filled(len(text) - 2) for text in texts], BUDGET):
            found = self._run([rows[i] for i in batch], [texts[i] for i in batch], past)
            answers.update(zip((rows[i].key for i in batch), found, strict=True))
        return answers

    def _text(self, row: Asked) -> NDArray[np.int64]:
        framed = self._framed(row.output.ids)
        return np.concatenate([framed, row.context, [self._last]]) if row.as_one else framed

    def _read(self, contexts: Sequence[NDArray[np.int64]]) -> list[States]:
        """Keys and values of contexts that fill up to one length, from memory if they were read lately."""
        kept = self._kept.states
        found = [kept.get(ids.tobytes()) if len(ids) else self._none for ids in contexts]
        fresh = [index for index, states in enumerate(found) if states is None]
        made = dict(zip(fresh, self._run_contexts([contexts[i] for i in fresh]), strict=True)) if fresh else {}
        for index, states in made.items():
            kept.put(contexts[index].tobytes(), states)
        return [made[index] if states is None else states for index, states in enumerate(found)]

    def _run_contexts(self, contexts: Sequence[NDArray[np.int64]]) -> list[States]:
        self.contexts_read += len(contexts)
        inputs = {**self.inputs([self._framed(ids) for ids in contexts], side=1), **NOTHING}
        fresh = self.session((*OUTPUTS, *self._fresh)).run(self._fresh, inputs)
        return [from_outputs(fresh, text, len(ids) + 2) for text, ids in enumerate(contexts)]

    def _run(self, rows: Sequence[Asked], texts: Sequence[NDArray[np.int64]], past: States) -> list[Answers]:
        """Texts that fill up to one length, beside the same context."""
        self.passes += len(rows)
        inputs = {**self.inputs(texts, past), **NOTHING}
        for at, (row, text) in enumerate(zip(rows, texts, strict=True)):
            end = len(row.output) + 1
            inputs["output_mask"][at, 1:end] = 1
            inputs["types"][at, end + 1 : len(text)] = 1
        heads, nli, words, pooled = self.session((*OUTPUTS, *self._fresh)).run(list(OUTPUTS), inputs)
        shares = _softmax(nli)
        return [
            Answers(
                dict(zip(self.labels, heads[r].tolist(), strict=True)),
                shares[r],
                _sigmoid(words[r, 1 : len(row.output) + 1]),
                pooled[r].copy(),
            )
            for r, row in enumerate(rows)
        ]

    def _framed(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([[self._first], ids, [self._last]])

    def inputs(
        self, texts: Sequence[NDArray[np.int64]], past: States | None = None, side: int = 0
    ) -> dict[str, NDArray[np.generic]]:
        """The graph's inputs for framed ids that fill up to one length; no word of them is in the output yet."""
        shape = (len(texts), self.filled(len(texts[0]) - 2))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        given = {"ids": ids, "types": np.full(shape, side), "mask": mask, "output_mask": np.zeros(shape, np.int64)}
        return {**given, **as_inputs(self._none if past is None else past)}

    def session(self, outputs: tuple[str, ...]) -> Foreign:
        """Opened when first needed, with what these outputs need: the vocabulary is large and seldom asked for."""
        with self._lock:
            if outputs not in self._sessions:
                self._sessions[outputs] = open_cut(self._path, outputs)
            return self._sessions[outputs]


_K = TypeVar("_K")
_V = TypeVar("_V")


def _remember(kept: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)


def _digest(ids: NDArray[np.int64]) -> bytes:
    return hashlib.blake2b(ids.tobytes(), digest_size=16).digest()


def _sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)), np.float32)


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float32)
