"""Matrices that a graph leaves to a file beside it: 4-bit codes there, 8-bit whole numbers in memory.

`NAME.codes` (blocks, 16, out): a byte holds a step of the first half of a block of 32 inputs and one of the second.
`NAME.low`, `NAME.high` (blocks, 1, out): whole numbers of steps 0 and 15; those between lie evenly and are rounded.
`NAME.rows`: a word table, as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError

FILE = "packed.npz"
STEPS = 15
_HALF = 16


def opened(path: Path) -> Iterator[tuple[str, NDArray[np.int8]]]:
    """Name and matrix of each: (in, out), a word table (words, in)."""
    try:
        with np.load(path, allow_pickle=False) as found:
            for name, part in (key.rsplit(".", 1) for key in found.files):
                if part == "rows":
                    yield name, found[f"{name}.rows"]
                elif part == "codes":
                    yield name, whole_numbers(found[f"{name}.codes"], found[f"{name}.low"], found[f"{name}.high"])
    except (OSError, KeyError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error})") from None


def whole_numbers(codes: NDArray[np.uint8], low: NDArray[np.int8], high: NDArray[np.int8]) -> NDArray[np.int8]:
    # No step lies halfway between two whole numbers, so float32 rounds all of them the right way.
    base = low.astype(np.float32)
    step = (high - base) / np.float32(STEPS)
    blocks, _, out = codes.shape
    found = np.empty((blocks, 2 * _HALF, out), np.int8)
    for start, steps in ((0, codes & 15), (_HALF, codes >> 4)):
        numbers = steps * step
        np.rint(numbers, out=numbers)
        numbers += base
        found[:, start : start + _HALF] = numbers
    return found.reshape(blocks * 2 * _HALF, out)
