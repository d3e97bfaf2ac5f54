"""The evaluator's network: a BERT encoder, one number for each question, entailment, words, and masked words.

Two sides, each with positions of its own: the output (types 0) sees itself and its grounds, the grounds (types 1) see
only themselves. So what the grounds are to the network does not depend on the output, and is computed once for all
outputs, sentences and questions. Texts read `together` are one text with one row of positions, as BERT reads pairs.

Names of the weights are those that `quintet_train.export_evaluator` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from quintet_train.evaluator.groups import QUESTIONS

EPSILON = 1e-12
HEAD_WIDTH = 32
DROPOUT = 0.05


@dataclass(frozen=True)
class Shape:
    """gte-small's numbers."""

    vocabulary: int = 30522
    width: int = 384
    layers: int = 12
    inner: int = 1536
    positions: int = 512

    @property
    def heads(self) -> int:
        return max(1, self.width // HEAD_WIDTH)


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.qkv = nn.Linear(width, 3 * width)
        self.o = nn.Linear(width, width)
        self.ln1 = nn.LayerNorm(width, EPSILON)
        self.up = nn.Linear(width, shape.inner)
        self.down = nn.Linear(shape.inner, width)
        self.ln2 = nn.LayerNorm(width, EPSILON)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        """`seen` is added to the likeness of query and key: 0 where a token may look, else minus infinity."""
        rows, length, width = x.shape
        split = self.qkv(x).view(rows, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(split[0], split[1], split[2], attn_mask=seen.to(split.dtype))
        mixed = self.o(mixed.transpose(1, 2).reshape(rows, length, width))
        x = self.ln1(x + functional.dropout(mixed, DROPOUT, self.training))
        wide = self.down(functional.gelu(self.up(x)))
        out: Tensor = self.ln2(x + functional.dropout(wide, DROPOUT, self.training))
        return out


class Encoder(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.word = nn.Embedding(shape.vocabulary, shape.width)
        self.pos = nn.Embedding(shape.positions, shape.width)
        self.typ = nn.Embedding(2, shape.width)
        self.ln = nn.LayerNorm(shape.width, EPSILON)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor, together: Tensor | None = None) -> Tensor:
        """`mask` is true where a token stands; the output's side comes first. `together` [texts] is true where both
        sides are one text; without it none are."""
        apart = types if together is None else types * ~together[:, None]
        output_side = ((types == 0) & mask).sum(1, keepdim=True)
        places = torch.arange(ids.shape[1], device=ids.device)[None] - apart * output_side
        # Filling may stand beyond the last position; nobody looks at it.
        places = places.clamp(max=self.pos.num_embeddings - 1)
        x: Tensor = self.ln(self.word(ids) + self.pos(places) + self.typ(types))
        seen = visible(apart, mask)
        for layer in self.layers:
            x = layer(x, seen)
        return x


def visible(sides: Tensor, mask: Tensor) -> Tensor:
    """[texts, 1, tokens, tokens]: 0 where the first may look at the second, else minus infinity."""
    allowed = mask[:, None, :] & ((sides == 0)[:, :, None] | (sides == 1)[:, None, :])
    return torch.zeros(allowed.shape, device=mask.device).masked_fill(~allowed, -torch.inf)[:, None]


class MaskedWords(nn.Module):
    """BERT's head for masked words; its output table is the word table. It starts as nearly the identity."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.dense = nn.Linear(shape.width, shape.width)
        self.norm = nn.LayerNorm(shape.width, EPSILON)
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)

    def forward(self, states: Tensor, table: Tensor) -> Tensor:
        return functional.linear(self.norm(functional.gelu(self.dense(states))), table, self.bias)


@dataclass(frozen=True)
class Answers:
    questions: Tensor
    """[texts, questions], logits."""
    entailment: Tensor
    """[texts, 3]"""
    words: Tensor
    """[texts, tokens]: log-odds that the word is supported."""


class Evaluator(nn.Module):
    body = "enc."
    """What the trainer teaches at the plain rate; heads learn faster."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.shape = shape
        self.enc = Encoder(shape)
        self.pool = nn.Linear(2 * width, width)
        self.heads = nn.Linear(width, len(QUESTIONS))
        self.nli = nn.Linear(width, 3)
        self.tok = nn.Linear(width, 1)
        self.mlm = MaskedWords(shape)

    def forward(
        self, ids: Tensor, types: Tensor, mask: Tensor, output_mask: Tensor, together: Tensor | None = None
    ) -> Answers:
        """`output_mask` is true on the tokens of the judged output."""
        states = self.enc(ids, types, mask, together)
        inside = output_mask.to(states.dtype)[..., None]
        mean = (states * inside).sum(1) / inside.sum(1).clamp(min=1)
        pooled = torch.tanh(self.pool(torch.cat([states[:, 0], mean], -1)))
        return Answers(self.heads(pooled).float(), self.nli(pooled).float(), self.tok(states)[..., 0].float())

    def masked_words(
        self, ids: Tensor, types: Tensor, mask: Tensor, where: Tensor, together: Tensor | None = None
    ) -> Tensor:
        """Logits over the vocabulary at the positions where `where` is true."""
        out: Tensor = self.mlm(self.enc(ids, types, mask, together)[where], self.enc.word.weight)
        return out


def shape_of(weights: Mapping[str, Tensor], prefix: str = "") -> Shape:
    """Read off the encoder's weights."""
    vocabulary, width = weights[f"{prefix}word.weight"].shape
    layers = {name.removeprefix(prefix).split(".")[1] for name in weights if name.startswith(f"{prefix}layers.")}
    inner, positions = len(weights[f"{prefix}layers.0.up.bias"]), len(weights[f"{prefix}pos.weight"])
    return Shape(vocabulary, width, len(layers), inner, positions)
