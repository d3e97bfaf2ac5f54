"""The reader's network: a context is read once, and every claim about it reads the context and itself.

Several claims stand behind their context in one row of tokens. A context's tokens see the context; a claim's tokens see
the context and that claim, at positions that go on where the context ends. So a claim's outputs do not depend on which
other claims stand beside it, and a context costs its tokens once, however many claims are held against it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

OUTPUTS = ("supported", "contradicted", "absent", "fault", "fit")
"""Per token: three verdict logits and the fit (read at a claim's first token), and the logit of a word at fault."""


@dataclass(frozen=True)
class Shape:
    vocabulary: int = 30527
    width: int = 768
    layers: int = 12
    heads: int = 12
    inner: int = 3072
    positions: int = 514
    buckets: int = 32
    outputs: int = len(OUTPUTS)


class Dense(nn.Linear):
    """A matrix that may be read with what packing will add to it."""

    error: Tensor | None = None
    """Packed weight less weight, refreshed now and then in the last part of training."""

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight if self.error is None else self.weight + self.error
        return functional.linear(x, weight, self.bias)


class Layer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.heads = shape.heads
        self.qkv = Dense(shape.width, 3 * shape.width)
        self.mix = Dense(shape.width, shape.width)
        self.mix_norm = nn.LayerNorm(shape.width, eps=1e-5)
        self.widen = Dense(shape.width, shape.inner)
        self.narrow = Dense(shape.inner, shape.width)
        self.norm = nn.LayerNorm(shape.width, eps=1e-5)

    def forward(self, states: Tensor, bias: Tensor, drop: float) -> Tensor:
        batch, length, width = states.shape
        query, key, value = self.qkv(states).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        seen = self.mix(seen.transpose(1, 2).reshape(batch, length, width))
        states = self.mix_norm(states + functional.dropout(seen, drop, self.training))
        wide = self.narrow(functional.gelu(self.widen(states)))
        return self.norm(states + functional.dropout(wide, drop, self.training))


class Reader(nn.Module):
    """all-mpnet-base-v2's encoder (MPNet, arXiv 2004.09297) with one linear layer over its tokens."""

    def __init__(self, shape: Shape | None = None):
        super().__init__()
        self.shape = shape or Shape()
        self.words = nn.Embedding(self.shape.vocabulary, self.shape.width)
        self.places = nn.Embedding(self.shape.positions, self.shape.width)
        self.start_norm = nn.LayerNorm(self.shape.width, eps=1e-5)
        self.distances = nn.Embedding(self.shape.buckets, self.shape.heads)
        self.layers = nn.ModuleList(Layer(self.shape) for _ in range(self.shape.layers))
        self.head = nn.Linear(self.shape.width, self.shape.outputs)
        self.drop = 0.1

    def forward(self, ids: Tensor, places: Tensor, contexts: Tensor, claims: Tensor) -> Tensor:
        """`contexts`: the number of the context a token belongs to, from 1, 0 for padding. `claims`: 0 for the
        context's own tokens, else the claim's number. `places`: the token's position, from 0."""
        same = contexts[:, :, None] == contexts[:, None, :]
        seen = same & ((claims[:, None, :] == 0) | (claims[:, :, None] == claims[:, None, :]))
        bias = self.distances(buckets(places[:, None, :] - places[:, :, None], self.shape.buckets))
        bias = bias.permute(0, 3, 1, 2).masked_fill(~seen[:, None], -1e4)
        states = self.start_norm(self.words(ids) + self.places(places + 2))
        states = functional.dropout(states, self.drop, self.training)
        if torch.is_autocast_enabled("cpu"):
            bias = bias.to(torch.bfloat16)
        for layer in self.layers:
            states = layer(states, bias, self.drop)
        return self.head(states).float()


def buckets(offset: Tensor, count: int) -> Tensor:
    """MPNet's buckets of relative positions: half for each direction, exact up to 8, then logarithmic up to 128."""
    half = count // 2
    exact = half // 2
    ahead = (offset > 0).long() * half
    distance = offset.abs()
    wide = exact + (torch.log(distance.float().clamp(min=1) / exact) / math.log(128 / exact) * (half - exact)).long()
    return ahead + torch.where(distance < exact, distance, wide.clamp(max=half - 1))


def opened(folder: Path) -> Reader:
    """The start: all-mpnet-base-v2 as its packages lay it down."""
    from safetensors.torch import load_file

    given = load_file(str(folder / "model.safetensors"))
    given = {name.removeprefix("mpnet."): tensor for name, tensor in given.items()}
    config = json.loads((folder / "config.json").read_text())
    shape = Shape(vocabulary=config["vocab_size"], layers=config["num_hidden_layers"])
    reader = Reader(shape)
    own: dict[str, Tensor] = {
        "words.weight": given["embeddings.word_embeddings.weight"],
        "places.weight": given["embeddings.position_embeddings.weight"],
        "start_norm.weight": given["embeddings.LayerNorm.weight"],
        "start_norm.bias": given["embeddings.LayerNorm.bias"],
        "distances.weight": given["encoder.relative_attention_bias.weight"],
    }
    for index in range(shape.layers):
        theirs, ours = f"encoder.layer.{index}.", f"layers.{index}."
        for part in ("weight", "bias"):
            own[f"{ours}qkv.{part}"] = torch.cat([given[f"{theirs}attention.attn.{name}.{part}"] for name in "qkv"])
            for name, their_name in (
                ("mix", "attention.attn.o"),
                ("mix_norm", "attention.LayerNorm"),
                ("widen", "intermediate.dense"),
                ("narrow", "output.dense"),
                ("norm", "output.LayerNorm"),
            ):
                own[f"{ours}{name}.{part}"] = given[f"{theirs}{their_name}.{part}"]
    missing, unknown = reader.load_state_dict(own, strict=False)
    if unknown or set(missing) != {"head.weight", "head.bias"}:
        raise ValueError(f"{folder}: not an MPNet encoder: {unknown or missing}")
    nn.init.normal_(reader.head.weight, std=0.02)
    nn.init.zeros_(reader.head.bias)
    return reader
