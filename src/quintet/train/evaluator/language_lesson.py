"""What the trainer sees of the language model: batches of readings, the loss of their counted tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from quintet.train.evaluator.language_texts import Tokens
from quintet.train.evaluator.packing import batches

_HELD_TOKENS = 32768


class LanguageLesson:
    def __init__(self, texts: Sequence[Tokens], dev_fraction: float, seed: int) -> None:
        self.texts = texts
        self._lengths: NDArray[Any] = np.array([len(one.ids) for one in texts], np.int64)
        drawn = np.random.default_rng(seed).permutation(len(texts))
        held = min(len(texts) // 2, max(8, int(len(texts) * dev_fraction))) if dev_fraction else 0
        self._held, self._train = np.sort(drawn[:held]), drawn[held:]
        self.size = len(self._train)

    def batches(self, epoch: int, seed: int, tokens: int) -> list[list[int]]:
        rng = np.random.default_rng([seed, epoch])
        return batches(self._lengths, np.ones_like(self._lengths), rng.permutation(self._train), tokens, rng)

    def loss(self, network: nn.Module, indexes: Sequence[int], seed: int) -> Tensor:
        return self._loss(network, indexes)[0]

    def dev_scores(self, network: nn.Module) -> dict[str, float]:
        """Mean loss of a counted token, with the rounded weights; `score` is larger for a better model."""
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

    def _loss(self, network: Any, indexes: Sequence[int]) -> tuple[Tensor, int]:
        length = int(self._lengths[list(indexes)].max())
        ids = np.zeros((len(indexes), length), np.int64)
        counted = np.zeros((len(indexes), length), np.bool_)
        for row, index in enumerate(indexes):
            one = self.texts[index]
            ids[row, : len(one.ids)], counted[row, : len(one.ids)] = one.ids, one.counted
        device = next(network.parameters()).device
        tokens, wanted = torch.from_numpy(ids).to(device), torch.from_numpy(counted[:, 1:]).to(device)
        states = network(tokens)[:, :-1][wanted]
        return functional.cross_entropy(network.logits(states).float(), tokens[:, 1:][wanted]), int(wanted.sum())
