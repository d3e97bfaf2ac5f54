"""From a recipe's [model] table to a network with its head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from quintet.errors import InputError
from quintet.models import torch_trained as torch_heads
from quintet.models.torch_trained import TopicGraph
from quintet_train import heads, network, topics
from quintet_train.items import Item, PairItem, RankItem, TargetItem, TextItem, WordItem, YesNoItem
from quintet_train.opening import Base, check_positions, needed_kind, open_base, positions_of
from quintet_train.recipe import Model


@dataclass(frozen=True)
class Assembled:
    network: nn.Module
    head: heads.Head
    base: Base
    topics: TopicGraph | None = None


def texts_of(item: Item) -> tuple[str, ...]:
    """All text of an item, from which a tiny tokenizer or a topic graph is learnt."""
    if isinstance(item, PairItem | TargetItem):
        return (item.first, item.second or "")
    if isinstance(item, WordItem):
        return (" ".join(item.words), item.context)
    if isinstance(item, YesNoItem):
        return item.parts
    if isinstance(item, RankItem):
        return (item.context, item.better)
    if isinstance(item, TextItem):
        return (item.text,)
    raise InputError(f"unknown kind of item {type(item).__name__}")


def assemble(model: Model, items: Sequence[Item], graph_folder: Path | None = None) -> Assembled:
    """The whole network; weights of a new head are random, so seed torch before."""
    kind = needed_kind(model)
    outputs = max(1, len(model.labels))
    texts = [text for item in items for text in texts_of(item)] if model.start.startswith("tiny:") else []
    base = open_base(model.start, kind, texts, outputs, model.dropout)
    if model.max_tokens < 8:
        raise InputError("model.max_tokens must be at least 8")
    check_positions(model.max_tokens, positions_of(base.config), base.identity)
    return with_head(model, base, items, outputs, graph_folder)


def with_head(model: Model, base: Base, items: Sequence[Item], outputs: int, graph_folder: Path | None) -> Assembled:
    """The recipe's head on a base that is already open."""
    values = model.loss == "squared"
    if model.head == "sequence":
        return Assembled(base.network, heads.ClassHead(model, base.encoder), base)
    if model.head == "regressor":
        return Assembled(base.network, heads.ValueHead(model, base.encoder), base)
    if model.head == "order":
        return Assembled(network.Order(base.network), heads.ClassHead(model, base.encoder), base)
    if model.head == "pooled":
        whole = torch_heads.Pooled(
            base.network, 1 if values else outputs, model.pooling, model.layers, model.activation, model.dropout
        )
        made: heads.Head = heads.ValueHead(model, base.encoder) if values else heads.ClassHead(model, base.encoder)
        return Assembled(whole, made, base)
    if model.head == "tagger":
        return Assembled(network.Tagger(base.network), heads.WordHead(model, base.encoder), base)
    if model.head == "grade":
        return _grade(model, base, items, graph_folder)
    if model.head in ("yesno", "yesno-causal"):
        return Assembled(base.network, heads.YesNoHead(model, base.encoder), base)
    return Assembled(base.network, heads.TextHead(model, base.encoder), base)


def _grade(model: Model, base: Base, items: Sequence[Item], graph_folder: Path | None) -> Assembled:
    known = {"margin", "topic_width", "topic_words", "width", "graph_layers", "graph_heads"}
    strange = sorted(set(model.options) - known)
    if strange:
        raise InputError(f"unknown key model.options.{strange[0]}", todo=f"known: {', '.join(sorted(known))}")
    options = {key: int(value) for key, value in model.options.items() if key != "margin"}
    if graph_folder is not None and (graph_folder / "topics.json").is_file():
        graph = TopicGraph.open(graph_folder)
    else:
        texts = [text for item in items for text in texts_of(item)]
        graph = topics.learn(texts, options.get("topic_words", 5000), options.get("topic_width", 300))
    whole = torch_heads.Grade(
        base.network,
        graph.width,
        options.get("width", 512),
        options.get("graph_layers", 3),
        options.get("graph_heads", 4),
        model.dropout,
    )
    return Assembled(whole, heads.RankHead(model, base.encoder, graph), base, graph)
