"""The files in examples/ can be read as they are, and the copy inside the package is the same file."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from quintet.io.columns import to_example
from quintet.io.tables import open_table

EXAMPLES = Path(__file__).parents[2] / "examples"


def read(path, task):
    table = open_table(path)
    columns = table.column_map(task)
    return [to_example(item.values, columns, item.position, task) for item in table]


@pytest.mark.parametrize(
    ("name", "task", "rows", "fields"),
    [
        ("summarization.jsonl", "summarization", 12, {"source", "references"}),
        ("dialogue.jsonl", "dialogue", 12, {"history", "context"}),
        ("data2text.csv", "data2text", 9, {"source", "references"}),
        ("rewriting.tsv", "rewriting", 9, {"source"}),
        ("fact.jsonl", "fact", 8, {"source"}),
        ("text.jsonl", "text", 9, set()),
    ],
)
def test_every_example_has_what_its_task_needs(name, task, rows, fields):
    examples = read(EXAMPLES / name, task)
    assert len(examples) == rows
    assert len({example.id for example in examples}) == rows
    for example in examples:
        assert example.output.strip()
        assert {f for f in ("source", "context", "references", "history") if example.has(f)} == fields
        assert example.group
    systems = Counter(example.system for example in examples)
    assert len(set(systems.values())) == 1
    if task == "dialogue":
        assert all(len(example.history) == 3 for example in examples)
    if task == "data2text":
        assert all(len(example.references) == 2 for example in examples)


def test_line_aligned_example():
    folder = EXAMPLES / "lines"
    examples = read({field: folder / f"{field}.txt" for field in ("output", "source", "references")}, "summarization")
    assert [len(example.references) for example in examples] == [2, 1, 1, 2]
    assert [example.output == "" for example in examples] == [False, False, True, False]
    assert [example.id for example in examples] == ["1", "2", "3", "4"]


def test_the_package_carries_the_same_example():
    inside = files("quintet") / "example_data" / "summarization.jsonl"
    assert inside.read_bytes() == (EXAMPLES / "summarization.jsonl").read_bytes()
