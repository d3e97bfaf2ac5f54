"""The multi-task encoder on ONNX Runtime: every question about an output answered in one pass."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.batching import equal_batches
from quintet.models.folder import Description
from quintet.models.memo import forgetting
from quintet.models.onnx_backend import TOKEN_BUDGET, open_session
from quintet.models.onnx_cut import cut, output_names
from quintet.models.roles import Judgement
from quintet.models.subwords import Pieces, Subwords

JudgedPair = tuple[str, tuple[str, ...]]
OUTPUTS = ("heads", "nli", "words", "pooled")
WORDS = "word_logp"
STEP = 1
"""A text is filled up to a multiple of this, by its own length alone, and goes with texts of that length: what it is
given never depends on the company it keeps. With 1 nothing is filled up and a graph need not look at the mask; a batch
of one is as fast as a large one."""
REMEMBERED = 16384
"""Judgements and split texts kept, of each the latest."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What the graph says, before it is tied to places in a text."""

    heads: dict[str, float]
    entailment: NDArray[np.float32]
    words: NDArray[np.float32]
    pooled: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One input of the graph: `[CLS] output [SEP] grounds [SEP]`."""

    output: Pieces
    grounds: NDArray[np.int64]
    cut: tuple[int, int] = (0, 0)
    """Sub-words of the output and of the grounds that are left out."""

    @property
    def key(self) -> tuple[bytes, bytes]:
        return self.output.ids.tobytes(), self.grounds.tobytes()

    def judgement(self, answers: Answers) -> Judgement:
        return Judgement(
            answers.heads, answers.entailment, self.output.starts, self.output.ends, answers.words, answers.pooled,
            self.cut,
        )  # fmt: skip

    @property
    def length(self) -> int:
        """With special tokens and filling."""
        return -(-(len(self.output) + len(self.grounds) + 3) // STEP) * STEP


class OnnxJudge:
    """A graph: ids, types, mask, output_mask, rows, targets to heads, nli, words, pooled, word_logp."""

    def __init__(self, folder: Path, description: Description, identity: str) -> None:
        self.identity = identity
        self.max_tokens = description.max_tokens
        self.questions, self.aliases = description.questions, description.aliases
        self.width = description.width
        self.longest_output = description.longest_output
        self.subwords = Subwords.read(folder / "tokenizer.json")
        self.passes = 0
        """Inputs that went through the model."""
        self._first, self._last = self.subwords.frame
        self._path = folder / description.file
        self._sessions: dict[tuple[str, ...], Any] = {}
        self._pieces: OrderedDict[str, Pieces] = OrderedDict()
        self._known: OrderedDict[tuple[bytes, bytes], Answers] = OrderedDict()
        self._lock = threading.RLock()
        missing = {*OUTPUTS, WORDS} - set(output_names(self._path.read_bytes()))
        if missing:
            raise ModelError(f"{self._path} has no output {min(missing)!r}; it is not a judge")
        forgetting(self)

    @property
    def separator(self) -> int:
        """The id between grounds."""
        return self._last

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(self.split(text)) for text in texts]

    def judge(self, pairs: Sequence[JudgedPair]) -> list[Judgement]:
        return self.judge_asked([self._asked(output, tuple(grounds)) for output, grounds in pairs])

    def judge_asked(self, asked: Sequence[Asked]) -> list[Judgement]:
        """For callers that cut their texts in their own way. Equal inputs are judged once, whoever asks, until
        `forget`."""
        with self._lock:
            keys = [one.key for one in asked]
            answers = {key: self._known[key] for key in keys if key in self._known}
            fresh = {key: one for key, one in zip(keys, asked, strict=True) if key not in answers}
            rows = list(fresh.values())
            self.passes += len(rows)
            for batch in equal_batches([row.length for row in rows], TOKEN_BUDGET):
                chosen = [rows[i] for i in batch]
                answers.update(zip((row.key for row in chosen), self._run(chosen), strict=True))
            for key, answer in answers.items():
                _remember(self._known, key, answer)
            return [one.judgement(answers[key]) for key, one in zip(keys, asked, strict=True)]

    def forget(self) -> None:
        with self._lock:
            self._pieces.clear()
            self._known.clear()

    def split(self, text: str) -> Pieces:
        with self._lock:
            pieces = self._pieces.get(text)
            if pieces is None:
                pieces = self.subwords.split(text)
            _remember(self._pieces, text, pieces)
            return pieces

    def _asked(self, output_text: str, texts: tuple[str, ...]) -> Asked:
        whole = self.split(output_text)
        output = whole[: self.longest_output]
        parts = [self.split(text).ids for text in texts]
        separator = np.array([self._last], np.int64)
        joined = [piece for part in parts for piece in (separator, part)][1:]
        grounds = np.concatenate(joined) if joined else np.empty(0, np.int64)
        room = self.max_tokens - 3 - len(output)
        lost = max(0, len(grounds) - room)
        kept = grounds[lost:] if len(parts) > 1 else grounds[: len(grounds) - lost]
        return Asked(output, kept, (len(whole) - len(output), lost))

    def _run(self, rows: list[Asked]) -> list[Answers]:
        ids, types, mask, inside = (np.zeros((len(rows), rows[0].length), np.int64) for _ in range(4))
        for r, row in enumerate(rows):
            n, m = len(row.output), len(row.grounds)
            ids[r, 0], ids[r, 1 : n + 1], ids[r, n + 1] = self._first, row.output.ids, self._last
            ids[r, n + 2 : n + m + 2], ids[r, n + m + 2] = row.grounds, self._last
            types[r, n + 2 : n + m + 3] = 1
            mask[r, : n + m + 3] = 1
            inside[r, 1 : n + 1] = 1
        nothing = {"rows": np.zeros((0, 2), np.int64), "targets": np.zeros(0, np.int64)}
        inputs = {"ids": ids, "types": types, "mask": mask, "output_mask": inside, **nothing}
        heads, nli, words, pooled = self.session(OUTPUTS).run(list(OUTPUTS), inputs)
        shares = _softmax(nli)
        return [
            Answers(
                dict(zip(self.questions, heads[r].tolist(), strict=True)),
                shares[r],
                _sigmoid(words[r, 1 : len(row.output) + 1]),
                pooled[r].copy(),
            )
            for r, row in enumerate(rows)
        ]

    def session(self, outputs: tuple[str, ...]) -> Any:
        """Opened when first needed, with what these outputs need: the vocabulary is large and seldom asked for."""
        with self._lock:
            if outputs not in self._sessions:
                self._sessions[outputs] = open_session(cut(self._path.read_bytes(), outputs))
            return self._sessions[outputs]


def _remember(kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)


def _sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)), np.float32)


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float32)
