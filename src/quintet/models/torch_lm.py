"""Likelihood of words: masked (RoBERTa, BERT, ALBERT) and causal (GPT-2, Llama and their like)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open

from quintet.models.batching import batches, once_each
from quintet.models.masked import MaskedLikelihood, Probe
from quintet.models.passes import padded
from quintet.models.roles import EACH, Context, Masking, TokenLM, TokenScores, one_text
from quintet.models.subwords import FIRST, LAST
from quintet.models.torch_backend import LOGIT_BUDGET, LONGEST, TOKEN_BUDGET, Loaded

PLAIN_VOCABULARY = "plain_vocabulary."
"""Tensors of a layer from the encoder straight to the words, as IM2's D-MLM has it: no transformers class does."""


def plain_vocabulary(path: Path) -> torch.nn.Linear | None:
    """The layer, where a folder holds one beside its encoder."""
    file = path / "model.safetensors"
    if not file.is_file():
        return None
    with safe_open(file, "pt") as tensors:
        if f"{PLAIN_VOCABULARY}weight" not in tensors.keys():  # noqa: SIM118 - not a mapping
            return None
        weight = tensors.get_tensor(f"{PLAIN_VOCABULARY}weight")
        head = torch.nn.Linear(weight.shape[1], weight.shape[0])
        head.weight.data = weight
        named = f"{PLAIN_VOCABULARY}bias"
        head.bias.data = tensors.get_tensor(named) if named in tensors.keys() else torch.zeros(len(weight))  # noqa: SIM118
    return head.eval().to(os.environ.get("QUINTET_DEVICE") or "cpu")


class TorchMaskedLM(MaskedLikelihood):
    def __init__(self, loaded: Loaded, head: Callable[[torch.Tensor], torch.Tensor] | None = None) -> None:
        # The vocabulary head is applied to the wanted positions alone: it costs as much as several layers.
        heads = [head, *(getattr(loaded.model, name, None) for name in ("cls", "lm_head", "predictions"))]
        self._head: Callable[[torch.Tensor], torch.Tensor] | None = next((h for h in heads if h is not None), None)
        budget = TOKEN_BUDGET if self._head is not None else LOGIT_BUDGET
        super().__init__(loaded.subwords, loaded.identity, loaded.max_tokens, budget)
        self._loaded = loaded

    @torch.inference_mode()
    def _run(self, probes: list[Probe]) -> list[NDArray[np.float32]]:
        loaded = self._loaded
        ids, mask = (loaded.tensor(a) for a in padded([probe.ids for probe in probes], loaded.pad))
        rows = np.repeat(np.arange(len(probes)), [len(probe.positions) for probe in probes])
        columns = np.concatenate([probe.positions for probe in probes])
        answers = loaded.tensor(np.concatenate([probe.answers for probe in probes]))
        if self._head is None:
            states = loaded.model(input_ids=ids, attention_mask=mask).logits
        else:
            states = loaded.model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
        picked = states[loaded.tensor(rows), loaded.tensor(columns)]
        found = []
        for part, answer in zip(picked.split(LOGIT_BUDGET), answers.split(LOGIT_BUDGET), strict=True):
            logits = part if self._head is None else self._head(part[None])[0]
            found.append(torch.log_softmax(logits.float(), -1).gather(1, answer[:, None])[:, 0])
        flat = torch.cat(found).cpu().numpy()
        return np.split(flat, np.cumsum([len(probe.positions) for probe in probes])[:-1])


