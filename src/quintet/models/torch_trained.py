"""Folders written by training whose head transformers lacks: max-pooled classifiers and GRADE, as pair classifiers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from quintet.core.plain import Cells, Foreign
from quintet.errors import InputError, ModelError
from quintet.models import folder, torch_grade
from quintet.models.concepts import Concepts
from quintet.models.roles import Limits, Pair, one_text
from quintet.models.subwords import DOUBLE, LAST, Frame, Framed, Subwords
from quintet.models.torch_backend import OFFSET, Loaded
from quintet.models.torch_pairs import TorchPairs, distinct
from quintet.text.content_words import ENGLISH
from quintet.text.tokens import words

# GRADE's topic graph without ConceptNet: keywords, their vectors and which of them occur together.
#
# Learnt by `train.topics` from dialogues and kept beside a model's weights. Hop distances, the ten one-hop and ten
# two-hop neighbours, 16 keywords and distance 20 for the unreachable are GRADE's.

UNREACHABLE = 20
MAX_KEYWORDS = 16
NEIGHBOURS = 10

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TopicGraph:
    """Keywords, their vectors and their ten best neighbours (-1 where there are fewer)."""

    words: tuple[str, ...]
    vectors: Floats
    neighbours: NDArray[np.int32]

    @property
    def width(self) -> int:
        return int(self.vectors.shape[1])

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def keywords(self, text: str) -> list[int]:
        """Known content words of a text in order, each once, at most sixteen."""
        found = dict.fromkeys(self._index[word] for word in content_words(text) if word in self._index)
        return list(found)[:MAX_KEYWORDS]

    def one_hop(self, word: int) -> list[int]:
        return [int(other) for other in self.neighbours[word] if other >= 0]

    def two_hop(self, word: int) -> list[int]:
        near = self.one_hop(word)
        seen = {word, *near}
        far = dict.fromkeys(other for one in near for other in self.one_hop(one) if other not in seen)
        return list(far)[:NEIGHBOURS]

    def node(self, word: int) -> Floats:
        """Own vector, mean of one-hop neighbours, mean of two-hop neighbours."""
        zero = np.zeros(self.width, np.float32)
        rings = [self.one_hop(word), self.two_hop(word)]
        means = [self.vectors[ring].mean(axis=0) if ring else zero for ring in rings]
        return np.concatenate([self.vectors[word], *means]).astype(np.float32)

    def hops(self, first: int, second: int) -> int:
        """1 or 2 along the graph, otherwise unreachable: GRADE looks no further than K = 2."""
        if first == second:
            return 1
        if second in self.one_hop(first):
            return 1
        return 2 if second in self.two_hop(first) else UNREACHABLE

    def graph(self, context: str, response: str) -> tuple[Floats, Floats]:
        """Node features and edge weights: every context keyword with every response keyword by 1 / hops, and itself.

        A pair without known keywords has one empty node.
        """
        left, right = self.keywords(context), self.keywords(response)
        ids = [*left, *right]
        if not ids:
            return np.zeros((1, 3 * self.width), np.float32), np.ones((1, 1), np.float32)
        edges = np.eye(len(ids), dtype=np.float32)
        for i, a in enumerate(left):
            for j, b in enumerate(right, len(left)):
                edges[i, j] = edges[j, i] = 1.0 / self.hops(a, b)
        return np.stack([self.node(word) for word in ids]), edges

    def batch(self, pairs: Sequence[tuple[str, str]]) -> dict[str, NDArray[np.generic]]:
        """Graphs of several pairs, padded: `nodes`, `edges`, `node_mask`."""
        graphs = [self.graph(context, response) for context, response in pairs]
        most = max(len(nodes) for nodes, _ in graphs)
        nodes = np.zeros((len(graphs), most, 3 * self.width), np.float32)
        edges = np.zeros((len(graphs), most, most), np.float32)
        mask = np.zeros((len(graphs), most), np.int64)
        for number, (own, links) in enumerate(graphs):
            nodes[number, : len(own)], edges[number, : len(own), : len(own)] = own, links
            mask[number, : len(own)] = 1
        return {"nodes": nodes, "edges": edges, "node_mask": mask}

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        save_file({"vectors": self.vectors, "neighbours": self.neighbours}, folder / "topics.safetensors")
        (folder / "topics.json").write_text(json.dumps({"words": self.words}, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> TopicGraph:
        from safetensors.numpy import load_file

        arrays = load_file(folder / "topics.safetensors")
        names = json.loads((folder / "topics.json").read_text(encoding="utf-8"))["words"]
        return cls(tuple(names), arrays["vectors"], arrays["neighbours"])


def content_words(text: str) -> list[str]:
    low = (piece.text.lower() for piece in words(text))
    return [word for word in low if word not in ENGLISH and len(word) > 1 and any(c.isalpha() for c in word)]


# Heads that transformers lacks: max-pooled classifiers (IM2) and GRADE's text and keyword graph.
#
# Training makes them; their weights lie under `head.`, those of the encoder under `encoder.`.

_MASKED = -100.0
"""IM2's released max-pool sets masked positions to this before taking the maximum."""
ACTIVATIONS: Mapping[str, type[nn.Module]] = {
    "none": nn.Identity,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "elu": nn.ELU,
    "gelu": nn.GELU,
}


