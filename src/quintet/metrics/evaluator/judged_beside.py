"""What the judge says of an output beside its document, dialogue, fact, input, record or references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.score import Score
from quintet.metrics.evaluator.reading import fact_of, read_output, read_plain, references_of, turns_of, weighted_mean
from quintet.metrics.evaluator.signal import Answers, Asking, JudgeSignal, Pair, clipped, log_odds
from quintet.metrics.evaluator.windows import USUAL, Size, choose, document_windows, output_pieces, text_windows
from quintet.metrics.role_metric import cut_of
from quintet.models.roles import PairModel


@dataclass(frozen=True)
class DocumentFit(JudgeSignal):
    """Heads cohd, rel and cov on the whole output beside windows of the document; the best window counts."""

    window: Size = USUAL
    best: int = 0
    """Look only at the windows that share most with the output; 0: at all."""

    name = "evaluator-document"
    heads: ClassVar[tuple[str, ...]] = ("cohd", "rel", "cov")
    dimensions = (
        log_odds("coherence", "Is the output a coherent summary of the document?", "source"),
        log_odds("relevance", "Does the output say what matters in the document?", "source"),
        log_odds("coverage", "Does the output cover the document?", "source"),
    )

    def _asking(self, judge: PairModel, example: Example) -> Asking:
        pieces, lengths = output_pieces(judge, read_output(example.output))
        windows = document_windows(judge, example.source or "", self.window)
        pairs = [[(p.text, (w.text,)) for w in choose(p.text, windows, self.best)] for p in pieces]
        answers = yield [pair for own in pairs for pair in own]
        named = zip((d.name for d in self.dimensions), self.heads, strict=True)
        return {name: Score(clipped(_best(pairs, lengths, answers, head))) for name, head in named}


def _best(pairs: Sequence[Sequence[Pair]], lengths: Sequence[int], answers: Answers, head: str) -> float:
    """For each piece of the output the best window; long outputs are several pieces, weighted by their length."""
    return weighted_mean([max(answers[pair].logits[head] for pair in own) for own in pairs], lengths)


@dataclass(frozen=True)
class Response(JudgeSignal):
    """Heads sel (this response or one from elsewhere), abac (or the nearest one of another dialogue)."""

    turns: int = 3

    name = "evaluator-response"
    heads: ClassVar[tuple[str, ...]] = ("sel",)
    dimensions = (log_odds("selection", "Is this the response to these turns, not to others?", "history"),)

    def _asking(self, judge: PairModel, example: Example) -> Asking:
        pieces, lengths = output_pieces(judge, read_output(example.output))
        turns = turns_of(example, self.turns)
        answers = yield [(piece.text, turns) for piece in pieces]
        cut = cut_of(history=max(answers[piece.text, turns].cut[1] for piece in pieces))
        named = zip((d.name for d in self.dimensions), self.heads, strict=True)
        return {
            name: Score(clipped(weighted_mean([answers[p.text, turns].logits[head] for p in pieces], lengths)), cut=cut)
            for name, head in named
        }


@dataclass(frozen=True)
class Grounding(JudgeSignal):
    """Head gro on the output beside the fact."""

    name = "evaluator-grounding"
    heads: ClassVar[tuple[str, ...]] = ("gro",)
    dimensions = (log_odds("grounding", "Does the output use the fact?", "context"),)

    def _asking(self, judge: PairModel, example: Example) -> Asking:
        pieces, lengths = output_pieces(judge, read_output(example.output))
        windows = text_windows(judge, fact_of(example))
        pairs = [[(piece.text, (window.text,)) for window in windows] for piece in pieces]
        answers = yield [pair for own in pairs for pair in own]
        return {"grounding": Score(clipped(_best(pairs, lengths, answers, "gro")))}


@dataclass(frozen=True)
class InputFit(JudgeSignal):
    """Head adq on a rewrite beside its input. A long input is read in windows, and each must find its piece of the
    output: the mean over windows of the best piece."""

    name = "evaluator-input"
    heads: ClassVar[tuple[str, ...]] = ("adq",)
    dimensions: ClassVar[tuple[Dimension, ...]] = (
        log_odds("adequacy", "Do output and input mean the same?", "source"),
    )

    def _asking(self, judge: PairModel, example: Example) -> Asking:
        pieces, _ = output_pieces(judge, read_output(example.output))
        windows = text_windows(judge, self.beside(example))
        pairs = [[(piece.text, (window.text,)) for piece in pieces] for window in windows]
        answers = yield [pair for own in pairs for pair in own]
        named = zip((d.name for d in self.dimensions), self.heads, strict=True)
        return {name: Score(clipped(_mean_of_best(pairs, answers, head))) for name, head in named}

    def beside(self, example: Example) -> str:
        return read_plain(example.source or "")


def _mean_of_best(pairs: Sequence[Sequence[Pair]], answers: Answers, head: str) -> float:
    best = [max(answers[pair].logits[head] for pair in own) for own in pairs]
    return sum(best) / len(best)


@dataclass(frozen=True)
class RecordFit(InputFit):
    """Head d2t on a text beside its record (a meaning representation, as it stands)."""

    name = "evaluator-record"
    heads: ClassVar[tuple[str, ...]] = ("d2t",)
    dimensions = (log_odds("content", "Does the output say what the record says?", "source"),)

    def beside(self, example: Example) -> str:
        return (example.source or "").strip()


@dataclass(frozen=True)
class ReferenceFit(JudgeSignal):
    """Head adq on the output beside each reference, mean over references."""

    name = "evaluator-reference"
    heads: ClassVar[tuple[str, ...]] = ("adq",)
    dimensions = (log_odds("adequacy", "Do output and references mean the same?", "references"),)

    def _asking(self, judge: PairModel, example: Example) -> Asking:
        pieces, _ = output_pieces(judge, read_output(example.output))
        by_reference: list[list[list[Pair]]] = [
            [[(piece.text, (window.text,)) for piece in pieces] for window in text_windows(judge, reference)]
            for reference in references_of(example)
        ]
        answers = yield [pair for pairs in by_reference for own in pairs for pair in own]
        values = [_mean_of_best(pairs, answers, "adq") for pairs in by_reference]
        return {"adequacy": Score(clipped(sum(values) / len(values)))}
