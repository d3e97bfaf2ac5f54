"""Where the two networks start from: the bundled encoder, a folder, a hub name, or a tiny random one.

bundled:gte-small     the encoder that comes with quintet (8-bit weights; nothing is fetched)
bundled:evaluator     the trained evaluator that comes with quintet, heads included
bundled:judge-lm      the language model that comes with quintet, on the whole numbers it is shipped with
dir:FOLDER            BERT, Llama or Qwen2 in safetensors under transformers' names, the latter two as GGUF, or an
                      earlier run; with tokenizer.json
hf:NAME@REVISION      the same from the hub
tiny:bert, tiny:gpt2  random and narrow, with words learnt from the rows: for smoke runs
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from quintet.errors import InputError, ModelError
from quintet.models import catalog, packed_weights
from quintet.models.folder import HEADS
from quintet.models.open import snapshot
from quintet_train import tiny
from quintet_train.evaluator import gguf, judge_graph, language_graph, language_grid, language_network, network
from quintet_train.torch_parts import need

Weights = dict[str, Tensor]
_BERT_LAYER = {"o": "attention.output.dense", "up": "intermediate.dense", "down": "output.dense",
               "ln1": "attention.output.LayerNorm", "ln2": "output.LayerNorm"}  # fmt: skip
_BERT_TABLES = {"word": "word_embeddings", "pos": "position_embeddings", "typ": "token_type_embeddings",
                "ln": "LayerNorm"}  # fmt: skip
_LLAMA_BLOCK = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj",
                "n1": "input_layernorm", "n2": "post_attention_layernorm", "gate": "mlp.gate_proj", "up": "mlp.up_proj",
                "down": "mlp.down_proj"}  # fmt: skip
_FIRST = ("<|im_start|>", "<|endoftext|>", "<s>")
"""Tokens before every text, by kind of model."""
WEIGHTS = "weights.safetensors"
"""What a run of these recipes leaves beside its model folder."""


@dataclass(frozen=True)
class EncoderStart:
    network: network.Evaluator
    tokenizer: Any


@dataclass(frozen=True)
class LanguageStart:
    network: language_network.LanguageModel
    tokenizer: Any
    first: str
    """The token before every text."""
    heads: Weights = field(default_factory=dict)
    """Of an earlier run that learnt to judge; most have none."""


def open_encoder(spec: str, texts: Iterable[str]) -> EncoderStart:
    """The evaluator with the encoder's weights; heads are new unless an earlier run left some."""
    scheme, _, rest = spec.partition(":")
    if scheme == "tiny":
        words = tiny.tokenizer("bert", texts)
        shape = network.Shape(words.get_vocab_size(), 32, 2, 64, 130)
        return EncoderStart(network.Evaluator(shape), words)
    if scheme == "bundled":
        folder = catalog.verify(catalog.entry(rest))
        known = catalog.entry(rest).role == "judge"
        found = (judge_graph.weights_of if known else _from_graph)(folder / "model.onnx")
    else:
        folder = _folder(spec)
        found = _encoder_weights(_tensors(folder), spec)
    whole = "pool.weight" in found
    made = network.Evaluator(network.shape_of(found, "enc." if whole else ""))
    (made if whole else made.enc).load_state_dict(found)
    return EncoderStart(made, _tokenizer(folder))


def open_language_model(spec: str, texts: Iterable[str]) -> LanguageStart:
    scheme, _, rest = spec.partition(":")
    if scheme == "tiny":
        words = tiny.tokenizer("gpt2", texts)
        small = language_network.Shape(words.get_vocab_size(), 32, 2, 2, 1, 64)
        return LanguageStart(language_network.LanguageModel(small), words, "<|endoftext|>")
    if scheme == "bundled":
        folder = catalog.verify(catalog.entry(rest))
        found, told = language_graph.weights_of(folder)
    else:
        folder = _folder(spec)
        found, told = _language_weights(folder, spec)
    heads = {name: found.pop(name) for name in list(found) if name.startswith(language_grid.HEADS)}
    with torch.device("meta"):  # large ones are not drawn at random first
        made = language_network.LanguageModel(_language_shape(told, found))
    made.load_state_dict(found, assign=True)
    words = _tokenizer(folder)
    first = next((one for one in _FIRST if words.token_to_id(one) is not None), None)
    if first is None:
        raise ModelError(f"{spec}: its tokenizer has no token that begins a text; one of {', '.join(_FIRST)} is needed")
    return LanguageStart(made, words, first, heads)


def _folder(spec: str) -> Path:
    scheme, colon, rest = spec.partition(":")
    if scheme == "dir" and colon:
        folder = Path(rest).expanduser()
        if not folder.is_dir():
            raise ModelError(f"{folder} is not a folder")
        return folder
    if scheme == "hf" and "@" in rest:
        name, _, revision = rest.partition("@")
        return snapshot(name, revision)
    raise InputError(f"cannot start from {spec!r}", todo="give bundled:NAME, dir:FOLDER, hf:NAME@REVISION or tiny:")


def _tensors(folder: Path) -> Weights:
    """All safetensors of the folder, but for a graph's; those of an earlier run if it is one."""
    kept = folder / WEIGHTS
    found = (file for file in sorted(folder.glob("*.safetensors")) if file.name not in (packed_weights.FILE, HEADS))
    files = [kept] if kept.is_file() else list(found)
    if not files:
        raise ModelError(f"{folder} has no safetensors")
    out: Weights = {}
    for file in files:
        out.update(need("safetensors.torch").load_file(file))
    return out


