"""What the terminal shows: names and numbers stay whole however narrow it is."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from quintet.cli.screen import counted, example_table, header
from quintet.core.example import Example
from quintet.core.item import Item, Scored
from quintet.core.score import Score

LABELS = ["naturalness", "coherence", "engagingness", "groundedness", "understandability", "overall"]


def shown(width: int, system: str | None = "engaging", labels: list[str] = LABELS) -> list[str]:
    scores = {label: Score(0.123 + 0.1 * place, parts={"words": 0.5}) for place, label in enumerate(labels)}
    rows = [Scored(Item(Example("A text.", id=f"tea-{k}", system=system)), scores) for k in range(2)]
    out = io.StringIO()
    Console(file=out, width=width).print(example_table(rows, labels, width))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_every_row_is_one_line_with_whole_numbers(width: int) -> None:
    lines = shown(width)
    for k in range(2):
        (line,) = (one for one in lines if one.startswith(f"tea-{k}") and "0.123" in one)
        assert re.findall(r"\d\.\d+", line)[: len(LABELS)] == ["0.123", "0.223", "0.323", "0.423", "0.523", "0.623"]
    assert sum("words 0.50" in line for line in lines) == 2
    assert all(len(line) <= width for line in lines)


def test_names_are_whole_where_there_is_room_and_a_column_of_nothing_is_left_out() -> None:
    assert all(label in shown(120)[0] for label in [*LABELS, "system"])
    assert "evidence" in shown(200)[0]
    assert "system" not in shown(120, None)[0]


def test_long_names_break_where_their_parts_end() -> None:
    assert header("coherence") == "coherence"
    assert header("bertscore-f:layer=12") == "bertscore-f:\nlayer=12"
    assert header("unieval-summarization/coherence") == "unieval-\nsummarization/\ncoherence"
    assert counted(1, "row") == "1 row"
    assert counted(0, "row") == "0 rows"
