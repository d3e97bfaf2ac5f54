"""Questions answered by Yes or No: T5 as in UniEval, or any decoder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.batching import in_batches, once_each
from quintet.models.passes import padded
from quintet.models.roles import Value
from quintet.models.subwords import LAST
from quintet.models.torch_backend import LOGIT_BUDGET, TOKEN_BUDGET, Loaded
from quintet.models.torch_t5 import ROWS, FirstStep, fits

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


class TorchYesNo:
    def __init__(self, loaded: Loaded, release: bool = True, half: bool = False) -> None:
        """`release`: the weights are taken from the model, which nothing else may then use; `half`: bfloat16."""
        self._loaded = loaded
        self.identity = loaded.identity
        self._pairs = bool(loaded.config.is_encoder_decoder)
        self.max_tokens = LONGEST if self._pairs else min(LONGEST, loaded.max_tokens)
        before = "" if self._pairs else " "
        self._answers = [int(loaded.subwords.split(before + word).ids[0]) for word in ("Yes", "No")]
        if self._answers[0] == self._answers[1]:
            raise ModelError(f"{loaded.identity} begins Yes and No with the same sub-word and cannot answer")
        self._end = loaded.subwords.id(*LAST) if self._pairs else -1
        if half and not fits(loaded.model):
            raise ModelError(f"{loaded.identity} is no T5 on a processor; only such a model computes in bf16")
        kind = torch.bfloat16 if half else torch.float32
        self._step = FirstStep(loaded.model, self._answers, release, kind) if fits(loaded.model) else None

    def probabilities(self, prompts: Sequence[Sequence[str]], max_tokens: int | None = None) -> list[Value]:
        limit = min(max_tokens or self.max_tokens, self.max_tokens)
        return once_each([tuple(prompt) for prompt in prompts], lambda distinct: self._probabilities(distinct, limit))

    def _probabilities(self, prompts: list[tuple[str, ...]], limit: int) -> list[Value]:
        inputs, cuts = zip(*(self._encoded(prompt, limit) for prompt in prompts), strict=True)
        run = self._run_pairs if self._pairs else self._run_decoder
        # A decoder gives logits over the vocabulary at every position.
        budget = (ROWS if self._step else TOKEN_BUDGET) if self._pairs else LOGIT_BUDGET
        found = in_batches(inputs, [len(ids) for ids in inputs], budget, run)
        return [Value(value, (cut, 0)) for value, cut in zip(found, cuts, strict=True)]

    def _encoded(self, prompt: tuple[str, ...], limit: int) -> tuple[NDArray[np.int64], int]:
        """Segments split one by one and joined by the separator's id, so that no text can write a separator."""
        split = self._loaded.subwords.split
        parts = [split(segment.strip()).ids for segment in prompt]
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
