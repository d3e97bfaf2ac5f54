"""A small part of `benchmarks/fuzz.py` with a fixed seed, and proof that its oracle sees what it is there to see."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

from quintet.io.records import BadRow, Position, Record

PLACE = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("area", "inputs"),
    [("jsonl", 150), ("json", 150), ("csv", 150), ("anything", 150), ("round trip", 150), ("dialects", 150),
     ("decoders", 300), ("bodies", 150), ("cheap metrics", 150), ("commands", 60), ("xlsx", 60)],
)  # fmt: skip
def test_no_input_of_a_fixed_stream_is_a_fault(fuzz: ModuleType, area: str, inputs: int) -> None:
    if area == "bodies":
        pytest.importorskip("starlette", reason="the service needs the extra `serve`")
    counts, faults = fuzz.run([area], inputs, 120.0, seed=20)
    assert not faults
    assert counts.total() > 20


def test_hypothesis_finds_nothing_smaller(fuzz: ModuleType) -> None:
    from hypothesis import given, settings
    from hypothesis import strategies as st

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(st.randoms(use_true_random=False))
    def look(draw: random.Random) -> None:
        fuzz.AREAS["dialects"][0](draw)

    look()


def test_the_oracle_sees_rows_that_slide_vanish_or_change_places(fuzz: ModuleType) -> None:
    lines = [f"{fuzz.mark(k)},{fuzz.mark(k)}\n".encode() for k in range(3)]
    content = b"".join(lines)

    def rows(*cells: tuple[int, int]) -> list[Record]:
        return [Record(Position(n, "f"), {"id": fuzz.mark(a), "output": fuzz.mark(b)})
                for n, (a, b) in enumerate(cells, start=1)]  # fmt: skip

    assert fuzz.hold(rows((0, 0), (1, 1), (2, 2)), 3, lines, content) == fuzz.KEPT
    for wrong in (((0, 0), (1, 2), (2, 1)), ((0, 0), (2, 2)), ((1, 1), (0, 0), (2, 2))):
        with pytest.raises(fuzz.Fault):
            fuzz.hold(rows(*wrong), 3, lines, content)
    named = [*rows((0, 0)), BadRow(Position(2, "f"), "bad", f"{fuzz.mark(1)} {fuzz.mark(2)}")]
    assert fuzz.hold(named, 3, lines, content) == fuzz.NAMED


def test_parts_of_a_message_may_be_of_any_type() -> None:
    from quintet.io.items import Items
    from quintet.io.sources import rows_from_python

    row = {"output": "a", "messages": [{"role": "user", "content": [["a"], 5, None, {"text": "b"}, {"text": 5}]}]}
    with Items(rows_from_python([row]), "dialogue", None, skip_bad=True) as items:
        assert [item.example is not None for item in items] == [True]
