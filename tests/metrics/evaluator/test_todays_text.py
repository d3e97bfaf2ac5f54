"""Answers as language models write them today: lists, headings, emphasis, courtesies."""

from __future__ import annotations

import pytest

from quintet.metrics.evaluator.claims import claims_of
from quintet.metrics.evaluator.reading import read_output

ANSWER = """Sure! Here's a summary of the meeting:

## Key points
- **Budget:** the board approved 4 million euros
- The new hall opens in May
**Next steps**
1. First she moved.
2) Then he left.

The text was broken at about seventy characters, as in mails of old that
are still about, and goes on here.
Would you like me to shorten it?
Let me know if you need anything else!"""


def test_list_items_are_claims_and_courtesies_are_not() -> None:
    output = read_output(ANSWER)
    assert [claim.text for claim in claims_of(output)] == [
        "Budget: the board approved 4 million euros",
        "The new hall opens in May",
        "First she moved.",
        "Then he left.",
        "The text was broken at about seventy characters, as in mails of old that are still about, and goes on here.",
    ]
    for sentence in output.sentences:
        start, end = output.places.span(sentence.start, sentence.end)
        assert sentence.text.split()[-1].strip(":") in ANSWER[start:end]


@pytest.mark.parametrize("text", ["Yes.", "Sure!", "Key points:", "Would you like tea?", "3. FC Leith won."])
def test_a_text_of_one_sentence_is_always_a_claim(text: str) -> None:
    assert [claim.text for claim in claims_of(read_output(text))] == [text]


def test_a_list_reads_like_the_same_sentences_without_marks() -> None:
    plain = "The meeting opened on time. Two members left. The report was approved."
    listed = "• The meeting opened on time.\n• Two members left.\n• The report was approved."
    numbered = "1. The meeting opened on time.\n2. Two members left.\n3. The report was approved."
    assert read_output(listed).text == read_output(numbered).text == plain


def test_lines_of_a_talk_are_their_own() -> None:
    talk = "Ann: we meet on Friday\nTom: I can't\nAnn: then Monday"
    assert [piece.text for piece in read_output(talk).sentences] == talk.split("\n")
