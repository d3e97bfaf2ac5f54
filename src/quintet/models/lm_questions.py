"""Questions answered by a language model that was taught to chat: the odds of Yes against No as its first word.

A model of this size knows little: its answers hardly agree with people (docs/models.md). It is here so that any
question in words has an answer without a download.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quintet.models.onnx_lm import Ids, OnnxCausalLM
from quintet.models.roles import Value

OPENS, CLOSES = "<|im_start|>", "<|im_end|>"
ANSWERS = ("Yes", "No")
_ASK = "\nAnswer Yes or No."


class ChatYesNo:
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

    def probabilities(self, prompts: Sequence[Sequence[str]], max_tokens: int | None = None) -> list[Value]:
        limit = min(max_tokens or self.max_tokens, self.max_tokens)
        found: dict[tuple[str, ...], Value] = {}
        for prompt in map(tuple, prompts):
            if prompt not in found:
                found[prompt] = self._one(prompt, limit)
        return [found[tuple(prompt)] for prompt in prompts]

    def _one(self, prompt: tuple[str, ...], limit: int) -> Value:
        """The grounds come before the output and the question last, so that equal documents are read once."""
        question, own, *beside = prompt
        parts = [*beside, own, question] if beside else [own, question]
        split = [self._model.subwords.split(part.strip()).ids for part in parts]
        room = max(0, limit - len(self._before) - len(self._after) - len(self._between) * (len(split) - 1))
        kept, cut = _cut(split, room)
        body = np.concatenate([piece for part in kept for piece in (self._between, part)][1:])
        ids = np.concatenate([self._before, body, self._after]).astype(np.int64)
        yes, no = self._model.next_log_probs(ids, self._answers).tolist()
        return Value(float(0.5 * (1.0 + np.tanh(0.5 * (yes - no)))), (cut, 0))


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
