"""A small language model of Llama's kind that is trained on the 4-bit grid it is shipped on.

Rounding a trained model to 4 bit costs 0.76 nats a token; training through the rounding costs none (straight-through:
the forward pass sees rounded weights, the gradient goes to the weights behind them). Names of the weights are those
that `quintet.train.export_judge_lm` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

BLOCK = 32
LEVELS = 15


@dataclass(frozen=True)
class Shape:
    """SmolLM2-135M's numbers."""

    vocabulary: int = 49152
    width: int = 576
    layers: int = 30
    heads: int = 9
    groups: int = 3
    """Heads of keys and values."""
    inner: int = 1536
    theta: float = 100_000.0
    epsilon: float = 1e-5


def four_bit(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Codes, zero points and scales of blocks of 32 along the input: weight ≈ (code - zero) · scale."""
    out, width = weight.shape
    blocks = weight.float().view(out, width // BLOCK, BLOCK)
    low, high = blocks.amin(-1, keepdim=True).clamp(max=0), blocks.amax(-1, keepdim=True).clamp(min=0)
    scale = ((high - low) / LEVELS).clamp(min=1e-7).half().float()
    zero = (-low / scale).round().clamp(0, LEVELS)
    return (blocks / scale + zero).round().clamp(0, LEVELS), zero, scale


def eight_bit(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Codes and scales of blocks of 32: the word table, which is looked up and multiplied with."""
    out, width = weight.shape
    blocks = weight.float().view(out, width // BLOCK, BLOCK)
    scale = (blocks.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-8).half().float()
    return (blocks / scale).round().clamp(-127, 127), scale


class RoundedLinear(nn.Linear):
    rounded = True

    def forward(self, x: Tensor) -> Tensor:
        weight: Tensor = self.weight
        if self.rounded:
            with torch.no_grad():
                codes, zero, scale = four_bit(weight)
                change = ((codes - zero) * scale).view_as(weight) - weight
            weight = weight + change
        return functional.linear(x, weight)


class Norm(nn.Module):
    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x.float(), (x.shape[-1],), self.weight.float(), self.epsilon).to(x.dtype)


def rotated(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    left, right = x.chunk(2, -1)
    return (x * cosines + torch.cat([-right, left], -1) * sines).to(x.dtype)


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, self.heads, self.groups = shape.width, shape.heads, shape.groups
        self.each = width // shape.heads
        self.n1, self.n2 = Norm(width, shape.epsilon), Norm(width, shape.epsilon)
        small = shape.groups * self.each
        self.q, self.o = RoundedLinear(width, width, bias=False), RoundedLinear(width, width, bias=False)
        self.k, self.v = RoundedLinear(width, small, bias=False), RoundedLinear(width, small, bias=False)
        self.gate = RoundedLinear(width, shape.inner, bias=False)
        self.up = RoundedLinear(width, shape.inner, bias=False)
        self.down = RoundedLinear(shape.inner, width, bias=False)

    def forward(self, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        rows, length, width = x.shape
        y = self.n1(x)
        query = self.q(y).view(rows, length, self.heads, self.each).transpose(1, 2)
        key, value = (one(y).view(rows, length, self.groups, self.each).transpose(1, 2) for one in (self.k, self.v))
        query, key = rotated(query, cosines, sines), rotated(key, cosines, sines)
        times = self.heads // self.groups
        key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(rows, length, width))
        y = self.n2(x)
        out: Tensor = x + self.down(functional.silu(self.gate(y)) * self.up(y))
        return out


class LanguageModel(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.emb = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.epsilon)
        nn.init.normal_(self.emb.weight, std=0.02)

    def forward(self, ids: Tensor) -> Tensor:
        """The last states. Padding on the right needs no mask: later tokens never touch earlier ones."""
        each, device = self.shape.width // self.shape.heads, ids.device
        steps = 1.0 / self.shape.theta ** (torch.arange(0, each, 2, device=device).float() / each)
        angles = torch.arange(ids.shape[1], device=device).float()[:, None] * steps[None]
        angles = torch.cat([angles, angles], -1)
        x = self.emb(ids)
        for block in self.blocks:
            x = block(x, angles.cos(), angles.sin())
        out: Tensor = self.norm(x)
        return out

    def logits(self, states: Tensor) -> Tensor:
        return states @ self.emb.weight.T


def compressed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What is exported: vectors as they are, `NAME|q`, `NAME|d` and `NAME|z` for matrices."""
    out: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.ndim == 1:
            out[name] = weight.float()
        elif name == "emb.weight":
            codes, scale = eight_bit(weight)
            out[f"{name}|q"], out[f"{name}|d"] = codes.to(torch.int8).view_as(weight), scale[..., 0].half()
        else:
            codes, zero, scale = four_bit(weight)
            flat = codes.to(torch.uint8).view_as(weight)
            out[f"{name}|q"] = flat[:, 0::2] | (flat[:, 1::2] << 4)
            out[f"{name}|d"], out[f"{name}|z"] = scale[..., 0].half(), zero[..., 0].to(torch.uint8)
    return {name: value.contiguous() for name, value in out.items()}


def expanded(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The way back; also reads blocks with a smallest value (`NAME|m`) in place of a zero point."""
    parts: dict[str, dict[str, Tensor]] = {}
    out: dict[str, Tensor] = {}
    for name, value in stored.items():
        whole, bar, part = name.partition("|")
        if bar:
            parts.setdefault(whole, {})[part] = value
        else:
            out[whole] = value.float()
    for name, own in parts.items():
        codes, scale = own["q"], own["d"].float()[..., None]
        if "z" not in own and "m" not in own:
            out[name] = (codes.float().view(len(codes), -1, BLOCK) * scale).view_as(codes)
            continue
        pairs = torch.stack([codes & 15, codes >> 4], -1).reshape(len(codes), -1, BLOCK).float()
        if "m" in own:
            out[name] = (pairs * scale + own["m"].float()[..., None]).view(len(codes), -1)
        else:
            out[name] = ((pairs - own["z"].float()[..., None]) * scale).view(len(codes), -1)
    return out
