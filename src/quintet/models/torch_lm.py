"""Likelihood of words: masked (RoBERTa, BERT, ALBERT) and causal (GPT-2, Llama and their like)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from quintet.models.batching import batches, once_each
from quintet.models.passes import padded
from quintet.models.roles import Long, Mode, TokenScores
from quintet.models.subwords import LAST, MASK, Pieces
from quintet.models.torch_backend import LOGIT_BUDGET, TOKEN_BUDGET, Loaded
from quintet.models.windows import windows


@dataclass(frozen=True, slots=True, eq=False)
class _Probe:
    """One input and the positions in it whose log-probability goes to `targets` of text number `text`."""

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    answers: NDArray[np.int64]
    text: int
    targets: NDArray[np.int64]


class TorchMaskedLM:
    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.identity, self.max_tokens = loaded.identity, loaded.max_tokens
        self._mask = loaded.subwords.id(*MASK)
        # The vocabulary head is applied to the wanted positions alone: it costs as much as several layers.
        heads = [getattr(loaded.model, name, None) for name in ("cls", "lm_head", "predictions")]
        self._head: Callable[[torch.Tensor], torch.Tensor] | None = next((h for h in heads if h is not None), None)

    def log_probs(
        self,
        texts: Sequence[str],
        mode: Mode = "each",
        *,
        last: int | None = None,
        specials: bool = False,
        long: Long = "window",
    ) -> list[TokenScores]:
        return once_each(list(texts), lambda distinct: self._log_probs(distinct, mode, last, specials, long))

    def _log_probs(
        self, texts: list[str], mode: Mode, last: int | None, specials: bool, long: Long
    ) -> list[TokenScores]:
        split = [self._loaded.subwords.split(text) for text in texts]
        specials = specials and mode == "none"
        framed = [self._framed(text, pieces) for text, pieces in zip(texts, split, strict=True)]
        probes, scored, cuts = [], [], []
        for index, whole in enumerate(framed):
            seen, cut = self._seen(whole, last, long)
            cuts.append(cut)
            probes.extend(self._probes(index, seen, mode, specials))
            scored.append(seen if specials else seen[1:-1])
        values = [np.zeros(len(pieces), np.float32) for pieces in scored]
        self._answer(probes, values)
        return [
            TokenScores(text, pieces.starts, pieces.ends, found, cut)
            for text, pieces, found, cut in zip(texts, scored, values, cuts, strict=True)
        ]

    def _framed(self, text: str, pieces: Pieces) -> Pieces:
        start, end = self._loaded.subwords.frame
        return Pieces(
            np.concatenate([[start], pieces.ids, [end]]),
            np.concatenate([[0], pieces.starts, [len(text)]]).astype(np.int32),
            np.concatenate([[0], pieces.ends, [len(text)]]).astype(np.int32),
        )

    def _seen(self, whole: Pieces, last: int | None, long: Long) -> tuple[Pieces, int]:
        """The ids that are looked at, and how many of the text are not."""
        if last is not None:
            last = max(2, min(last, self.max_tokens))
            lost = max(0, len(whole) - last)
            # The special token in front goes with the first cut; it is no sub-word of the text.
            return whole[lost:], max(0, lost - 1)
        lost = max(0, len(whole) - self.max_tokens) if long == "cut" else 0
        if lost:
            whole = whole[np.r_[0 : self.max_tokens - 1, len(whole) - 1]]
        return whole, lost

    def _probes(self, text: int, seen: Pieces, mode: Mode, specials: bool) -> list[_Probe]:
        """Masked copies, one for each sub-word, or the windows as they are."""
        size = self.max_tokens - 2
        inner, start, end = seen.ids[1:-1], seen.ids[:1], seen.ids[-1:]
        probes = []
        for window in windows(len(inner), size, size // 4):
            ids = np.concatenate([start, inner[window.start : window.end], end])
            first, last = window.first, window.last
            if specials:
                # The frame is scored in the windows at either end of the text.
                first, last = first - (window.start == 0), last + (window.end == len(inner))
            positions = np.arange(first, last) - window.start + 1
            targets = np.arange(first, last) + specials
            if mode == "none":
                probes.append(_Probe(ids, positions, ids[positions], text, targets))
                continue
            for at, target in zip(positions[:, None], targets[:, None], strict=True):
                copy = ids.copy()
                copy[at] = self._mask
                probes.append(_Probe(copy, at, ids[at], text, target))
        return [probe for probe in probes if len(probe.positions)]

    def _answer(self, probes: list[_Probe], values: list[NDArray[np.float32]]) -> None:
        budget = TOKEN_BUDGET if self._head is not None else LOGIT_BUDGET
        for batch in batches([len(probe.ids) for probe in probes], budget):
            chosen = [probes[i] for i in batch]
            for probe, found in zip(chosen, self._run(chosen), strict=True):
                values[probe.text][probe.targets] = found

    @torch.inference_mode()
    def _run(self, probes: list[_Probe]) -> list[NDArray[np.float32]]:
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


class TorchCausalLM:
    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.identity, self.max_tokens = loaded.identity, loaded.max_tokens
        config = loaded.config
        end = config.eos_token_id[0] if isinstance(config.eos_token_id, list) else config.eos_token_id
        self._end = int(end) if end is not None else loaded.subwords.id("<|endoftext|>", *LAST)
        self._start = self._end if config.bos_token_id is None else int(config.bos_token_id)

    def log_probs(self, pairs: Sequence[tuple[str | tuple[str, ...], str]]) -> list[TokenScores]:
        plain = [(context if isinstance(context, str) else tuple(context), text) for context, text in pairs]
        return once_each(plain, self._log_probs)

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

    def _probes(self, text: int, context: NDArray[np.int64], own: NDArray[np.int64]) -> tuple[list[_Probe], int]:
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
            probes.append(_Probe(ids, positions, piece, text, at + np.arange(len(piece))))
        return probes, max(0, len(context) - (len(probes[0].ids) - 1 - len(probes[0].answers)))

    @torch.inference_mode()
    def _run(self, probes: list[_Probe]) -> list[NDArray[np.float32]]:
        loaded = self._loaded
        ids, mask = (loaded.tensor(a) for a in padded([probe.ids for probe in probes], loaded.pad))
        logits = loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        found = []
        for row, probe in zip(logits, probes, strict=True):
            picked = torch.log_softmax(row[loaded.tensor(probe.positions)].float(), -1)
            found.append(picked.gather(1, loaded.tensor(probe.answers)[:, None])[:, 0].cpu().numpy())
        return found
