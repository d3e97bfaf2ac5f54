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


def of_kind(score: quintet.Score, kind: str) -> list[quintet.Span]:
    return [span for span in score.spans if span.kind == kind]


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "full"])
def test_a_claim_shows_the_probability_that_flagged_it(fast: bool) -> None:
    for output in (RIGHT, WRONG):
        for span in of_kind(consistency(output, fast), "sentence"):
            assert span.value == span.p_supported
            assert (span.note == "supported") == (span.p_supported >= 0.5), output[span.start : span.end]
            assert span.other is not None
            assert span.other[0] == "source"
            assert SOURCE[span.other[1] : span.other[2]].strip()


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "full"])
def test_what_is_flagged_is_what_lowered_the_score(fast: bool) -> None:
    right, wrong = consistency(RIGHT, fast), consistency(WRONG, fast)
    assert wrong.value < 0.5 < right.value
    assert not of_kind(right, "word")
    (claim,) = of_kind(wrong, "sentence")
    assert claim.note in ("contradicted", "not in the source")
    flagged = {WRONG[span.start : span.end].strip(".") for span in of_kind(wrong, "word")}
    assert flagged & {"demolish", "new", "tunnel"}
    assert not flagged & {"The", "council"}
    # The claim's log-odds are a part of the score: they fell by what the flagged claim lacks.
    parts = [name for name in wrong.parts if "claim" in name and not name.endswith(" adds")]
    assert parts
    assert all(wrong.parts[name] < right.parts[name] for name in parts)


def test_true_padding_does_not_rescue_a_lie() -> None:
    padded = consistency(f"{SOURCE} {WRONG}", True)
    assert padded.value < 0.5
    assert [span.note for span in of_kind(padded, "sentence")][:2] == ["supported", "supported"]
