"""CTC's aspects of creation: a response beside the fact it may use and the history it answers (equations 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score, Span
from quintet.metrics.ctc.aligners import UNBOUNDED, CtcMetric, StopWords, cut_of, flags_of
from quintet.metrics.ctc.alignment import BETWEEN, EMPTY_FACT, LINE_PREFIX, NO_FACT, WHOLE_PREFIX, Aggregate, FactForm

NO_FACT_GIVEN, NO_HISTORY = "no fact", "no history"


@dataclass(frozen=True, slots=True)
class Grounds:
    """Fact and history as one text, and where each piece of it came from."""

    text: str
    pieces: tuple[tuple[int, str, int, int], ...] = ()
    """(place in `text`, field, first and last character in the field)"""
    flags: tuple[str, ...] = ()

    def origin(self, start: int, end: int) -> tuple[str, int, int] | None:
        """text[start:end] in its field; None for a prefix that we wrote."""
        for place, field, first, last in self.pieces:
            if place <= start < place + last - first:
                return field, first + start - place, min(last, first + end - place)
        return None


@dataclass(frozen=True)
class DialogueMetric(CtcMetric):
    stopwords: StopWords = "drop"
    aggregate: Aggregate = "sum"
    facts: FactForm = "trained"
    nofact: Literal["text", "absent"] = "text"
    """text: `_nofact`, as Topical-Chat writes, is read like any text, as all releases do; absent: it is no fact."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode != "quintet":
            object.__setattr__(self, "nofact", "text")
        if self.facts == "trained":
            plain = "plain" if self.aligner == "E" or self.mode == "package" else "lines"
            object.__setattr__(self, "facts", "prefix" if self.mode == "paper" else plain)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        grounds = [self._grounds(example) for example in examples]
        found = self._align(
            [(e.output, ground.text) for e, ground in zip(examples, grounds, strict=True)], self.relations[0]
        )
        field = self.dimensions[0].needs[0]
        rows: list[Row] = []
        for alignment, ground in zip(found, grounds, strict=True):
            spans = tuple(_in_its_field(span, ground) for span in alignment.word_spans("", self._kept(alignment)))
            cut = cut_of(output=alignment.cut_a) | cut_of(**{field: alignment.cut_b})
            score = Score(self._value(alignment), spans, flags=(*ground.flags, *flags_of(alignment)), cut=cut)
            rows.append({dimension.name: score for dimension in self.dimensions})
        return rows

    def _grounds(self, example: Example) -> Grounds:
        return self._joined(example, ("context",))

    def _joined(self, example: Example, fields: Sequence[str]) -> Grounds:
        """The fields that have text, one after the other; only the fact is dressed up."""
        flags: tuple[str, ...] = ()
        text, pieces, blank = "", [], []
        for field in fields:
            whole = example.text(field)
            first = len(whole) - len(whole.lstrip())
            last = first + len(whole.strip())
            form: FactForm = self.facts if field == "context" else "plain"
            if field == "context" and self.nofact == "absent" and whole.strip() in NO_FACT:
                flags, last = (NO_FACT_GIVEN,), first
            elif first >= last:
                blank.append(NO_FACT_GIVEN if field == "context" else NO_HISTORY)
            own, placed = _written(whole, first, last, form)
            start = len(text) + (len(BETWEEN) if text and own else 0)
            text += (BETWEEN if text and own else "") + own
            pieces += [(start + place, field, begin, end) for place, begin, end in placed]
        # With nothing at all the alignment says so itself.
        return Grounds(text, tuple(pieces), (*flags, *blank) if text else flags)


def _written(whole: str, first: int, last: int, form: FactForm) -> tuple[str, list[tuple[int, int, int]]]:
    """whole[first:last] in the given form, with (place, begin, end) for each piece that was taken over."""
    if first == last:
        return EMPTY_FACT.get(form, ""), []
    if form not in LINE_PREFIX:
        persona = whole.startswith(LINE_PREFIX["persona"], first)
        prefix = "" if persona else WHOLE_PREFIX.get(form, "")
        return prefix + whole[first:last], [(len(prefix), first, last)]
    lines, pieces, place, begin = [], [], 0, first
    for line in whole[first:last].split("\n"):
        if line.strip():
            prefix = "" if line.startswith(LINE_PREFIX[form]) else LINE_PREFIX[form]
            lines.append(prefix + line)
            pieces.append((place + len(prefix), begin, begin + len(line)))
            place += len(prefix) + len(line) + 1
        begin += len(line) + 1
    return "\n".join(lines), pieces


def _in_its_field(span: Span, ground: Grounds) -> Span:
    """Support was found in the joined text; evidence names the field and the place in it."""
    return span if span.other is None else replace(span, other=ground.origin(span.other[1], span.other[2]))


@dataclass(frozen=True)
class Groundedness(DialogueMetric):
    """sum align(output -> fact) over content words, equation 6."""

    name = "ctc-groundedness"
    relations = ("fact_to_response",)
    aspects = (Dimension("groundedness", "Does the response use the fact?", ("context",), low=UNBOUNDED, high=None),)


@dataclass(frozen=True)
class Engagingness(DialogueMetric):
    """sum align(output -> fact and history) over content words, equation 5."""

    order: Literal["fact-first", "history-first"] = "fact-first"
    """The released code puts the fact first; it matters only where a long history is cut."""

    name = "ctc-engagingness"
    relations = ("fact_history_to_response",)
    aspects: ClassVar[tuple[Dimension, ...]] = (
        Dimension(
            "engagingness",
            "Does the response say things that belong to the fact or the history?",
            ("history", "context"),
            low=UNBOUNDED,
            high=None,
        ),
    )

    def _grounds(self, example: Example) -> Grounds:
        fields = ("context", "history") if self.order == "fact-first" else ("history", "context")
        return self._joined(example, fields)


@dataclass(frozen=True)
class DialogueAlignment(Engagingness):
    """mean align(output -> fact and history) over content words: one number for the four aspects of Table F.6."""

    aggregate: Aggregate = "mean"

    name = "ctc-dialogue"
    aspects = tuple(
        Dimension(name, question, ("history", "context"), low=-1.0)
        for name, question in (
            ("understandability", "Is the response understandable beside fact and history?"),
            ("naturalness", "Is the response something that could naturally be said here?"),
            ("coherence", "Does the response keep to fact and history?"),
            ("overall", "How good is the response overall?"),
        )
    )
