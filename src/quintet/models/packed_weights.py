"""Matrices that a graph leaves to a file beside it: 4-bit codes there, 8-bit whole numbers in memory.

`NAME.codes` (blocks, 16, out): a byte holds a step of the first half of a block of 32 inputs and one of the second.
`NAME.low`, `NAME.high` (blocks, 1, out): whole numbers of steps 0 and 15; those between lie evenly and are rounded.
`NAME.rows`: a word table, as it is. The file is safetensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.tensor_file import Tensor, tensors

FILE = "packed.safetensors"
STEPS = 15
_HALF = 16


def opened(path: Path) -> Iterator[tuple[str, NDArray[np.int8]]]:
    """Name and matrix of each: (in, out), a word table (words, in)."""
    try:
        with path.open("rb") as stream:
            for name, parts in _matrices(tensors(stream)).items():
                read = {part: tensor.read(stream) for part, tensor in parts.items()}
                yield name, read["rows"] if "rows" in read else whole_numbers(**read)
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ModelError(f"{path} cannot be read ({error})") from None


def _matrices(found: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Parts of each matrix, which are all there and fit one another."""
    matrices: dict[str, dict[str, Tensor]] = {}
    for key, tensor in found.items():
        name, _, part = key.rpartition(".")
        matrices.setdefault(name, {})[part] = tensor
    for name, parts in matrices.items():
        told = {part: (tensor.dtype, tensor.shape) for part, tensor in parts.items()}
        if told != _fitting(told):
            raise ValueError(f"{name or next(iter(parts))!r} is no packed matrix")
    return matrices


def _fitting(told: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]) -> dict[str, Any]:
    """Kinds and shapes as they must be, by the shape of what is largest."""
    _, shape = told.get("rows") or told.get("codes") or (None, ())
    if "rows" in told:
        return {"rows": (np.int8, shape)} if len(shape) == 2 else {}
    if len(shape) != 3 or shape[1] != _HALF:
        return {}
    ends = (np.int8, (shape[0], 1, shape[2]))
    return {"codes": (np.uint8, shape), "low": ends, "high": ends}


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
