"""Values of meaning representations, with their places."""

from __future__ import annotations

import pytest

from quintet.text.meaning import LONGEST, record_values

FORMS = {
    "inform(name='red door cafe',kidsallowed=no;near=\"the park\")": [
        ("name", "red door cafe"), ("kidsallowed", "no"), ("near", "the park"),
    ],
    "inform(name='Sandesh (sweet), new', course=dessert)": [("name", "Sandesh (sweet), new"), ("course", "dessert")],
    "?request(area, price_range)": [("area", ""), ("price range", "")],
    "inform(area=centre) & request(food)": [("area", "centre"), ("food", "")],
    "name[The Eagle], customer rating[5 out of 5]": [("name", "The Eagle"), ("customer rating", "5 out of 5")],
    "[['The Waterman', 'food', 'French'], ['The Waterman', 'for', \"children's\"]]": [
        ("name", "The Waterman"), ("food", "French"), ("for", "children's"),
    ],
    'Asam_pedas | region | "Malay Peninsula"\nSoto | country | Indonesia': [
        ("name", "Asam_pedas"), ("region", "Malay Peninsula"), ("name", "Soto"), ("country", "Indonesia"),
    ],
    "name: Red Door\narea: centre": [("name", "Red Door"), ("area", "centre")],
}  # fmt: skip
PROSE = (
    "",
    "A plain sentence.",
    "He said [sic] so (really): yes.",
    "Note: this is\nprose",
    "inform()",
    "dog#tail#wag",
)


@pytest.mark.parametrize(("record", "wanted"), FORMS.items())
def test_values_and_their_places(record: str, wanted: list[tuple[str, str]]) -> None:
    found = record_values(record)
    assert [(value.slot, value.text) for value in found] == wanted
    for value in found:
        assert record[value.start : value.end].replace("_", " ") == (value.text or value.slot).replace("_", " ")


@pytest.mark.parametrize("record", PROSE)
def test_prose_has_none(record: str) -> None:
    assert record_values(record) == []


def test_what_is_longer_than_a_record_is_not_searched() -> None:
    record = "name[The Eagle], "
    assert len(record_values(record * 10)) == 10
    assert record_values(record * (LONGEST // len(record) + 1)) == []
