"""What the trainer sees of the evaluator: batches of groups, one loss of many parts, figures on held-out groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from quintet_train.evaluator.groups import BETTER, ENTAILMENT, HEADS, HELD, QUESTIONS
from quintet_train.evaluator.network import Answers
from quintet_train.evaluator.packing import UNKNOWN, Packed, batches

NLI = HEADS.index(ENTAILMENT)
_APART = 0.15
"""Labels that differ by more are ranked."""
_GOOD = 0.25
"""Nobody learns to put a bad text above a worse one."""


@dataclass(frozen=True)
class Weights:
    """What each part of the loss counts; `heads` by name, 1 for those not named."""

    heads: Mapping[str, float]
    ranking: float = 0.7
    words: float = 0.3
    wrong_words: float = 2.0
    masked: float = 0.1
    masked_share: float = 0.25
    """Share of the steps on which words are masked as well: they cost a second pass."""


@dataclass(frozen=True)
class Held:
    """Answers that stay what the network said before it was trained further: other questions than those it now learns.
    The copy is no part of the network: not trained, averaged or saved."""

    start: Any
    """As it was, frozen."""
    questions: tuple[int, ...]
    weight: float

    @staticmethod
    def of(network: nn.Module, learnt: Collection[str], weight: float, device: torch.device) -> Held | None:
        """All questions but those learnt; none are held where the weight is 0."""
        kept = tuple(place for place, name in enumerate(QUESTIONS) if name not in learnt)
        return Held(deepcopy(network).requires_grad_(False).eval().to(device), kept, weight) if weight else None

    def loss(self, now: Tensor, before: Tensor) -> Tensor:
        """Mean squared difference of log-odds."""
        kept = list(self.questions)
        return self.weight * functional.mse_loss(now[:, kept], before[:, kept])


@dataclass(frozen=True)
class Batch:
    ids: Tensor
    types: Tensor
    mask: Tensor
    output_mask: Tensor
    marks: Tensor
    heads: Tensor
    labels: Tensor
    better: Tensor
    """Rows that belong above those of `worse`."""
    worse: Tensor
    together: Tensor
    """Texts that are read as one with their grounds."""


class JudgeLesson:
    def __init__(
        self, packed: Packed, weights: Weights, dev_fraction: float, seed: int, mask_id: int, vocabulary: int,
        together: Collection[str] = (), output_last: bool = False, held: Held | None = None,
    ) -> None:  # fmt: skip
        """`output_last`: outputs stand at the end of their texts, as a language model reads them."""
        self._held_answers = held
        self.packed, self.weights, self.mask_id, self.vocabulary = packed, weights, mask_id, vocabulary
        self._output_last = output_last
        self._together = np.array([name in together for name in HEADS], np.bool_)
        self._by_head = np.array([weights.heads.get(name, 1.0) for name in HEADS], np.float32)
        self._place = np.concatenate([[0], np.cumsum(packed.lengths)[:-1]]).astype(np.int64)
        self._start = np.flatnonzero(np.diff(packed.groups, prepend=-1))
        self._count = np.diff(self._start, append=len(packed.groups))
        self._longest = np.maximum.reduceat(packed.lengths, self._start)
        self._only_held = packed.labels[self._start] == HELD
        self._pairs = _pairs(packed, self._start, self._count)
        self._held, self._train = held_out(len(self._start), dev_fraction, seed)
        self.size, self.groups = len(self._train), len(self._start)

    def batches(self, epoch: int, seed: int, tokens: int) -> list[list[int]]:
        rng = np.random.default_rng([seed, epoch])
        return self._packed_groups(rng.permutation(self._train), tokens, rng)

    def _packed_groups(self, chosen: NDArray[Any], tokens: int, rng: np.random.Generator) -> list[list[int]]:
        return batches(self._longest, self._count, chosen, tokens, rng) if len(chosen) else []

    def answers(self, network: Any, batch: Batch) -> Answers:
        found: Answers = network(batch.ids, batch.types, batch.mask, batch.output_mask, batch.together)
        return found

    def loss(self, network: nn.Module, indexes: Sequence[int], seed: int) -> Tensor:
        batch = self.batch(indexes, next(network.parameters()).device)
        answers = self.answers(network, batch)
        loss = judging_loss(answers, batch, self.weights, torch.from_numpy(self._by_head).to(batch.ids.device))
        loss = loss + self._holding_loss(answers, batch, indexes)
        rng = Random(seed)
        if rng.random() < self.weights.masked_share:
            masked = masked_loss(network, batch, rng.random() < 0.5, self.mask_id, self.vocabulary)
            if masked is not None:
                loss = loss + self.weights.masked * masked
        return loss

    def _holding_loss(self, answers: Answers, batch: Batch, groups: Sequence[int]) -> Tensor | float:
        """Of the texts that are only held; the start reads those alone, and in the same order."""
        chosen = [group for group in groups if self._only_held[group]]
        if self._held_answers is None or not chosen:
            return 0.0
        with torch.no_grad():
            before = self.answers(self._held_answers.start, self.batch(chosen, batch.ids.device))
        rows = batch.labels == HELD
        return self._held_answers.loss(answers.questions[rows], before.questions) * rows.float().mean()

    def texts(self, groups: Sequence[int]) -> NDArray[Any]:
        """Numbers of their texts, in the order in which a batch of these groups has them."""
        chosen = np.asarray(groups)
        return ranges(self._start[chosen], self._count[chosen])[0]

    def batch(self, groups: Sequence[int], device: torch.device) -> Batch:
        packed, chosen = self.packed, np.asarray(groups)
        texts, first = ranges(self._start[chosen], self._count[chosen])
        length = int(packed.lengths[texts].max())
        columns = np.arange((length + 7) // 8 * 8)[None]
        sizes, outputs = packed.lengths[texts][:, None], packed.outputs[texts][:, None]
        mask = columns < sizes
        begin = sizes - outputs if self._output_last else np.ones_like(sizes)
        places = np.minimum(self._place[texts][:, None] + columns, len(packed.ids) - 1)
        arrays: dict[str, NDArray[Any]] = {
            "ids": np.where(mask, packed.ids[places], 0).astype(np.int64),
            "types": ((columns >= outputs + 2) & mask).astype(np.int64),
            "mask": mask,
            "output_mask": (columns >= begin) & (columns < begin + outputs),
            "marks": np.where(mask, packed.marks[places], UNKNOWN),
            **self._asked_of(groups, texts, first),
        }
        return Batch(**{name: torch.from_numpy(array).to(device) for name, array in arrays.items()})

    def _asked_of(self, groups: Sequence[int], texts: NDArray[Any], first: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """What a batch holds besides its tokens; `first`: the first row of each group."""
        pairs = [(self._pairs[group], row) for group, row in zip(groups, first, strict=True) if group in self._pairs]
        heads = self.packed.heads[texts]
        return {
            "heads": heads.astype(np.int64),
            "labels": self.packed.labels[texts],
            "better": np.concatenate([np.zeros(0, np.int64), *(found[0] + row for found, row in pairs)]),
            "worse": np.concatenate([np.zeros(0, np.int64), *(found[1] + row for found, row in pairs)]),
            "together": self._together[heads],
        }

    def dev_scores(self, network: nn.Module) -> dict[str, float]:
        """Share of held-out pairs in the right order by head, of entailment labels; `score` is their mean."""
        right: Counter[str] = Counter()
        all_of: Counter[str] = Counter()
        device = next(network.parameters()).device
        for groups in self._packed_groups(np.sort(self._held), 32768, np.random.default_rng(0)):
            batch = self.batch(groups, device)
            answers = self.answers(network, batch)
            asked = _asked(answers, batch).float().cpu().numpy()
            guessed = answers.entailment.argmax(-1).cpu().numpy()
            heads, labels = batch.heads.cpu().numpy(), batch.labels.cpu().numpy()
            for better, worse in zip(batch.better.tolist(), batch.worse.tolist(), strict=True):
                name = HEADS[heads[better]]
                all_of[name] += 1
                right[name] += int(asked[better] > asked[worse])
            for row in np.flatnonzero((heads == NLI) & (labels < 3)):
                all_of[ENTAILMENT] += 1
                right[ENTAILMENT] += int(guessed[row] == labels[row])
        figures = {name: right[name] / all_of[name] for name in HEADS if all_of[name]}
        return {"score": float(np.mean(list(figures.values()))), **figures} if figures else {}


def held_out(count: int, fraction: float, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Which are held out and which are trained on, of so many."""
    drawn = np.random.default_rng(seed).permutation(count)
    held = max(1, int(count * fraction)) if fraction else 0
    return drawn[:held], drawn[held:]


