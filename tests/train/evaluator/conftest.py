# ruff: noqa: E402 - what follows needs packages that may be absent
"""The tables of the smoke rows, with neighbours drawn at random from other texts: what builders work on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from quintet.train import recipe
from quintet.train.evaluator import corpora
from quintet.train.evaluator.groups import Neighbours, Times
from quintet.train.evaluator.tables import Tables, fill

ROWS = Path(recipe.__file__).parent / "recipes" / "smoke_rows"


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tables() -> Tables:
    made = recipe.load("evaluator", smoke=True)
    return fill(record for source in made.data.sources for record in corpora.read(source, ROWS, 0))


def _foreign(owners: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    rows = [rng.choice(np.flatnonzero(owners != owner), 24) for owner in owners]
    return np.array(rows, np.int32)


@pytest.fixture(scope="session")
def neighbours(tables: Tables) -> Neighbours:
    rng = np.random.default_rng(0)
    near = {"visitors": ["workers", "guests"], "building": ["tower", "garden"], "wanted": ["needed", "painted"]}
    return Neighbours(_foreign(tables.turn_dialogue, rng), _foreign(tables.sentence_document, rng), near)


@pytest.fixture(scope="session")
def times() -> Times:
    return Times(recipe.load("evaluator").data.options["times"])
