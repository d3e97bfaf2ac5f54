"""What the trainer sees of the language model: batches of readings, the loss of their counted tokens.

Texts of an anchored kind are not learnt by heart: at their counted tokens the model learns the distribution over the
vocabulary of the model it started from, KL(start || model), in place of (a share of) the text's own next token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from quintet.errors import InputError
from quintet_train.evaluator.language_network import LanguageModel
from quintet_train.evaluator.language_texts import KINDS, Tokens
from quintet_train.evaluator.packing import batches

_HELD_TOKENS = 32768
_AT_ONCE = 4096
"""Tokens whose probabilities over the whole vocabulary are in memory at a time."""

Shares = float | Mapping[str, float]
"""One share for texts of all kinds, or a table by kind; 0 for a kind it does not name."""


def shares_by_kind(told: Shares, name: str) -> dict[str, float]:
    """`name` is the recipe's option, for the message."""
    table = told if isinstance(told, Mapping) else dict.fromkeys(KINDS, told)
    for kind, share in table.items():
        if kind not in KINDS:
            raise InputError(f"data.options.{name}: no texts are called {kind}", todo=f"one of: {', '.join(KINDS)}")
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            raise InputError(f"data.options.{name}: {share!r} is not a share between 0 and 1")
    return {kind: float(table.get(kind, 0.0)) for kind in KINDS}


@dataclass(frozen=True)
class Anchor:
    """What keeps the model near its start. The teacher is no part of the network: not trained, averaged or saved."""

    teacher: LanguageModel
    shares: Mapping[str, float]
    """By kind of text, the share of the loss that is the divergence from the teacher."""

    @classmethod
    def of(cls, network: LanguageModel, told: Shares, device: torch.device) -> Anchor | None:
        """The network as it is now, off its grid; none where no kind is anchored."""
        shares = shares_by_kind(told, "anchor")
        return cls(network.off_grid().to(device), shares) if any(shares.values()) else None


class _Batch(NamedTuple):
    ids: Tensor
    """(rows, length)."""
    counted: NDArray[np.bool_]
    """(rows, length - 1): whether the next token carries loss."""
    anchored: NDArray[np.float32]
    """(rows,): the share of the loss that is the divergence from the teacher."""


class _Said(NamedTuple):
    """States of the network before each next token, in one line: (rows * (length - 1), ...)."""

    states: Tensor
    targets: Tensor
    table: Tensor


class LanguageLesson:
    def __init__(
        self,
        texts: Sequence[Tokens],
        dev_fraction: float,
        seed: int,
        context_share: Shares = 0.0,
        anchor: Anchor | None = None,
    ) -> None:
        """`context_share`: of the tokens before a reply or summary, those that carry loss too, drawn anew each time."""
        self.texts, self._anchor = texts, anchor
        self._context_share = shares_by_kind(context_share, "context_share")
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
        """Mean over the counted tokens: of surprise, and of divergence from the teacher for texts of anchored kinds."""
        batch = self._batch(indexes, _device(network), np.random.default_rng(seed))
        said = _said(network, batch)
        own = batch.counted & (batch.anchored == 0)[:, None]
        parts = list(_surprises(network, said, own))
        if self._anchor is not None and batch.anchored.any():
            rows = np.flatnonzero(batch.anchored > 0)
            shares = np.repeat(batch.anchored[rows], batch.counted[rows].sum(1))
            surprise, divergence = _beside_teacher(network, self._anchor.teacher, batch, said)
            share = torch.from_numpy(shares).to(surprise.device)
            parts.append(((1 - share) * surprise + share * divergence).sum())
        return torch.stack(parts).sum() / max(1, int(batch.counted.sum()))

    def dev_scores(self, network: nn.Module) -> dict[str, float]:
        """Mean surprise of a counted token, rounded as shipped: of all texts and by kind; `score` is larger for a
        better model. Of anchored kinds the mean divergence from the teacher too."""
        surprise, divergence, count = (dict.fromkeys(KINDS, 0.0) for _ in range(3))
        for kind, indexes in self._held_batches():
            batch = self._batch(indexes, _device(network))
            said = _said(network, batch)
            count[kind] += int(batch.counted.sum())
            if self._anchor is not None and batch.anchored.any():
                own, away = _beside_teacher(network, self._anchor.teacher, batch, said).sum(1).tolist()
                surprise[kind] += own
                divergence[kind] += away
            else:
                surprise[kind] += sum(float(part) for part in _surprises(network, said, batch.counted))
        if not any(count.values()):
            return {}
        mean = sum(surprise.values()) / sum(count.values())
        found = {"score": -mean, "token_loss": mean}
        found |= {f"token_loss_{kind}": surprise[kind] / count[kind] for kind in KINDS if count[kind]}
        anchored = [kind for kind in KINDS if count[kind] and self._anchored(kind)]
        return found | {f"anchor_kl_{kind}": divergence[kind] / count[kind] for kind in anchored}

    def _held_batches(self) -> Iterator[tuple[str, list[int]]]:
        """Each of one kind."""
        ones = np.ones_like(self._lengths)
        for kind in KINDS:
            own = np.array([index for index in self._held.tolist() if self.texts[index].kind == kind], np.int64)
            if own.size:
                for indexes in batches(self._lengths, ones, own, _HELD_TOKENS, np.random.default_rng(0)):
                    yield kind, indexes

    def _anchored(self, kind: str) -> float:
        return self._anchor.shares[kind] if self._anchor is not None else 0.0

    def _batch(self, indexes: Sequence[int], device: torch.device, rng: np.random.Generator | None = None) -> _Batch:
        """With `rng`, context tokens are drawn."""
        length = int(self._lengths[list(indexes)].max())
        ids = np.zeros((len(indexes), length), np.int64)
        counted = np.zeros((len(indexes), length), np.bool_)
        for row, index in enumerate(indexes):
            one = self.texts[index]
            size, share = len(one.ids), self._context_share[one.kind]
            ids[row, :size], counted[row, :size] = one.ids, one.counted
            if rng is not None and share:
                counted[row, :size] |= rng.random(size) < share
        anchored = np.array([self._anchored(self.texts[index].kind) for index in indexes], np.float32)
        return _Batch(torch.from_numpy(ids).to(device), counted[:, 1:], anchored)


