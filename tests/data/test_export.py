"""An exported benchmark is a table of examples with the ratings beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from quintet.core.example import Example
from quintet.data.benchmark import Benchmark, export
from quintet.errors import InputError

BENCHMARK = Benchmark(
    "made-up",
    (
        Example("out é\u2028", "src", references=("r",), id="1", system="A", group="d"),
        Example("out", context="fact", history=("hi", "ho"), id="2"),
    ),
    {"coherence": np.array([1.5, np.nan])},
)


def test_rows(tmp_path: Path) -> None:
    target = tmp_path / "rows.jsonl"
    assert export(BENCHMARK, target) == 2
    first, second = (json.loads(line) for line in target.read_text("utf-8").split("\n") if line)
    assert first == {
        "id": "1", "system": "A", "doc_id": "d", "output": "out é\u2028", "source": "src", "references": ["r"],
        "human": {"coherence": 1.5},
    }  # fmt: skip
    assert second == {
        "id": "2", "output": "out", "context": "fact", "history": ["hi", "ho"], "human": {"coherence": None},
    }  # fmt: skip


def test_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder does not exist"):
        export(BENCHMARK, tmp_path / "no" / "rows.jsonl")