def ranges(start: NDArray[Any], count: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """All rows of the groups, one after another, and where each group then begins."""
    first = np.cumsum(count) - count
    return np.repeat(start - first, count) + np.arange(count.sum()), first


def _pairs(
    packed: Packed, start: NDArray[Any], count: NDArray[Any]
) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each ranked group the places of (better, worse) inside it."""
    out = {}
    for group, (begin, size) in enumerate(zip(start, count, strict=True)):
        if size < 2 or not packed.ranked[begin]:
            continue
        labels = packed.labels[begin : begin + size]
        worth = (labels >= _GOOD) | (labels == BETTER)
        better, worse = np.nonzero((labels[:, None] > labels[None] + _APART) & worth[:, None])
        if len(better):
            out[group] = (better.astype(np.int64), worse.astype(np.int64))
    return out


def _asked(answers: Answers, batch: Batch) -> Tensor:
    """Of each text the one answer it was made for; the entailment rows get any."""
    last = len(QUESTIONS) - 1
    return answers.questions.gather(1, batch.heads.clamp(max=last)[:, None])[:, 0]


def judging_loss(answers: Answers, batch: Batch, weights: Weights, by_head: Tensor) -> Tensor:
    """Labels (binary cross-entropy), ranking (softplus of the difference), entailment, and words; per text."""
    asked, weight = _asked(answers, batch), by_head[batch.heads]
    labelled = (batch.heads < NLI) & (batch.labels >= 0)
    target = batch.labels.clamp(0, 1)
    loss = (functional.binary_cross_entropy_with_logits(asked, target, reduction="none") * weight * labelled).sum()
    if len(batch.better):
        gap = asked[batch.better] - asked[batch.worse]
        loss = loss + weights.ranking * (functional.softplus(-gap) * weight[batch.better]).sum()
    loss = loss + (_entailment_loss(answers.entailment, batch.labels) * weight * (batch.heads == NLI)).sum()
    known = batch.marks != UNKNOWN
    target = batch.marks.clamp(0, 1).float()
    each = functional.binary_cross_entropy_with_logits(answers.words, target, reduction="none")
    each = each * known * torch.where(batch.marks == 0, weights.wrong_words, 1.0)
    return loss / len(batch.heads) + weights.words * each.sum() / known.sum().clamp(min=1)


def _entailment_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy; label 3 only says that it is not entailment."""
    log_probs = functional.log_softmax(logits, -1)
    known = -log_probs.gather(1, labels.long().clamp(0, 2)[:, None])[:, 0]
    not_entailed = -torch.log1p(-log_probs[:, 0].exp().clamp(max=1 - 1e-5))
    return torch.where(labels == 3, not_entailed, known)


def masked_loss(network: Any, batch: Batch, plain: bool, mask_id: int, vocabulary: int) -> Tensor | None:
    """BERT's masking on good outputs: alone as `[CLS] text [SEP]`, or before their grounds. None without such."""
    good = (batch.labels >= 0.9) | (batch.labels == BETTER) | (batch.heads == NLI)
    rows = good.nonzero()[:, 0]
    rows = rows[torch.randperm(len(rows), device=rows.device)[: max(8, len(batch.ids) // 3)]]
    if not len(rows):
        return None
    ids, types, mask, inside = (one[rows] for one in (batch.ids, batch.types, batch.mask, batch.output_mask))
    together = batch.together[rows]
    if plain:
        sizes = inside.sum(1) + 2
        length = int(sizes.max())
        ids, inside = ids[:, :length], inside[:, :length]
        mask = torch.arange(length, device=ids.device)[None] < sizes[:, None]
        ids = torch.where(mask, ids, 0)
        types = torch.zeros_like(ids)
    draw = torch.rand(ids.shape, device=ids.device)
    where = inside & (draw < 0.15)
    if not bool(where.any()):
        return None
    shown = torch.where(where & (draw < 0.12), mask_id, ids)
    other = torch.randint(min(1000, vocabulary // 2), vocabulary, ids.shape, device=ids.device)
    shown = torch.where(where & (draw >= 0.12) & (draw < 0.135), other, shown)
    return functional.cross_entropy(network.masked_words(shown, types, mask, where, together).float(), ids[where])
