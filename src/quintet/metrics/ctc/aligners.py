"""What every aspect of CTC shares: the aligner (E, D or R), what is left out, and how units become one number."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.plain import JsonObject
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.errors import ModelError
from quintet.metrics.ctc.alignment import DEFAULT_MODELS, NO_GROUNDS, TRAINED_ON, Aggregate, Alignment, Relation
from quintet.metrics.long_texts import Slice, Sliced, in_slices
from quintet.metrics.role_metric import BERT_SCORE_LAYERS, BY_NAME, EncoderMetric
from quintet.models import catalog
from quintet.models.open import identity, open_model, split
from quintet.models.roles import FIRST_WHOLE, WHOLE, Limits, PairModel, PairScore, TokenVectors

# The mean token vector of an encoder, kept in its folder as means.npy (one row per layer).

NAME = "means.npy"


def token_mean(spec: str, layer: int) -> NDArray[np.float32] | None:
    """The mean at `layer`; None for a model that comes without one, which is then used as it is, and for the table of
    words, whose mean says how frequent words are written."""
    if layer == 0:
        return None
    kind, name = split(spec)
    if kind not in ("bundled", "dir"):
        return None
    folder = catalog.entry(name).folder if kind == "bundled" else Path(name).expanduser()
    means = _read(folder / NAME)
    return None if means is None else means[layer]


@lru_cache(maxsize=16)
def _read(path: Path) -> NDArray[np.float32] | None:
    if not path.exists():
        return None
    try:
        means: NDArray[np.float32] = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error}); remove it or build it again") from None
    return means


# Aligner E, embedding matching: a unit is as aligned as its best cosine in the other text (CTC section 3.2).

UNKNOWN_WORDS = "most of the text is unknown to the model"
_BLOCK = 4096
"""Columns of the cosine matrix held at once, so that a text of a megabyte fits in memory."""


def align_vectors(a: TokenVectors, b: TokenVectors, mean: NDArray[np.float32] | None = None) -> Alignment:
    """Special tokens take no part. A text without tokens aligns with nothing: 0 for every unit.

    `mean` is taken away from every vector first: the vectors of one model point nearly the same way.
    """
    inner_a, inner_b = a.inner, b.inner
    values = np.full(len(inner_a), -np.inf)
    best = np.full(len(inner_a), -1, np.int64)
    if len(inner_b) == 0:
        values = np.zeros(len(inner_a))
    elif len(inner_a):
        left = _unit_length(inner_a.vectors, mean)
        for start in range(0, len(inner_b), _BLOCK):
            cosines = left @ _unit_length(inner_b.vectors[start : start + _BLOCK], mean).T
            _part_strangers(cosines, inner_a, inner_b, start)
            winner = cosines.argmax(axis=1)
            top = cosines[np.arange(len(left)), winner]
            better = top > values
            values[better], best[better] = top[better], start + winner[better]
    support = np.full((len(inner_a), 2), -1, np.int32)
    found = best >= 0
    support[found, 0], support[found, 1] = inner_b.starts[best[found]], inner_b.ends[best[found]]
    flags = () if len(inner_b) else (NO_GROUNDS,)
    if inner_a.unknown is not None and inner_a.unknown.sum() > len(inner_a) / 2:
        flags = (*flags, UNKNOWN_WORDS)
    clipped = np.clip(values, -1.0, 1.0)
    return Alignment(
        a.text, inner_a.starts, inner_a.ends, clipped, support, a.cut, b.cut, flags=flags, pieces=inner_a.pieces
    )


def _part_strangers(cosines: NDArray[np.float32], a: TokenVectors, b: TokenVectors, start: int) -> None:
    """Two words the vocabulary does not have look the same to the model: they match only if they are the same."""
    if a.unknown is None or b.unknown is None:
        return
    columns = np.flatnonzero(b.unknown[start : start + _BLOCK])
    if not len(columns):
        return
    there = [b.token(start + int(column)) for column in columns]
    for row in np.flatnonzero(a.unknown):
        here = a.token(int(row))
        cosines[row, columns[[word != here for word in there]]] = 0.0


def _unit_length(vectors: NDArray[np.float32], mean: NDArray[np.float32] | None) -> NDArray[np.float32]:
    vectors = vectors if mean is None else vectors - mean
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms == 0.0, 1.0, norms)).astype(np.float32)


# What aligner D does to a text before it reads it, with the way back to the characters as they were.

_STRAIGHT = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}


@dataclass(frozen=True, slots=True)
class Cleaned:
    text: str
    places: tuple[int, ...]
    """For each character of `text`: where it stood before."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """text[start:end] in the original."""
        return (self.places[start], self.places[end - 1] + 1) if end > start else (0, 0)


def clean(text: str) -> Cleaned:
    """Straight quotes, one blank between words, line breaks kept, case folded, ends stripped (as CTC's package)."""
    characters: list[str] = []
    places: list[int] = []
    blank = -1
    for place, character in enumerate(text):
        if character == "\n":
            characters.append(character)
            places.append(place)
            blank = -1
        elif character.isspace():
            blank = place if blank < 0 else blank
        else:
            if blank >= 0 and characters and characters[-1] != "\n":
                characters.append(" ")
                places.append(blank)
            blank = -1
            folded = _STRAIGHT.get(character, character).casefold()
            characters += folded
            places += [place] * len(folded)
    first = next((i for i, c in enumerate(characters) if c != "\n"), len(characters))
    last = next((i for i in range(len(characters), first, -1) if characters[i - 1] != "\n"), first)
    return Cleaned("".join(characters[first:last]), tuple(places[first:last]))


# Aligner D, a tagger: a word is as aligned as the model finds it probable (CTC section 3.5, released package).

RELEASED_GIVES_NONE = "the released package gives no score here: line break in the text that is scored"
PACKAGE = Limits(total=512, strategy="only_second", first=255)
"""The first 256 ids of the candidate, `<s>` among them; then the context is shortened, its last `</s>` kept."""
PAPER = Limits(total=512, strategy="only_second", first=255, closed=False)
"""The paper's scripts cut the ids of the whole pair at 512: the last `</s>` goes, one more token stays."""
_FRAME = 4
_WORD = re.compile(r"\S+")

Pair = tuple[str, str]


def align_tags(
    model: PairModel, pairs: Sequence[Pair], limits: Limits | None = None, released: bool = False
) -> list[Alignment]:
    """One alignment per pair (a, b); without `limits` long texts are read in slices and nothing is lost.

    A word's value is then the highest that any slice of b gives it. `released` flags what the package refuses.
    """
    cleaned = {text: clean(text) for pair in pairs for text in pair}
    asked = [(cleaned[a].text, cleaned[b].text) for a, b in pairs]
    jobs = list(dict.fromkeys((a, b) for a, b in asked if a and b))
    if limits is None:
        found = in_slices(
            jobs,
            lambda inputs: model.score([(texts[0], texts[1]) for texts in inputs], FIRST_WHOLE),
            lambda result: sum(result.cut),
            model.max_tokens - _FRAME,
            (True, True),
        )
    else:
        results = model.score(jobs, limits) if jobs else []
        found = [Sliced(tuple((_everything(t),) for t in j), (r,)) for j, r in zip(jobs, results, strict=True)]
    by_job = dict(zip(jobs, found, strict=True))
    alignments = []
    for (a, _), job in zip(pairs, asked, strict=True):
        flags = (RELEASED_GIVES_NONE,) if released and "\n" in job[0] else ()
        alignments.append(_alignment(a, cleaned[a], by_job[job], flags) if job in by_job else _unaligned(a, job[1]))
    return alignments


def _everything(text: str) -> Slice:
    return Slice(0, len(text), 0, len(text))


def _alignment(original: str, cleaned: Cleaned, read: Sliced[PairScore], flags: tuple[str, ...]) -> Alignment:
    spans: list[tuple[int, int]] = []
    values: list[float] = []
    cut_a = cut_b = 0
    for own, results in read.by_first():
        words = results[0]
        best = _highest(results)
        for start, end, value in zip(words.starts.tolist(), words.ends.tolist(), best.tolist(), strict=False):
            place = own.start + start
            if own.first <= place < own.last:
                spans.append(cleaned.span(place, own.start + end))
                values.append(value)
        cut_a += max(result.cut[0] for result in results)
        cut_b = max(cut_b, *(result.cut[1] for result in results))
    starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
    unknown = np.full((len(values), 2), -1, np.int32)
    return Alignment(original, starts, ends, np.array(values, np.float64), unknown, cut_a, cut_b, flags=flags)


def _highest(results: Sequence[PairScore]) -> NDArray[np.float64]:
    """Per word over the slices of b; a slice that had to cut a speaks for the words it saw."""
    best = np.zeros(max(len(result.starts) for result in results))
    for result in results:
        seen = len(result.starts)
        best[:seen] = np.maximum(best[:seen], result.support)
    return best


def _unaligned(text: str, context: str) -> Alignment:
    """A text without words, or with nothing to look at: every word is 0."""
    spans = [match.span() for match in _WORD.finditer(text)]
    starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
    unknown = np.full((len(spans), 2), -1, np.int32)
    flags = () if context else (NO_GROUNDS,)
    return Alignment(text, starts, ends, np.zeros(len(spans)), unknown, flags=flags)


# Aligner R, a regressor: the aggregated alignment of a pair as one number (CTC section 3.5, released package).

REGRESSION_PACKAGE = Limits(total=512)
_REGRESSION_FRAME = 3


def align_values(
    model: PairModel, pairs: Sequence[Pair], limits: Limits | None, aggregate: Aggregate, a_first: bool
) -> list[Alignment]:
    """One number per pair (a, b), the context b in the first slot unless `a_first`.

    Without `limits`, long texts are read in slices: the best slice of b counts; slices of a are added up where the
    model was trained on sums, and averaged by their length where it was trained on means.
    """
    usable = list(dict.fromkeys(pair for pair in pairs if pair[0].strip() and pair[1].strip()))
    if limits is None:
        read = in_slices(
            usable,
            lambda inputs: _ask(model, [(texts[0], texts[1]) for texts in inputs], WHOLE, a_first),
            lambda value: sum(value.cut),
            model.max_tokens - _REGRESSION_FRAME,
            (False, True),
        )
        found = {pair: _combined(pair[0], one, aggregate) for pair, one in zip(usable, read, strict=True)}
    else:
        values = _ask(model, usable, limits, a_first)
        found = {pair: Alignment.as_one(pair[0], one.value, one.cut) for pair, one in zip(usable, values, strict=True)}
    return [
        found[pair] if pair in found else Alignment.as_one(pair[0], 0.0, flags=() if pair[1].strip() else (NO_GROUNDS,))
        for pair in pairs
    ]


def _ask(model: PairModel, pairs: Sequence[Pair], limits: Limits, a_first: bool) -> list[PairScore]:
    """Values with what was cut of a and of b, in this order."""
    if not pairs:
        return []
    if a_first:
        return list(model.score(list(pairs), limits))
    found = model.score([(b, a) for a, b in pairs], limits)
    return [PairScore(one.logits, (one.cut[1], one.cut[0])) for one in found]


def _combined(text: str, read: Sliced[PairScore], aggregate: Aggregate) -> Alignment:
    total = weights = 0.0
    cut_a = cut_b = 0
    for own, results in read.by_first():
        weight = float(len(text[own.start : own.end].split())) if aggregate == "mean" else 1.0
        total += weight * max(result.value for result in results)
        weights += weight
        cut_a += max(result.cut[0] for result in results)
        cut_b = max(cut_b, *(result.cut[1] for result in results))
    return Alignment.as_one(text, total / weights if aggregate == "mean" else total, (cut_a, cut_b))


Aligner = Literal["E", "D", "R"]
Mode = Literal["quintet", "package", "paper"]
StopWords = Literal["keep", "drop", "drop-listed", "drop-unstripped"]

UNBOUNDED = -float("inf")
_ROLES: Mapping[Aligner, str] = {"E": "embedder", "D": "token-tagger", "R": "regressor"}
_UNUSED: Mapping[Aligner, frozenset[str]] = {
    "E": frozenset(),
    "D": frozenset({"layer", "center", "unit"}),
    "R": frozenset({"layer", "center", "unit", "stopwords", "aggregate"}),
}
"""Parameters that an aligner does not look at and that its signature therefore leaves out."""


@dataclass(frozen=True)
class CtcMetric(EncoderMetric):
    layer: int = BY_NAME
    """-1: bert_score's choice by the name of the model, as in the paper (9 for roberta-large-mnli, though); for other
    models 12, as validation sets prefer the last layer once the mean is taken away, and 9 in modes package, paper."""
    center: bool = True
    """Takes the model's mean token vector away before cosines, which else all lie near 1. The paper does not."""
    stopwords: StopWords = "keep"
    """drop: stop words and punctuation; drop-listed: stop words only, piece by piece, as released; drop-unstripped: the
    paper's run compared " the" with "the", so RoBERTa kept its stop words but for pieces without a blank."""
    aggregate: Aggregate = "mean"
    unit: Literal["word", "subword"] = "word"
    """What aligner E counts. The paper counts tokens, so that a rare word of five pieces weighs as much as five."""
    aligner: Aligner = "E"
    """E: best cosine in the other text; D: a tagger of words; R: one number per pair, past `aggregate`, `stopwords`."""
    mode: Mode = "quintet"
    """package, paper: as the authors' package or the paper's scripts did; both set center, unit, long, stopwords."""

    paper: ClassVar[str] = "Deng, Tan et al. 2021"
    aspects: ClassVar[tuple[Dimension, ...]]
    relations: ClassVar[tuple[Relation, ...]]
    layers_by_name: ClassVar[Mapping[str, int]] = {**BERT_SCORE_LAYERS, "roberta-large-mnli": 9}

    def __post_init__(self) -> None:
        # Settled once, so that parameters and signature show what is really done.
        settled: JsonObject = {}
        if self.aligner != "E" and self.model == DEFAULT_MODELS["E"]:
            settled["model"] = DEFAULT_MODELS[self.aligner]
        if self.mode != "quintet":
            settled.update(center=False, long="cut", unit="subword")
            if self.stopwords == "drop":
                settled["stopwords"] = "drop-unstripped" if self.mode == "paper" else "drop-listed"
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        super().__post_init__()

    @property
    def usual_layer(self) -> int:  # type: ignore[override]
        return 12 if self.mode == "quintet" else 9

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        if self.aligner != "R":
            return self.aspects
        # A regressor promises no range.
        return tuple(dataclasses.replace(d, low=UNBOUNDED, high=None) for d in self.aspects)

    @property
    def model_role(self) -> str:
        return _ROLES[self.aligner]

    @property
    def parameters(self) -> JsonObject:
        return {name: value for name, value in super().parameters.items() if name not in _UNUSED[self.aligner]}

    def model_identities(self) -> Mapping[str, str]:
        if self.aligner == "E":
            return super().model_identities()
        return {"model": "+".join(dict.fromkeys(identity(self._spec(relation)) for relation in self.relations))}

    def prepare(self) -> None:
        if self.aligner == "E":
            super().prepare()
            return
        for relation in self.relations:
            open_model(self._spec(relation), self.model_role)

    def _spec(self, relation: Relation) -> str:
        return self.model.replace("{relation}", relation)

    def _align(self, pairs: Sequence[Pair], relation: Relation) -> list[Alignment]:
        """align(a -> b) for each pair (a, b)."""
        if self.aligner == "D":
            model = open_model(self._spec(relation), self.model_role)
            return align_tags(model, pairs, self._word_limits(), self.mode != "quintet")
        if self.aligner == "R":
            model = open_model(self._spec(relation), self.model_role)
            limits = None if self.long == "window" else REGRESSION_PACKAGE
            # A head of the bundled evaluator says how likely, not how many words.
            trained: Aggregate = "mean" if self.model == DEFAULT_MODELS["R"] else TRAINED_ON[relation]
            return align_values(model, pairs, limits, trained, self._a_first(relation))
        vectors = self.embed([text for pair in pairs for text in pair])
        mean = token_mean(self.model, self.layer) if self.center else None
        found = [align_vectors(vectors[a], vectors[b], mean) for a, b in pairs]
        return [alignment.by_word() for alignment in found] if self.unit == "word" else found

    def _word_limits(self) -> Limits | None:
        if self.long == "window":
            return None
        return PAPER if self.mode == "paper" else PACKAGE

    def _a_first(self, relation: Relation) -> bool:
        """The regressor for references saw the scored text in the slot of the context; the package forgets to swap."""
        return relation == "summ_to_ref" and self.mode != "package"

    def _kept(self, alignment: Alignment) -> NDArray[np.bool_] | None:
        if self.stopwords == "keep":
            return None
        if self.stopwords == "drop":
            return alignment.content()
        return ~alignment.listed(stripped=self.stopwords == "drop-listed")

    def _value(self, alignment: Alignment) -> float:
        return alignment.aggregate(self.aggregate, self._kept(alignment))

    def _score_empty(self, example: Example) -> Row:
        # The released package: a sum or mean over no words is 0.
        return {d.name: Score(0.0, flags=(EMPTY_OUTPUT,)) for d in self.dimensions}


def cut_of(**counts: int) -> dict[str, int]:
    return {field: count for field, count in counts.items() if count}


def flags_of(*alignments: Alignment) -> tuple[str, ...]:
    return tuple(dict.fromkeys(flag for alignment in alignments for flag in alignment.flags))


__all__ = ["NO_GROUNDS", "UNBOUNDED", "Aligner", "CtcMetric", "Mode", "Pair", "StopWords", "cut_of", "flags_of"]
