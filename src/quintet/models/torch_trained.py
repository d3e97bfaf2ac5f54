"""Folders written by training whose head transformers lacks: max-pooled classifiers and GRADE, as pair classifiers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from safetensors.torch import load_file

from quintet.errors import ModelError
from quintet.models import folder
from quintet.models.batching import in_batches, once_each
from quintet.models.pairs import DOUBLE, Frame, Framed
from quintet.models.roles import Limits, Logits, Pair
from quintet.models.subwords import LAST, Subwords
from quintet.models.topic_graph import TopicGraph
from quintet.models.torch_backend import OFFSET, TOKEN_BUDGET, Loaded
from quintet.models.torch_heads import Grade, Pooled
from quintet.models.torch_pairs import TorchPairClassifier

HEADS = ("pooled", "grade")


def description(path: Path) -> Mapping[str, Any]:
    """The folder's model.toml if its head is one of those here, otherwise nothing."""
    file = path / folder.NAME
    if not file.is_file():
        return {}
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return table if table.get("head") in HEADS else {}


def open_trained(path: Path, table: Mapping[str, Any], role: str, identity: str) -> TrainedPair:
    if role != table["role"]:
        raise ModelError(f"{path} is a model for the role {table['role']}, not {role}; name another model")
    config = transformers.AutoConfig.from_pretrained(path, local_files_only=True)
    encoder = transformers.AutoModel.from_config(config).float()
    outputs = 1 if table["shape"]["loss"] == "squared" else max(1, len(table["labels"]))
    graph = TopicGraph.open(path) if table["head"] == "grade" else None
    network = _network(table["shape"], encoder, outputs, graph)
    _fill(network, path / "model.safetensors")
    network.eval()
    words = Subwords.read(path / "tokenizer.json", prefix_space=config.model_type in OFFSET)
    pad = config.pad_token_id if config.pad_token_id is not None else 0
    loaded = Loaded(encoder, words, identity, int(table["max_tokens"]), pad)
    return TrainedPair(loaded, network, outputs, bool(table["input"]["drop_cls"]), graph)


def _network(shape: Mapping[str, Any], encoder: Any, outputs: int, graph: TopicGraph | None) -> torch.nn.Module:
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


class TrainedPair(TorchPairClassifier):
    """One logit per class, or a single one; frames texts as they were framed in training."""

    def __init__(
        self, loaded: Loaded, network: torch.nn.Module, labels: int, drop_cls: bool, graph: TopicGraph | None
    ) -> None:
        self._loaded, self._network, self._graph = loaded, network, graph
        self.identity, self.max_tokens, self.labels = loaded.identity, loaded.max_tokens, labels
        self._typed = int(getattr(loaded.config, "type_vocab_size", 0) or 0) > 1
        # GPT-2 has no token before a text, and GRADE was trained without its [CLS].
        self._bare = drop_cls or loaded.model_type == "gpt2"
        end = loaded.subwords.id(*LAST, "<|endoftext|>")
        start = end if self._bare else loaded.subwords.frame[0]
        self._frame = Frame(start, end, loaded.model_type in DOUBLE)

    def _framed(self, pair: Pair, limits: Limits) -> Framed:
        first, second = pair
        split = self._loaded.subwords.split
        pieces = split(first), None if second is None else split(second)
        if not self._bare:
            return self._frame.put(*pieces, limits, self.max_tokens)
        total = min(limits.total or self.max_tokens, self.max_tokens) + 1
        framed = self._frame.put(*pieces, replace(limits, total=total), total)
        inside = slice(framed.first.start - 1, framed.first.stop - 1)
        return replace(framed, ids=framed.ids[1:], types=framed.types[1:], first=inside)

    def _rows(self, pairs: Sequence[Pair], limits: Limits, output: str = "logits") -> list[Logits]:
        def run(distinct: list[Pair]) -> list[Logits]:
            jobs = [(self._framed(pair, limits), pair) for pair in distinct]
            lengths = [len(framed.ids) for framed, _ in jobs]
            rows = in_batches(jobs, lengths, TOKEN_BUDGET, self._run)
            return [Logits(row, framed.cut) for row, (framed, _) in zip(rows, jobs, strict=True)]

        return once_each(list(pairs), run)

    @torch.inference_mode()
    def _run(self, jobs: Sequence[tuple[Framed, Pair]]) -> list[NDArray[np.float32]]:
        inputs = self._inputs([framed for framed, _ in jobs])
        if self._graph is not None:
            arrays = self._graph.batch([(first, second or "") for _, (first, second) in jobs])
            inputs.update({name: torch.from_numpy(array) for name, array in arrays.items()})
        return list(self._network(inputs).float().cpu().numpy())
