"""The whole numbers of the language model: 4-bit codes that become 7-bit numbers when the file is opened.

A row has one scale. Each block of 32 inputs has a lowest and a highest whole number (7 bit), and each weight one of 16
even steps between them, rounded to a whole number. So products are of whole numbers, and no two of them overflow 16
bits on processors without VNNI. The word table has rows of 7-bit numbers with one scale each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from quintet.errors import ModelError
from quintet_train.torch_parts import need

BLOCK = 32
STEPS = 15
TOP = 63
TABLE = "emb.weight"
HEADS = ("pool.", "heads.", "nli.", "tok.")
"""How names of weights begin that a judging language model has beside its own; they are never rounded."""
FILE_BYTES = 15 * 2**20
_LEAST = 1e-8


class Grid(NamedTuple):
    codes: Tensor
    """(out, blocks, 32): 0 to 15."""
    low: Tensor
    high: Tensor
    """(out, blocks, 1): whole numbers up to 63."""
    scale: Tensor
    """(out, 1, 1)."""

    def whole(self) -> Tensor:
        """(out, blocks, 32): the numbers that are multiplied. No step lies halfway between two of them."""
        return self.low + (self.codes * (self.high - self.low) / STEPS).round()

    def matrix(self) -> Tensor:
        return (self.whole() * self.scale).flatten(1)


def four_bit(weight: Tensor) -> Grid:
    blocks = weight.float().view(len(weight), -1, BLOCK)
    low, high = blocks.amin(-1, keepdim=True), blocks.amax(-1, keepdim=True)
    scale = (torch.maximum(-low, high).amax(1, keepdim=True) / TOP).clamp(min=_LEAST)
    low, high = (low / scale).round(), (high / scale).round()
    codes = ((blocks / scale - low) * (STEPS / (high - low).clamp(min=1))).round().clamp(0, STEPS)
    return Grid(codes, low, high, scale)


def seven_bit(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Codes and scales of rows."""
    scale = (weight.float().abs().amax(-1, keepdim=True) / TOP).clamp(min=_LEAST)
    return (weight.float() / scale).round(), scale


def compressed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What is exported: vectors and heads as they are; `NAME|s` scales and `NAME|q` codes of tables; for matrices two
    codes in a byte (the even column in the lower half), and `NAME|l` and `NAME|h` for the ends of blocks."""
    out: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.ndim == 1 or name.startswith(HEADS):
            out[name] = weight.float()
        elif name == TABLE:
            codes, scale = seven_bit(weight)
            out[f"{name}|q"], out[f"{name}|s"] = codes.to(torch.int8), scale[:, 0]
        else:
            grid = four_bit(weight)
            flat = grid.codes.to(torch.uint8).flatten(1)
            out[f"{name}|q"] = flat[:, 0::2] | (flat[:, 1::2] << 4)
            out[f"{name}|l"], out[f"{name}|h"] = (end[..., 0].to(torch.int8) for end in (grid.low, grid.high))
            out[f"{name}|s"] = grid.scale[:, 0, 0]
    return {name: value.contiguous() for name, value in out.items()}


def expanded(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The way back, in float32."""
    parts: dict[str, dict[str, Tensor]] = {}
    out: dict[str, Tensor] = {}
    for name, value in stored.items():
        whole, bar, part = name.partition("|")
        if bar:
            parts.setdefault(whole, {})[part] = value
        else:
            out[whole] = value.float()
    for name, own in parts.items():
        lacking = {"q", "s"} - set(own)
        if lacking:
            raise ModelError(f"{name} is stored in parts and lacks {', '.join(sorted(lacking))}")
        codes, scale = own["q"], own["s"].float()
        if "l" not in own:
            out[name] = codes.float() * scale[:, None]
            continue
        pairs = torch.stack([codes & 15, codes >> 4], -1).reshape(len(codes), -1, BLOCK).float()
        out[name] = Grid(pairs, own["l"].float()[..., None], own["h"].float()[..., None], scale[:, None, None]).matrix()
    return out


def towards(learnt: Mapping[str, Tensor], start: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """`share` of the start's weights and the rest of the learnt ones, as these are shipped: between the two lie models
    that have learnt the new texts and forgotten less (Wortsman et al. 2022, Robust fine-tuning, eq. 1)."""
    shipped = expanded(compressed(learnt))
    return {name: share * start[name] + (1 - share) * shipped[name] for name in learnt}


def save_parts(stored: Mapping[str, Tensor], folder: Path, name: str = "weights") -> list[Path]:
    """As NAME-00.safetensors and so on, none much over 15 MiB; large tensors are cut by rows (`TENSOR@ROW`)."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    batch: dict[str, Tensor] = {}
    size = 0
    save = need("safetensors.torch").save_file
    for key, value in [*_cut(stored), ("", torch.zeros(0))]:
        if batch and (not key or size + value.nbytes > FILE_BYTES):
            files.append(folder / f"{name}-{len(files):02d}.safetensors")
            save(batch, files[-1])
            batch, size = {}, 0
        batch[key] = value
        size += value.nbytes
    return files


def _cut(stored: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    for key, value in stored.items():
        rows = max(1, FILE_BYTES * len(value) // max(1, value.nbytes))
        for start in range(0, len(value), rows):
            own = value[start : start + rows].clone()
            yield (key if len(own) == len(value) else f"{key}@{start}"), own


def joined_parts(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of all files; those cut by rows in one piece again."""
    found: dict[str, list[tuple[int, Tensor]]] = {}
    for key, value in tensors.items():
        name, _, row = key.partition("@")
        found.setdefault(name, []).append((int(row or 0), value))
    return {name: torch.cat([value for _, value in sorted(own, key=lambda one: one[0])]) for name, own in found.items()}
