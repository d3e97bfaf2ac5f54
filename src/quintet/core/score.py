"""A Score: a value, the evidence for it, and what was cut or missing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Required, TypedDict

from quintet._checked import checked
from quintet.core.flags import ABSTAINED as ABSTAINED
from quintet.core.flags import EMPTY_FIELDS as EMPTY_FIELDS
from quintet.core.flags import EMPTY_OUTPUT as EMPTY_OUTPUT
from quintet.core.flags import NOT_ALL_SEEN, unsure
from quintet.core.plain import Cells, JsonObject


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of one field (`text[start:end]`) with its own value: evidence one can point at.

    >>> "a dragon ate"[quintet.Span(2, 8, 0.1).start : 8]
    'dragon'
    """

    start: int
    end: int
    value: float
    kind: str = "word"
    """word, sentence or pair (two places that belong together: `other` is the second)."""
    field: str = "output"
    note: str = ""
    other: tuple[str, int, int] | None = None
    """Where the counterpart stands: (field, start, end), e.g. the source word that supports an output word."""
    p_supported: float | None = None
    """Probability that the input supports the piece, where a model was asked for it; then it is the value as well."""


@dataclass(frozen=True, slots=True, repr=False)
class Score:
    """One number about a text, and what it was made of.

    >>> quintet.Score(0.25, flags=("empty source",))
    Score(0.250, empty source)
    """

    value: float
    spans: tuple[Span, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    """Sub-scores the value was made of."""
    flags: tuple[str, ...] = ()
    """What a reader must know: empty output, no words left, a reason the value is NaN."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """Tokens of a field that the model did not see."""

    def __repr__(self) -> str:
        value = "no score" if self.missing else f"{self.value:.3f}"
        spans = f"{len(self.spans)} span{'' if len(self.spans) == 1 else 's'}" if self.spans else ""
        return f"Score({', '.join(filter(None, [value, spans, *self.flags]))})"

    @property
    def missing(self) -> bool:
        return math.isnan(self.value)

    @property
    def unsure(self) -> tuple[str, ...]:
        """Codes of what makes the value doubtful (`quintet.core.flags`); empty for one to go by."""
        return (*unsure(self.flags), *((NOT_ALL_SEEN,) if self.cut else ()))

    def to_json(self) -> JsonObject:
        """Plain data with empty parts left out; NaN becomes None."""
        plain: JsonObject = {"value": None if self.missing else self.value}
        if self.spans:
            plain["spans"] = [_span_to_json(span) for span in self.spans]
        if self.parts:
            plain["parts"] = {name: None if math.isnan(v) else v for name, v in self.parts.items()}
        if self.flags:
            plain["flags"] = list(self.flags)
        if self.cut:
            plain["cut"] = dict(self.cut)
        return plain

    @classmethod
    def from_json(cls, plain: Cells) -> Score:
        return cls(
            value=math.nan if plain["value"] is None else plain["value"],
            spans=tuple(_span_from_json(span) for span in plain.get("spans", ())),
            parts={name: math.nan if v is None else v for name, v in plain.get("parts", {}).items()},
            flags=tuple(plain.get("flags", ())),
            cut=dict(plain.get("cut", {})),
        )


class _SpanTable(TypedDict, total=False):
    start: Required[int]
    end: Required[int]
    value: Required[float | None]
    kind: str
    field: str
    note: str
    other: tuple[str, int, int] | None
    p_supported: float | None


class _ScoreTable(TypedDict, total=False):
    value: Required[float | None]
    spans: list[_SpanTable]
    parts: dict[str, float | None]
    flags: list[str]
    cut: dict[str, int]


def stored_score(plain: Cells) -> Score:
    """A score out of somebody's file, with the types of `Score.to_json`; InputError names the first misfit."""
    return Score.from_json(checked(plain, _ScoreTable, ""))


def no_score(reason: str) -> Score:
    return Score(math.nan, flags=(reason,))


def _span_to_json(span: Span) -> JsonObject:
    plain: JsonObject = {"start": span.start, "end": span.end, "value": span.value, "kind": span.kind}
    if span.field != "output":
        plain["field"] = span.field
    if span.note:
        plain["note"] = span.note
    if span.other is not None:
        plain["other"] = list(span.other)
    if span.p_supported is not None:
        plain["p_supported"] = span.p_supported
    return plain


def _span_from_json(plain: Cells) -> Span:
    other = plain.get("other")
    return Span(
        start=plain["start"],
        end=plain["end"],
        value=math.nan if plain["value"] is None else plain["value"],
        kind=plain.get("kind", "word"),
        field=plain.get("field", "output"),
        note=plain.get("note", ""),
        other=None if other is None else (other[0], other[1], other[2]),
        p_supported=plain.get("p_supported"),
    )
