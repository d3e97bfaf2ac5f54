"""Masked likelihood by the judge's encoder and its vocabulary head."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quintet.models.batching import equal_batches
from quintet.models.masked import MaskedLikelihood, Probe
from quintet.models.onnx_backend import TOKEN_BUDGET
from quintet.models.onnx_judge import WORDS, OnnxJudge

VOCABULARY_ROWS = 128
"""Positions a run: each has a probability for every word of the vocabulary."""


class JudgeMaskedLM(MaskedLikelihood):
    def __init__(self, judge: OnnxJudge, identity: str) -> None:
        super().__init__(judge.subwords, identity, judge.max_tokens, TOKEN_BUDGET)
        self._judge = judge

    def _batches(self, probes: list[Probe]) -> list[list[int]]:
        return equal_batches([self._judge.filled(len(probe.ids) - 2) for probe in probes], self._budget)

    def _run(self, probes: list[Probe]) -> list[NDArray[np.float32]]:
        inputs = self._judge.inputs([probe.ids for probe in probes])
        owners = np.repeat(np.arange(len(probes)), [len(probe.positions) for probe in probes])
        rows = np.stack([owners, np.concatenate([probe.positions for probe in probes])], axis=1)
        answers = np.concatenate([probe.answers for probe in probes])
        session = self._judge.session((WORDS,))
        found = [
            session.run([WORDS], {**inputs, "rows": rows[at : at + VOCABULARY_ROWS],
                                  "targets": answers[at : at + VOCABULARY_ROWS]})[0]
            for at in range(0, len(rows), VOCABULARY_ROWS)
        ]  # fmt: skip
        return np.split(np.concatenate(found), np.cumsum([len(probe.positions) for probe in probes])[:-1])
