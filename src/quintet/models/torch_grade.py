"""GRADE as its authors released it: BERT over context and response, a graph of keywords from ConceptNet, one logit.

`convert_tensors` knows their checkpoint by its names, which are texar's; `ConceptGrade` is the network. What the
release does on its way and what cannot be known is said in docs/five-systems.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from quintet.core.plain import Cells
from quintet.errors import ModelError
from quintet.models.concepts import MOST

MARK = "bert_encoder.word_embedder._embedding"
HEAD = "grade-concepts"
LAYERS = 3
PLACES = MOST + 2
_HIDDEN = -9e15

_BERT = {
    "word_embedder._embedding": "embeddings.word_embeddings.weight",
    "segment_embedder._embedding": "embeddings.token_type_embeddings.weight",
    "position_embedder._embedding": "embeddings.position_embeddings.weight",
    "encoder.input_normalizer": "embeddings.LayerNorm",
    "pooler.0": "pooler.dense",
}
_BLOCK = {
    "Q_dense": "attention.self.query",
    "K_dense": "attention.self.key",
    "V_dense": "attention.self.value",
    "O_dense": "attention.output.dense",
    "poswise_layer_norm": "attention.output.LayerNorm",
    "_layers.0": "intermediate.dense",
    "_layers.2": "output.dense",
    "output_layer_norm": "output.LayerNorm",
}
_LINEAR = {
    "linear_onehop_weight": "near",
    "linear_twohop_weight": "far",
    "linear0_1": "beside.0",
    "linear0_2": "beside.1",
    "linear0_3": "beside.2",
    "linear1": "topic",
    "linear2_1": "text",
    "linear3": "both",
    "linear4_1": "narrow",
    "linear5": "out",
}


UNUSED = ("linear2_2.", "linear4_2.", "bert_encoder.")
"""Layers that the release has and never uses, and what else BERT may carry."""


def is_grade(tensors: Mapping[str, Tensor]) -> bool:
    return any(name.endswith(MARK) for name in tensors)


def convert_tensors(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The names that `ConceptGrade` has; tensors without a place in it keep their own."""
    plain = {re.sub(r"^(module|model)\.", "", name): tensor for name, tensor in tensors.items()}
    out: dict[str, Tensor] = {}
    heads: dict[tuple[str, int], dict[str, Tensor]] = {}
    for name, tensor in plain.items():
        if found := re.fullmatch(r"gat_([123])\.heads\.(\d+)\.(W|a)(\.weight)?", name):
            # A bare matrix maps from left to right, that of a linear layer the other way.
            layer, head, part, linear = found.groups()
            own = heads.setdefault((layer, int(head)), {})
            own[part] = tensor if linear else tensor.T
        elif found := re.fullmatch(r"(linear\w+)\._linear_layer\.(weight|bias)", name):
            out[f"{_LINEAR[found[1]]}.{found[2]}" if found[1] in _LINEAR else name] = tensor
        elif name == "word_embedder._embedding":
            out["keywords.weight"] = tensor
        else:
            out[_bert_name(name)] = tensor
    for layer in sorted({layer for layer, _ in heads}):
        ordered = [heads[key] for key in sorted(heads) if key[0] == layer]
        if any(own.keys() != {"W", "a"} for own in ordered):
            raise ModelError(f"a head of gat_{layer} lacks W or a")
        out[f"graph.{int(layer) - 1}.values.weight"] = torch.cat([own["W"] for own in ordered])
        out[f"graph.{int(layer) - 1}.scores"] = torch.cat([own["a"] for own in ordered])
    return out


def _bert_name(name: str) -> str:
    inner = name.removeprefix("bert_encoder.")
    if inner == name:
        return name
    for theirs, ours in _BERT.items():
        if inner == theirs or inner.startswith(f"{theirs}."):
            return f"encoder.{ours}{inner.removeprefix(theirs)}"
    if found := re.fullmatch(r"encoder\.(\w+)\.(\d+)\.?(_layers\.\d|\w+_dense)?\.(weight|bias)", inner):
        group, number, part, kind = found.groups()
        if (key := part or group) in _BLOCK:
            return f"encoder.encoder.layer.{number}.{_BLOCK[key]}.{kind}"
    return name


