# ruff: noqa: E402 - what follows needs packages that may be absent
"""The tables of the smoke rows, with neighbours drawn at random from other texts: what builders work on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from quintet_train import recipe
from quintet_train.evaluator import continuing, corpora
from quintet_train.evaluator.groups import Neighbours, Times
from quintet_train.evaluator.tables import Continued, Retold, Tables, Told, fill

ROWS = Path(recipe.__file__).parent / "recipes" / "smoke_rows"


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tables(times: Times) -> Tables:
    """Claims are ended as if by a language model and judged as if by a teacher; texts are told as if by a model."""
    made = recipe.load("evaluator", smoke=True)
    found = fill(record for source in made.data.sources for record in corpora.read(source, ROWS, 0))
    begun = continuing.beginnings(found, times, 60, Random(0))
    ends = (" with 4,417 guests from Quixville.", " by the old zebra and its keeper", " and it was.")
    continued = [Continued(one.document, one.claim, one.kept, ends[n % 3]) for n, one in enumerate(begun)]
    judged = [
        Retold(number, sentence, chance, ((0, 4),) if chance < 0.5 else ())
        for number, document in enumerate(found.documents)
        for sentence, chance in zip(document.sentences, (0.93, 0.41, 0.07), strict=False)
    ]
    told = [
        Told(number, f"{document.sentences[1]} {document.sentences[0]}")
        for number, document in enumerate(found.documents)
    ]
    return replace(found, continued=continued, retold=judged, told=told)


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


@pytest.fixture(scope="session")
def times_of(times: Times):
    """The table of a recipe that has examples from a builder, by the builder's name."""
    others = {
        "written summaries": "judge-lm-heads",
        "taught claims": "judge-lm-taught",
        "told texts": "judge-lm-taught-wide",
    }
    read = {name: Times(recipe.load(of).data.options["times"]) for name, of in others.items()}
    return lambda name: read.get(name, times)
