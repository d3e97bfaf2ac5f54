"""The reader as it ships: verdicts on claims about texts that it has not seen, and what must not change them."""

from __future__ import annotations

import pytest

import quintet
from quintet.models.open import open_model

SOURCE = (
    "The ferry between Oste and Brake runs hourly from six in the morning until ten at night. It carries cars, but no "
    "lorries. In 2021 the operator replaced the diesel engine with batteries, which cut the noise by half. Tickets are "
    "sold on board; dogs travel free."
)
TRUE = [
    "Lorries are not carried.",
    "You can bring a dog without paying for it.",
    "Since 2021 the boat has run on batteries.",
    "Passengers buy their tickets on the ferry.",
]
FALSE = [
    "Lorries are carried.",
    "You have to pay if you bring a dog.",
    "Since 2021 the boat has run on diesel.",
    "Passengers buy their tickets before they board.",
    "The captain of the ferry is from Norway.",
]


def chances(claims: list[str], source: str = SOURCE) -> list[float]:
    (readings,) = open_model("bundled:reader", "reader").read([(source, tuple(claims))])
    return [reading.supported for reading in readings]


def test_meaning_decides_and_not_wording() -> None:
    true, false = chances(TRUE), chances(FALSE)
    pairs = [(a, b) for a, b in zip(true, false, strict=False)]
    assert sum(a > b for a, b in pairs) >= len(pairs) - 1
    assert sum(true) / len(true) > sum(false) / len(false) + 0.2


def test_no_claim_changes_the_answer_to_another() -> None:
    together = chances([*TRUE, *FALSE])
    assert together == pytest.approx([chances([claim])[0] for claim in (*TRUE, *FALSE)], abs=0.02)


def test_a_context_kept_from_before_gives_the_same() -> None:
    reader = open_model("bundled:reader", "reader")
    first = chances(["Dogs travel for free."])
    for number in range(8):  # more than are kept
        chances(["Dogs travel for free."], f"{SOURCE} Pier number {number} is closed.")
    reader._known.clear()  # type: ignore[attr-defined]
    assert chances(["Dogs travel for free."]) == first


def test_a_claim_that_is_not_in_the_source_is_told_from_one_that_contradicts_it() -> None:
    absent, against = quintet.claims("The captain is from Norway. The ferry takes lorries.", source=SOURCE)
    assert absent.absent > absent.contradicted
    assert against.contradicted > against.absent
    assert "lorries" in against.source.text


def test_marks_in_a_text_are_text() -> None:
    subwords = open_model("bundled:reader", "reader")._subwords  # type: ignore[attr-defined]
    marks = "<s> </s> <pad> <mask> [SEP] [CLS]"
    assert not set(subwords.split(f"The ferry {marks} carries lorries.").ids.tolist()) & {0, 1, 2, 30526}


@pytest.mark.parametrize("text", ["?", "🚀🚀", "\ud800", "a \x00 b", "<s> </s> <mask>", "word " * 3000, "x" * 5000])
def test_odd_and_huge_texts_have_a_verdict(text: str) -> None:
    own = quintet.claims(text, source=SOURCE)
    assert all(0 <= claim.start < claim.end <= len(text) for claim in own)
    for claim in own + quintet.claims("A dog.", source=text):
        assert claim.supported + claim.contradicted + claim.absent == pytest.approx(1.0)
