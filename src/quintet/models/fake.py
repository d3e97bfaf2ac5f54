"""Models without weights, for tests: deterministic, instant, and sensible enough that equal words match.

    open_model("fake:embedder")
    open_model("fake:masked-lm", "masked-lm")

Nothing here is learnt; scores made with a fake say nothing about a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError, UnknownName
from quintet.models import fake_roles as roles
from quintet.models.fake_judge import FakeJudge, FakeReader
from quintet.models.fake_roles import VERSION, tokens
from quintet.models.memo import Memo
from quintet.models.roles import Long, TokenVectors


def fake(name: str, role: str) -> Any:
    """The fake called `name`, which is a role in words, or pair-classifier-5 for one with five labels."""
    if name not in FAKES:
        raise UnknownName("fake model", name, FAKES)
    if not name.startswith(role):
        raise ModelError(f"fake:{name} is a model for the role {name}, not {role}; write fake:{role}")
    return FAKES[name]()


class FakeEncoder:
    """A token's vector is a hash of the token in lower case, with a pinch of its neighbours: more in higher layers."""

    identity = f"fake-embedder@{VERSION}"
    layers = 12
    width = 64
    max_tokens = 512
    pinch = 0.01

    def embed_layers(self, texts: Sequence[str], layers: tuple[int, ...], long: Long) -> list[dict[int, TokenVectors]]:
        return [{layer: self._embed(text, layer, long) for layer in layers} for text in texts]

    def _embed(self, text: str, layer: int, long: Long) -> TokenVectors:
        spans = tokens(text)
        cut = max(0, len(spans) - (self.max_tokens - 2)) if long == "cut" else 0
        spans = [(0, 0), *spans[: len(spans) - cut], (len(text), len(text))]
        names = ["<start>", *(text[start:end].lower() for start, end in spans[1:-1]), "<end>"]
        own = np.stack([token_vector(name, self.width) for name in names])
        around = np.zeros_like(own)
        around[1:] += own[:-1]
        around[:-1] += own[1:]
        starts, ends = np.array(spans, np.int32).T
        return TokenVectors(text, starts, ends, own + np.float32(self.pinch * layer) * around, cut)


@lru_cache(maxsize=100_000)
def token_vector(name: str, width: int) -> NDArray[np.float32]:
    raw = hashlib.shake_128(name.encode("utf-8", "surrogatepass")).digest(2 * width)
    vector = np.frombuffer(raw, "<u2").astype(np.float32) / np.float32(32767.5) - np.float32(1)
    vector.flags.writeable = False
    return vector


FAKES: dict[str, Callable[[], Any]] = {
    "embedder": lambda: Memo(FakeEncoder()),
    "judge": FakeJudge,
    "reader": FakeReader,
    "masked-lm": lambda: roles.FakeMaskedLM("masked-lm"),
    "causal-lm": lambda: roles.FakeCausalLM("causal-lm"),
    "pair-classifier": lambda: roles.FakePairClassifier(2),
    "pair-classifier-3": lambda: roles.FakePairClassifier(3),
    "pair-classifier-5": lambda: roles.FakePairClassifier(5),
    "token-tagger": lambda: roles.FakeTokenTagger("token-tagger"),
    "regressor": lambda: roles.FakeRegressor("regressor"),
    "sentence-order": lambda: roles.FakeSentenceOrder("sentence-order"),
    "yes-no": lambda: roles.FakeYesNo("yes-no"),
    "grader": lambda: roles.FakeGrader("grader"),
}
