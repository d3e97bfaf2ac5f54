"""What must not matter is the same for a whole group; mistakes of generators from slots."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from quintet_train.evaluator import surface, template_groups
from quintet_train.evaluator.building import groups
from quintet_train.evaluator.groups import Group, Judged
from quintet_train.evaluator.tables import Slot

TEXT = "The Mill is a cheap restaurant near the river that serves Indian food."
SLOTS = (Slot("inform", "name", "The Mill"), Slot("inform", "food", "Indian"), Slot("request", "area", ""))
PAIR = Group("acc", [Judged("It doesn't rain.", "", 1), Judged("It rain", "", 0, [(3, 7)])])


def ends(text: str) -> bool:
    return text.rstrip()[-1:] in ".!?"


@given(st.integers(0, 10_000))
@settings(max_examples=100, deadline=None)
def test_final_stops_are_there_in_all_or_in_none(seed: int) -> None:
    made = surface.same_surface(PAIR, Random(seed))
    assert len({ends(text.output) for text in made.texts}) == 1
    assert [text.label for text in made.texts] == [1, 0]
    for text in made.texts:
        assert text.output.startswith("It")
        assert all(0 <= start < end <= len(text.output) for start, end in text.wrong or ())


def test_both_ways_of_making_ends_equal_occur() -> None:
    made = [surface.same_surface(PAIR, Random(seed)) for seed in range(200)]
    plain = {tuple(text.output for text in one.texts) for one in made}
    assert {("It doesn't rain.", "It rain."), ("It doesn't rain", "It rain")} <= plain
    assert any(text.output.endswith(sign) for one in made for text in one.texts for sign in surface.EMOJI)
    alone = Group("acc", [Judged("It doesn't rain.", "", 1)], False)
    tokenised = [surface.same_surface(alone, Random(seed)).texts[0].output for seed in range(300)]
    assert any(text.startswith("It does n't rain") for text in tokenised)


def test_spans_end_with_their_text() -> None:
    group = Group("con", [Judged("He won it.", "g", 0, [(3, 10)])])
    shorter = [made for seed in range(50) if not ends((made := surface.same_surface(group, Random(seed)).texts[0])[0])]
    assert Judged("He won it", "g", 0, [(3, 9)]) in shorter


def test_every_mistake_of_templates_changes_a_description() -> None:
    for mistake in template_groups._MISTAKES:
        made = [mistake(TEXT.split(), Random(seed), SLOTS, "It has a bar.") for seed in range(30)]
        assert any(one != TEXT.split() for one in made)
        assert mistake(["Mill"], Random(0), SLOTS, "It has a bar.") is not None
    named = {" ".join(template_groups._name_slot(TEXT.split(), Random(seed), SLOTS, "")) for seed in range(40)}
    assert "xname is a cheap restaurant near the river that serves Indian food." in named


def test_templates_stand_above_their_mistakes(tables, neighbours, times) -> None:
    made = list(groups("templates", tables, neighbours, times, 0))
    assert made
    for group in made:
        assert group.texts[0].label == 1
        assert all(text.label in (0, 0.25) for text in group.texts[1:])
        assert len({text.output.islower() for text in group.texts}) == 1
