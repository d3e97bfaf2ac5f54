"""T5's first decoder step on a CPU, with nothing computed that the answer does not need.

The numbers are those of transformers up to rounding; the work is less. Sequences are packed, so no padding is
multiplied. Scales of norms are folded into the weights behind them, projections of one input are one product, and
activation, gate and residual are part of the product. The decoder has one query for each layer, so its keys and values
are never formed: q·(K e) = (K' q)·e, and the values are projected after they are averaged. Of the vocabulary only the
answers' rows are multiplied.

In bfloat16, on demand, the encoder's products and attention take numbers of 8 significant bits; sums, norms and what is
carried from layer to layer stay in single precision, and so does the decoder, which costs little.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from quintet.core.plain import Foreign
from quintet.errors import ModelError
from quintet.models.batching import in_batches, once_each
from quintet.models.passes import padded
from quintet.models.roles import YES_NO, Answer, PromptModel, only_yes_no
from quintet.models.subwords import LAST
from quintet.models.torch_backend import LOGIT_BUDGET, TOKEN_BUDGET, Loaded

# Questions answered by Yes or No: T5 as in UniEval, or any decoder.

LONGEST = 1024
"""UniEval's limit; T5 itself has none."""
_JOIN, _ASK = "\n", "\nAnswer:"
"""What stands between segments and after the last one for a model that only continues text."""

_ENCODERS = frozenset({"albert", "bert", "camembert", "deberta-v2", "electra", "roberta", "xlm-roberta"})


def family(path: Path) -> str:
    """Which transformers class a folder asks for."""
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ModelError(f"{path} has no readable config.json") from None
    if config.get("is_encoder_decoder"):
        return "AutoModelForSeq2SeqLM"
    if config.get("model_type") in _ENCODERS and not config.get("is_decoder"):
        # transformers would open it as a decoder all the same, and its answers would mean nothing.
        raise ModelError(f"{path} is a {config['model_type']} encoder; questions need a T5 or a decoder")
    return "AutoModelForCausalLM"


def as_in_one_string(segments: Sequence[str]) -> list[str]:
    """The segments with the blanks that stand around `</s>` where UniEval writes a prompt as one string: a tokenizer
    that does not strip them makes a lone `▁` of the one before the separator, and the checkpoints have learnt it."""
    last = len(segments) - 1
    return [f"{' ' if i else ''}{text}{' ' if i < last else ''}" for i, text in enumerate(segments)]


