"""From texts to passes of an encoder and back: tokens, windows, batches, and the vectors put where they belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from quintet.models.batching import batches
from quintet.models.roles import Long, TokenVectors
from quintet.models.subwords import Pieces, Subwords, Window, windows

Run = Callable[[NDArray[np.int64], NDArray[np.int64], tuple[int, ...]], Sequence[NDArray[np.float32]]]
"""(ids, mask, layers) to one array (texts, tokens, width) per layer."""

Layers = dict[int, TokenVectors]


def embed_layers(
    subwords: Subwords,
    texts: Sequence[str],
    layers: tuple[int, ...],
    long: Long,
    *,
    max_tokens: int,
    width: int,
    budget: int,
    run: Run,
    pad: int = 0,
    least: float = 0.0,
    table_width: int = 0,
) -> list[Layers]:
    """`table_width`: of layer 0, where it differs from the others."""
    room = max_tokens - 2
    split = [subwords.split(text) for text in texts]
    cut = [max(0, len(pieces) - room) if long == "cut" else 0 for pieces in split]
    split = [pieces[:room] if lost else pieces for pieces, lost in zip(split, cut, strict=True)]
    results = [
        {
            layer: TokenVectors(
                text,
                *_framed_offsets(pieces, len(text)),
                np.empty((len(pieces) + 2, (table_width or width) if layer == 0 else width), np.float32),
                lost,
                np.concatenate([[False], pieces.ids == subwords.unknown, [False]]),
                ("", *subwords.written(pieces), ""),
            )
            for layer in layers
        }
        for text, pieces, lost in zip(texts, split, cut, strict=True)
    ]
    frame = subwords.frame
    places: dict[bytes, list[tuple[int, Window]]] = {}
    for index, pieces in enumerate(split):
        for window in windows(len(pieces), room, room // 4):
            # Equal windows (boilerplate, repeated text) are computed once.
            places.setdefault(pieces.ids[window.start : window.end].tobytes(), []).append((index, window))
    inputs = [np.concatenate([[frame[0]], np.frombuffer(key, np.int64), [frame[1]]]) for key in places]
    owners = list(places.values())
    for batch in batches([len(ids) for ids in inputs], budget, least):
        outputs = run(*padded([inputs[i] for i in batch], pad), layers)
        for row, i in enumerate(batch):
            for index, window in owners[i]:
                for layer, output in zip(layers, outputs, strict=True):
                    _place(results[index][layer].vectors, output[row, : len(inputs[i])], window)
    return results


def padded(rows: Sequence[NDArray[np.int64]], pad: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids and attention mask, filled up on the right."""
    shape = (len(rows), max(len(row) for row in rows))
    ids, mask = np.full(shape, pad, np.int64), np.zeros(shape, np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return ids, mask


def _place(target: NDArray[np.float32], vectors: NDArray[np.float32], window: Window) -> None:
    """Copies the positions a window speaks for, and the special tokens from the windows at either end of the text."""
    inner = vectors[1:-1]
    target[1 + window.first : 1 + window.last] = inner[window.first - window.start : window.last - window.start]
    if window.start == 0:
        target[0] = vectors[0]
    if window.end == len(target) - 2:
        target[-1] = vectors[-1]


def _framed_offsets(pieces: Pieces, length: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Offsets with the two special tokens, which cover no character."""
    starts = np.concatenate([[0], pieces.starts, [length]]).astype(np.int32)
    ends = np.concatenate([[0], pieces.ends, [length]]).astype(np.int32)
    return starts, ends
