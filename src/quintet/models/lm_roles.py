"""Other roles from the heads of a language model: the judge's own classes, over `GROUNDS\\n\\nTL;DR: text`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.judge_roles import adapt
from quintet.models.lm_heads import ENTAILMENT, WORDS
from quintet.models.onnx_judge import Asked, Key
from quintet.models.onnx_lm import LINE_BREAK, OnnxCausalLM
from quintet.models.roles import Judgement
from quintet.models.subwords import Pieces

ROLES = ("pair-classifier", "regressor", "token-tagger")
ASKED_SO = frozenset({"con", "rel", "cov", "cohd", "adq", ENTAILMENT, WORDS})
"""Heads that learnt in this form (docs/training.md); those about replies and records learnt in others."""
_FORM, _BLANK = "TL;DR:", " "


def adapt_language_model(model: OnnxCausalLM, role: str, head: str, identity: str, spec: str) -> Any:
    """The model in one of ROLES; `head` chooses among those it was taught."""
    able = [name for name in model.taught if name in ASKED_SO]
    wanted = head or (WORDS if role == "token-tagger" else "")
    if wanted and wanted not in able:
        raise ModelError(f"{spec} cannot answer {wanted!r} beside a text (its heads: {', '.join(able) or 'none'})")
    # ROLES ask a judge for no more than LanguageJudge has.
    return adapt(LanguageJudge(model), role, head, identity, spec)  # type: ignore[arg-type]


class LanguageJudge:
    """As much of an OnnxJudge as pairs of texts need."""

    together: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = {}

    def __init__(self, model: OnnxCausalLM) -> None:
        self._model = model
        self.max_tokens = model.max_tokens
        self.questions = tuple(name for name in model.taught if name in ASKED_SO - {ENTAILMENT, WORDS})
        self.longest_output = model.max_tokens // 4
        split = model.subwords.split
        self._alone, self._after = split(_FORM).ids, split(f"\n\n{_FORM}").ids
        self.separator = int(split(LINE_BREAK).ids[-1])

    def longest_grounds(self, output: int, together: bool = False) -> int:
        return self._model.longest_context(output) - len(self._after)

    def split(self, text: str) -> Pieces:
        """Of grounds, where no place is asked for."""
        return self._model.subwords.split(text.strip())

    def split_output(self, text: str) -> Pieces:
        """With a blank before it, as the model has learnt to read it; places are those of the text."""
        found = self._model.subwords.split(_BLANK + text)
        starts, ends = (np.maximum(places - 1, 0) for places in (found.starts, found.ends))
        return Pieces(found.ids, starts, ends)

    def judge_asked(self, asked: Sequence[Asked]) -> list[Judgement]:
        found: dict[Key, Judgement] = {}
        for one in sorted(asked, key=lambda one: one.grounds.tobytes()):
            if one.key not in found:
                found[one.key] = self._model.judge_after(self._context(one.grounds), one.output)
        return [found[one.key] for one in asked]

    def _context(self, grounds: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([grounds, self._after]) if len(grounds) else self._alone
