"""Weights of a Llama or Qwen2 model out of a GGUF file, as safetensors would have them: plain, 8-bit, 4-bit blocks.

F32, F16, Q8_0, Q4_0 and Q4_1 tensors are read here, and the numbers beside them; other kinds by the library gguf, where
it is installed.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError

Floats = NDArray[np.float32]
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_ALIGNMENT = 32


@dataclass(frozen=True)
class Gguf:
    facts: Mapping[str, Any]
    """Numbers and texts; lists (the vocabulary) are passed over."""
    tensors: Mapping[str, Floats]


def read(path: Path) -> Gguf:
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ModelError(f"{path} is not a GGUF file")
        version, tensors, pairs = struct.unpack("<IQQ", file.read(20))
        if version not in (2, 3):
            raise ModelError(f"{path} is GGUF version {version}; 2 and 3 are read")
        facts = {}
        for _ in range(pairs):
            name = _text(file)
            facts[name] = _value(file, _number(file, "I"))
        described = [_described(file) for _ in range(tensors)]
        alignment = int(facts.get("general.alignment") or _ALIGNMENT)
        start = -(-file.tell() // alignment) * alignment
        return Gguf(facts, {name: _tensor(file, path, start + offset, name, shape, kind)
                            for name, shape, kind, offset in described})  # fmt: skip


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0]


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, "Q")).decode("utf-8", "replace")


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _TEXT:
        return _text(file)
    if kind == _LIST:
        inner, count = struct.unpack("<IQ", file.read(12))
        for _ in range(count):
            _value(file, inner)
        return None
    return _number(file, _NUMBERS[kind])


def _described(file: BinaryIO) -> tuple[str, tuple[int, ...], int, int]:
    name = _text(file)
    sizes = [_number(file, "Q") for _ in range(_number(file, "I"))]
    kind, offset = struct.unpack("<IQ", file.read(12))
    return name, tuple(reversed(sizes)), kind, offset


def _halves(blocks: NDArray[np.uint8], start: int) -> Floats:
    return blocks[:, start : start + 2].copy().view(np.float16).astype(np.float32)


def _codes(packed: NDArray[np.uint8]) -> Floats:
    """The lower halves of 16 bytes are the first 16 numbers of a block, the upper ones the rest."""
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32)


def _q8(blocks: NDArray[np.uint8]) -> Floats:
    return blocks[:, 2:].copy().view(np.int8).astype(np.float32) * _halves(blocks, 0)


def _q4_0(blocks: NDArray[np.uint8]) -> Floats:
    return (_codes(blocks[:, 2:]) - 8) * _halves(blocks, 0)


def _q4_1(blocks: NDArray[np.uint8]) -> Floats:
    return _codes(blocks[:, 4:]) * _halves(blocks, 0) + _halves(blocks, 2)


_BLOCKS: Mapping[int, tuple[int, Callable[[NDArray[np.uint8]], Floats]]] = {
    2: (18, _q4_0),
    3: (20, _q4_1),
    8: (34, _q8),
}
"""Kind of tensor to bytes of a block of 32 numbers and how they are read."""
_PLAIN: Mapping[int, Any] = {0: np.float32, 1: np.float16}


def _tensor(file: BinaryIO, path: Path, place: int, name: str, shape: tuple[int, ...], kind: int) -> Floats:
    count = int(np.prod(shape))
    file.seek(place)
    if kind in _PLAIN:
        kept = np.frombuffer(file.read(count * np.dtype(_PLAIN[kind]).itemsize), _PLAIN[kind])
        return kept.astype(np.float32).reshape(shape)
    if kind not in _BLOCKS:
        return _by_library(file, path, name, shape, kind)
    size, reader = _BLOCKS[kind]
    blocks = np.frombuffer(file.read(count // 32 * size), np.uint8).reshape(-1, size)
    return reader(blocks).reshape(shape)


def _by_library(file: BinaryIO, path: Path, name: str, shape: tuple[int, ...], kind: int) -> Floats:
    """Kinds that only files of larger models have."""
    try:
        library = importlib.import_module("gguf")
    except ImportError:
        told = f"{path}: tensor {name} is of kind {kind}, which only the library gguf reads; "
        raise ModelError(f"{told}run: pip install gguf, or convert the file to Q4_1, Q8_0 or F16") from None
    numbers, size = library.GGML_QUANT_SIZES[library.GGMLQuantizationType(kind)]
    rows = int(np.prod(shape[:-1]))
    packed = np.frombuffer(file.read(rows * (shape[-1] // numbers) * size), np.uint8).reshape(rows, -1)
    plain = library.quants.dequantize(packed, library.GGMLQuantizationType(kind))
    return np.asarray(plain, np.float32).reshape(shape)


_NAMES = {"attn_q": "q", "attn_k": "k", "attn_v": "v", "attn_output": "o", "ffn_gate": "gate", "ffn_up": "up",
          "ffn_down": "down", "attn_norm": "n1", "ffn_norm": "n2"}  # fmt: skip


_ROTATED = {"llama": True, "qwen2": False}
"""Kinds of model that are read, and whether the file keeps the two numbers that are rotated together side by side."""


def language_weights(found: Gguf, path: Path) -> tuple[dict[str, Floats], dict[str, float]]:
    """Tensors under the language model's names, and what config.json would say."""
    facts = found.facts
    kind = str(facts.get("general.architecture"))
    if kind not in _ROTATED:
        raise ModelError(f"{path} holds a {kind} model; one of these kinds is needed: {', '.join(_ROTATED)}")
    heads, groups = (int(facts[f"{kind}.attention.{name}"]) for name in ("head_count", "head_count_kv"))
    side_by_side = {"attn_q": heads, "attn_k": groups} if _ROTATED[kind] else {}
    out = {}
    for name, tensor in found.tensors.items():
        if name == "token_embd.weight":
            out["emb.weight"] = tensor
        elif name == "output.weight":
            out["out.weight"] = tensor
        elif name == "output_norm.weight":
            out["norm.weight"] = tensor
        elif name.startswith("blk."):
            _, number, part, weight = name.split(".")
            turned = side_by_side.get(part)
            out[f"blocks.{number}.{_NAMES[part]}.{weight}"] = _halves_apart(tensor, turned) if turned else tensor
    told = {
        "num_attention_heads": float(heads),
        "rope_theta": float(facts.get(f"{kind}.rope.freq_base", 10_000.0)),
        "rms_norm_eps": float(facts[f"{kind}.attention.layer_norm_rms_epsilon"]),
    }
    return out, told


def _halves_apart(tensor: Floats, heads: int) -> Floats:
    """GGUF keeps the two numbers that are rotated together side by side; the network wants them half a head apart."""
    width = len(tensor) // heads
    pairs = tensor.reshape(heads, width // 2, 2, *tensor.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(tensor.shape))
