"""What the trainer sees of the judging language model: steps on judged groups and steps on plain readings.

The readings keep the language model what it was: anchored to its start, they hold its likelihoods in place while the
heads, and the body below them, learn to judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any

from torch import Tensor, nn

from quintet.errors import InputError
from quintet_train.evaluator.language_lesson import LanguageLesson
from quintet_train.evaluator.lesson import JudgeLesson


class LanguageJudgeLesson:
    def __init__(self, judged: JudgeLesson, readings: LanguageLesson, judged_share: float) -> None:
        """`judged_share`: share of the steps on judged groups."""
        if not 0 < judged_share <= 1:
            raise InputError(f"data.options.judged_share: {judged_share!r} is not a share above 0")
        if judged_share < 1 and not readings.size:
            raise InputError("no text to read beside the judged ones", todo="data.options.judged_share = 1.0")
        self.judged, self.readings, self.judged_share = judged, readings, judged_share
        self.size = judged.size + readings.size

    def batches(self, epoch: int, seed: int, tokens: int) -> list[list[int]]:
        """Every group once, and readings between them as the share says; numbers of readings follow those of groups."""
        judged = self.judged.batches(epoch, seed, tokens)
        readings = self._readings(epoch, seed, tokens)
        out, due = [], 0.0
        for batch in judged:
            out.append(batch)
            due += (1 - self.judged_share) / self.judged_share
            out += islice(readings, int(due))
            due -= int(due)
        return out

    def _readings(self, epoch: int, seed: int, tokens: int) -> Iterator[list[int]]:
        """Without end, in an order of the epoch's own: most epochs see only a part of them."""
        shift = self.judged.groups
        for passed in count():
            for batch in self.readings.batches(epoch + 1000 * passed, seed, tokens):
                yield [shift + index for index in batch]

    def loss(self, network: nn.Module, indexes: Sequence[int], seed: int) -> Tensor:
        shift = self.judged.groups
        if indexes[0] < shift:
            return self.judged.loss(network, indexes, seed)
        return self.readings.loss(_language_model(network), [index - shift for index in indexes], seed)

    def dev_scores(self, network: nn.Module) -> dict[str, float]:
        """Those of the readings, and those of the judge, whose `score` counts."""
        return {**self.readings.dev_scores(_language_model(network)), **self.judged.dev_scores(network)}


def _language_model(network: Any) -> nn.Module:
    found: nn.Module = network.model
    return found