class TorchYesNo(PromptModel):
    def __init__(self, loaded: Loaded, release: bool = True, half: bool = False) -> None:
        """`release`: the weights are taken from the model, which nothing else may then use; `half`: bfloat16."""
        self._loaded = loaded
        self.identity = loaded.identity
        self._pairs = bool(loaded.config.is_encoder_decoder)
        self.max_tokens = LONGEST if self._pairs else min(LONGEST, loaded.max_tokens)
        before = "" if self._pairs else " "
        self._answers = [int(loaded.subwords.split(before + word).ids[0]) for word in ("Yes", "No")]
        if self._answers[0] == self._answers[1]:
            raise ModelError(f"{loaded.identity} begins Yes and No with the same token and cannot answer")
        self._end = loaded.subwords.id(*LAST) if self._pairs else -1
        if half and not fits(loaded.model):
            raise ModelError(f"{loaded.identity} is no T5 on a processor; only such a model computes in bf16")
        kind = torch.bfloat16 if half else torch.float32
        self._step = FirstStep(loaded.model, self._answers, release, kind) if fits(loaded.model) else None

    def answers(
        self,
        prompts: Sequence[Sequence[str]],
        options: tuple[str, ...] = YES_NO,
        *,
        max_tokens: int | None = None,
        samples: int = 1,
    ) -> list[Answer]:
        only_yes_no(self.identity, options)
        limit = min(max_tokens or self.max_tokens, self.max_tokens)
        return once_each([tuple(prompt) for prompt in prompts], lambda distinct: self._each(distinct, limit))

    def _each(self, prompts: list[tuple[str, ...]], limit: int) -> list[Answer]:
        inputs, cuts = zip(*(self._encoded(prompt, limit) for prompt in prompts), strict=True)
        run = self._run_pairs if self._pairs else self._run_decoder
        # A decoder gives logits over the vocabulary at every position.
        budget = (ROWS if self._step else TOKEN_BUDGET) if self._pairs else LOGIT_BUDGET
        found = in_batches(inputs, [len(ids) for ids in inputs], budget, run)
        return [Answer.yes(value, cut) for value, cut in zip(found, cuts, strict=True)]

    def _encoded(self, prompt: tuple[str, ...], limit: int) -> tuple[NDArray[np.int64], int]:
        """Segments split one by one and joined by the separator's id, so that no text can write a separator."""
        split = self._loaded.subwords.split
        parts = [split(one).ids for one in (as_in_one_string(prompt) if self._pairs else map(str.strip, prompt))]
        between = np.array([self._end]) if self._pairs else split(_JOIN).ids
        after = np.array([self._end]) if self._pairs else split(_ASK).ids
        body = np.concatenate([parts[0], *(np.concatenate([between, part]) for part in parts[1:])])
        room = limit - len(after)
        return np.concatenate([body[:room], after]), max(0, len(body) - room)

    @torch.inference_mode()
    def _run_pairs(self, inputs: Sequence[NDArray[np.int64]]) -> list[float]:
        if self._step is not None:
            return self._share(*self._step.logits(inputs).T)
        loaded = self._loaded
        ids, mask = (loaded.tensor(a) for a in padded(inputs, loaded.pad))
        start = torch.full((len(inputs), 1), loaded.config.decoder_start_token_id, device=ids.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask, decoder_input_ids=start, use_cache=False).logits
        return self._share(*logits[:, 0, self._answers].T)

    @torch.inference_mode()
    def _run_decoder(self, inputs: Sequence[NDArray[np.int64]]) -> list[float]:
        loaded = self._loaded
        ids, mask = (loaded.tensor(a) for a in padded(inputs, loaded.pad))
        logits = loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        last = loaded.tensor(np.array([len(one) - 1 for one in inputs]))
        return self._share(*logits[torch.arange(len(inputs)), last][:, self._answers].T)

    @staticmethod
    def _share(yes: torch.Tensor, no: torch.Tensor) -> list[float]:
        """pYes / (pYes + pNo): the rest of the vocabulary cancels out."""
        return torch.sigmoid(yes.double() - no.double()).tolist()


ROWS = 2048
"""Tokens of a pass: the weights are laid out for so many, and what lies between two products stays in the cache."""


def fits(model: Foreign) -> bool:
    """Whether this module knows the model: T5, v1.0 or v1.1, on a CPU, in single precision."""
    config = model.config
    return (
        config.model_type == "t5"
        and config.dense_act_fn in ("relu", "gelu_new")
        and model.device.type == "cpu"
        and model.dtype == torch.float32
    )


class Product:
    """x W', then an activation; or times, or plus, another matrix. One pass over memory where oneDNN has it."""

    def __init__(
        self, *weights: torch.Tensor, scale: torch.Tensor | None = None, kind: torch.dtype = torch.float32
    ) -> None:
        weight = torch.cat([w.detach() for w in weights]) if len(weights) > 1 else weights[0].detach()
        if scale is not None:
            weight = weight * scale.detach()
        self._kind, weight = kind, weight.to(kind)
        self._fused = torch.backends.mkldnn.is_available() and (
            kind == torch.float32 or torch.ops.mkldnn._is_mkldnn_bf16_supported()
        )
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS) if self._fused else weight

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self._run(x, "none")

    def activated(self, x: torch.Tensor, name: str) -> torch.Tensor:
        if self._fused:
            return self._run(x, name)
        return functional.relu(self._run(x, "none")) if name == "relu" else gelu(self._run(x, "none"))

    def joined(self, x: torch.Tensor, other: torch.Tensor, how: str) -> torch.Tensor:
        """how: mul or add. The result has the wider of the two types."""
        if self._fused and other.dtype == self._kind:
            found: torch.Tensor = torch.ops.mkldnn._linear_pointwise.binary(
                x.to(self._kind), other, self._weight, None, how
            )
            return found
        return self(x) * other if how == "mul" else self(x) + other

    def _run(self, x: torch.Tensor, name: str) -> torch.Tensor:
        x = x.to(self._kind)
        if not self._fused:
            return functional.linear(x, self._weight)
        found: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self._weight, None, name, [], "tanh" if name == "gelu" else ""
        )
        return found


