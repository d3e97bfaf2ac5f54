"""The reader on ONNX Runtime: a context is read once, and every claim about it reads the context and itself.

A context sees itself alone, so what its tokens become is kept for the next claims about it (a document with many
outputs is read once). A claim sees the context and itself alone, so its answer does not depend on the claims beside it.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quintet.core.stopping import checkpoint
from quintet.models import packed_weights
from quintet.models.folder import Description
from quintet.models.onnx_backend import LateSession
from quintet.models.roles import Reading
from quintet.models.subwords import Pieces, Subwords

CONTEXT = 380
"""Sub-words of a context that are read; whoever asks chooses passages that fit."""
CLAIM = 120
ROW = 384
"""Sub-words of claims that are read at once."""
HIDDEN = 32
"""The bucket of a token that is not seen; MPNet has 32 buckets of distances (0 to 31)."""
REMEMBERED = 4096
CONTEXTS = 6
"""Contexts that are kept as read: about 75 kB a token."""


class OnnxReader:
    def __init__(self, folder: Path, description: Description, identity: str) -> None:
        self.identity = identity
        self.max_tokens = min(CONTEXT, description.max_tokens - CLAIM - 4)
        self._late = LateSession(folder / description.file, folder / packed_weights.FILE)
        self._subwords = Subwords.read(folder / "tokenizer.json")
        self._start, self._end = self._subwords.frame
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, tuple[str, ...]], tuple[Reading, ...]] = OrderedDict()
        self._read_before: OrderedDict[tuple[int, ...], dict[str, NDArray[np.float32]]] = OrderedDict()

    def soon(self) -> None:
        self._late.soon()

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(self._subwords.split(text)) for text in texts]

    def read(self, asked: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[Reading, ...]]:
        found = []
        for context, claims in asked:
            key = (context, claims)
            if key not in self._known:
                checkpoint()
                self._known[key] = self._read(context, claims)
                while len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
            found.append(self._known[key])
        return found

    def _read(self, context: str, claims: tuple[str, ...]) -> tuple[Reading, ...]:
        whole, *own = (self._subwords.split(text) for text in (context, *claims))
        head = [self._start, *whole.ids[: self.max_tokens].tolist(), self._end]
        found: list[Reading] = []
        row: list[Pieces] = []
        size = 0
        for pieces in own:
            wanted = min(len(pieces), CLAIM) + 2
            if row and size + wanted > ROW:
                found += self._run(head, row)
                row, size = [], 0
            row.append(pieces)
            size += wanted
        found += self._run(head, row) if row else []
        cut = max(0, len(whole) - self.max_tokens)
        return tuple(reading.with_cut(cut) for reading in found) if cut else tuple(found)

    def _run(self, head: list[int], row: Sequence[Pieces]) -> list[Reading]:
        ids: list[int] = []
        places: list[int] = []
        claims: list[int] = []
        starts: list[int] = []
        for number, pieces in enumerate(row, 1):
            own = pieces.ids[:CLAIM].tolist()
            starts.append(len(ids))
            ids += [self._end, *own, self._end]
            places += range(len(head), len(head) + len(own) + 2)
            claims += [number] * (len(own) + 2)
        at, of = np.array(places, np.int64), np.array(claims, np.int64)
        before = np.arange(len(head), dtype=np.int64)
        seen = np.where(of[:, None] == of[None, :], distance_buckets(at, at), HIDDEN)
        given = {
            "ids": np.array(ids, np.int64),
            "places": at,
            "buckets": np.concatenate([distance_buckets(at, before), seen], axis=1),
            **self._context(head),
        }
        outputs = self._late.get().run(["outputs"], given)[0]
        return [self._reading(outputs, start, pieces) for start, pieces in zip(starts, row, strict=True)]

    def _context(self, head: list[int]) -> dict[str, NDArray[np.float32]]:
        """What each layer keeps of a context."""
        key = tuple(head)
        with self._lock:
            found = self._read_before.get(key)
        if found is not None:
            return found
        session = self._late.get()
        at = np.arange(len(head), dtype=np.int64)
        names = [one.name for one in session.get_inputs() if one.name.startswith("past_")]
        heads, _, width = session.get_inputs()[-1].shape
        nothing = np.zeros((heads, 0, width), np.float32)
        given = {"ids": np.array(head, np.int64), "places": at, "buckets": distance_buckets(at, at)}
        kept = session.run(
            [name.replace("past_", "new_") for name in names], {**given, **dict.fromkeys(names, nothing)}
        )
        found = dict(zip(names, kept, strict=True))
        with self._lock:
            self._read_before[key] = found
            while len(self._read_before) > CONTEXTS:
                self._read_before.popitem(last=False)
        return found

    def _reading(self, outputs: NDArray[np.float32], start: int, pieces: Pieces) -> Reading:
        logits = outputs[start].astype(np.float64)
        count = min(len(pieces), CLAIM)
        at_fault = outputs[start + 1 : start + 1 + count, 3].astype(np.float64)
        faults = 1.0 / (1.0 + np.exp(-at_fault))
        # The verdict and the word most at fault say the same of a claim, and count the same: small faults in long
        # claims are seen by the words first.
        against = float(np.logaddexp(logits[1], logits[2]))
        worst = float(at_fault.max()) if count else 0.0
        supported = 1.0 / (1.0 + math.exp(min(0.5 * (against - logits[0]) + 0.5 * worst, 500.0)))
        contradicted = (1.0 - supported) * math.exp(logits[1] - against)
        return Reading(
            supported=supported,
            contradicted=contradicted,
            absent=max(0.0, 1.0 - supported - contradicted),
            fit=1.0 / (1.0 + math.exp(-float(logits[4]))),
            starts=pieces.starts[:count],
            ends=pieces.ends[:count],
            faults=faults.astype(np.float32),
            cut=(0, len(pieces) - count),
        )


def distance_buckets(
    places: NDArray[np.int64], seen: NDArray[np.int64], buckets: int = 32, furthest: int = 128
) -> NDArray[np.int64]:
    """MPNet's buckets of relative positions (as T5's): half for each direction, exact up to 8, then logarithmic."""
    half, exact = buckets // 2, buckets // 4
    offset = seen[None, :] - places[:, None]
    distance = np.abs(offset)
    wide = exact + (
        np.log(np.maximum(distance, 1).astype(np.float32) / exact) / math.log(furthest / exact) * (half - exact)
    ).astype(np.int64)
    return (offset > 0) * half + np.where(distance < exact, distance, np.minimum(wide, half - 1))
