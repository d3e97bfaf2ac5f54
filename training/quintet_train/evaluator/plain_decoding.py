"""The language model off its grid, one token after another: what it has read is kept as keys and values.

Training needs the rounded weights and whole texts at once; writing needs neither, and would be slow with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from quintet_train.evaluator.language_network import LanguageModel, rotated


@dataclass(frozen=True)
class Read:
    """Keys and values [layers, rows, groups, room, width of a head] of the tokens so far."""

    keys: Tensor
    values: Tensor


@dataclass(frozen=True)
class Begun:
    """Prompts that were read: their tokens, padded on the right, which is written over; lengths; last states."""

    ids: Tensor
    lengths: Tensor
    state: Tensor
    read: Read


class Decoder:
    def __init__(self, network: LanguageModel, device: torch.device) -> None:
        self.shape = network.shape
        self.kind = torch.bfloat16 if device.type == "cuda" else torch.float32
        self._weights = {name: one.detach().to(device, self.kind) for name, one in network.state_dict().items()}
        self.device = device

    def room(self, rows: int, tokens: int) -> Read:
        """A multiple of 8 tokens, as fast attention wants it."""
        shape = self.shape
        size = (shape.layers, rows, shape.groups, (tokens + 7) // 8 * 8, shape.width // shape.heads)
        return Read(*(torch.zeros(size, dtype=self.kind, device=self.device) for _ in range(2)))

    def begun(self, prompts: Sequence[Sequence[int]], new_tokens: int) -> Begun:
        rows, longest = len(prompts), max(map(len, prompts))
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=self.device)
        ids = torch.tensor([[*prompt, *[0] * (longest - len(prompt))] for prompt in prompts], device=self.device)
        read = self.room(rows, longest + new_tokens)
        states = self.states(ids, torch.arange(longest, device=self.device).expand(rows, -1), read)
        return Begun(ids, lengths, states[torch.arange(rows, device=self.device), lengths - 1], read)

    def states(self, ids: Tensor, places: Tensor, read: Read) -> Tensor:
        """Last states of tokens at their places; a token sees all places up to its own. Keeps their keys and values."""
        shape, weights = self.shape, self._weights
        each = shape.width // shape.heads
        steps = 1.0 / shape.theta ** (torch.arange(0, each, 2, device=self.device).float() / each)
        angles = places[:, None, :, None].float() * steps
        turn = torch.cat([angles, angles], -1)
        seen = torch.arange(read.keys.shape[3], device=self.device) <= places[:, None, :, None]
        x = weights["emb.weight"][ids]
        for layer in range(shape.layers):
            y = self._norm(x, f"blocks.{layer}.n1")
            x = x + self._attention(y, layer, turn, places, seen, read)
            y = self._norm(x, f"blocks.{layer}.n2")
            gate = functional.silu(self._linear(y, layer, "gate")) * self._linear(y, layer, "up")
            x = x + self._linear(gate, layer, "down")
        return self._norm(x, "norm")

    def logits(self, states: Tensor) -> Tensor:
        table = self._weights.get("out.weight", self._weights["emb.weight"])
        return functional.linear(states, table).float()

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight = self._weights[f"{name}.weight"].float()
        return functional.rms_norm(x.float(), (x.shape[-1],), weight, self.shape.epsilon).to(self.kind)

    def _linear(self, x: Tensor, layer: int, name: str) -> Tensor:
        own = f"blocks.{layer}.{name}"
        return functional.linear(x, self._weights[f"{own}.weight"], self._weights.get(f"{own}.bias"))

    def _attention(self, y: Tensor, layer: int, turn: Tensor, places: Tensor, seen: Tensor, read: Read) -> Tensor:
        shape = self.shape
        rows, length, width = y.shape
        each = width // shape.heads
        query, key, value = (self._linear(y, layer, name).view(rows, length, -1, each) for name in "qkv")
        row = torch.arange(rows, device=self.device)[:, None]
        turned = rotated(key.transpose(1, 2), turn.cos(), turn.sin())
        read.keys[layer].transpose(1, 2)[row, places] = turned.transpose(1, 2)
        read.values[layer].transpose(1, 2)[row, places] = value
        query = rotated(query.transpose(1, 2), turn.cos(), turn.sin())
        times = shape.heads // shape.groups
        keys, values = read.keys[layer], read.values[layer]
        if length == 1:
            # The heads of a group ask the same keys: asked as if they were several tokens, nothing is copied.
            query = query.reshape(rows, shape.groups, times, each)
        else:
            keys, values = (one.repeat_interleave(times, 1) for one in (keys, values))
        mixed = functional.scaled_dot_product_attention(query, keys, values, attn_mask=seen)
        mixed = mixed.reshape(rows, shape.heads, length, each)
        return self._linear(mixed.transpose(1, 2).reshape(rows, length, width), layer, "o")
