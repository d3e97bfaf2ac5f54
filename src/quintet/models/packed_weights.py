"""Matrices that a graph leaves to a file beside it: 4-bit codes there, 8-bit whole numbers in memory.

`NAME.codes` (blocks, 16, out): a byte holds a step of the first half of a block of 32 inputs and one of the second.
`NAME.low`, `NAME.high` (blocks, 1, out): whole numbers of steps 0 and 15; those between lie evenly and are rounded.
`NAME.rows`: a word table, as it is. The file is safetensors.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from quintet.core.plain import JsonObject
from quintet.errors import ModelError

# Reads a safetensors file without the library, which the plain installation does not have.
#
# Eight bytes, little-endian: length of the header. The header, JSON: {NAME: {dtype, shape, data_offsets: [from, to]}}.
# Then the tensors, little-endian, end to end. What is not exactly so is refused with ValueError.

DTYPES = {
    **{f"U{8 * size}": f"<u{size}" for size in (1, 2, 4, 8)},
    **{f"I{8 * size}": f"<i{size}" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
}
_LENGTH = 8
_METADATA = "__metadata__"


@dataclass(frozen=True, slots=True)
class Tensor:
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    """Bytes of the file before it."""

    @property
    def end(self) -> int:
        return self.start + math.prod(self.shape) * self.dtype.itemsize

    def read(self, stream: BinaryIO) -> NDArray[Any]:
        stream.seek(self.start)
        return np.fromfile(stream, self.dtype, math.prod(self.shape)).reshape(self.shape)


def read_all(path: Path) -> dict[str, NDArray[np.float32]]:
    """Every tensor of a small file, in float32; a file that is not as it should be is a ModelError."""
    try:
        with path.open("rb") as stream:
            return {name: np.asarray(one.read(stream), np.float32) for name, one in tensors(stream).items()}
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ModelError(f"{path} cannot be read ({error})") from None


def tensors(stream: BinaryIO) -> dict[str, Tensor]:
    """By name, in the order in which they lie in the file."""
    size = os.fstat(stream.fileno()).st_size
    first = _LENGTH + int.from_bytes(stream.read(_LENGTH), "little")
    if size < _LENGTH or first > size:
        raise ValueError("not safetensors, or its end is missing")
    try:
        told = json.loads(stream.read(first - _LENGTH).decode("utf-8"), object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("its header is too deep") from None
    except UnicodeDecodeError:
        raise ValueError("not safetensors: its header is no UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not safetensors: its header is no JSON, {error}") from None
    if not isinstance(told, dict):
        raise ValueError("its header is no table")
    found = {name: _tensor(name, row, first) for name, row in told.items() if name != _METADATA}
    found = dict(sorted(found.items(), key=lambda item: (item[1].start, item[1].end)))
    ends = [first, *(tensor.end for tensor in found.values())]
    for name, tensor, end in zip(found, found.values(), ends, strict=False):
        if tensor.start != end:
            raise ValueError(f"{name!r} does not begin where the tensor before it ends")
    if ends[-1] != size:
        raise ValueError(f"it has {size} bytes, its tensors end at {ends[-1]}")
    return found


def _unique(pairs: list[tuple[str, object]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(a for a, b in pairwise(sorted(name for name, _ in pairs)) if a == b)
        raise ValueError(f"its header names {twice!r} twice")
    return found


def _tensor(name: str, row: object, first: int) -> Tensor:
    if not isinstance(row, dict) or not {"dtype", "shape", "data_offsets"} <= row.keys():
        raise ValueError(f"its header does not say what {name!r} is")
    dtype, shape, offsets = row["dtype"], row["shape"], row["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"{name!r} is of the kind {dtype!r}, which is not read here")
    if not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise ValueError(f"shape or place of {name!r} is no list of whole numbers")
    found = Tensor(np.dtype(DTYPES[dtype]), tuple(shape), first + offsets[0])
    if found.end != first + offsets[1]:
        raise ValueError(f"{name!r} does not fill its place")
    return found


def _counts(value: object) -> bool:
    # bool is a kind of int in Python, not in the format.
    return isinstance(value, list) and all(type(number) is int and number >= 0 for number in value)


FILE = "packed.safetensors"
STEPS = 15
_HALF = 16
_AT_ONCE = 1 << 15
"""Numbers that are worked on at a time, so that they stay near the processor."""


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


def _fitting(told: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]) -> JsonObject:
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
    some = max(1, _AT_ONCE // max(1, _HALF * out))
    room = np.empty((some, _HALF, out), np.float32)
    for first in range(0, blocks, some):
        own = slice(first, min(blocks, first + some))
        numbers = room[: own.stop - first]
        for start, steps in ((0, codes[own] & 15), (_HALF, codes[own] >> 4)):
            np.multiply(steps, step[own], out=numbers)
            np.rint(numbers, out=numbers)
            np.add(numbers, base[own], out=numbers)
            found[own, start : start + _HALF] = numbers
    return found.reshape(blocks * 2 * _HALF, out)
