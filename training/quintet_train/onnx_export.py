"""Encoder and head as one ONNX graph; rows and tokens may have any number."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from quintet.errors import InputError
from quintet_train.assemble import Assembled

_HEADS = ("sequence", "pooled", "regressor", "tagger", "order", "mlm")
OPSET = 17


class _Flat(nn.Module):
    """The network with tensors as arguments, in the order of `names`."""

    def __init__(self, made: Assembled, names: list[str]) -> None:
        super().__init__()
        self.network, self.names, self.own = made.network, names, made.head.model.head in ("pooled", "tagger", "order")

    def forward(self, *tensors: Tensor) -> Tensor:
        batch = dict(zip(self.names, tensors, strict=True))
        out: Any = self.network(batch) if self.own else self.network(**batch).logits
        result: Tensor = out
        return result


def export_onnx(made: Assembled, path: Path) -> list[str]:
    """Writes the graph and gives the names of its inputs; output `logits`.

    A tagger has one more input, `word_weights` (rows, words, tokens): 1 where a token belongs to a word.
    """
    kind = made.head.model.head
    if kind not in _HEADS:
        raise InputError(f"head {kind} has no ONNX form; known: {', '.join(_HEADS)}")
    names = ["input_ids", "attention_mask"]
    if getattr(made.base.config, "type_vocab_size", 0) > 1:
        names.append("token_type_ids")
    rows, tokens, words = 2, 7, 3
    sample: list[Tensor] = [torch.ones((rows, tokens), dtype=torch.int64) for _ in names]
    if "token_type_ids" in names:
        sample[-1] = torch.zeros((rows, tokens), dtype=torch.int64)
    axes: dict[str, dict[int, str]] = {name: {0: "rows", 1: "tokens"} for name in names}
    if kind == "tagger":
        names.append("word_weights")
        sample.append(torch.ones((rows, words, tokens)))
        axes["word_weights"] = {0: "rows", 1: "words", 2: "tokens"}
    axes["logits"] = {0: "rows", **({1: "words"} if kind == "tagger" else {1: "tokens"} if kind == "mlm" else {})}
    flat = _Flat(made, names).to("cpu").eval()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            flat,
            tuple(sample),
            str(path),
            input_names=names,
            output_names=["logits"],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    return names
