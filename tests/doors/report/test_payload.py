"""The packed data says what the scores said, whatever the texts are."""

import base64
import json
import zlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.core.example import FIELDS, Example
from quintet.core.item import Item, Scored
from quintet.core.result import Column
from quintet.core.score import Score, Span
from quintet.report.gather import KINDS, SHOWN_CHARACTERS, gather, pack, payload

COLUMN = Column("c", "signature")


def unpack(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text), -15))


def spans_of(data: Any, row: list[Any], column: int) -> list[tuple[Any, ...]]:
    """A plain twin of unpackSpans in payload.js."""
    found = []
    for kind, field, other_field, numbers, notes in row[7][row[6][column][0]]:
        stride, end = (3, 0) if other_field < 0 else (5, 0)
        for k, i in enumerate(range(0, len(numbers), stride)):
            start = end + numbers[i]
            end = start + numbers[i + 1]
            other = None
            if stride == 5 and numbers[i + 3] >= 0:
                other = (FIELDS[other_field], numbers[i + 3], numbers[i + 3] + numbers[i + 4])
            note = data["words"][notes[k]] if notes else ""
            found.append((KINDS[kind], FIELDS[field], start, end, numbers[i + 2], note, other))
    return found


def utf16(text: str, start: int, end: int) -> str:
    units = text.encode("utf-16-le", "surrogatepass")
    return units[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


texts = st.text(st.characters(codec=None), min_size=1, max_size=40)


@st.composite
def rows(draw: st.DrawFn) -> Scored:
    output, source = draw(texts), draw(texts)

    def piece(text: str) -> tuple[int, int]:
        start = draw(st.integers(0, len(text) - 1))
        return start, draw(st.integers(start + 1, len(text)))

    spans = [
        Span(
            *piece(output),
            draw(st.floats(-5, 5)),
            draw(st.sampled_from(KINDS)),
            note=draw(st.sampled_from(["", "ABCD", "<b>"])),
            other=("source", *piece(source)) if draw(st.booleans()) else None,
        )
        for _ in range(draw(st.integers(0, 6)))
    ]
    return Scored(Item(Example(output, source, id=draw(texts))), {"c": Score(0.5, tuple(spans), {"p": 0.25})})


@settings(max_examples=150, deadline=None)
@given(rows())
def test_spans_come_back_as_they_went_in(scored: Scored) -> None:
    example = scored.item.example
    assert example is not None
    data = unpack(pack(payload(gather([COLUMN], [scored]))))
    back = spans_of(data, data["rows"][0], 0)
    want = scored.scores["c"].spans
    assert len(back) == len(want)
    seen = sorted((k, utf16(example.text(f), s, e), v, n, _there(example, o)) for k, f, s, e, v, n, o in back)
    assert seen == sorted(
        (
            s.kind,
            example.output[s.start : s.end],
            round(s.value * 1000),
            s.note,
            "" if s.other is None else example.text(s.other[0])[s.other[1] : s.other[2]],
        )
        for s in want
    )


def _there(example: Example, other: tuple[str, int, int] | None) -> str:
    return "" if other is None else utf16(example.text(other[0]), other[1], other[2])


@given(st.text(st.characters(codec=None), max_size=200))
def test_packed_data_has_no_character_that_html_could_take_up(text: str) -> None:
    packed = pack({"text": text + "</script><!--\u2028"})
    assert set(packed) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    assert unpack(packed)["text"] == text + "</script><!--\u2028"


def test_texts_and_evidence_are_stored_once() -> None:
    spans = (Span(0, 3, 0.5, other=("source", 0, 3)),)
    columns = [Column("a", "s"), Column("b", "s")]
    rows = [
        Scored(Item(Example("one", "same source", id=str(i))), {c: Score(1.0, spans) for c in "ab"}) for i in range(5)
    ]
    data = payload(gather(columns, rows))
    assert data["texts"] == ["one", "same source"]
    assert [len(row[7]) for row in data["rows"]] == [1] * 5


def test_a_long_text_is_cut_and_says_so_and_evidence_beyond_is_dropped() -> None:
    long = "a" * (SHOWN_CHARACTERS + 50)
    spans = (
        Span(0, 5, 0.1),
        Span(SHOWN_CHARACTERS + 1, SHOWN_CHARACTERS + 5, 0.1),
        Span(3, 3, 0.1),
        Span(-5, 999_999, 1.0),
    )
    data = payload(gather([COLUMN], [Scored(Item(Example(long, id="1")), {"c": Score(1.0, spans)})]))
    assert data["texts"][0] == [long[:SHOWN_CHARACTERS], len(long)]
    assert [(s, e) for _, _, s, e, *_ in spans_of(data, data["rows"][0], 0)] == [(0, 5), (0, SHOWN_CHARACTERS)]


def test_a_sample_keeps_the_worst_and_the_best() -> None:
    rows = [Scored(Item(Example(f"text {i}", id=str(i))), {"c": Score(float((i * 7919) % 5000))}) for i in range(5000)]
    gathered = gather([COLUMN], rows, shown=100)
    assert gathered.rows == 5000
    assert 100 <= len(gathered.kept) <= 150
    kept = {scored.scores["c"].value for _, scored in gathered.kept}
    assert set(map(float, range(25))) <= kept
    assert set(map(float, range(4975, 5000))) <= kept
    assert [p for p, _ in gathered.kept] == sorted(p for p, _ in gathered.kept)
