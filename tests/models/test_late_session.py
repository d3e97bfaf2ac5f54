"""A graph that is opened beside other work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from quintet.errors import ModelError
from quintet.models.onnx_backend import LateSession
from quintet.models.open import soon
from quintet.models.packed_weights import STEPS, whole_numbers


@pytest.mark.parametrize("before", [False, True])
def test_what_cannot_be_opened_is_said_to_who_asks(tmp_path: Path, before: bool) -> None:
    late = LateSession(tmp_path / "absent.onnx", tmp_path / "absent.safetensors")
    if before:
        soon(late)
    for _ in range(2):
        with pytest.raises(ModelError, match="cannot open the model"):
            late.get()


def test_what_has_no_graph_of_its_own_is_left_alone() -> None:
    soon(object())


@pytest.mark.parametrize("shape", [(1, 16, 1), (3, 16, 40), (9, 16, 257), (70, 16, 64), (2, 16, 5000)])
def test_packed_matrices_are_as_they_are_said_to_be(shape: tuple[int, int, int]) -> None:
    """Whatever part of them is worked on at a time."""
    chance = np.random.default_rng(sum(shape))
    codes = chance.integers(0, 256, shape, dtype=np.uint8)
    low, high = (chance.integers(-128, 128, (shape[0], 1, shape[2]), dtype=np.int8) for _ in range(2))
    steps = np.concatenate([codes & 15, codes >> 4], axis=1).astype(np.float64)
    wide = high.astype(np.float64) - low
    expected = np.rint(steps * wide / STEPS) + low
    assert np.array_equal(whole_numbers(codes, low, high), expected.reshape(-1, shape[2]).astype(np.int8))
