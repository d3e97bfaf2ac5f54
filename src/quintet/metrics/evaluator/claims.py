"""What an output claims, held against what it was made from: each claim supported, contradicted or not in the source.

An output's score is made of its claims, and the lowest counts most: true padding cannot rescue a lie. What the source
says word for word, as a sentence or as a clause that stands alone, is supported without being read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import ClassVar, Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score, Span, no_score
from quintet.metrics.evaluator.reading import (
    PERSONA,
    Output,
    fact_of,
    memory,
    read_output,
    read_plain,
    read_sentences,
    turns_of,
    weighted_mean,
)
from quintet.metrics.evaluator.signal import EvaluatorSignal, log_odds
from quintet.models.open import identity, open_model, soon
from quintet.models.roles import Reader, Reading
from quintet.text.detokenise import detokenise_with_places
from quintet.text.passages import BUDGET, Passages
from quintet.text.tokens import words

TOGETHER = 3
"""Claims that share one passage of a source that does not fit whole."""
SURE = 7.0
"""Log-odds beyond this say the same."""
LEAST_WORDS = 4
"""A part of a sentence with fewer words does not stand alone as a claim."""
LONGEST, UNBROKEN = 400, 100
"""Characters of a claim, and of one without a blank; what is longer is halved, so that the reader sees all of it."""

Beside = Literal["document", "fact", "dialogue", "record", "references", "input"]

_FINITE = (
    r"(?:is|are|was|were|has|have|had|will|would|can|could|may|might|must|should|does|do|did|won't|can't|isn't|aren't"
    r"|wasn't|weren't|hasn't|haven't|didn't|doesn't|don't|\w{2,}ed|\w{2,}s|said|made|took|went|came|got|won|lost|found"
    r"|told|gave|left|began|led|held|kept|ran|rose|fell|sold|bought|paid|met)"
)
_CLAUSE = re.compile(
    rf";\s+|,\s+(?:and|but|while|whereas|so)\s+(?=(?:he|she|it|they|we|you|i|there|this|that)\s+{_FINITE}\b"
    rf"|(?:the|a|an|his|her|their|its|[A-Z]\w+)\s+(?:\w+\s+){{0,3}}?(?:is|are|was|were|has|have|had|will|would|can|could)\b)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:(?:Mr|Mrs|Ms|Dr|Sir)\.? )?[A-Z][\w-]+(?: (?:van |von |de |of )?[A-Z][\w-]+)*")
_OPENERS = frozenset(
    """a an and as after at before but for he her his how however i if in it its monday my no not now on our she since
    so sunday saturday that the their then there these they this thursday those today tuesday we wednesday what when
    while who why with yes yesterday you your friday here""".split()  # noqa: SIM905
)
_SPEAKER = re.compile(r"^(?:[A-Z]|[Uu]ser|[Aa]ssistant|[Ss]peaker ?\w|[Aa]gent ?\w?): ")
_PRONOUN = re.compile(r"^(He|She|His|Her)\b(?= \w|['’](?:s|ll|d)\b)")
_NO_CLAIM = re.compile(
    r"(?:sure|certainly|of course|absolutely|hello|hi|thanks|thank you)\b[^.:?]{0,30}[.!,]"
    r"|(?:(?:sure|certainly|of course|okay)[,!.]? )?(?:here(?:'s| is| are)|below (?:is|are))\b[^.]{0,100}:"
    r"|[^.!?\n]{1,60}:|(?:i )?hope (?:this|that) helps\b.*|(?:please )?(?:let me know|feel free)\b.*"
    r"|(?:would|do|shall|should|can|may) (?:you (?:want|like|need)|i)\b.*\?",
    re.IGNORECASE,
)
"""Courtesies, announcements and headings say nothing that a source could support."""
_NOT_SAID = re.compile(
    r"\b(?:if|unless|whether|until|had|would|could|may|might|said|says|say|claim(?:s|ed)?|argue[sd]?|think|thinks|thought"
    r"|believe[sd]?|alleg\w+|den(?:y|ies|ied)|according|told|hope[sd]?|suggest\w*|not|no|never|\w+n['’]t)\b",
    re.IGNORECASE,
)
"""Before a clause: the sentence does not say the clause of its own."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A claim: `text` is what the reader sees, `start` and `end` its place in the output as it is read."""

    text: str
    start: int
    end: int
    shift: int = 0
    """By how much a place in `text` lies behind its place in the output (a name that stands for a pronoun)."""


