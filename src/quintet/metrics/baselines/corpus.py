"""BLEU, chrF and TER of a whole corpus, as papers report them: sacrebleu's numbers, signatures and paired tests.

A corpus score counts n-grams or edits over all rows first. It is not the mean of the rows' own scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.core.example import Example
from quintet.core.metric import Metric
from quintet.core.parameters import build
from quintet.core.plain import Foreign, JsonObject
from quintet.core.registry import Registry
from quintet.errors import InputError
from quintet.metrics.baselines import sacre

_SACRE = "quintet.metrics.baselines.sacre"

known = Registry()
"""What a corpus can be scored by; parameters as everywhere: `bleu:tokenizer=intl`."""
known.add("bleu", f"{_SACRE}:Bleu")
known.add("chrf", f"{_SACRE}:Chrf")
known.add("chrf++", f"{_SACRE}:Chrf", word_order=2)
known.add("ter", f"{_SACRE}:Ter")

Test = Literal["bootstrap", "randomization"]
_TESTS: Mapping[str, str] = {"bootstrap": "bs", "randomization": "ar"}


@dataclass(frozen=True, slots=True)
class CorpusScore:
    metric: str
    system: str
    score: float
    mean: float
    """Of the bootstrap."""
    interval: float
    """Half of the 95 % interval of the bootstrap."""
    p: float
    """Against the first system; NaN for the first itself."""
    signature: str

    def to_json(self) -> JsonObject:
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in plain.items()}


def corpus_scores(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    test: Test = "bootstrap",
    samples: int = 0,
) -> list[CorpusScore]:
    """By metric, then by system, the first being the baseline of the tests; `references` are those of each row."""
    from sacrebleu.significance import PairedTest, Result

    scorers = {name: corpus_scorer(build(known, name)) for name in metrics}
    most = max(map(len, references), default=0)
    # A row may lack a reference that others have; sacrebleu takes None for it, whatever its annotations say.
    streams: Foreign = [[refs[k] if k < len(refs) else None for refs in references] for k in range(most)]
    if not streams or not all(references):
        raise InputError("a row has no reference", todo="name the column with --columns references=COLUMN")
    found: list[CorpusScore] = []
    for name, scorer in scorers.items():  # one at a time: sacrebleu's own names of chrF and chrF++ may be the same
        confidence = 1000 if test == "randomization" else -1
        paired = PairedTest(list(systems.items()), {name: scorer}, streams, _TESTS[test], samples, confidence)
        signatures, scores = paired()
        (label,) = signatures
        for system, result in zip(systems, scores[label], strict=True):
            if not isinstance(result, Result):  # only the column of names holds texts
                continue
            p, mean, interval = (math.nan if v is None else float(v) for v in (result.p_value, result.mean, result.ci))
            found.append(CorpusScore(name, system, result.score, mean, interval, p, signatures[label].format()))
    return found


def corpus_scorer(metric: Metric) -> Foreign:
    """Sacrebleu's scorer with our metric's parameters; orders that short rows lack count for a corpus."""
    if isinstance(metric, sacre.Bleu) and metric.protocol == "sacrebleu":
        from sacrebleu.metrics import BLEU

        return BLEU(
            lowercase=metric.lowercase,
            tokenize=metric.tokenizer,
            smooth_method=metric.smoothing,
            smooth_value=metric.smoothing_value,
            max_ngram_order=metric.order,
        )
    if isinstance(metric, sacre.Chrf):
        return sacre._chrf(metric)
    if isinstance(metric, sacre.Ter):
        return sacre._ter(metric)
    return None


@dataclass
class CorpusTally:
    """The corpus score of rows that go by, from their counts alone; None for a metric that has no such score."""

    scorer: Foreign
    label: str
    counts: list[object]
    references: set[int]

    @classmethod
    def of(cls, label: str, metric: Metric) -> CorpusTally | None:
        scorer = corpus_scorer(metric)
        return None if scorer is None else cls(scorer, label, [], set())

    def add(self, example: Example) -> None:
        known = [text for text in example.references if text.strip()]
        if known:
            self.counts += self.scorer._extract_corpus_statistics([example.output], [[text] for text in known])
            self.references.add(len(known))

    def line(self) -> str:
        if len(self.counts) < 2:
            return ""
        score = self.scorer._aggregate_and_compute(self.counts).score
        self.scorer.num_refs = next(iter(self.references)) if len(self.references) == 1 else -1
        signature = self.scorer.get_signature().format()
        return f"{self.label} of the corpus: {score:.2f} ({signature}); the mean above is over rows"


def same_references(references: Mapping[str, Mapping[str, Sequence[str]]]) -> tuple[list[str], list[Sequence[str]]]:
    """The ids that all systems have and their references, which must be the same for all."""
    first, *others = references.items()
    ids = list(first[1])
    for name, own in others:
        if set(own) != set(ids):
            alone = len(set(ids) ^ set(own))
            raise InputError(f"{first[0]} and {name} differ in {alone} ids", todo="give files of the same rows")
        wrong = next((id for id in ids if tuple(own[id]) != tuple(first[1][id])), None)
        if wrong is not None:
            raise InputError(f"{first[0]} and {name} have other references for {wrong!r}")
    return ids, [first[1][id] for id in ids]