class TorchCausalLM(TokenLM):
    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.identity, self.max_tokens = loaded.identity, loaded.max_tokens
        config = loaded.config
        end = config.eos_token_id[0] if isinstance(config.eos_token_id, list) else config.eos_token_id
        self._end = int(end) if end is not None else loaded.subwords.id("<|endoftext|>", *LAST)
        self._start = self._end if config.bos_token_id is None else int(config.bos_token_id)

    def log_probs(self, pairs: Sequence[tuple[Context, str]], masking: Masking = EACH) -> list[TokenScores]:
        return once_each([(context or "", text) for context, text in pairs], self._log_probs)

    def _log_probs(self, pairs: list[tuple[str | tuple[str, ...], str]]) -> list[TokenScores]:
        split = [self._loaded.subwords.split(text) for _, text in pairs]
        probes, cuts = [], []
        for index, ((context, _), pieces) in enumerate(zip(pairs, split, strict=True)):
            before = self._context(context)
            made, cut = self._probes(index, before, pieces.ids)
            probes.extend(made)
            cuts.append(cut)
        values = [np.zeros(len(pieces), np.float32) for pieces in split]
        for batch in batches([len(probe.ids) for probe in probes], LOGIT_BUDGET):
            chosen = [probes[i] for i in batch]
            for probe, found in zip(chosen, self._run(chosen), strict=True):
                values[probe.text][probe.targets] = found
        return [
            TokenScores(text, pieces.starts, pieces.ends, found, cut)
            for (_, text), pieces, found, cut in zip(pairs, split, values, cuts, strict=True)
        ]

    def _context(self, context: str | tuple[str, ...]) -> NDArray[np.int64]:
        turns = [context] if isinstance(context, str) else list(context)
        parts = [self._loaded.subwords.split(turn).ids for turn in turns]
        joined = [np.append(part, self._end) for part in parts] if not isinstance(context, str) else parts
        return np.concatenate([np.empty(0, np.int64), *joined])

    def _probes(self, text: int, context: NDArray[np.int64], own: NDArray[np.int64]) -> tuple[list[Probe], int]:
        """One input if the text fits, without the start of the context if need be; else pieces of half the model's
        length, each after as much of what precedes it as fits."""
        if not len(own):
            return [], 0
        step = len(own) if len(own) < self.max_tokens else self.max_tokens // 2
        whole = np.concatenate([context, own])
        probes = []
        for at in range(0, len(own), step):
            piece = own[at : at + step]
            before = whole[max(0, len(context) + at - (self.max_tokens - 1 - len(piece))) : len(context) + at]
            ids = np.concatenate([[self._start], before, piece])
            positions = len(before) + np.arange(len(piece))
            probes.append(Probe(ids, positions, piece, text, at + np.arange(len(piece))))
        return probes, max(0, len(context) - (len(probes[0].ids) - 1 - len(probes[0].answers)))

    @torch.inference_mode()
    def _run(self, probes: list[Probe]) -> list[NDArray[np.float32]]:
        loaded = self._loaded
        ids, mask = (loaded.tensor(a) for a in padded([probe.ids for probe in probes], loaded.pad))
        logits = loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        found = []
        for row, probe in zip(logits, probes, strict=True):
            picked = torch.log_softmax(row[loaded.tensor(probe.positions)].float(), -1)
            found.append(picked.gather(1, loaded.tensor(probe.answers)[:, None])[:, 0].cpu().numpy())
        return found


class TorchSeq2SeqLM(TokenLM):
    """BART, T5 and their like: the target under teacher forcing, with the special tokens that the tokenizer frames it
    in, as BARTScore scores it."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.identity, self.max_tokens = loaded.identity, min(loaded.max_tokens, LONGEST)
        words = loaded.subwords
        self._first = [] if loaded.model_type in ("t5", "mt5", "umt5") else [words.id(*FIRST)]
        self._last = [words.id(*LAST)]

    def log_probs(self, pairs: Sequence[tuple[Context, str]], masking: Masking = EACH) -> list[TokenScores]:
        return once_each([(one_text(context) or "", text) for context, text in pairs], self._log_probs)

    def _log_probs(self, pairs: list[tuple[str, str]]) -> list[TokenScores]:
        room = self.max_tokens - len(self._first) - len(self._last)
        split = [tuple(self._loaded.subwords.split(text) for text in pair) for pair in pairs]
        framed = [tuple(np.array([*self._first, *side.ids[:room], *self._last]) for side in one) for one in split]
        found: list[TokenScores | None] = [None] * len(pairs)
        for batch in batches([len(a) + len(b) for a, b in framed], LOGIT_BUDGET):
            for i, values in zip(batch, self._run([framed[i] for i in batch]), strict=True):
                target, text = split[i][1][slice(room)], pairs[i][1]
                before, after = np.zeros(len(self._first), np.int32), np.full(1, len(text), np.int32)
                starts = np.concatenate([before, target.starts, after])
                ends = np.concatenate([before, target.ends, after])
                cut = sum(max(0, len(side) - room) for side in split[i])
                found[i] = TokenScores(text, starts, ends, values, cut)
        return [one for one in found if one is not None]

    @torch.inference_mode()
    def _run(self, framed: list[tuple[NDArray[np.int64], ...]]) -> list[NDArray[np.float32]]:
        loaded = self._loaded
        ids, mask = (loaded.tensor(a) for a in padded([source for source, _ in framed], loaded.pad))
        wanted, there = padded([target for _, target in framed], loaded.pad)
        start = np.full((len(framed), 1), loaded.config.decoder_start_token_id, np.int64)
        given = loaded.tensor(np.concatenate([start, wanted[:, :-1]], axis=1))
        logits = loaded.model(input_ids=ids, attention_mask=mask, decoder_input_ids=given, use_cache=False).logits
        picked = torch.log_softmax(logits.float(), -1).gather(2, loaded.tensor(wanted)[:, :, None])[:, :, 0]
        return [row[: int(size)].cpu().numpy() for row, size in zip(picked, there.sum(axis=1), strict=True)]