def claims_of(output: Output) -> tuple[Piece, ...]:
    """Sentences, cut where a clause stands alone; a pronoun at the start is replaced by the name it can only mean.
    Courtesies around an answer and headings are left out."""
    found: list[Piece] = []
    names: list[str] = []
    claiming = [sentence for sentence in output.sentences if not _NO_CLAIM.fullmatch(sentence.text)]
    for sentence in claiming or output.sentences:
        for start, end in _claims(sentence.text):
            text = sentence.text[start:end]
            found.append(_with_name(text, sentence.start + start, sentence.start + end, names))
        names += [name for name in _names(sentence.text) if name not in names]
    return tuple(found)


def _claims(text: str) -> Iterator[tuple[int, int]]:
    for start, end in _clauses(text):
        yield from _short(text, start, end)


def _short(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Halves of what is too long, cut behind a comma or blank near the middle."""
    if end - start <= (LONGEST if " " in text[start:end] else UNBROKEN):
        yield start, end
        return
    middle, quarter = (start + end) // 2, (end - start) // 4
    near = [at for at in range(middle - quarter, middle + quarter) if text[at - 1] in " \t"]
    cut = min(near, key=lambda at: (text[at - 2] not in ",;:", abs(at - middle)), default=middle)
    yield from _short(text, start, cut)
    yield from _short(text, cut, end)


def _clauses(text: str) -> list[tuple[int, int]]:
    cuts = [0]
    ends = []
    for match in _CLAUSE.finditer(text):
        if len(text[cuts[-1] : match.start()].split()) >= LEAST_WORDS <= len(text[match.end() :].split()):
            ends.append(match.start())
            cuts.append(match.end())
    return list(zip(cuts, [*ends, len(text)], strict=True))


def _names(text: str) -> list[str]:
    found = [match.group() for match in _NAME.finditer(text)]
    return [name for name in found if name.split()[0].casefold() not in _OPENERS]


def _with_name(text: str, start: int, end: int, names: Sequence[str]) -> Piece:
    match = _PRONOUN.match(text)
    if match is None or len(names) != 1:
        return Piece(text, start, end)
    own = names[0] if match.group() in ("He", "She") else f"{names[0]}'s"
    return Piece(own + text[match.end() :], start, end, len(own) - match.end())


@dataclass(frozen=True)
class Source:
    """A text that claims are held against, with the place of each sentence in it as the user gave it."""

    passages: Passages
    places: tuple[tuple[int, int], ...]
    field: str
    ends: str = ""
    """Read after every passage: the question that was asked, the last turns."""

    @cached_property
    def said(self) -> frozenset[str]:
        """What it says word for word: its sentences, and clauses of them that stand alone."""
        found = set()
        for sentence in self.passages.sentences:
            own = _SPEAKER.sub("", sentence)
            found.add(_key(own))
            found |= {_key(own[start:end]) for start, end in _clauses(own) if not _NOT_SAID.search(own[:start])}
        return frozenset(key for key in found if key.count(" ") + 1 >= LEAST_WORDS)

    def says(self, piece: Piece) -> bool:
        return not piece.shift and _key(piece.text) in self.said

    def passages_for(self, claims: Sequence[str], words: int = BUDGET) -> list[tuple[str, list[int]]]:
        """Contexts, each with the claims (by number) that are read with it."""
        every = list(range(len(claims)))
        if sum(self.passages.sizes) <= words:
            return [(self._ended(" ".join(self.passages.sentences)), every)]
        if sum(self.passages.sizes) <= 2 * words:
            of = [self.passages.window_of(claim, words) for claim in claims]
            windows = enumerate(self.passages.windows(words))
            return [(self._ended(text), [at for at in every if of[at] == n]) for n, text in windows if n in of]
        batches = [every[at : at + TOGETHER] for at in range(0, len(every), TOGETHER)]
        return [(self._ended(self.passages.about([claims[at] for at in own], words)), own) for own in batches]

    def elsewhere(self, claim: str, words: int = BUDGET) -> str:
        """Another context for a claim that found no support in its own; empty where all was read."""
        size = sum(self.passages.sizes)
        if size <= words:
            return ""
        if size <= 2 * words:
            return self._ended(self.passages.windows(words)[1 - self.passages.window_of(claim, words)])
        return self._ended(self.passages.about([claim], words))

    def _ended(self, text: str) -> str:
        return (text + self.ends).lstrip("\n")


def _key(text: str) -> str:
    return " ".join(word.text.casefold() for word in words(text))


def source_of(text: str, field: str, ends: str = "", begins: int = 0) -> Source:
    """`begins`: where the text stands in its field."""
    return memory.once(("source", text, field, ends, begins), lambda: _source_of(text, field, ends, begins))


def _source_of(text: str, field: str, ends: str, begins: int) -> Source:
    read = detokenise_with_places(text, marks=False)
    pieces = list(read_sentences(text, read))
    spans = (read.span(piece.start, piece.end) for piece in pieces)
    places = tuple((begins + start, begins + end) for start, end in spans)
    return Source(Passages([piece.text for piece in pieces]), places, field, ends)


@dataclass(frozen=True, slots=True)
class Judged:
    piece: Piece
    reading: Reading
    nearest: int | None
    """The sentence of the source that shares most with it."""

    @property
    def log_odds(self) -> float:
        return odds(self.reading.supported)


def odds(chance: float) -> float:
    return min(max(math.log(max(chance, 1e-9) / max(1 - chance, 1e-9)), -SURE), SURE)


def judge_claims(
    reader: Reader, source: Source, pieces: Sequence[Piece], words: int = BUDGET, again: bool = True, beside: str = ""
) -> list[Judged]:
    """A source of at most `words` is read whole, one of twice that as two windows, each claim with the window that
    shares more with it; of a longer one each few claims get the passage that matters to them. `again`: a claim that
    finds no support there is held against the other window, or against the passage of its own.

    `beside`: a text that is read with the first claims; what is said of it comes last.
    """
    texts = [piece.text for piece in pieces]
    groups = source.passages_for(texts, words)
    asked = [(context, tuple(texts[at] for at in own)) for context, own in groups]
    alone = texts == [beside]
    if beside and not alone:
        asked[0] = (asked[0][0], (*asked[0][1], beside))
    found = reader.read(asked)
    extra = found[0][-1:] if beside else ()
    readings, read_in = {}, {}
    for (context, own), said in zip(groups, found, strict=True):
        for at, reading in zip(own, said, strict=False):  # one more was read where there is `beside`
            readings[at], read_in[at] = reading, context
    if again:
        others = {at: source.elsewhere(texts[at], words) for at, one in readings.items() if one.supported < 0.5}
        others = {at: context for at, context in others.items() if context not in ("", read_in[at])}
        second = reader.read([(context, (texts[at],)) for at, context in others.items()])
        for at, (reading,) in zip(others, second, strict=True):
            if reading.supported > readings[at].supported:
                readings[at] = reading
    readings = {at: one.copied() if source.says(pieces[at]) else one for at, one in readings.items()}
    nearest = [source.passages.ranked(text)[0] if source.passages.sentences else None for text in texts]
    judged = [Judged(piece, readings[at], near) for at, (piece, near) in enumerate(zip(pieces, nearest, strict=True))]
    return [*judged, *(Judged(Piece(beside, 0, len(beside)), reading, None) for reading in extra)]


def evidence(output: Output, source: Source, judged: Sequence[Judged]) -> tuple[Span, ...]:
    """Every claim with its probability and verdict, and the words at fault of those that are not supported."""
    spans: list[Span] = []
    for one in judged:
        supported = round(one.reading.supported, 4)
        place = None if one.nearest is None else (source.field, *source.places[one.nearest])
        first, last = output.places.span(one.piece.start, one.piece.end) if output.places.text else (0, 0)
        note = verdict(one.reading)
        spans.append(Span(first, last, supported, "sentence", note=note, other=place, p_supported=supported))
        if one.reading.supported >= 0.5:
            continue
        for start, end, fault in words_at_fault(one):
            first, last = output.places.span(start, end) if output.places.text else (0, 0)
            value = round(1.0 - fault, 4)
            spans.append(Span(first, last, value, "word", note="at fault", other=place, p_supported=value))
    return tuple(spans)


def verdict(reading: Reading) -> str:
    if max(reading.supported, reading.contradicted, reading.absent) < 0.4:
        return "cannot tell"
    if reading.supported >= 0.5:
        return "supported"
    return "contradicted" if reading.contradicted > reading.absent else "not in the source"


def words_at_fault(one: Judged, least: float = 0.5) -> list[tuple[int, int, float]]:
    """(start, end, P(at fault)) of words of the output; a word is as much at fault as the worst of its pieces."""
    found: list[tuple[int, int, float]] = []
    text = one.piece.text
    for start, end, fault in zip(one.reading.starts, one.reading.ends, one.reading.faults, strict=True):
        begin = one.piece.start + int(start) - one.piece.shift
        if begin < one.piece.start:  # inside a name that stands for a pronoun
            continue
        last = one.piece.start + int(end) - one.piece.shift
        joined = found and int(start) > 0 and found[-1][1] == begin and text[int(start) - 1 : int(start)].isalnum()
        if joined and text[int(start) : int(start) + 1].isalnum():
            found[-1] = (found[-1][0], last, max(found[-1][2], float(fault)))
        else:
            found.append((begin, last, float(fault)))
    return [word for word in found if word[2] > least]


def turns_text(turns: Sequence[str]) -> str:
    """Turns as lines, so that the reply is B's."""
    said = [_SPEAKER.sub("", turn) for turn in turns]
    return "\n".join(f"{'BA'[(len(said) - at) % 2]}: {turn}" for at, turn in enumerate(said))


def sources_of(example: Example, beside: Beside) -> list[Source]:
    """What claims are held against; several for several references."""
    if beside in ("fact", "dialogue"):
        fact = (example.context or "").replace(PERSONA, " " * len(PERSONA)) if fact_of(example) else ""
        turns = "\n" + turns_text(turns_of(example, 4)) if beside == "dialogue" else ""
        return [source_of(fact, "context", turns)]
    if beside == "references":
        begins = accumulate((len(text) + 1 for text in example.references), initial=0)
        each = zip(example.references, begins, strict=False)
        return [source_of(text, "references", begins=at) for text, at in each if read_plain(text)]
    asked = f"\nQuestion: {read_plain(example.question)}" if example.question and beside == "document" else ""
    return [source_of(example.source or "", "source", asked)]


_NEEDS: Mapping[str, str] = {"fact": "context", "dialogue": "history", "references": "references"}


@dataclass(frozen=True)
class ReaderSignal(EvaluatorSignal):
    """A signal that the reader gives."""

    beside: Beside = "document"
    model: str = "bundled:reader"

    model_role: ClassVar[str] = "reader"

    def opened(self) -> Reader:
        reader: Reader = open_model(self.model, self.model_role)
        return reader

    def prepare(self) -> None:
        self.opened()

    def foresee(self, examples: Sequence[Example]) -> None:
        """The model is opened beside others."""
        if self._asks(examples):
            soon(self.opened())

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}

    @property
    def _need(self) -> str:
        return _NEEDS.get(self.beside, "source")

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        reader = self.opened()
        return [self._one(reader, example) for example in examples]

    def _one(self, reader: Reader, example: Example) -> Row:
        raise NotImplementedError