def _tokenizer(folder: Path) -> Any:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"{folder} has no tokenizer.json")
    words = need("tokenizers").Tokenizer.from_file(str(path))
    words.no_padding()
    words.no_truncation()
    return words


def _encoder_weights(stored: Weights, spec: str) -> Weights:
    if "enc.ln.weight" in stored:
        return unpacked(stored)
    prefix = "bert." if any(name.startswith("bert.") for name in stored) else ""
    return _from_bert({name.removeprefix(prefix): value.float() for name, value in stored.items()}, spec)


def unpacked(stored: Weights) -> Weights:
    """Our own names; a word table may be int8 rows with a scale each (`NAME.q`, `NAME.s`)."""
    out = {name: value.float() for name, value in stored.items() if not name.endswith((".q", ".s"))}
    for name in stored:
        if name.endswith(".q"):
            whole = name.removesuffix(".q")
            out[whole] = stored[name].float() * stored[f"{whole}.s"].float()
    return out


def _from_bert(found: Mapping[str, Tensor], spec: str) -> Weights:
    """transformers' names to ours; queries, keys and values as one matrix."""
    try:
        out = {f"{own}.weight": found[f"embeddings.{name}.weight"] for own, name in _BERT_TABLES.items()}
        out["ln.bias"] = found["embeddings.LayerNorm.bias"]
        layers = len({name.split(".")[2] for name in found if name.startswith("encoder.layer.")})
        for number in range(layers):
            name, own = f"encoder.layer.{number}.", f"layers.{number}."
            for part in ("weight", "bias"):
                three = [found[f"{name}attention.self.{one}.{part}"] for one in ("query", "key", "value")]
                out[f"{own}qkv.{part}"] = torch.cat(three)
                for short, long in _BERT_LAYER.items():
                    out[f"{own}{short}.{part}"] = found[f"{name}{long}.{part}"]
    except KeyError as error:
        raise ModelError(f"{spec} lacks {error.args[0]}; the evaluator starts from a BERT encoder") from None
    return out


def _from_graph(path: Path) -> Weights:
    """The bundled graph back to weights. Its positions hold the first segment's row, which is taken out again."""
    onnx = need("onnx")
    found = {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    with resources.as_file(resources.files("quintet_train.evaluator") / "gte_segments.npy") as file:
        segments = np.load(file, allow_pickle=False)

    def decoded(name: str) -> Any:
        return found[f"{name}.codes"].astype(np.float32) * found[f"{name}.scales"].astype(np.float32)

    bert: dict[str, Any] = {name: value for name, value in found.items() if name.endswith((".weight", ".bias"))}
    words = decoded("words")
    bert["embeddings.word_embeddings.weight"] = words.reshape(len(words), -1)
    bert["embeddings.position_embeddings.weight"] = found["positions"] - segments[0]
    bert["embeddings.token_type_embeddings.weight"] = segments
    for name in found:
        if name.startswith("encoder.") and name.endswith(".codes"):
            blocks = decoded(name.removesuffix(".codes"))
            bert[f"{name.removesuffix('.codes')}.weight"] = blocks.reshape(-1, blocks.shape[-1]).T
    plain = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in bert.items()}
    return _from_bert(plain, "bundled:gte-small")


def _llama_weights(stored: Mapping[str, Tensor], spec: str) -> Weights:
    try:
        out = {"emb.weight": stored["model.embed_tokens.weight"], "norm.weight": stored["model.norm.weight"]}
        layers = len({name.split(".")[2] for name in stored if name.startswith("model.layers.")})
        for number in range(layers):
            for short, long in _LLAMA_BLOCK.items():
                out[f"blocks.{number}.{short}.weight"] = stored[f"model.layers.{number}.{long}.weight"]
                bias = stored.get(f"model.layers.{number}.{long}.bias")
                if bias is not None:
                    out[f"blocks.{number}.{short}.bias"] = bias
        last = stored.get("lm_head.weight", out["emb.weight"])
        if not torch.equal(last, out["emb.weight"]):
            out["out.weight"] = last
    except KeyError as error:
        raise ModelError(f"{spec} lacks {error.args[0]}; the language model starts from one of Llama's kind") from None
    return {name: value.float() for name, value in out.items()}


def _language_weights(folder: Path, spec: str) -> tuple[Weights, Mapping[str, Any]]:
    """Tensors under our names, and config.json or what stands for it."""
    packed = sorted(folder.glob("*.gguf"))
    if packed and not any(folder.glob("*.safetensors")):
        arrays, numbers = gguf.language_weights(gguf.read(packed[0]), packed[0])
        return {name: torch.from_numpy(array) for name, array in arrays.items()}, numbers
    path = folder / "config.json"
    told = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    stored = _tensors(folder)
    own = any(name.startswith("emb.weight") for name in stored)
    return language_grid.expanded(language_grid.joined_parts(stored)) if own else _llama_weights(stored, spec), told


def _language_shape(told: Mapping[str, Any], weights: Weights) -> language_network.Shape:
    """Sizes from the weights; what they do not say from the configuration, else SmolLM2's."""
    plain = language_network.Shape()
    vocabulary, width = weights["emb.weight"].shape
    heads = int(told.get("num_attention_heads", plain.heads))
    inner, small = len(weights["blocks.0.gate.weight"]), len(weights["blocks.0.k.weight"])
    layers = len({name.split(".")[1] for name in weights if name.startswith("blocks.")})
    return language_network.Shape(
        vocabulary, width, layers, heads, small * heads // width, inner,
        float(told.get("rope_theta", plain.theta)), float(told.get("rms_norm_eps", plain.epsilon)),
        "out.weight" not in weights, "blocks.0.q.bias" in weights,
    )  # fmt: skip
