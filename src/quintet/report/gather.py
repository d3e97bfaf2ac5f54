"""What a report is made of, gathered as rows go by: every value, and the texts of as many examples as it shows."""

from __future__ import annotations

import base64
import hashlib
import heapq
import json
import math
import random
import re
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from quintet.core.example import FIELDS, Example
from quintet.core.item import Scored
from quintet.core.plain import JsonObject
from quintet.core.result import Column
from quintet.core.score import Score, Span

SHOWN_EXAMPLES = 2000
"""Beyond this many a report shows a sample; its figures are always over all rows."""
KEPT_ENDS = 25
"""The worst and best of each column are shown whatever the sample."""

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Gathered:
    columns: tuple[Column, ...]
    left_out: Mapping[str, str]
    values: Mapping[str, Array]
    """By column, one per row; NaN where there is no score."""
    systems: tuple[str, ...]
    system: Codes
    """Per row: place in `systems`, -1 where the row names none."""
    group: Codes
    """Per row: what outputs of the same input share."""
    kept: Sequence[tuple[int, Scored]]
    """Rows whose texts are shown, with their place in the input."""

    @property
    def rows(self) -> int:
        return len(self.system)


@dataclass
class Gatherer:
    """`add` each row in order, then ask for what was `gathered`."""

    columns: tuple[Column, ...]
    shown: int
    values: dict[str, array[float]] = field(default_factory=dict)
    systems: dict[str, int] = field(default_factory=dict)
    system: array[int] = field(default_factory=lambda: array("l"))
    groups: dict[object, int] = field(default_factory=dict)
    group: array[int] = field(default_factory=lambda: array("l"))
    sample: list[tuple[int, Scored]] = field(default_factory=list)
    ends: dict[tuple[str, int], list[tuple[float, int, Scored]]] = field(default_factory=dict)
    random: random.Random = field(default_factory=lambda: random.Random(0))

    def add(self, scored: Scored) -> None:
        position = len(self.system)
        example = scored.item.example
        name = example.system if example is not None else None
        self.system.append(-1 if name is None else self.systems.setdefault(name, len(self.systems)))
        self.group.append(self.groups.setdefault(_group_key(example, position), len(self.groups)))
        for column in self.columns:
            value = scored.scores[column.label].value
            self.values.setdefault(column.label, array("d")).append(value)
            if not math.isnan(value):
                self._keep_end(column.label, value, position, scored)
        # Algorithm R: every row has the same chance to be among those shown.
        if len(self.sample) < self.shown:
            self.sample.append((position, scored))
        else:
            place = self.random.randrange(position + 1)
            if place < self.shown:
                self.sample[place] = (position, scored)

    def _keep_end(self, label: str, value: float, position: int, scored: Scored) -> None:
        for sign in (1, -1):
            heap = self.ends.setdefault((label, sign), [])
            entry = (sign * value, -position, scored)
            if len(heap) < KEPT_ENDS:
                heapq.heappush(heap, entry)
            elif entry[:2] > heap[0][:2]:
                heapq.heapreplace(heap, entry)

    def kept(self) -> list[tuple[int, Scored]]:
        chosen = dict(self.sample)
        for heap in self.ends.values():
            chosen.update((-negative, scored) for _, negative, scored in heap)
        return sorted(chosen.items(), key=lambda pair: pair[0])

    def gathered(self, left_out: Mapping[str, str]) -> Gathered:
        empty: array[float] = array("d")
        return Gathered(
            columns=self.columns,
            left_out=dict(left_out),
            values={c.label: np.array(self.values.get(c.label, empty), dtype=np.float64) for c in self.columns},
            systems=tuple(self.systems),
            system=np.array(self.system, dtype=np.intp),
            group=np.array(self.group, dtype=np.intp),
            kept=self.kept(),
        )


def gather(
    columns: Sequence[Column],
    rows: Iterable[Scored],
    left_out: Mapping[str, str] | None = None,
    shown: int = SHOWN_EXAMPLES,
) -> Gathered:
    """Reads `rows` once; memory grows by a few numbers per row and by the texts of the rows that are shown."""
    gatherer = Gatherer(tuple(columns), shown)
    for scored in rows:
        gatherer.add(scored)
    return gatherer.gathered(left_out or {})


