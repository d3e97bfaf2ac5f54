"""The four cases of the paper's Table 10, and the places the evidence points at."""

import pytest

from quintet.core.example import Example
from quintet.metrics.gruen.redundancy import Redundancy

FIRST = "The monkey took a bunch of bananas on the desk."
TABLE_10 = [
    ("It took a bunch of bananas on the desk.", "ABCD"),
    (
        "The monkey took a bunch of bananas on the desk, and they are the fruits reserved for the special guests "
        "invited tonight.",
        "ABD",
    ),
    ("The monkey took a large bunch of bananas on the red desk.", "CD"),
    ("It took bunches of banana on the desks.", "C"),
]


@pytest.mark.parametrize("mode", ["quintet", "released"])
@pytest.mark.parametrize(("second", "flags"), TABLE_10)
def test_table_10(second: str, flags: str, mode: str) -> None:
    metric = Redundancy(mode=mode)  # type: ignore[arg-type]
    assert metric.flags(FIRST, second) == flags
    (row,) = metric.score([Example(f"{FIRST} {second}")])
    score = row["non-redundancy"]
    assert score.value == pytest.approx(-0.1 * len(flags))
    (span,) = score.spans
    assert span.note == flags
    assert span.other == ("output", 0, len(FIRST))
    assert f"{FIRST} {second}"[span.start : span.end] == second


def test_containment_gives_all_four_flags_however_short() -> None:
    assert Redundancy().flags("He left.", "He left. He did") == "ABCD"


def test_short_pairs_are_not_tested() -> None:
    assert Redundancy().flags("He ran away.", "He ran home.") == ""
    assert Redundancy(shortest=3).flags("He ran away.", "He ran home.") != ""


def test_long_sentences_escape_the_released_code() -> None:
    """difflib ignores frequent characters in strings of 200 and more; ours does not."""
    a = "on monday the council said " + "it would mend the old bridge over the river and the road to the mill " * 3
    b = "the council said on monday " + "it would mend the old bridge over the river and the road to the mill " * 3
    assert "A" in Redundancy().flags(a, b)
    assert "A" not in Redundancy(mode="released").flags(a, b)


def test_one_sentence_and_no_sentence_have_nothing_to_repeat() -> None:
    rows = Redundancy().score([Example(FIRST), Example("  "), Example("word")])
    assert [row["non-redundancy"].value for row in rows] == [0.0, 0.0, 0.0]
    assert rows[1]["non-redundancy"].flags == ("empty output",)
