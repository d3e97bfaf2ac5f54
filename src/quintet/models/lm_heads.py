"""Heads on the states x of a language model that has just read a text and a line break: what it says about the text.

    words  = tok · x, for each token of the text
    pooled = tanh(pool · [x at the line break; mean of x over the text and the line break])
    heads  = heads · pooled          entailment = softmax(nli · pooled)

Tensors `pool`, `heads`, `nli` and `tok`, each `.weight` (out, in) and `.bias`, in a file beside the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.folder import HEADS, Description
from quintet.models.packed_weights import read_all
from quintet.models.roles import PairScore
from quintet.models.subwords import Pieces

Numbers = NDArray[np.float32]

ENTAILMENT, WORDS = "nli", "words"
"""Heads that are no questions."""


def shapes(width: int, questions: int) -> dict[str, tuple[int, ...]]:
    """Of the tensors, by name."""
    rows = {"pool": (width, 2 * width), "heads": (questions, width), "nli": (3, width), "tok": (1, width)}
    return {
        **{f"{name}.weight": shape for name, shape in rows.items()},
        **{f"{name}.bias": shape[:1] for name, shape in rows.items()},
    }


def check(tensors: Mapping[str, Numbers], width: int, questions: Sequence[str], taught: Sequence[str]) -> None:
    """Refuses tensors that do not fit one another, and lessons in heads that there are none of."""
    for name, shape in shapes(width, len(questions)).items():
        if name not in tensors or tensors[name].shape != shape:
            found = tensors[name].shape if name in tensors else "missing"
            raise ModelError(f"the heads of the language model: {name} should be {shape} and is {found}")
    strange = sorted(set(taught) - {*questions, ENTAILMENT, WORDS})
    if strange:
        raise ModelError(f"the language model has no head {strange[0]!r} that could have been taught")


@dataclass(frozen=True, eq=False)
class Heads:
    tensors: Mapping[str, Numbers]
    questions: tuple[str, ...]
    """Those that were taught, and their rows in `tensors`."""
    rows: tuple[int, ...]

    @staticmethod
    def of(folder: Path, description: Description) -> Heads | None:
        """None: the model has learnt no heads."""
        if not description.taught:
            return None
        tensors = read_all(folder / HEADS)
        check(tensors, description.width, description.questions, description.taught)
        rows = tuple(row for row, name in enumerate(description.questions) if name in description.taught)
        return Heads(tensors, tuple(description.questions[row] for row in rows), rows)

    def judge(self, own: Pieces, states: Numbers, cut: int) -> PairScore:
        """`states` (tokens of the text and the line break, width); `cut`: tokens of the context not seen."""
        mean = states.mean(axis=0, dtype=np.float64).astype(np.float32)
        pooled = np.tanh(self._linear("pool", np.concatenate([states[-1], mean])))
        logits = self._linear("heads", pooled)
        return PairScore(
            {name: float(logits[row]) for name, row in zip(self.questions, self.rows, strict=True)},
            (0, cut),
            own.starts,
            own.ends,
            _sigmoid(_sums(states[:-1], self.tensors["tok.weight"][0]) + self.tensors["tok.bias"]),
            _softmax(self._linear("nli", pooled)),
        )

    def _linear(self, name: str, x: Numbers) -> Numbers:
        return _sums(self.tensors[f"{name}.weight"], x) + self.tensors[f"{name}.bias"]


def _sums(rows: Numbers, x: Numbers) -> Numbers:
    """Each row times x, as plain sums of products: a library of linear algebra may add in another order elsewhere."""
    return np.asarray((rows * x).sum(axis=-1), np.float32)


def _sigmoid(logits: Numbers) -> Numbers:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)), np.float32)


def _softmax(logits: Numbers) -> Numbers:
    raised = np.exp(logits - logits.max())
    return np.asarray(raised / raised.sum(), np.float32)
