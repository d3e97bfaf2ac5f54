"""Contexts and answers held against a reference: precision and recall of the retrieval, correctness of the answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.flags import ABSTAINED
from quintet.core.metric import Row
from quintet.core.score import Score, Span, no_score
from quintet.metrics.rag import features
from quintet.metrics.rag.answers import context_spans, named
from quintet.metrics.rag.support import Pair, RagMetric
from quintet.text.abstention import abstains
from quintet.text.content_words import plain_words
from quintet.text.tokens import Piece

Chances = Mapping[Pair, float]


@dataclass(frozen=True)
class _Against(RagMetric):
    """Subclasses say which pairs they ask about and what they make of the answers."""

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        name = self.dimensions[0].name
        chances = self.chances(pair for example in examples for pair in self._pairs(example))
        return [{name: self._one(example, chances)} for example in examples]

    @abstractmethod
    def _pairs(self, example: Example) -> list[Pair]: ...

    @abstractmethod
    def _one(self, example: Example, chances: Chances) -> Score: ...


def _sentences(text: str) -> list[Piece]:
    return features.pieces(text)


def _references(example: Example) -> list[str]:
    return [text for text in example.references if text.strip()]


def _answering(example: Example) -> list[str]:
    """References that answer; one that says the contexts do not is nothing to look for in them."""
    return [text for text in _references(example) if not abstains(text)]


def _no_reference(example: Example) -> Score:
    return no_score("no answer in the references" if _references(example) else "empty references")


def _best(references: Sequence[str], score: Callable[[str], Score]) -> Score:
    """People write several references for one input; the one that fits best counts."""
    return max((score(reference) for reference in references), key=lambda found: found.value)


@dataclass(frozen=True)
class ContextPrecision(_Against):
    """Average precision over the ranks, with the chance that a context is needed in the place of yes or no.

    A context is needed if it supports a sentence of the reference; without a reference, of the output.
    """

    name = "rag-context-precision"
    dimensions = (Dimension("context_precision", "Do the contexts that are needed come first?", ("contexts",)),)

    @property
    def fields(self) -> tuple[str, ...]:
        return (*super().fields, "references")

    def _pairs(self, example: Example) -> list[Pair]:
        texts = _answering(example) or [example.output]
        return [(s.text, c) for text in texts for s in _sentences(text) for c in example.contexts or ()]

    def _one(self, example: Example, chances: Chances) -> Score:
        contexts = example.contexts or ()
        if not contexts:
            return no_score("empty contexts")
        references = _answering(example)
        if not references and _references(example):
            return _no_reference(example)
        if not references and abstains(example.output):
            return no_score(ABSTAINED)
        return _best(references or [example.output], lambda text: self._of(text, example, chances))

    def _of(self, text: str, example: Example, chances: Chances) -> Score:
        sentences = _sentences(text)
        needed = [max((chances[s.text, c] for s in sentences), default=0.0) for c in example.contexts or ()]
        return Score(average_precision(needed), tuple(context_spans(example, needed)), named(needed))


def average_precision(needed: Sequence[float]) -> float:
    total = sum(needed)
    if total == 0.0:
        return 0.0
    at = [sum(needed[: rank + 1]) / (rank + 1) for rank in range(len(needed))]
    return sum(chance * precision for chance, precision in zip(needed, at, strict=True)) / total


@dataclass(frozen=True)
class ContextRecall(_Against):
    """Mean over the reference's sentences of the best support that a context gives."""

    name = "rag-context-recall"
    dimensions = (
        Dimension("context_recall", "Do the contexts hold what the reference says?", ("contexts", "references")),
    )

    def _pairs(self, example: Example) -> list[Pair]:
        return [(s.text, c) for r in _answering(example) for s in _sentences(r) for c in example.contexts or ()]

    def _one(self, example: Example, chances: Chances) -> Score:
        references = _answering(example)
        if not references or not example.contexts:
            return no_score("empty contexts") if references else _no_reference(example)
        return _best(references, lambda reference: self._of(reference, example, chances))

    def _of(self, reference: str, example: Example, chances: Chances) -> Score:
        contexts, start, found = example.contexts or (), example.text("references").find(reference), []
        for sentence in _sentences(reference):
            value = max(chances[sentence.text, c] for c in contexts)
            note = "in the contexts" if value >= 0.5 else "not in the contexts"
            place = (start + sentence.start, start + sentence.end)
            found.append(Span(*place, round(value, 4), "sentence", "references", note))
        values = [span.value for span in found]
        return Score(sum(values) / len(values), tuple(found)) if values else no_score("empty references")


