"""Heads over one text or two: classes of the whole, classes of each word, one number, and which of two comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.batching import in_batches, once_each
from quintet.models.passes import padded
from quintet.models.roles import FIRST_WHOLE, WHOLE, Limits, Logits, Pair, Value, WordClasses
from quintet.models.subwords import Frame, Framed, words_of
from quintet.models.torch_backend import TOKEN_BUDGET, Loaded


class _PairModel:
    """Frames pairs, runs them in batches of similar length and gives each its own row of the output."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.identity, self.max_tokens = loaded.identity, loaded.max_tokens
        self._frame = Frame.of(loaded.subwords, loaded.model_type)
        self._typed = int(getattr(loaded.config, "type_vocab_size", 0) or 0) > 1

    def _framed(self, pair: Pair, limits: Limits) -> Framed:
        first, second = pair
        split = self._loaded.subwords.split
        return self._frame.put(split(first), None if second is None else split(second), limits, self.max_tokens)

    def _inputs(self, batch: Sequence[Framed]) -> dict[str, torch.Tensor]:
        ids, mask = padded([framed.ids for framed in batch], self._loaded.pad)
        inputs = {"input_ids": self._loaded.tensor(ids), "attention_mask": self._loaded.tensor(mask)}
        if self._typed:
            inputs["token_type_ids"] = self._loaded.tensor(padded([framed.types for framed in batch])[0])
        return inputs

    @torch.inference_mode()
    def _whole(self, batch: Sequence[Framed], output: str = "logits") -> list[NDArray[np.float32]]:
        return list(self._loaded.model(**self._inputs(batch))[output].float().cpu().numpy())

    def _rows(self, pairs: Sequence[Pair], limits: Limits, output: str = "logits") -> list[Logits]:
        def run(distinct: list[Pair]) -> list[Logits]:
            framed = [self._framed(pair, limits) for pair in distinct]
            lengths = [len(one.ids) for one in framed]
            rows = in_batches(framed, lengths, TOKEN_BUDGET, lambda batch: self._whole(batch, output))
            return [Logits(row, one.cut) for row, one in zip(rows, framed, strict=True)]

        return once_each(list(pairs), run)


class TorchPairClassifier(_PairModel):
    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self.labels = int(loaded.config.num_labels)

    def logits(self, pairs: Sequence[Pair], limits: Limits = WHOLE, order: Literal["ab", "ba"] = "ab") -> list[Logits]:
        if order == "ab":
            return self._rows(pairs, limits)
        swapped: list[Pair] = [(first, None) if second is None else (second, first) for first, second in pairs]
        found = self._rows(swapped, limits)
        return [
            one if second is None else Logits(one.values, (one.cut[1], one.cut[0]))
            for one, (_, second) in zip(found, pairs, strict=True)
        ]


class TorchRegressor(_PairModel):
    """A head with one output (CTC-R: the pooled pair through one linear layer)."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        if loaded.config.num_labels != 1:
            raise ModelError(f"{loaded.identity} has {loaded.config.num_labels} outputs; a regressor has one")

    def values(self, pairs: Sequence[Pair], limits: Limits = WHOLE) -> list[Value]:
        return [Value(float(row.values[0]), row.cut) for row in self._rows(pairs, limits)]


class TorchSentenceOrder(_PairModel):
    """ALBERT's sentence-order head: label 0 means that the texts stand in their order."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        if not hasattr(loaded.model, "sop_classifier"):
            raise ModelError(
                f"{loaded.identity} has no sentence-order head; name an ALBERT checkpoint that was pre-trained"
            )

    def log_odds(self, pairs: Sequence[tuple[str, str]], limits: Limits = WHOLE) -> list[Value]:
        rows = self._rows(list(pairs), limits, "sop_logits")
        return [Value(float(row.values[0]) - float(row.values[1]), row.cut) for row in rows]

    @torch.inference_mode()
    def _whole(self, batch: Sequence[Framed], output: str = "sop_logits") -> list[NDArray[np.float32]]:
        # Past the vocabulary head, which the whole model would compute for every position.
        pooled = self._loaded.model.albert(**self._inputs(batch)).pooler_output
        return list(self._loaded.model.sop_classifier(pooled).float().cpu().numpy())


class TorchTokenTagger(_PairModel):
    """CTC-D: a word is the sum of its tokens' last-layer vectors; one linear layer gives its classes."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self.labels = int(loaded.config.num_labels)
        self._head: Any = getattr(loaded.model, "classifier", None)
        if self._head is None:
            raise ModelError(f"{loaded.identity} has no classifier over tokens; it is not a token tagger")
        # The tensors of BERT's two heads have the same names and shapes.
        if any("SequenceClassification" in name for name in loaded.config.architectures or ()):
            raise ModelError(f"{loaded.identity} classifies whole texts; it is not a token tagger")

    def tag(self, pairs: Sequence[Pair], limits: Limits = FIRST_WHOLE) -> list[WordClasses]:
        return once_each(list(pairs), lambda distinct: self._tag(distinct, limits))

    def _tag(self, pairs: list[Pair], limits: Limits) -> list[WordClasses]:
        framed = [self._framed(pair, limits) for pair in pairs]
        owners = [self._owners(first, one) for (first, _), one in zip(pairs, framed, strict=True)]
        jobs = list(zip(framed, owners, strict=True))
        rows = in_batches(jobs, [len(one.ids) for one in framed], TOKEN_BUDGET, self._run)
        results = []
        for (first, _), one, (spans, _), probabilities in zip(pairs, framed, owners, rows, strict=True):
            starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
            results.append(WordClasses(first, starts, ends, probabilities, one.cut))
        return results

    def _owners(self, text: str, framed: Framed) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
        size = framed.first.stop - framed.first.start
        pieces = self._loaded.subwords.split(text)[framed.skipped : framed.skipped + size]
        return words_of(text, pieces, framed.cut[0] > framed.skipped)

    @torch.inference_mode()
    def _run(
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
