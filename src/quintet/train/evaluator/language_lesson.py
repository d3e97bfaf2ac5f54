"""What the trainer sees of the language model: batches of readings, the loss of their counted tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from quintet.train.evaluator.language_texts import Tokens
from quintet.train.evaluator.packing import batches

_HELD_TOKENS = 32768
_AT_ONCE = 4096
"""Tokens whose probabilities over the whole vocabulary are in memory at a time."""


class LanguageLesson:
    def __init__(self, texts: Sequence[Tokens], dev_fraction: float, seed: int, context_share: float = 0.0) -> None:
        """`context_share`: of the tokens before a reply or summary, those that carry loss too, drawn anew each time."""
        self.texts, self._context_share = texts, context_share
        self._lengths: NDArray[Any] = np.array([len(one.ids) for one in texts], np.int64)
        rng = np.random.default_rng(seed)
        drawn = rng.permutation(len(texts))
        # All forms of a dialogue or document are held out together: its replies and summary are the same in each.
        origins, own = np.unique(np.array([one.origin for one in texts], np.int64), return_inverse=True)
        count = min(len(origins) // 2, max(8, int(len(origins) * dev_fraction))) if dev_fraction else 0
        chosen = np.zeros(len(origins), np.bool_)
        chosen[rng.permutation(len(origins))[:count]] = True
        self._held, self._train = np.flatnonzero(chosen[own]), drawn[~chosen[own[drawn]]]
        self.size = len(self._train)

    def batches(self, epoch: int, seed: int, tokens: int) -> list[list[int]]:
        rng = np.random.default_rng([seed, epoch])
        return batches(self._lengths, np.ones_like(self._lengths), rng.permutation(self._train), tokens, rng)

    def loss(self, network: nn.Module, indexes: Sequence[int], seed: int) -> Tensor:
        return self._loss(network, indexes, np.random.default_rng(seed))[0]

    def dev_scores(self, network: nn.Module) -> dict[str, float]:
        """Mean loss of a counted token, rounded as shipped; `score` is larger for a better model."""
        total = count = 0.0
        ones = np.ones_like(self._lengths)
        held = (
            batches(self._lengths, ones, self._held, _HELD_TOKENS, np.random.default_rng(0)) if self._held.size else ()
        )
        for indexes in held:
            loss, tokens = self._loss(network, indexes)
            total += float(loss) * tokens
            count += tokens
        return {"score": -total / count, "token_loss": total / count} if count else {}

    def _loss(self, network: Any, indexes: Sequence[int], rng: np.random.Generator | None = None) -> tuple[Tensor, int]:
        length = int(self._lengths[list(indexes)].max())
        ids = np.zeros((len(indexes), length), np.int64)
        counted = np.zeros((len(indexes), length), np.bool_)
        for row, index in enumerate(indexes):
            one = self.texts[index]
            size = len(one.ids)
            ids[row, :size], counted[row, :size] = one.ids, one.counted
            if rng is not None and self._context_share:
                counted[row, :size] |= rng.random(size) < self._context_share
        device = next(network.parameters()).device
        places = torch.from_numpy(np.flatnonzero(counted[:, 1:])).to(device)
        tokens, table = torch.from_numpy(ids).to(device), network.table()
        states = network(tokens, table)[:, :-1].flatten(0, 1)[places]
        targets = tokens[:, 1:].flatten()[places]
        parts = [
            checkpoint(_surprise, network, states[at : at + _AT_ONCE], table, targets[at : at + _AT_ONCE],
                       use_reentrant=False)
            for at in range(0, len(places), _AT_ONCE)
        ]  # fmt: skip
        return torch.stack(parts).sum() / max(1, len(places)), len(places)


def _surprise(network: Any, states: Tensor, table: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(network.logits(states, table).float(), targets, reduction="sum")
