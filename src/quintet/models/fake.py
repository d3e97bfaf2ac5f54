"""Models without weights, for tests: deterministic, instant, and sensible enough that equal words match.

    open_model("fake:embedder")

Nothing here is learnt; scores made with a fake say nothing about a text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError, UnknownName
from quintet.models.memo import Memo
from quintet.models.roles import Long, TokenVectors

VERSION = "1"
_TOKEN = re.compile(r"\w+|[^\w\s]")


def fake(name: str, role: str) -> Any:
    """The fake called `name` (the role in words: embedder), which must serve the role asked for."""
    if name not in FAKES:
        raise UnknownName("fake model", name, FAKES)
    if name != role:
        raise ModelError(f"fake:{name} is a model for the role {name}, not {role}; write fake:{role}")
    return FAKES[name]()


def tokens(text: str) -> list[tuple[int, int]]:
    """Words and single punctuation marks as (start, end)."""
    return [match.span() for match in _TOKEN.finditer(text)]


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
}
