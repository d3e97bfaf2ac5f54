"""Judged texts that stand after the same context, read in one row: the context is read once for all of them.

The answers are those of `JudgeLesson` (a text sees its context and itself, nothing else); a document with twenty claims
costs little more than with one, so a step holds several times as many of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from quintet_train.evaluator.language_network import Branches
from quintet_train.evaluator.lesson import Batch, Held, JudgeLesson, Weights, held_out, ranges
from quintet_train.evaluator.network import Answers
from quintet_train.evaluator.packing import UNKNOWN, Packed, batches


@dataclass(frozen=True)
class SharedBatch(Batch):
    """`ids`, `mask` and `marks` are those of the outputs (texts, longest)."""

    rows: Tensor
    branches: Branches
    places: Tensor
    """Where each token of an output stands among all of `rows`."""


class SharedLesson(JudgeLesson):
    def __init__(
        self,
        packed: Packed,
        weights: Weights,
        dev_fraction: float,
        seed: int,
        row_tokens: int,
        held: Held | None = None,
    ) -> None:
        """`row_tokens`: the longest row of several texts. Groups of one context are held out together."""
        super().__init__(packed, weights, 0.0, seed, 0, 0, output_last=True, held=held)
        self._context = contexts(packed, self._place)
        self._families = self._found_families(row_tokens)
        self._family = np.zeros(self.groups, np.int64)
        for number, family in enumerate(self._families):
            self._family[family] = number
        sizes = [self._row_sizes(family) for family in self._families]
        self._longest_row = np.array([max(one) for one in sizes], np.int64)
        self._rows = np.array([len(one) for one in sizes], np.int64)
        self._held, self._train = held_out(len(self._families), dev_fraction, seed)
        self.size = int(sum(len(self._families[number]) for number in self._train))

    def _found_families(self, row_tokens: int) -> list[list[int]]:
        """Groups that are read together: those of one context as far as they fit, others by themselves."""
        packed, out = self.packed, []
        open_rows: dict[int, tuple[list[int], int]] = {}
        outputs = np.add.reduceat(packed.outputs, self._start) if self.groups else np.zeros(0, np.int64)
        for group, (start, count) in enumerate(zip(self._start, self._count, strict=True)):
            own = int(self._context[start])
            if np.any(self._context[start : start + count] != own):
                out.append([group])
                continue
            family, used = open_rows.get(own, ([], 0))
            if not family or used + int(outputs[group]) > row_tokens:
                family, used = [], int(packed.lengths[start] - packed.outputs[start])
                out.append(family)
            family.append(group)
            open_rows[own] = family, used + int(outputs[group])
        return out

    def _row_sizes(self, family: Sequence[int]) -> list[int]:
        packed, sizes = self.packed, dict[int, int]()
        for group in family:
            for text in range(self._start[group], self._start[group] + self._count[group]):
                size, own = int(packed.outputs[text]), int(self._context[text])
                sizes[own] = sizes.get(own, int(packed.lengths[text]) - size) + size
        return list(sizes.values())

    def _packed_groups(self, chosen: NDArray[Any], tokens: int, rng: np.random.Generator) -> list[list[int]]:
        if not len(chosen):
            return []
        made = batches(self._longest_row, self._rows, chosen, tokens, rng)
        return [[group for number in batch for group in self._families[number]] for batch in made]

    def answers(self, network: Any, batch: Any) -> Answers:
        """Of a SharedBatch."""
        found: Answers = network.branched(batch.rows, batch.branches, batch.places, batch.mask)
        return found

    def batch(self, groups: Sequence[int], device: torch.device) -> SharedBatch:
        packed, chosen = self.packed, np.asarray(groups)
        texts, first = ranges(self._start[chosen], self._count[chosen])
        keys = list(zip(np.repeat(self._family[chosen], self._count[chosen]), self._context[texts], strict=True))
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        row = np.array([numbers[key] for key in keys], np.int64)
        begin, branch, length = self._laid_out(texts, row)
        columns = np.arange((length + 7) // 8 * 8)
        rows = np.zeros((len(numbers), len(columns)), np.int64)
        places, branches = np.zeros_like(rows), np.full_like(rows, -1)
        widest = int(packed.outputs[texts].max())
        inside = np.arange(widest)[None] < packed.outputs[texts][:, None]
        marks = np.full(inside.shape, UNKNOWN, np.uint8)
        for at, text in enumerate(texts):
            own, size, end = row[at], int(packed.outputs[text]), int(self._place[text] + packed.lengths[text])
            before, start = int(packed.lengths[text]) - size, int(begin[at])
            if branch[at] == 1:
                rows[own, :before] = packed.ids[end - size - before : end - size]
                places[own, :before], branches[own, :before] = columns[:before], 0
            here = slice(start, start + size)
            rows[own, here], branches[own, here] = packed.ids[end - size : end], branch[at]
            places[own, here] = before + np.arange(size)
            marks[at, :size] = packed.marks[end - size : end]
        stands = np.where(inside, row[:, None] * len(columns) + begin[:, None] + np.arange(widest)[None], 0)
        put = {name: torch.from_numpy(array).to(device) for name, array in self._asked_of(groups, texts, first).items()}
        mask, where = torch.from_numpy(inside).to(device), torch.from_numpy(stands).to(device)
        shown = torch.from_numpy(rows).to(device)
        laid = Branches(torch.from_numpy(places).to(device), torch.from_numpy(branches).to(device))
        ids = shown.flatten()[where]
        types, known = torch.zeros_like(ids), torch.from_numpy(marks).to(device)
        return SharedBatch(ids, types, mask, mask, known, rows=shown, branches=laid, places=where, **put)

    def _laid_out(self, texts: NDArray[Any], row: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int]:
        """Where the output of each text begins in its row, the how-manieth of the row it is, and the longest row."""
        packed, ends, counts = self.packed, dict[int, int](), dict[int, int]()
        begin, branch = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
        for at, (text, own) in enumerate(zip(texts, row.tolist(), strict=True)):
            size = int(packed.outputs[text])
            begin[at] = ends.get(own, int(packed.lengths[text]) - size)
            ends[own] = int(begin[at]) + size
            branch[at] = counts[own] = counts.get(own, 0) + 1
        return begin, branch, max(ends.values())


def contexts(packed: Packed, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each text: the same for texts with the same tokens before their outputs."""
    known: dict[bytes, int] = {}
    sizes = packed.lengths - packed.outputs
    out = np.zeros(len(sizes), np.int64)
    for text, (place, size) in enumerate(zip(places.tolist(), sizes.tolist(), strict=True)):
        digest = hashlib.blake2b(packed.ids[place : place + size].tobytes(), digest_size=16).digest()
        out[text] = known.setdefault(digest, len(known))
    return out