@dataclass(frozen=True)
class Claims(ReaderSignal):
    """Log-odds that what the output claims is supported: of its weakest claim, and on average; that none is
    contradicted; and that the output, as a whole, serves as the summary, reply or answer."""

    words: int = BUDGET
    """Of a source that are read with a claim."""
    again: bool = True
    """Whether a claim that finds no support is held against a passage of its own."""

    name = "evaluator-claims"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        return (
            log_odds("lowest", "Is the least supported of its claims supported?", self._need),
            log_odds("mean", "Are its claims supported?", self._need),
            log_odds("sound", "Is none of its claims contradicted?", self._need),
            log_odds("fit", "Does it serve as summary, reply or answer?", self._need),
        )

    def _one(self, reader: Reader, example: Example) -> Row:
        output = read_output(example.output)
        pieces = claims_of(output)
        best: dict[str, float] = {}
        spans: tuple[Span, ...] = ()
        cut: dict[str, int] = {}
        for source in sources_of(example, self.beside):
            *judged, whole = judge_claims(reader, source, pieces, self.words, self.again, beside=output.text)
            values = [one.log_odds for one in judged]
            found = {
                "lowest": min(values),
                "mean": sum(values) / len(values),
                "sound": -max(odds(one.reading.contradicted) for one in judged),
                "fit": odds(whole.reading.fit),
            }
            # Of several references the one that supports it best.
            if not best or found["mean"] > best["mean"]:
                best, spans = found, evidence(output, source, judged)
                lost = max(one.reading.cut[1] for one in judged)
                cut = {"output": lost} if lost else {}
        if not best:
            return {d.name: no_score(f"no {self._need}") for d in self.dimensions}
        return {name: Score(value, () if name == "fit" else spans, cut=cut) for name, value in best.items()}


@dataclass(frozen=True)
class Coverage(ReaderSignal):
    """How much of the source the output says: its sentences held against the output, the central ones weighing more."""

    most: int = 12
    """Sentences of the source that are looked for, the central ones first."""

    name = "evaluator-coverage"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        return (
            Dimension("covered", "Does the output say what the source says?", (self._need,)),
            Dimension("central", "Does the output say what matters in the source?", (self._need,)),
        )

    def _one(self, reader: Reader, example: Example) -> Row:
        context = read_output(example.output).text
        covered, central = [], []
        for source in sources_of(example, self.beside):
            weights = source.passages.centrality
            order = sorted(range(len(weights)), key=lambda at: -weights[at])[: self.most]
            claims = tuple(source.passages.sentences[at] for at in sorted(order))
            if not claims:
                continue
            (readings,) = reader.read([(context, claims)])
            chances = [reading.supported for reading in readings]
            own = [weights[at] for at in sorted(order)]
            covered.append(sum(chances) / len(chances))
            central.append(weighted_mean(chances, own))
        if not covered:
            return {d.name: no_score(f"no {self._need}") for d in self.dimensions}
        return {"covered": Score(sum(covered) / len(covered)), "central": Score(sum(central) / len(central))}