@dataclass(frozen=True)
class AnswerCorrectness(_Against):
    """F1 of what the answer says that the reference bears out, and what the reference says that the answer holds."""

    name = "rag-answer-correctness"
    dimensions = (Dimension("answer_correctness", "Is the answer right, by the reference?", ("references",)),)

    @property
    def fields(self) -> tuple[str, ...]:
        return (*super().fields, "question")

    def _pairs(self, example: Example) -> list[Pair]:
        said = _asked(example, example.output)
        pairs: list[Pair] = []
        for reference in _references(example):
            pairs += [(s.text, _asked(example, reference)) for s in _sentences(example.output)]
            pairs += [(s.text, said) for s in _sentences(reference)]
        return pairs

    def _one(self, example: Example, chances: Chances) -> Score:
        references = _references(example)
        if not references:
            return no_score("empty references")
        if abstains(example.output):
            right = any(abstains(reference) for reference in references)
            return Score(1.0 if right else 0.0, flags=(ABSTAINED,))
        return _best(references, lambda reference: self._of(reference, example, chances))

    def _of(self, reference: str, example: Example, chances: Chances) -> Score:
        if " ".join(plain_words(reference)) == " ".join(plain_words(example.output)) != "":
            return Score(1.0, parts={"precision": 1.0, "recall": 1.0})
        said = _asked(example, example.output)
        beside = _asked(example, reference)
        spans = []
        for sentence in _sentences(example.output):
            value = chances[sentence.text, beside]
            note = "in the reference" if value >= 0.5 else "not in the reference"
            spans.append(Span(sentence.start, sentence.end, round(value, 4), "sentence", note=note))
        right = [span.value for span in spans]
        held = [chances[s.text, said] for s in _sentences(reference)]
        precision = sum(right) / len(right) if right else 0.0
        recall = sum(held) / len(held) if held else 0.0
        total = precision + recall
        value = 2.0 * precision * recall / total if total else 0.0
        return Score(value, tuple(spans), {"precision": round(precision, 4), "recall": round(recall, 4)})


def _asked(example: Example, text: str) -> str:
    """Short answers need their question: "In May." says nothing of a bridge."""
    return f"{example.question} {text}" if (example.question or "").strip() else text


@dataclass(frozen=True)
class NoiseSensitivity(_Against):
    """How much of the answer stands in the contexts and is still wrong by the reference: it fell for what it read."""

    name = "rag-noise-sensitivity"
    dimensions = (
        Dimension(
            "noise_sensitivity",
            "How much did it take from the contexts that the reference does not bear out?",
            ("contexts", "references"),
            higher_is_better=False,
        ),
    )

    @property
    def fields(self) -> tuple[str, ...]:
        return (*super().fields, "question")

    def _pairs(self, example: Example) -> list[Pair]:
        own = _sentences(example.output)
        beside = [*(example.contexts or ()), *(_asked(example, r) for r in _references(example))]
        return [(s.text, text) for s in own for text in beside]

    def _one(self, example: Example, chances: Chances) -> Score:
        references, contexts = _references(example), example.contexts or ()
        if not references or not contexts:
            return no_score("empty references" if not references else "empty contexts")
        if abstains(example.output):
            return Score(0.0, flags=(ABSTAINED,))
        spans = []
        for sentence in _sentences(example.output):
            taken = max(chances[sentence.text, c] for c in contexts)
            wrong = 1.0 - max(chances[sentence.text, _asked(example, r)] for r in references)
            spans.append(Span(sentence.start, sentence.end, round(taken * wrong, 4), "sentence"))
        values = [span.value for span in spans]
        return Score(sum(values) / len(values) if values else 0.0, tuple(spans))