def _group_key(example: Example | None, position: int) -> object:
    """The named group, or else the content of the input; a row without an input is a group of its own."""
    if example is None:
        return position
    if example.group is not None:
        return example.group
    inputs = [example.source, example.context, example.history, example.question]
    if all(value is None for value in inputs):
        return position
    return hashlib.blake2b(repr(inputs).encode("utf-8", "surrogatepass"), digest_size=16).digest()


# The examples of a report as compact data: texts once each, evidence as runs of small numbers, deflated.
#
# The page reads it back in assets/payload.js; the two files are one format.

SHOWN_CHARACTERS = 40_000
"""Of one text; a longer one is cut in the page, which says so."""
SCALE = 1000
"""Values of evidence are kept to three decimals, as whole numbers."""
LEAST_SPREAD = 0.1
"""Where all evidence is about as strong, nothing is coloured as if it were weak."""
KINDS = ("word", "sentence", "pair")

_SURROGATE = re.compile("[\ud800-\udfff]")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def pack(data: object) -> str:
    """JSON, deflated, in base64: small, quick to read, and free of any character that HTML could take up."""
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate has no UTF-8 form, but it has a JSON escape.
    plain = _SURROGATE.sub(lambda m: f"\\u{ord(m.group()):04x}", plain)
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(deflater.compress(plain.encode("utf-8")) + deflater.flush()).decode("ascii")


def payload(gathered: Gathered) -> JsonObject:
    """What the page knows: columns, systems, and one row per shown example."""
    pool = _Pool()
    rows = [_row(position, scored, gathered, pool) for position, scored in gathered.kept]
    scales = span_scales(gathered)
    return {
        "total": gathered.rows,
        "fields": list(FIELDS),
        "kinds": list(KINDS),
        "columns": [
            {
                "label": c.label,
                "question": c.question,
                "low": _finite(c.low),
                "high": _finite(c.high),
                "better": 1 if c.higher_is_better else -1,
                "range": _seen(gathered.values[c.label]),
                "scale": scales[c.label],
            }
            for c in gathered.columns
        ],
        "first": worst_column(gathered),
        "systems": list(gathered.systems),
        "words": pool.words,
        "texts": pool.texts,
        "rows": rows,
    }


def worst_column(gathered: Gathered) -> int:
    """The place of the dimension that stands worst within its own range: what the page opens at."""
    places = []
    for c in gathered.columns:
        known = gathered.values[c.label][np.isfinite(gathered.values[c.label])]
        if c.high is None or not math.isfinite(c.low) or not len(known) or c.high <= c.low:
            places.append(math.inf)
            continue
        place = (float(known.mean()) - c.low) / (c.high - c.low)
        places.append(place if c.higher_is_better else 1.0 - place)
    return places.index(min(places)) if places else 0


class _Pool:
    """Texts and short strings, each stored once and named by its place."""

    def __init__(self) -> None:
        self.texts: list[object] = []
        self.words: list[str] = []
        self._text_places: dict[str, int] = {}
        self._word_places: dict[str, int] = {}

    def text(self, text: str) -> int:
        if text not in self._text_places:
            self._text_places[text] = len(self.texts)
            shown = text[:SHOWN_CHARACTERS]
            self.texts.append(shown if len(shown) == len(text) else [shown, len(text)])
        return self._text_places[text]

    def word(self, word: str) -> int:
        if word not in self._word_places:
            self._word_places[word] = len(self.words)
            self.words.append(word)
        return self._word_places[word]


def _row(position: int, scored: Scored, gathered: Gathered, pool: _Pool) -> list[object]:
    example = scored.item.example
    texts = {f: example.text(f) for f in FIELDS if example.has(f)} if example is not None else {}
    offsets = {field: Offsets(text) for field, text in texts.items()}
    evidence: list[object] = []
    places: dict[tuple[Span, ...], int] = {}
    details: list[object] = []
    for column in gathered.columns:
        score = scored.scores[column.label]
        if score.spans not in places:
            places[score.spans] = len(evidence)
            evidence.append(pack_spans(score.spans, offsets, pool))
        details.append(_detail(score, places[score.spans], pool))
    return [
        position + 1,
        _identity(example),
        int(gathered.system[position]),
        int(gathered.group[position]),
        [pool.text(texts[f]) if f in texts else -1 for f in FIELDS],
        [_rounded(scored.scores[c.label].value) for c in gathered.columns],
        details,
        evidence,
        scored.item.problem,
    ]


