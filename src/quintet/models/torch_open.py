"""A folder of a published or trained checkpoint, opened in a role. Imports torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from quintet.errors import ModelError, UnknownName
from quintet.models import folder, memo, torch_lm, torch_pairs, torch_t5, torch_trained
from quintet.models.roles import Model
from quintet.models.torch_backend import Loaded, TorchEncoder, load


def open_torch(path: Path, role: str, identity: str, half: bool = False) -> Model:
    """The model of a folder in a role; what the folder does not hold is named. `half`: in bfloat16 where that is known
    to be worth it."""
    if half and role != "yes-no":
        raise ModelError(f"{identity}: #bf16 is for a T5 that answers Yes or No, not for the role {role}")
    if table := torch_trained.description(path):
        return torch_trained.open_trained(path, table, role, identity)
    makers: dict[str, tuple[str, Callable[[Loaded], Model]]] = {
        "embedder": ("AutoModel", lambda loaded: memo.Memo(TorchEncoder(loaded))),
        "masked-lm": ("AutoModelForMaskedLM", torch_lm.TorchMaskedLM),
        "causal-lm": ("AutoModelForCausalLM", torch_lm.TorchCausalLM),
        "seq2seq-lm": ("AutoModelForSeq2SeqLM", torch_lm.TorchSeq2SeqLM),
        "pair-classifier": ("AutoModelForSequenceClassification", torch_pairs.TorchPairs),
        "token-tagger": ("AutoModelForTokenClassification", torch_pairs.TorchTokenTagger),
        "regressor": ("AutoModelForSequenceClassification", torch_pairs.TorchRegressor),
        "sentence-order": ("AutoModelForPreTraining", torch_pairs.TorchSentenceOrder),
        "yes-no": ("", lambda loaded: torch_t5.TorchYesNo(loaded, half=half)),
    }
    if role == "masked-lm" and (head := torch_lm.plain_vocabulary(path)) is not None:
        return torch_lm.TorchMaskedLM(load(path, "AutoModel", identity, prefix_space(path, role)), head)
    if role not in makers:
        raise UnknownName("role", role, makers)
    family, maker = makers[role]
    return maker(load(path, family or torch_t5.family(path), identity, prefix_space(path, role)))


def prefix_space(path: Path, role: str) -> bool:
    """Whether a text of this role begins as if a blank stood before it. bert_score (CTC-E, BERTScore) reads it so; the
    authors of USR and CTC-D did not. A folder that was trained here says how it was trained."""
    if role == "embedder":
        return True
    return folder.trained_with_prefix_space(path)
