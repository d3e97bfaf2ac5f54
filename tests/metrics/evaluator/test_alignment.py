"""Support is said of the characters the user gave, whatever was done to the texts before they were compared."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quintet.core.blend import with_counterparts
from quintet.core.example import Example
from quintet.core.score import Span
from quintet.metrics.evaluator.alignment import document_back, fact_back, plain_back
from quintet.metrics.evaluator.matching import Matching
from quintet.metrics.evaluator.reading import fact_of, read_document, read_plain

SOURCE = "The  ferry ( a small one ) sank .\n\nForty people did n't  drown ; all were brought ashore <b>unhurt</b> ."
EXAMPLE = Example(
    output="The ferry sank, but nobody drowned; forty were brought ashore.",
    source=SOURCE,
    context="  your persona: i like ferries . your persona: i sank once .",
    references=("A ferry sank .", "", "Forty people were brought ashore ."),
    history=("Did you hear ?", "The ferry sank .", "", "Yes , forty people were on it ."),
)
FIELDS = {
    "document": "source", "input": "source", "fact": "context", "references": "references", "turn": "history",
}  # fmt: skip


@pytest.mark.parametrize("beside", FIELDS)
def test_equal_words_find_one_another(beside: str) -> None:
    """The fake's vectors are equal for equal words, so a word that stands in both texts supports itself."""
    score = Matching(beside=beside, model="fake:embedder").score([EXAMPLE])[0]["precision"]  # type: ignore[arg-type]
    there = EXAMPLE.text(FIELDS[beside])
    seen = EXAMPLE.history[-1] if beside == "turn" and EXAMPLE.history else there
    words = {EXAMPLE.output[s.start : s.end].strip(".,;").lower(): s for s in score.spans}
    assert len(words) == len(set(EXAMPLE.output.lower().replace(";", "").replace(",", "").rstrip(".").split()))
    found = 0
    for word, span in words.items():
        assert span.other is not None
        field, start, end = span.other
        assert field == FIELDS[beside]
        assert 0 <= start < end <= len(there)
        assert any(map(str.isalnum, there[start:end]))
        if word in seen.lower().split():
            assert there[start:end].lower() == word
            found += 1
    assert found >= 1


@example("\nyour persona: \n")
@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("ab. ,\n()'`\"<b>n-LRBtyour persona:é"), max_size=60))
def test_every_piece_of_plain_text_has_its_place(text: str) -> None:
    for plain, back in (
        (" ".join(read_document(text)), document_back(text)),
        (read_plain(text), plain_back(text)),
        (fact_of(Example("x", context=text)), fact_back(text)),
    ):
        for at, character in enumerate(plain):
            if not character.isalnum():
                continue
            start, end = back(at, at + 1)
            assert 0 <= start < end <= len(text)
            assert character in text[start:end]


def test_a_judged_word_keeps_its_value_and_learns_where_its_nearest_stands() -> None:
    weak, sentence = Span(0, 3, 0.1, note="unsupported", p_supported=0.1), Span(0, 9, 0.2, "sentence")
    other = Span(0, 3, 0.9, other=("source", 4, 7))
    assert with_counterparts((weak, sentence), (weak, other)) == (
        dataclasses.replace(weak, other=("source", 4, 7)),
        sentence,
    )
    assert with_counterparts((weak,), (weak,)) == (weak,)
    assert with_counterparts((other,), (weak,)) == (other,)


def test_marks_are_shown_only_where_there_is_nothing_else() -> None:
    metric = Matching(beside="input", model="fake:embedder")
    (span,) = metric.score([Example("Rain", source="... !")])[0]["precision"].spans
    assert span.other is not None
