"""A small language model of Llama's kind that is trained on the whole numbers it is shipped with.

Rounding a trained model costs much; training through the rounding costs nothing that can be seen (straight-through: the
forward pass sees rounded numbers, the gradient passes as if they were not). Both sides of every product are rounded:
what goes in to 8 bit with one scale for each token, matrices to `language_grid`. Names of the weights are those that
`quintet_train.export_judge_lm` reads. A frozen copy `off_grid` says what the start said before any rounding.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from quintet.errors import InputError
from quintet_train.evaluator.language_grid import four_bit, seven_bit

TOP = 127
"""Largest whole number of what goes into a product; the scale follows from the token's largest number."""
_LEAST = 1e-8


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
    tied: bool = True
    """Whether the word table is also what states are multiplied with; larger models have a table of their own."""
    biased: bool = False
    """Whether queries, keys and values have biases, as Qwen2's do."""


@dataclass(frozen=True)
class Branches:
    """Rows that begin with one context and go on with several texts, none of which sees another: the context is read
    once for all of them. (rows, length) each."""

    places: Tensor
    """A text goes on where its context ends, whatever stands between them in the row."""
    numbers: Tensor
    """0 for the context, 1, 2, … for its texts, -1 for padding."""

    def seen(self) -> Tensor:
        """(rows, 1, length, length): what each token attends to, of those before it."""
        own, length = self.numbers, self.numbers.shape[1]
        earlier = torch.ones(length, length, dtype=torch.bool, device=own.device).tril()
        return (earlier & ((own[:, None] == 0) | (own[:, None] == own[:, :, None])))[:, None]


class _Straight(torch.autograd.Function):
    """The second in the forward pass, the first for the gradient."""

    @staticmethod
    def forward(ctx: Any, plain: Tensor, rounded: Tensor) -> Tensor:
        ctx.kind = plain.dtype
        return rounded.view_as(rounded)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0].to(ctx.kind), None


def _straight(plain: Tensor, rounded: Tensor) -> Tensor:
    out: Tensor = _Straight.apply(plain, rounded)  # type: ignore[no-untyped-call]
    return out


def _kind(x: Tensor) -> torch.dtype:
    """What products are computed in."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


def rounded(x: Tensor, plain: bool = False) -> Tensor:
    """What goes into a product: whole numbers up to 127 times the scale of the token; `plain`: as it is."""
    if plain:
        return x
    with torch.no_grad():
        scale = torch.linalg.vector_norm(x, float("inf"), -1, keepdim=True).float().clamp(min=_LEAST) / TOP
        near = ((x / scale).round() * scale).to(_kind(x))
    return _straight(x, near)


class RoundedLinear(nn.Linear):
    """A matrix on its grid; its input comes rounded."""

    plain = False

    def matrix(self) -> Tensor:
        if self.plain:
            return self.weight
        with torch.no_grad():
            near = four_bit(self.weight).matrix().to(_kind(self.weight))
        return _straight(self.weight, near)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.matrix(), self.bias)


def together(x: Tensor, *layers: RoundedLinear) -> tuple[Tensor, ...]:
    """Several matrices with one input, as one product; all of them have biases, or none has."""
    biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
    every = functional.linear(x, torch.cat([layer.matrix() for layer in layers]), torch.cat(biases) if biases else None)
    return torch.split(every, [layer.out_features for layer in layers], -1)


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
    plain = False

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, self.heads, self.groups = shape.width, shape.heads, shape.groups
        self.each = width // shape.heads
        self.n1, self.n2 = Norm(width, shape.epsilon), Norm(width, shape.epsilon)
        small, biased = shape.groups * self.each, shape.biased
        self.q, self.o = RoundedLinear(width, width, bias=biased), RoundedLinear(width, width, bias=False)
        self.k, self.v = RoundedLinear(width, small, bias=biased), RoundedLinear(width, small, bias=biased)
        self.gate = RoundedLinear(width, shape.inner, bias=False)
        self.up = RoundedLinear(width, shape.inner, bias=False)
        self.down = RoundedLinear(shape.inner, width, bias=False)

    def forward(self, x: Tensor, cosines: Tensor, sines: Tensor, seen: Tensor | None = None) -> Tensor:
        rows, length, width = x.shape
        query, key, value = (
            one.reshape(rows, length, -1, self.each).transpose(1, 2)
            for one in together(rounded(self.n1(x), self.plain), self.q, self.k, self.v)
        )
        query, key = rotated(query, cosines, sines), rotated(key, cosines, sines)
        times = self.heads // self.groups
        key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
        mixed = functional.scaled_dot_product_attention(query, key, value, seen, is_causal=seen is None)
        x = x + self.o(rounded(mixed.transpose(1, 2).reshape(rows, length, width), self.plain))
        gate, up = together(rounded(self.n2(x), self.plain), self.gate, self.up)
        out: Tensor = x + self.down(rounded(functional.silu(gate) * up, self.plain))
        return out


class LanguageModel(nn.Module):
    plain = False

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.emb = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.epsilon)
        self.out = None if shape.tied else nn.Linear(shape.width, shape.vocabulary, bias=False)
        nn.init.normal_(self.emb.weight, std=0.02)

    def fuse(self) -> None:
        """Compiles the layers for batches of any shape. What cannot be compiled runs as it is."""
        torch._dynamo.config.suppress_errors = True
        for block in self.blocks:
            block.compile(dynamic=True)

    def off_grid(self) -> LanguageModel:
        """A frozen copy that rounds neither weights nor inputs. It is never compiled, even if this one is."""
        return deepcopy(self).unrounded().requires_grad_(False).eval()

    def unrounded(self) -> LanguageModel:
        """This network, rounding neither weights nor inputs from now on."""
        for module in self.modules():
            if isinstance(module, LanguageModel | Block | RoundedLinear):
                module.plain = True
        return self

    def shorten(self, layers: int) -> None:
        """Keeps the first layers: the last ones of a large model choose its next word, and a judge can do without."""
        if not 0 < layers <= self.shape.layers:
            raise InputError(f"model.options.layers is {layers}, but the start has {self.shape.layers}")
        self.blocks, self.shape = self.blocks[:layers], replace(self.shape, layers=layers)

    def table(self) -> Tensor:
        """The word table on its grid: looked up, and multiplied with."""
        if self.plain:
            return self.emb.weight
        with torch.no_grad():
            codes, scale = seven_bit(self.emb.weight)
            near = codes * scale
        return _straight(self.emb.weight, near)

    def forward(self, ids: Tensor, table: Tensor | None = None, branches: Branches | None = None) -> Tensor:
        """The last states. Padding on the right needs no mask: later tokens never touch earlier ones."""
        each, device = self.shape.width // self.shape.heads, ids.device
        steps = 1.0 / self.shape.theta ** (torch.arange(0, each, 2, device=device).float() / each)
        places = torch.arange(ids.shape[1], device=device) if branches is None else branches.places[:, None]
        angles = places.float()[..., None] * steps
        angles = torch.cat([angles, angles], -1)
        cosines, sines = angles.cos(), angles.sin()
        seen = None if branches is None else branches.seen()
        x = functional.embedding(ids, self.table() if table is None else table)
        for block in self.blocks:
            x = block(x, cosines, sines, seen)
        out: Tensor = self.norm(x)
        return out

    def logits(self, states: Tensor, table: Tensor | None = None) -> Tensor:
        if self.out is not None:
            found: Tensor = self.out(states)
            return found
        return functional.linear(rounded(states, self.plain), self.table() if table is None else table)