def gelu(x: torch.Tensor) -> torch.Tensor:
    return functional.gelu(x, approximate="tanh")


def unit(x: torch.Tensor, epsilon: float) -> torch.Tensor:
    """T5's norm without its scale, which the next product has."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True).add_(epsilon))


class FeedForward:
    def __init__(self, layer: Foreign, activation: str, kind: torch.dtype = torch.float32) -> None:
        dense, scale = layer.DenseReluDense, layer.layer_norm.weight
        self._activation = "relu" if activation == "relu" else "gelu"
        gated = hasattr(dense, "wi_0")
        self._first = Product((dense.wi_0 if gated else dense.wi).weight, scale=scale, kind=kind)
        self._gate = Product(dense.wi_1.weight, scale=scale, kind=kind) if gated else None
        self._last = Product(dense.wo.weight, kind=kind)
        self._epsilon = layer.layer_norm.variance_epsilon

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        normed = unit(x, self._epsilon)
        hidden = self._first.activated(normed, self._activation)
        if self._gate is not None:
            hidden = self._gate.joined(normed, hidden, "mul")
        return self._last.joined(hidden, x, "add")


class EncoderLayer:
    def __init__(self, block: Foreign, heads: int, activation: str, kind: torch.dtype) -> None:
        attention, norm = block.layer[0].SelfAttention, block.layer[0].layer_norm
        projections = (attention.q.weight, attention.k.weight, attention.v.weight)
        self._project = Product(*projections, scale=norm.weight, kind=kind)
        self._out = Product(attention.o.weight, kind=kind)
        self._heads, self._epsilon = heads, norm.variance_epsilon
        self._forward = FeedForward(block.layer[1], activation, kind)

    def __call__(self, x: torch.Tensor, lengths: Sequence[int], bias: torch.Tensor) -> torch.Tensor:
        projected = self._project(unit(x, self._epsilon)).view(len(x), 3, self._heads, -1)
        mixed = torch.empty_like(projected[:, 0])
        start = 0
        for length in lengths:
            q, k, v = projected[start : start + length].permute(1, 2, 0, 3).unsqueeze(1).unbind(0)
            own = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias[:, :, :length, :length], scale=1.0)
            mixed[start : start + length] = own[0].transpose(0, 1)
            start += length
        return self._forward(self._out.joined(mixed.view(len(x), -1), x, "add"))


class DecoderLayer:
    """One position that sees itself (a softmax over one is 1: only values count) and the encoder's states."""

    def __init__(self, block: Foreign, heads: int, activation: str) -> None:
        own, beside = block.layer[0], block.layer[1]
        self._value = Product(own.SelfAttention.v.weight, scale=own.layer_norm.weight)
        self._own_out = Product(own.SelfAttention.o.weight)
        cross = beside.EncDecAttention
        self._query = Product(cross.q.weight, scale=beside.layer_norm.weight)
        self._key = cross.k.weight.detach().view(heads, -1, cross.k.weight.shape[1])
        self._values = cross.v.weight.detach().view(heads, -1, cross.v.weight.shape[1]).transpose(1, 2)
        self._out = Product(cross.o.weight)
        self._epsilons = (own.layer_norm.variance_epsilon, beside.layer_norm.variance_epsilon)
        self._forward = FeedForward(block.layer[2], activation)

    def __call__(self, x: torch.Tensor, states: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """`states`: (sequences, positions, width); `hidden`: minus infinity where a sequence has ended, else 0."""
        x = self._own_out.joined(self._value(unit(x, self._epsilons[0])), x, "add")
        query = self._query(unit(x, self._epsilons[1])).view(len(x), len(self._key), -1)
        asked = torch.bmm(query.transpose(0, 1), self._key).transpose(0, 1)  # (sequences, heads, width)
        weights = torch.softmax(torch.baddbmm(hidden, asked, states.transpose(1, 2)), -1)
        seen = torch.bmm(weights, states).transpose(0, 1)
        mixed = torch.bmm(seen, self._values).transpose(0, 1).reshape(len(x), -1)
        return self._forward(self._out.joined(mixed, x, "add"))


class FirstStep:
    """Logits of some tokens at the first position of the answer."""

    def __init__(
        self, model: Foreign, answers: Sequence[int], release: bool = False, kind: torch.dtype = torch.float32
    ) -> None:
        """`release`: the model's layers are emptied as they are taken over, so that no weight is held twice."""
        config = model.config
        heads, activation = config.num_heads, config.dense_act_fn
        with torch.inference_mode():
            self._table = model.shared.weight.detach()
            self._begin = self._table[config.decoder_start_token_id].clone()
            self._positions = model.encoder.block[0].layer[0].SelfAttention.compute_bias
            self._bias = torch.empty(1, heads, 0, 0, dtype=kind)
            final, last = model.decoder.final_layer_norm, model.encoder.final_layer_norm
            # Tied embeddings (T5 v1.0) are scaled before the vocabulary; v1.1 has a table of its own.
            scaled = getattr(config, "scale_decoder_outputs", config.tie_word_embeddings)
            scale = config.d_model**-0.5 if scaled else 1.0
            self._head = model.lm_head.weight[list(answers)].detach() * final.weight.detach() * scale
            self._final, self._last = (final.variance_epsilon, (last.weight.detach(), last.variance_epsilon))
            self._encoder, self._decoder = [], []
            for block in model.encoder.block:
                self._encoder.append(EncoderLayer(block, heads, activation, kind))
                _emptied(block, release)
            for block in model.decoder.block:
                self._decoder.append(DecoderLayer(block, heads, activation))
                _emptied(block, release)

    @torch.inference_mode()
    def logits(self, inputs: Sequence[NDArray[np.int64]]) -> torch.Tensor:
        """(sequences, answers)"""
        lengths = [len(ids) for ids in inputs]
        bias = self._bias_of(max(lengths))
        x = self._table[torch.from_numpy(np.concatenate(inputs))]
        for layer in self._encoder:
            x = layer(x, lengths, bias)
        scale, epsilon = self._last
        # Padded for the decoder only, to which a position costs next to nothing.
        states = pad_sequence((unit(x, epsilon) * scale).split(lengths), batch_first=True)
        ended = torch.arange(states.shape[1])[None, :] >= torch.tensor(lengths)[:, None]
        hidden = torch.zeros(ended.shape).masked_fill_(ended, -torch.inf)[:, None, :]
        answer = self._begin.expand(len(inputs), -1).contiguous()
        for step in self._decoder:
            answer = step(answer, states, hidden)
        return unit(answer, self._final) @ self._head.T

    def _bias_of(self, length: int) -> torch.Tensor:
        """What distance adds to attention, (1, heads, length, length): it does not depend on the texts."""
        if self._bias.shape[-1] < length:
            self._bias = self._positions(length, length).to(self._bias.dtype).contiguous()
        return self._bias


def _emptied(block: Foreign, release: bool) -> None:
    for name, parameter in block.named_parameters() if release else ():
        if "relative_attention_bias" not in name:
            parameter.data = torch.empty(0)