def shape_of(tensors: Mapping[str, Tensor]) -> Cells:
    """What the table `shape` of model.toml says: sizes that the tensors have."""
    try:
        keywords, scores = tensors["keywords.weight"], tensors["graph.0.scores"]
        return {
            "loss": "",
            "keywords": int(keywords.shape[0]),
            "width": int(keywords.shape[1]),
            "heads": int(scores.shape[0]),
            "rings": int(tensors["near.weight"].shape[1]) if "near.weight" in tensors else 0,
            "layers": [int(tensors[f"{name}.weight"].shape[0]) for name in ("topic", "text", "both", "narrow")],
        }
    except (KeyError, IndexError) as error:
        raise ModelError(f"the checkpoint lacks {str(error).strip(chr(39))} and is no GRADE") from None


class ReleasedAttention(nn.Module):
    """The release's graph attention, several heads side by side.

    Pairs of nodes: the list of every node N times over and then all nodes N times over is read off two by two, so that
    node i does not meet node j but for chance. Weights multiply the scores, which hides nothing: a score of -9e15
    becomes 0 where the weight is 0. Shares add up to one over the receivers.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.values = nn.Linear(width, width, bias=False)
        self.scores = nn.Parameter(torch.zeros(heads, 2 * (width // heads)))

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        batch, count, width = nodes.shape
        own = self.values(nodes).view(batch, count, self.heads, -1).transpose(1, 2)
        pairs = torch.cat([own.repeat_interleave(count, dim=2), own.repeat(1, 1, count, 1)], dim=2)
        pairs = pairs.reshape(batch, self.heads, count, count, -1)
        scores = nn.functional.leaky_relu(torch.einsum("bhijw,hw->bhij", pairs, self.scores), 0.2)
        links = edges.unsqueeze(1)
        shares = (scores.where(links > 0, torch.full_like(scores, _HIDDEN)) * links).softmax(dim=2)
        return (shares @ own).transpose(1, 2).reshape(batch, count, width)


class ConceptGrade(nn.Module):
    """Keywords with the means around them, three layers of attention beside a layer over all of them, their sum over
    the number of keywords; BERT's pooled vector; three layers over both."""

    def __init__(self, encoder: nn.Module, shape: Cells) -> None:
        super().__init__()
        width, (topic, text, both, narrow) = int(shape["width"]), shape["layers"]
        self.encoder = encoder
        self.keywords = nn.Embedding(int(shape["keywords"]), width)
        if shape["rings"]:
            self.near, self.far = (nn.Linear(int(shape["rings"]), width) for _ in range(2))
        self.beside = nn.ModuleList(nn.Linear(PLACES * width, width) for _ in range(LAYERS))
        self.graph = nn.ModuleList(ReleasedAttention(width, int(shape["heads"])) for _ in range(LAYERS))
        self.topic = nn.Linear(width, topic)
        self.text = nn.Linear(int(encoder.config.hidden_size), text)  # type: ignore[union-attr,arg-type]
        self.both = nn.Linear(text + topic, both)
        self.narrow = nn.Linear(both, narrow)
        self.out = nn.Linear(narrow, 1)

    def _entered(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The paper: a keyword's vector and, for either ring, W times the mean of its vectors plus b. A layer as wide
        as all places together reads the ring of all keywords at once."""
        nodes: Tensor = self.keywords(batch["keywords"])
        if not hasattr(self, "near"):
            return nodes
        for layer, name in ((self.near, "near"), (self.far, "far")):
            ring = batch[name]
            wide = layer.in_features != ring.shape[-1]
            nodes = nodes + (layer(ring.flatten(1)).unsqueeze(1) if wide else layer(ring))
        return nodes

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        given = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        pooled = self.encoder(**given).pooler_output
        nodes = self._entered(batch)
        for beside, attention in zip(self.beside, self.graph, strict=True):
            nodes = nn.functional.elu(beside(nodes.flatten(1)).unsqueeze(1) + attention(nodes, batch["edges"]))
        topic = nn.functional.elu(self.topic(nodes.sum(dim=1) / batch["count"].unsqueeze(1)))
        joined = nn.functional.elu(self.both(torch.cat([self.text(pooled), topic], dim=1)))
        logit: Tensor = self.out(nn.functional.elu(self.narrow(joined)))
        return logit
