"""Published checkpoints on torch and transformers: any Hugging Face encoder, decoder or T5, from safetensors only.

Import this module only when torch is wanted. One class per role, in the modules `torch_*`; `torch_open` chooses.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quintet._checked import whole_number
from quintet.core.plain import Foreign
from quintet.errors import MissingExtra, ModelError
from quintet.models.passes import Layers, embed_layers
from quintet.models.roles import Long
from quintet.models.subwords import PAD, Subwords

try:
    import torch
    import transformers
except ImportError as error:
    raise MissingExtra("torch", "torch", "a model from dir: or hf:") from error

TOKEN_BUDGET = 4096
"""Tokens a pass, padding included."""
LOGIT_BUDGET = 1024
"""Positions whose logits over the vocabulary are held at a time."""
LONGEST = 2048
"""No input is longer, whatever the model would take: the logits of one are vocabulary × length."""
OFFSET = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"})
"""Model types whose positions begin after the padding id."""


@dataclass(frozen=True)
class Loaded:
    """A model with its tokenizer, as every role starts out."""

    model: Foreign
    subwords: Subwords
    identity: str
    max_tokens: int
    pad: int

    @property
    def config(self) -> Foreign:
        return self.model.config

    @property
    def model_type(self) -> str:
        return str(self.config.model_type)

    def tensor(self, array: NDArray[np.int64]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.model.device)


def load(path: Path, family: str, identity: str, prefix_space: bool = False) -> Loaded:
    """`family` is a transformers Auto class; tensors that it needs and the folder lacks are named."""
    if count := whole_number("QUINTET_THREADS", 0):
        torch.set_num_threads(count)
    with quiet():
        try:
            model, report = getattr(transformers, family).from_pretrained(
                path, local_files_only=True, use_safetensors=True, output_loading_info=True, trust_remote_code=False
            )
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ModelError(f"{path} cannot be opened as {family.removeprefix('AutoModel')} ({reason})") from None
    # The pooler is no part of an encoder's token vectors; many checkpoints are saved without it.
    missing = sorted(n for n in report["missing_keys"] if not (family == "AutoModel" and "pooler" in n))
    if missing:
        raise ModelError(
            f"{path} lacks {missing[0]} ({len(missing)} tensors missing); it is not a {type(model).__name__} checkpoint"
        )
    model = model.float().eval().to(os.environ.get("QUINTET_DEVICE") or "cpu")
    subwords = Subwords.read(path / "tokenizer.json", prefix_space=prefix_space and model.config.model_type in OFFSET)
    pad = model.config.pad_token_id
    return Loaded(model, subwords, identity, _max_tokens(model.config), _pad(subwords) if pad is None else pad)


def _pad(subwords: Subwords) -> int:
    try:
        return subwords.id(*PAD)
    except ModelError:
        return 0


def _max_tokens(config: Foreign) -> int:
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or LONGEST
    if config.model_type in OFFSET:
        positions -= config.pad_token_id + 1
    return min(int(positions), LONGEST)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and warnings while a model loads; the settings of the process are put back."""
    log = transformers.utils.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()


class TorchEncoder:
    """Hidden states of any BERT-like encoder."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.identity, self.max_tokens = loaded.identity, loaded.max_tokens
        self.layers, self.width = int(loaded.config.num_hidden_layers), int(loaded.config.hidden_size)
        self._table = loaded.model.get_input_embeddings()

    def embed_layers(self, texts: Sequence[str], layers: tuple[int, ...], long: Long) -> list[Layers]:
        return embed_layers(
            self._loaded.subwords, texts, layers, long,
            max_tokens=self.max_tokens, width=self.width, budget=TOKEN_BUDGET, run=self._run, pad=self._loaded.pad,
            table_width=int(self._table.weight.shape[1]),
        )  # fmt: skip

    @torch.inference_mode()
    def _run(
        self, ids: NDArray[np.int64], mask: NDArray[np.int64], layers: tuple[int, ...]
    ) -> Sequence[NDArray[np.float32]]:
        tensor = self._loaded.tensor(ids)
        # Layer 0 is the table itself: what the encoder makes of it first has positions in it already.
        states: list[Any] = [self._table(tensor)]
        if max(layers) > 0:
            output = self._loaded.model(
                input_ids=tensor, attention_mask=self._loaded.tensor(mask), output_hidden_states=True
            )
            states += output.hidden_states[1:]
        return [states[layer].cpu().numpy() for layer in layers]