def hidden_size(config: Foreign) -> int:
    return int(getattr(config, "hidden_size", 0) or getattr(config, "n_embd", 0) or config.d_model)


def run_encoder(encoder: nn.Module, batch: Mapping[str, Tensor]) -> Foreign:
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


HEADS = ("pooled", "grade", torch_grade.HEAD)


def description(path: Path) -> Cells:
    """The folder's model.toml if its head is one of those here, otherwise nothing."""
    file = path / folder.NAME
    if not file.is_file():
        return {}
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return table if table.get("head") in HEADS else {}


def open_trained(path: Path, table: Cells, role: str, identity: str) -> TrainedPair:
    if role != table["role"]:
        raise ModelError(f"{path} is a model for the role {table['role']}, not {role}; name another model")
    config = transformers.AutoConfig.from_pretrained(path, local_files_only=True)
    encoder = transformers.AutoModel.from_config(config).float()
    named = distinct(table["labels"]) or ("value",)
    labels = ("value",) if table["shape"]["loss"] == "squared" else named
    graph: TopicGraph | Concepts | None = None
    if table["head"] == torch_grade.HEAD:
        graph = Concepts.open(path)
    elif table["head"] == "grade":
        graph = TopicGraph.open(path)
    network = _network(table["shape"], encoder, len(labels), graph)
    _fill(network, path / "model.safetensors")
    network.eval()
    words = Subwords.read(
        path / "tokenizer.json", prefix_space=folder.trained_with_prefix_space(path) and config.model_type in OFFSET
    )
    pad = config.pad_token_id if config.pad_token_id is not None else 0
    loaded = Loaded(encoder, words, identity, int(table["max_tokens"]), pad)
    return TrainedPair(loaded, network, labels, table["input"], graph)


def _network(shape: Cells, encoder: Foreign, outputs: int, graph: TopicGraph | Concepts | None) -> torch.nn.Module:
    if isinstance(graph, Concepts):
        return torch_grade.ConceptGrade(encoder, shape)
    if graph is None:
        return Pooled(encoder, outputs, shape["pooling"], shape["layers"], shape["activation"], shape["dropout"])
    usual = (("width", 512), ("graph_layers", 3), ("graph_heads", 4))
    width, layers, heads = (int(shape.get(key, value)) for key, value in usual)
    return Grade(encoder, graph.width, width, layers, heads, shape["dropout"])


def _fill(network: torch.nn.Module, path: Path) -> None:
    try:
        tensors = load_file(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error})") from None
    missing = sorted(set(network.state_dict()) - set(tensors))
    if missing:
        raise ModelError(f"{path} lacks {missing[0]} ({len(missing)} tensors missing)")
    network.load_state_dict(tensors)


class TrainedPair(TorchPairs):
    """One logit per class, or a single one; frames texts as they were framed in training."""

    def __init__(
        self,
        loaded: Loaded,
        network: torch.nn.Module,
        labels: tuple[str, ...],
        given: Cells,
        graph: TopicGraph | Concepts | None,
    ) -> None:
        """`given`: the table `input` of model.toml. `types = false`: no segment numbers, as IM2's released inference
        of 5-NUF and 5-IES leaves them out."""
        self._loaded, self._network, self._graph = loaded, network, graph
        self.identity, self.max_tokens, self.labels = loaded.identity, loaded.max_tokens, labels
        self._typed = given.get("types", True) and int(getattr(loaded.config, "type_vocab_size", 0) or 0) > 1
        # GPT-2 has no token before a text, and GRADE was trained without its [CLS].
        self._bare = bool(given["drop_cls"]) or loaded.model_type == "gpt2"
        end = loaded.subwords.id(*LAST, "<|endoftext|>")
        start = end if self._bare else loaded.subwords.frame[0]
        self._frame = Frame(start, end, loaded.model_type in DOUBLE)

    def _framed(self, pair: Pair, limits: Limits) -> Framed:
        first, second = pair[0], one_text(pair[1])
        split = self._loaded.subwords.split
        pieces = split(first), None if second is None else split(second)
        if not self._bare:
            return self._frame.put(*pieces, limits, self.max_tokens)
        total = min(limits.total or self.max_tokens, self.max_tokens) + 1
        framed = self._frame.put(*pieces, replace(limits, total=total), total)
        inside = slice(framed.first.start - 1, framed.first.stop - 1)
        return replace(framed, ids=framed.ids[1:], types=framed.types[1:], first=inside)

    @torch.inference_mode()
    def _run(self, jobs: Sequence[tuple[Framed, Pair]]) -> list[NDArray[np.float32]]:
        inputs = self._inputs([framed for framed, _ in jobs])
        if self._graph is not None:
            arrays = self._graph.batch([(first, one_text(second) or "") for _, (first, second) in jobs])
            inputs.update({name: torch.from_numpy(array) for name, array in arrays.items()})
        return list(self._network(inputs).float().cpu().numpy())