def _identity(example: Example | None) -> str:
    return "" if example is None else example.id


def _detail(score: Score, evidence: int, pool: _Pool) -> list[object]:
    parts = [cell for name, value in score.parts.items() for cell in (pool.word(name), _rounded(value))]
    cut = [cell for name, count in score.cut.items() for cell in (pool.word(name), count)]
    return [evidence, parts, [pool.word(flag) for flag in score.flags], cut]


class Offsets:
    """Python counts characters, a browser UTF-16 units: they part ways after the first emoji."""

    def __init__(self, text: str) -> None:
        self.length = min(len(text), SHOWN_CHARACTERS)
        self._astral = [m.start() for m in _ASTRAL.finditer(text)]

    def clip(self, start: int, end: int) -> tuple[int, int] | None:
        """Start and length in UTF-16 units; nothing for an empty piece or one that is not shown."""
        start, end = max(0, start), min(end, self.length)
        if start >= end:
            return None
        if self._astral:
            start, end = (at + int(np.searchsorted(self._astral, at)) for at in (start, end))
        return start, end - start


def pack_spans(spans: Sequence[Span], offsets: Mapping[str, Offsets], pool: _Pool) -> list[object]:
    """Groups of [kind, field, field of the counterpart or -1, numbers, notes or 0].

    The numbers of one span: gap since the end of the span before, length, value, and for a counterpart its start and
    length (-1, 0 where it has none that can be shown).
    """
    groups: dict[tuple[int, int, int], tuple[list[object], list[int]]] = {}
    ends: dict[tuple[int, int, int], int] = {}
    for span in spans:
        piece = offsets[span.field].clip(span.start, span.end) if span.field in offsets else None
        if piece is None:
            continue
        other = span.other if span.other is not None and span.other[0] in offsets else None
        kind = KINDS.index(span.kind) if span.kind in KINDS else 0
        key = (kind, FIELDS.index(span.field), -1 if other is None else FIELDS.index(other[0]))
        numbers, notes = groups.setdefault(key, ([], []))
        numbers += [piece[0] - ends.get(key, 0), piece[1], _thousandths(span.value)]
        ends[key] = piece[0] + piece[1]
        if other is not None:
            numbers += offsets[other[0]].clip(other[1], other[2]) or (-1, 0)
        notes.append(pool.word(span.note))
    return [
        [*key, numbers, notes if any(pool.words[n] for n in notes) else 0] for key, (numbers, notes) in groups.items()
    ]


def span_scales(gathered: Gathered) -> dict[str, dict[str, list[float]]]:
    """Per column and kind: the 5 % and 95 % quantiles of the evidence, which set how strongly a word is coloured."""
    found: dict[str, dict[str, list[float]]] = {}
    for column in gathered.columns:
        by_kind: dict[str, list[float]] = {}
        for _, scored in gathered.kept:
            for span in scored.scores[column.label].spans:
                if math.isfinite(span.value):
                    by_kind.setdefault(span.kind if span.kind in KINDS else KINDS[0], []).append(span.value)
        found[column.label] = {kind: _scale(values) for kind, values in by_kind.items()}
    return found


def _scale(values: Sequence[float]) -> list[float]:
    low, high = np.quantile(values, [0.05, 0.95])
    return [round(float(min(low, high - LEAST_SPREAD)), 4), round(float(high), 4)]


def _thousandths(value: float) -> int | None:
    return round(value * SCALE) if math.isfinite(value) else None


def _rounded(value: float) -> float | None:
    return round(value, 5) if math.isfinite(value) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _seen(values: Any) -> list[float] | None:
    known = values[np.isfinite(values)]
    return [round(float(known.min()), 5), round(float(known.max()), 5)] if len(known) else None
