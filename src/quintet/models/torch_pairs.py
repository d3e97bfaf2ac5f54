"""Pair models of published checkpoints: classes of the whole or of each word, one number, which of two comes first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from quintet.core.plain import Foreign
from quintet.errors import ModelError
from quintet.models.batching import in_batches, once_each
from quintet.models.passes import padded
from quintet.models.roles import WHOLE, Limits, Pair, PairModel, PairScore, one_text
from quintet.models.subwords import Frame, Framed, words_of
from quintet.models.torch_backend import TOKEN_BUDGET, Loaded


class TorchPairs(PairModel):
    """Frames pairs, runs them in batches of similar length and gives each its own row of the output: a classifier."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.identity, self.max_tokens = loaded.identity, loaded.max_tokens
        names = [loaded.config.id2label.get(at, at) for at in range(int(loaded.config.num_labels))]
        self.labels = distinct(names)
        self._frame = Frame.of(loaded.subwords, loaded.model_type)
        self._typed = int(getattr(loaded.config, "type_vocab_size", 0) or 0) > 1

    def _framed(self, pair: Pair, limits: Limits) -> Framed:
        first, second = pair[0], one_text(pair[1])
        split = self._loaded.subwords.split
        return self._frame.put(split(first), None if second is None else split(second), limits, self.max_tokens)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(self._loaded.subwords.split(text)) for text in texts]

    def _inputs(self, batch: Sequence[Framed]) -> dict[str, torch.Tensor]:
        ids, mask = padded([framed.ids for framed in batch], self._loaded.pad)
        inputs = {"input_ids": self._loaded.tensor(ids), "attention_mask": self._loaded.tensor(mask)}
        if self._typed:
            inputs["token_type_ids"] = self._loaded.tensor(padded([framed.types for framed in batch])[0])
        return inputs

    @torch.inference_mode()
    def _run(self, batch: Sequence[tuple[Framed, Pair]]) -> list[NDArray[np.float32]]:
        """For each its row: one number per label."""
        return list(self._loaded.model(**self._inputs([framed for framed, _ in batch])).logits.float().cpu().numpy())

    def score(self, pairs: Sequence[Pair], limits: Limits = WHOLE, joint: bool = False) -> list[PairScore]:
        """Both texts are always read as one."""
        return once_each(list(pairs), lambda distinct: self._score(distinct, limits))

    def _score(self, pairs: list[Pair], limits: Limits) -> list[PairScore]:
        jobs = [(self._framed(pair, limits), pair) for pair in pairs]
        rows = in_batches(jobs, [len(framed.ids) for framed, _ in jobs], TOKEN_BUDGET, self._run)
        return [
            PairScore(dict(zip(self.labels, map(float, row), strict=True)), framed.cut)
            for row, (framed, _) in zip(rows, jobs, strict=True)
        ]


def distinct(names: Sequence[object]) -> tuple[str, ...]:
    """Classes as the checkpoint calls them; by their numbers where two have one name."""
    found = tuple(map(str, names))
    return found if len(set(found)) == len(found) else tuple(map(str, range(len(found))))


class TorchRegressor(TorchPairs):
    """A head with one output (CTC-R: the pooled pair through one linear layer)."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        if loaded.config.num_labels != 1:
            raise ModelError(f"{loaded.identity} has {loaded.config.num_labels} outputs; a regressor has one")


class TorchSentenceOrder(TorchPairs):
    """ALBERT's sentence-order head: log P(the first text comes first) - log P(they were swapped).

    Label 0 means that the texts stand in their order."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        if not hasattr(loaded.model, "sop_classifier"):
            raise ModelError(
                f"{loaded.identity} has no sentence-order head; name an ALBERT checkpoint that was pre-trained"
            )
        self.labels = ("order",)

    @torch.inference_mode()
    def _run(self, batch: Sequence[tuple[Framed, Pair]]) -> list[NDArray[np.float32]]:
        # Past the vocabulary head, which the whole model would compute for every position.
        pooled = self._loaded.model.albert(**self._inputs([framed for framed, _ in batch])).pooler_output
        found = self._loaded.model.sop_classifier(pooled).float().cpu().numpy()
        return [np.array([float(row[0]) - float(row[1])]) for row in found]


SUPPORTED = 0
"""The released class order of CTC-D: 0 is "OK", 1 "BAD". The paper's text has 1 for aligned."""


class TorchTokenTagger(TorchPairs):
    """CTC-D: how probable class 0 is of each word of the first text beside the second.

    A word is the sum of its tokens' last-layer vectors; one linear layer gives its classes."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self.labels = ()
        self._head: Foreign = getattr(loaded.model, "classifier", None)
        if self._head is None:
            raise ModelError(f"{loaded.identity} has no classifier over tokens; it is not a token tagger")
        # The tensors of BERT's two heads have the same names and shapes.
        if any("SequenceClassification" in name for name in loaded.config.architectures or ()):
            raise ModelError(f"{loaded.identity} classifies whole texts; it is not a token tagger")

    def _score(self, pairs: list[Pair], limits: Limits) -> list[PairScore]:
        framed = [self._framed(pair, limits) for pair in pairs]
        owners = [self._owners(first, one) for (first, _), one in zip(pairs, framed, strict=True)]
        jobs = list(zip(framed, owners, strict=True))
        rows = in_batches(jobs, [len(one.ids) for one in framed], TOKEN_BUDGET, self._tagged)
        results = []
        for one, (spans, _), probabilities in zip(framed, owners, rows, strict=True):
            starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
            results.append(PairScore({}, one.cut, starts, ends, probabilities[:, SUPPORTED]))
        return results

    def _owners(self, text: str, framed: Framed) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
        size = framed.first.stop - framed.first.start
        pieces = self._loaded.subwords.split(text)[framed.skipped : framed.skipped + size]
        return words_of(text, pieces, framed.cut[0] > framed.skipped)

    @torch.inference_mode()
    def _tagged(
        self, jobs: list[tuple[Framed, tuple[list[tuple[int, int]], NDArray[np.int64]]]]
    ) -> list[NDArray[np.float32]]:
        states = self._loaded.model.base_model(**self._inputs([framed for framed, _ in jobs])).last_hidden_state
        results = []
        for state, (framed, (spans, owner)) in zip(states, jobs, strict=True):
            seen = self._loaded.tensor(owner)
            inside = seen >= 0
            features = torch.zeros(len(spans), state.shape[-1], device=state.device)
            features.index_add_(0, seen[inside], state[framed.first][inside])
            results.append(torch.softmax(self._head(features).float(), -1).cpu().numpy())
        return results