def _device(network: nn.Module) -> torch.device:
    return next(network.parameters()).device


def _said(network: Any, batch: _Batch) -> _Said:
    table = network.table()
    return _Said(network(batch.ids, table)[:, :-1].flatten(0, 1), batch.ids[:, 1:].flatten(), table)


def _places(chosen: NDArray[np.bool_], said: _Said) -> Tensor:
    return torch.from_numpy(np.flatnonzero(chosen)).to(said.states.device)


def _surprises(network: Any, said: _Said, chosen: NDArray[np.bool_]) -> Iterator[Tensor]:
    """Sums, in slices."""
    places = _places(chosen, said)
    states, targets = said.states[places], said.targets[places]
    for at in range(0, len(places), _AT_ONCE):
        yield checkpoint(
            _surprise, network, states[at : at + _AT_ONCE], said.table, targets[at : at + _AT_ONCE], use_reentrant=False
        )


def _surprise(network: Any, states: Tensor, table: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(network.logits(states, table).float(), targets, reduction="sum")


def _beside_teacher(network: Any, teacher: LanguageModel, batch: _Batch, said: _Said) -> Tensor:
    """(2, counted tokens of anchored rows): surprise and divergence. The teacher reads these rows only."""
    rows = np.flatnonzero(batch.anchored > 0)
    places = _places(batch.counted & (batch.anchored > 0)[:, None], said)
    with torch.no_grad():
        told = teacher(batch.ids[torch.from_numpy(rows).to(batch.ids.device)])[:, :-1].flatten(0, 1)
        told = told[_places(batch.counted[rows], said)]
    states, targets = said.states[places], said.targets[places]
    parts = [
        checkpoint(_surprise_and_divergence, network, states[at : at + _AT_ONCE], said.table,
                   targets[at : at + _AT_ONCE], teacher, told[at : at + _AT_ONCE], use_reentrant=False)
        for at in range(0, len(places), _AT_ONCE)
    ]  # fmt: skip
    return torch.cat(parts, 1)


def _surprise_and_divergence(
    network: Any, states: Tensor, table: Tensor, targets: Tensor, teacher: LanguageModel, told: Tensor
) -> Tensor:
    """(2, tokens)."""
    with torch.no_grad():
        wanted = torch.log_softmax(teacher.logits(told).float(), -1)
    found = torch.log_softmax(network.logits(states, table).float(), -1)
    divergence = functional.kl_div(found, wanted, reduction="none", log_target=True).sum(-1)
    return torch.stack([functional.nll_loss(found, targets, reduction="none"), divergence])
