"""BLEU, chrF and TER per example, as sacrebleu computes them, on sacrebleu's scale of 0 to 100."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.core.stopping import checkpoint
from quintet.metrics.baselines import references as coco
from quintet.metrics.baselines.references import no_reference, references
from quintet.text.overlap import edit_distance

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU, CHRF, TER

LONG = 150
"""Words, beyond which TER does not look for shifts."""

# sacrebleu is imported when first used: listing metrics must stay quick.


@dataclass(frozen=True)
class Bleu(Metric):
    """Papineni et al. 2002 on single sentences; orders without any n-gram in the output are left out."""

    order: int = 4
    smoothing: Literal["exp", "floor", "add-k", "none"] = "exp"
    """exp (Chen & Cherry's method 3, sacrebleu's default): each further order without a match halves the precision."""
    smoothing_value: float | None = None
    """For floor (0.1) and add-k (1)."""
    tokenizer: str = "13a"
    lowercase: bool = False
    protocol: Literal["sacrebleu", "coco"] = "sacrebleu"
    """coco: as nlg-eval computes it, which USR's tables quote; smoothing, tokenizer and lower case are then its own."""

    name = "bleu"
    paper = "Papineni et al. 2002; Post 2018"
    dimensions = (
        Dimension("bleu", "How many n-grams does the output share with the references?", ("references",), high=100.0),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        if self.protocol == "coco":
            return [{"bleu": self._coco(example)} for example in examples]
        scorer = _bleu(self)
        return [{"bleu": self._score_one(scorer, example)} for example in examples]

    def _score_one(self, scorer: BLEU, example: Example) -> Score:
        known = [reference.text for reference in references(example)]
        if not known:
            return no_reference(0.0)
        found = scorer.sentence_score(example.output, known)
        parts = {f"precision-{n}": float(p) for n, p in enumerate(found.precisions, 1)}
        # Rounding lets a perfect match exceed 100 by 1e-14.
        return Score(min(float(found.score), 100.0), parts={**parts, "brevity": float(found.bp)})

    def _coco(self, example: Example) -> Score:
        known = [reference.text for reference in references(example)]
        if not known:
            return no_reference(0.0)
        value, precisions, brevity = coco.bleu(example.output, known, self.order)
        parts = {f"precision-{n}": 100.0 * p for n, p in enumerate(precisions, 1)}
        return Score(100.0 * value, parts={**parts, "brevity": brevity})


@dataclass(frozen=True)
class Chrf(Metric):
    """Popović 2015: F-score over character n-grams; with `word_order` 2 it is chrF++."""

    char_order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False
    whitespace: bool = False

    name = "chrf"
    paper = "Popović 2015"
    dimensions = (
        Dimension("chrf", "How many character n-grams are shared with a reference?", ("references",), high=100.0),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"chrf": _value(_chrf(self), example, worst=0.0)} for example in examples]


@dataclass(frozen=True)
class Ter(Metric):
    """Snover et al. 2006: edits and shifts that turn the output into a reference, per 100 reference words."""

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = False

    name = "ter"
    paper = "Snover et al. 2006"
    dimensions = (
        Dimension("ter", "How much editing would the output need?", ("references",), high=None, higher_is_better=False),
    )

    version = 2
    """2: without shifts where texts are long."""

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"ter": self._score_one(example)} for example in examples]

    def _score_one(self, example: Example) -> Score:
        checkpoint()
        known = [reference.text for reference in references(example)]
        if max((len(text.split()) for text in (example.output, *known)), default=0) <= LONG:
            return _value(_ter(self), example, worst=100.0)
        return self._without_shifts(example.output, known) if known else no_reference(100.0)

    def _without_shifts(self, output: str, known: Sequence[str]) -> Score:
        """Edits alone: the search for shifts takes longer with the cube of the length, edits in C hardly any time."""
        words, *of_references = (_ter(self)._preprocess_segment(text).split() for text in (output, *known))
        fewest = min(edit_distance(words, reference) for reference in of_references)
        mean = sum(map(len, of_references)) / len(of_references)
        flag = f"long: more than {LONG} words, so shifts were counted as edits"
        return Score(100.0 * fewest / mean if mean else 100.0 * bool(fewest), flags=(flag,))

    def _score_empty(self, example: Example) -> Row:
        # Every reference word has to be inserted.
        return {"ter": Score(100.0, flags=(EMPTY_OUTPUT,))}


def _value(scorer: CHRF | TER, example: Example, worst: float) -> Score:
    known = [reference.text for reference in references(example)]
    return Score(float(scorer.sentence_score(example.output, known).score)) if known else no_reference(worst)


@lru_cache
def _bleu(metric: Bleu) -> BLEU:
    from sacrebleu.metrics import BLEU

    return BLEU(
        lowercase=metric.lowercase,
        tokenize=metric.tokenizer,
        smooth_method=metric.smoothing,
        smooth_value=metric.smoothing_value,
        max_ngram_order=metric.order,
        effective_order=True,
    )


@lru_cache
def _chrf(metric: Chrf) -> CHRF:
    from sacrebleu.metrics import CHRF

    return CHRF(
        char_order=metric.char_order,
        word_order=metric.word_order,
        beta=metric.beta,
        lowercase=metric.lowercase,
        whitespace=metric.whitespace,
    )


@lru_cache
def _ter(metric: Ter) -> TER:
    from sacrebleu.metrics import TER

    return TER(
        normalized=metric.normalized,
        no_punct=metric.no_punct,
        asian_support=metric.asian_support,
        case_sensitive=metric.case_sensitive,
    )
