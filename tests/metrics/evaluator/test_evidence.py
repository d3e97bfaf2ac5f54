"""What is flagged is what lowered the score: evidence and value come from the same numbers."""

from __future__ import annotations

import pytest

import quintet

SOURCE = "The council voted on Monday to repair the old bridge. Work on it begins in May."
RIGHT = "The council will repair the old bridge."
WRONG = "The council will demolish the new tunnel."


def consistency(output: str, fast: bool) -> quintet.Score:
    rows = [{"id": "1", "source": SOURCE, "output": output}]
    result = quintet.score(rows, "fact", dims=["consistency"], fast=fast, cache=False)
    return result.rows[0].scores["consistency"]


def judged(score: quintet.Score) -> list[quintet.Span]:
    found = [span for span in score.spans if span.kind == "word" and span.p_supported is not None]
    assert found
    return found


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "full"])
def test_a_flagged_word_shows_the_probability_that_flagged_it(fast: bool) -> None:
    for output in (RIGHT, WRONG):
        for span in judged(consistency(output, fast)):
            assert span.value == span.p_supported
            assert (span.note == "unsupported") == (span.p_supported < 0.5), output[span.start : span.end]
            if span.other is not None:
                assert span.other[0] == "source"
                assert SOURCE[span.other[1] : span.other[2]].strip()


def test_what_is_flagged_is_what_lowered_the_score() -> None:
    right, wrong = consistency(RIGHT, True), consistency(WRONG, True)
    flagged = {WRONG[s.start : s.end].strip(".") for s in judged(wrong) if s.note}
    assert flagged & {"demolish", "new", "tunnel"}
    assert not flagged & {"The", "council", "will"}
    assert not [span for span in judged(right) if span.note]
    assert wrong.value < right.value
    # The words' mean is a part of the score: it fell by what the flagged words lack.
    parts = [name for name in wrong.parts if "words" in name and not name.endswith(" adds")]
    assert parts
    assert all(wrong.parts[name] < right.parts[name] for name in parts)
