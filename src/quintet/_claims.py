"""`quintet.claims`: what a text claims; each claim with its verdict, its sentence of the source, its words at fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from quintet.core.plain import JsonObject
from quintet.errors import InputError
from quintet.metrics.evaluator import claims as held
from quintet.metrics.evaluator.reading import Output, read_output
from quintet.models.open import open_model
from quintet.models.roles import Reader

Verdict = Literal["supported", "contradicted", "not in the source", "cannot tell"]
LOOKED_AT = 3
"""Sentences of the source that are read alone with a claim, to say which of them decides."""
LESS_NEAR = 0.8
"""What each of them counts of the one before, which shares more with the claim."""


@dataclass(frozen=True, slots=True)
class Passage:
    """`text` is `source[start:end]`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Claim:
    """`text` is `output[start:end]`; probabilities of the three verdicts sum to one.

    >>> (claim,) = quintet.claims("It opened in May.", source="The bridge opened in May.", model="fake:reader")
    >>> claim.start, claim.end, abs(claim.supported + claim.contradicted + claim.absent - 1) < 1e-6
    (0, 17, True)
    """

    text: str
    start: int
    end: int
    verdict: Verdict
    supported: float
    contradicted: float
    absent: float
    source: Passage | None
    """The sentence that supports or contradicts it; None for a claim that is not in the source."""
    faults: tuple[Passage, ...]
    """Words of the text at fault, where the claim is not supported."""
    read_as: str = ""
    """What was judged, where a pronoun was replaced by the name it stands for."""

    def to_json(self) -> JsonObject:
        plain: JsonObject = {"text": self.text, "start": self.start, "end": self.end, "verdict": self.verdict}
        for name in ("supported", "contradicted", "absent"):
            plain[name] = round(getattr(self, name), 4)
        if self.source is not None:
            plain["source"] = {"text": self.source.text, "start": self.source.start, "end": self.source.end}
        if self.faults:
            plain["faults"] = [{"text": word.text, "start": word.start, "end": word.end} for word in self.faults]
        if self.read_as:
            plain["read_as"] = self.read_as
        return plain


def claims(text: str, *, source: str, question: str | None = None, model: str = "bundled:reader") -> list[Claim]:
    """The claims of `text`, in order, each held against `source`; none where it holds no words.

    `question`: what the text answers, if it is an answer; a bare phrase is then read as one.

        >>> import quintet
        >>> found = quintet.claims("The bridge is new. It opened in May.", source="The bridge opened in May.",
        ...                        model="fake:reader")
        >>> [claim.text for claim in found]
        ['The bridge is new.', 'It opened in May.']
    """
    for name, value in (("text", text), ("source", source)):
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{name} is empty", todo=f"give {name} as a string with words in it")
    reader: Reader = open_model(model, "reader")
    output = read_output(text)
    if not output.places.text:  # tags or emoji alone
        return []
    against = held.source_of(source, "source", f"\nQuestion: {question}" if question else "")
    judged = held.judge_claims(reader, against, held.claims_of(output))
    return [_claim(one, text, source, output, against, reader) for one in judged]


def _claim(one: held.Judged, text: str, source: str, output: Output, against: held.Source, reader: Reader) -> Claim:
    start, end = output.places.span(one.piece.start, one.piece.end)
    verdict: Any = held.verdict(one.reading)
    faults = []
    if one.reading.supported < 0.5:
        for first, last, _ in held.words_at_fault(one):
            a, b = output.places.span(first, last)
            faults.append(Passage(text[a:b], a, b))
    changed = one.piece.text if one.piece.shift else ""
    chances = (one.reading.supported, one.reading.contradicted, one.reading.absent)
    place = _deciding(one, source, against, reader) if verdict in ("supported", "contradicted") else None
    return Claim(text[start:end], start, end, verdict, *chances, place, tuple(faults), changed)


def _deciding(one: held.Judged, source: str, against: held.Source, reader: Reader) -> Passage | None:
    """Of the sentences that share most with the claim, the one that says most about it when it is read alone, for or
    against; the nearer counts more."""
    near = against.passages.ranked(one.piece.text)[:LOOKED_AT]
    if not near:
        return None
    alone = reader.read([(against.passages.sentences[at], (one.piece.text,)) for at in near])
    says = [(1.0 - reading.absent) * LESS_NEAR**rank for rank, (reading,) in enumerate(alone)]
    start, end = against.places[near[says.index(max(says))]]
    return Passage(source[start:end], start, end)
