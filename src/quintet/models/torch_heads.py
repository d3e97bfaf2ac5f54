"""Heads that transformers lacks: max-pooled classifiers (IM2) and GRADE's text and keyword graph.

Training makes them, `models.torch_trained` opens them; their weights lie under `head.`, the encoder's under `encoder.`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from quintet.errors import InputError

_MASKED = -100.0
"""IM2's released max-pool sets masked positions to this before taking the maximum."""
ACTIVATIONS: Mapping[str, type[nn.Module]] = {
    "none": nn.Identity,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "elu": nn.ELU,
    "gelu": nn.GELU,
}


def hidden_size(config: Any) -> int:
    return int(getattr(config, "hidden_size", 0) or getattr(config, "n_embd", 0) or config.d_model)


def run_encoder(encoder: nn.Module, batch: Mapping[str, Tensor]) -> Any:
    """Hidden states; segment numbers only for models that have more than one."""
    given = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
    if getattr(encoder.config, "type_vocab_size", 0) > 1 and "token_type_ids" in batch:
        given["token_type_ids"] = batch["token_type_ids"]
    return encoder(**given)


def pool(hidden: Tensor, mask: Tensor, how: str) -> Tensor:
    """One vector per text: the first token's, the mean, or the maximum over tokens that are there."""
    if how == "first":
        return hidden[:, 0]
    there = mask.unsqueeze(-1).to(hidden.dtype)
    if how == "mean":
        return (hidden * there).sum(1) / there.sum(1).clamp(min=1)
    if how == "max":
        return hidden.masked_fill(there == 0, _MASKED).max(dim=1).values
    raise InputError(f"pooling must be first, mean, max or pooler, not {how!r}")


def dense(sizes: Sequence[int], activation: str) -> nn.Module:
    """Linear layers with an activation between them; IM2's five-class head has none (`none`)."""
    if activation not in ACTIVATIONS:
        raise InputError(f"activation must be one of {', '.join(ACTIVATIONS)}, not {activation!r}")
    parts: list[nn.Module] = []
    for number, (wide, narrow) in enumerate(pairwise(sizes)):
        if number:
            parts.append(ACTIVATIONS[activation]())
        parts.append(nn.Linear(wide, narrow))
    return nn.Sequential(*parts) if len(parts) > 1 else parts[0]


class Pooled(nn.Module):
    """Encoder, pooling, dropout, linear layers: VUP, AB-BA, AB-AC, five classes."""

    def __init__(
        self, encoder: nn.Module, outputs: int, pooling: str, layers: Sequence[int], activation: str, dropout: float
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        if pooling == "pooler" and getattr(encoder, "pooler", None) is None:
            raise InputError("pooling = pooler needs an encoder with a pooler (BERT, RoBERTa, ALBERT)")
        if pooling not in ("first", "mean", "max", "pooler"):
            raise InputError(f"pooling must be first, mean, max or pooler, not {pooling!r}")
        self.dropout = nn.Dropout(dropout)
        self.head = dense([hidden_size(encoder.config), *layers, outputs], activation)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        out = run_encoder(self.encoder, batch)
        if self.pooling == "pooler":
            vector = out.pooler_output
        else:
            vector = pool(out.last_hidden_state, batch["attention_mask"], self.pooling)
        logits: Tensor = self.head(self.dropout(vector))
        return logits


class GraphAttention(nn.Module):
    """One dense GAT layer; edges weigh in by the log of their weight, missing ones not at all."""

    def __init__(self, wide: int, narrow: int, heads: int) -> None:
        super().__init__()
        if narrow % heads:
            raise InputError(f"{heads} heads do not divide a width of {narrow}")
        self.heads, self.width = heads, narrow // heads
        self.values = nn.Linear(wide, narrow, bias=False)
        self.sender = nn.Parameter(torch.empty(heads, self.width))
        self.receiver = nn.Parameter(torch.empty(heads, self.width))
        nn.init.xavier_uniform_(self.sender)
        nn.init.xavier_uniform_(self.receiver)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        batch, count, _ = nodes.shape
        values = self.values(nodes).view(batch, count, self.heads, self.width)
        sent = (values * self.sender).sum(-1)
        received = (values * self.receiver).sum(-1)
        scores = nn.functional.leaky_relu(received.unsqueeze(2) + sent.unsqueeze(1), 0.2)
        scores = scores + edges.clamp(min=1e-9).log().unsqueeze(-1)
        scores = scores.masked_fill(edges.unsqueeze(-1) <= 0, -1e4)
        shares = scores.softmax(dim=2)
        mixed = torch.einsum("bijh,bjhw->bihw", shares, values).reshape(batch, count, -1)
        return nn.functional.elu(mixed)


class Grade(nn.Module):
    """GRADE's two views: the encoder's pooled pair and a keyword graph through GAT layers; one logit.

    1024 -> 512 -> 128 -> 1 with ELU in the original; here the widths follow `width` (512 for the original).
    """

    def __init__(self, encoder: nn.Module, topic_width: int, width: int, layers: int, heads: int, dropout: float):
        super().__init__()
        self.encoder = encoder
        self.text = nn.Linear(hidden_size(encoder.config), width)
        # A node is its own vector beside the means of its one- and two-hop neighbours.
        self.enter = nn.Linear(3 * topic_width, width)
        self.graph = nn.ModuleList(GraphAttention(width, width, heads) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.head = dense([2 * width, width, max(1, width // 4), 1], "elu")

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        out = run_encoder(self.encoder, batch)
        pooled = getattr(out, "pooler_output", None)
        if pooled is None:
            pooled = pool(out.last_hidden_state, batch["attention_mask"], "mean")
        nodes = self.enter(batch["nodes"].to(pooled.dtype))
        for layer in self.graph:
            nodes = layer(nodes, batch["edges"].to(pooled.dtype))
        topic = pool(nodes, batch["node_mask"], "mean")
        logit: Tensor = self.head(self.dropout(torch.cat([self.text(pooled), topic], dim=-1)))
        return logit
