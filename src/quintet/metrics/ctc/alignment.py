"""align(a -> b): how well each unit of text a is grounded in text b (CTC section 3.1)."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.score import Span
from quintet.text.content_words import is_stopword

Aggregate = Literal["mean", "sum"]
NO_GROUNDS = "nothing to align with"
_MARKS = string.punctuation


@dataclass(frozen=True, eq=False)
class Alignment:
    """Units are tokens (E), words (D) or none (R); `best` is the place in b that supports a unit, -1 if unknown."""

    text: str
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    values: NDArray[np.float64]
    best: NDArray[np.int32]
    """(units, 2): first and last character of the supporting word in b."""
    cut_a: int = 0
    cut_b: int = 0
    whole: float | None = None
    """Aligner R: the aggregated value itself."""
    flags: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    """The tokens as the vocabulary writes them (` the`, `##s`), where the units are tokens."""

    @classmethod
    def as_one(cls, text: str, value: float, cut: tuple[int, int] = (0, 0), flags: tuple[str, ...] = ()) -> Alignment:
        """A number for the whole text and nothing about its words."""
        none = np.empty(0, np.int32)
        return cls(text, none, none, np.empty(0), np.empty((0, 2), np.int32), *cut, value, flags)

    def unit(self, index: int) -> str:
        return self.text[self.starts[index] : self.ends[index]]

    def continues(self, index: int) -> bool:
        """Whether a unit carries on the word of the unit before it, as "##s" does."""
        start = int(self.starts[index])
        return index > 0 and start == int(self.ends[index - 1]) and self.text[start - 1 : start + 1].isalnum()

    def by_word(self) -> Alignment:
        """Tokens put together to words: the mean of their values, the support of the best of them."""
        firsts = [i for i in range(len(self.values)) if not self.continues(i)]
        if len(firsts) == len(self.values):
            return self
        edges = list(zip(firsts, [*firsts[1:], len(self.values)], strict=True))
        strongest = [first + int(np.argmax(self.values[first:last])) for first, last in edges]
        return replace(
            self,
            pieces=(),
            starts=self.starts[firsts],
            ends=self.ends[[last - 1 for _, last in edges]],
            values=np.array([self.values[first:last].mean() for first, last in edges]),
            best=self.best[strongest],
        )

    def content(self) -> NDArray[np.bool_]:
        """Units that are neither English stop words nor punctuation; a piece inside a word never is one.

        Words of aligner D carry their marks ("it."), which are looked past.
        """
        units = [self.unit(i).replace("\u2019", "'") for i in range(len(self.values))]
        bare = [unit.strip().strip(_MARKS) or unit for unit in units]
        listed = [is_stopword(unit) and not self.continues(i) for i, unit in enumerate(bare)]
        marks = [not any(c.isalnum() for c in unit) for unit in units]
        return ~(np.array(listed, bool) | np.array(marks, bool))

    def listed(self, stripped: bool) -> NDArray[np.bool_]:
        """Units on the list of stop words as the released code looks them up: each piece by itself, even one inside a
        word ("do" in "undo" for RoBERTa, whose pieces inside a word carry no mark; BERT's "##do" is not on the list).
        Not `stripped`: " the" is not "the", so only a piece without its blank is found."""
        # As written in the output, while the released code has made its apostrophes straight before.
        units = self.pieces or [self.unit(i).replace("’", "'") for i in range(len(self.values))]
        return np.array([is_stopword(unit) and (stripped or unit == unit.strip()) for unit in units], bool)

    def aggregate(self, how: Aggregate, keep: NDArray[np.bool_] | None = None) -> float:
        """Mean or sum over the kept units; over none it is 0, as in the released package."""
        if self.whole is not None:
            return self.whole
        values = self.values if keep is None or len(self.values) == 0 else self.values[keep]
        if len(values) == 0:
            return 0.0
        return float(values.mean() if how == "mean" else values.sum())

    def word_spans(
        self, support: str, keep: NDArray[np.bool_] | None = None, field: str = "output", offset: int = 0
    ) -> tuple[Span, ...]:
        """Evidence by word: the mean of its units, and where field `support` backs the best of them.

        `field` is the one that text a stands in, `offset` where it begins there.
        """
        spans = []
        first = 0
        for index in range(1, len(self.values) + 1):
            if index < len(self.values) and self.continues(index):
                continue
            if keep is None or keep[first:index].any():
                strongest = first + int(np.argmax(self.values[first:index]))
                start, end = (int(v) for v in self.best[strongest])
                spans.append(
                    Span(
                        offset + int(self.starts[first]),
                        offset + int(self.ends[index - 1]),
                        round(float(self.values[first:index].mean()), 4),
                        field=field,
                        other=(support, start, end) if start >= 0 else None,
                    )
                )
            first = index
        return tuple(spans)


# CTC's tables: which model serves which pair of texts, how facts are written, and bert_score's baselines.

Relation = Literal["doc_to_summ", "summ_to_ref", "sent_to_sent", "fact_to_response", "fact_history_to_response"]
"""The released names, "context to text": doc_to_summ is align(summary -> document). In summ_to_ref the scored text is
the reference and the context is the summary."""

TRAINED_ON: Mapping[Relation, Aggregate] = {
    "doc_to_summ": "mean",
    "summ_to_ref": "mean",
    "sent_to_sent": "mean",
    "fact_to_response": "sum",
    "fact_history_to_response": "sum",
}
"""What aligner R was trained to predict."""

DEFAULT_MODELS = {"E": "bundled:gte-small", "D": "bundled:evaluator", "R": "bundled:evaluator#{relation}"}
"""`{relation}` in the name of a model is replaced by the relation, where there is one model (or head) for each. For R
the bundled evaluator lends the head that comes nearest: a probability, never a sum."""

FactForm = Literal["plain", "lines", "persona", "prefix", "trained"]
"""How a fact is written before it is aligned with.

trained: plain for E, lines for D and R, prefix in mode paper. plain: as it stands (the package). lines: each line after
`fact: `, none at all as `nofact` (Topical-Chat training data). persona: each line after `your persona: `. prefix: one
`fact: ` before everything but a persona (the paper's test script).
"""

LINE_PREFIX: Mapping[FactForm, str] = {"lines": "fact: ", "persona": "your persona: "}
WHOLE_PREFIX: Mapping[FactForm, str] = {"prefix": "fact: "}
EMPTY_FACT: Mapping[FactForm, str] = {"lines": "nofact"}

NO_FACT = frozenset({"_nofact", "nofact"})
"""What stands in Topical-Chat data where there is no fact (48 of its 360 rated responses)."""
BETWEEN = "\n\n\n"
"""Between fact and history."""

BERT_SCORE_BASELINES: Mapping[tuple[str, int], float] = {
    ("roberta-large", 17): 0.83122575,
    ("bert-base-uncased", 9): 0.35219112,
    ("roberta-large-mnli", 9): 0.76359564,
}
"""F of unrelated English sentences, by model and layer; the package subtracts it on request."""
