"""Near-copies that stay true, and facts given to the wrong person."""

from __future__ import annotations

from random import Random

import pytest

from quintet_train.text import near_copies as rules
from quintet_train.text.claims import falsify


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        (rules.without_brackets, "The toll (4 euros) is due at once.", "The toll is due at once."),
        (rules.without_relative, "Ann Hay, who lives in Leith, won the race.", "Ann Hay won the race."),
        (rules.without_relative, "She sold the barn, which had stood empty.", "She sold the barn."),
        (rules.without_apposition, "Ann Hay, a nurse from Leith, won the race.", "Ann Hay won the race."),
        (
            rules.first_part,
            "The ferry stayed in port all day because the wind was too strong.",
            "The ferry stayed in port all day.",
        ),
        (
            rules.second_part,
            "The ferry stayed in port, but the pilots went out twice before noon.",
            "The pilots went out twice before noon.",
        ),
        (rules.without_opening, "On Monday, the council closed the bridge.", "The council closed the bridge."),
        (
            rules.opening_to_the_end,
            "After the great flood, the council closed the old bridge.",
            "The council closed the old bridge after the great flood.",
        ),
        (rules.without_dateline, "LEITH, Scotland (CNN) -- A ferry ran aground.", "A ferry ran aground."),
    ],
)
def test_a_rule_keeps_what_is_true(rule: rules.Rule, before: str, after: str) -> None:
    assert rule(before, Random(0)) == after


@pytest.mark.parametrize(
    "text",
    [
        "If the wind drops, the ferry leaves at noon.",
        "Ann Hay denied she had sold the barn, and the neighbour believed her at once.",
        "The mayor would have closed the bridge, but the council had no money left.",
    ],
)
def test_what_hangs_on_a_condition_is_not_taken_out_of_it(text: str) -> None:
    assert rules.first_part(text, Random(0)) is None
    assert rules.second_part(text, Random(0)) is None
    assert rules.without_opening(text, Random(0)) is None


def test_a_fact_is_given_to_another_who_is_named() -> None:
    text = ["Ann Hay won the race.", "Tom Orr said it had rained.", "The judges gave Ann Hay a cup, and Tom Orr a pen."]
    named = rules.subjects(text, " ".join(text))
    assert named == ["Ann Hay", "Tom Orr"]
    assert rules.given_to(text[0], named, Random(0)) == "Tom Orr won the race."
    assert rules.given_to("It rained.", named, Random(0)) is None


def test_what_loses_a_modifier_is_not_called_false() -> None:
    text = "The old ferry left the harbour of Leith."
    found = {falsify(text, "", Random(seed), pruned=False) for seed in range(40)}
    assert {edit.rule for edit in found if edit} == {"antonym"}
    assert "prune" in {edit.rule for seed in range(40) if (edit := falsify(text, "", Random(seed)))}
