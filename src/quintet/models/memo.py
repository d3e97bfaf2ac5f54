"""One encoder pass per distinct text, whatever number of metrics ask for its vectors."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from quintet._checked import whole_number
from quintet.core.cache import current
from quintet.errors import ModelError
from quintet.models.roles import Long, TokenVectors

# A memory of keys and values, bounded by their bytes, the least recently used out first.

Kept = TypeVar("Kept")


class KeptStates(Generic[Kept]):
    """By the ids they belong to; `size` says their bytes. The latest is kept however large it is."""

    def __init__(self, limit: int, size: Callable[[Kept], int]) -> None:
        self._limit, self._size = limit, size
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self.bytes = 0

    def get(self, key: bytes) -> Kept | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: bytes, states: Kept) -> None:
        before = self._kept.pop(key, None)
        self.bytes += self._size(states) - (0 if before is None else self._size(before))
        self._kept[key] = states
        while self.bytes > self._limit and len(self._kept) > 1:
            self.bytes -= self._size(self._kept.popitem(last=False)[1])

    def clear(self) -> None:
        self._kept.clear()
        self.bytes = 0


DEFAULT_BYTES = 512 * 2**20
_MODES: tuple[Long, ...] = ("window", "cut")


class Encoder(Protocol):
    """What a backend offers for the role Embedder: several layers from one pass."""

    identity: str
    layers: int
    width: int
    max_tokens: int

    def embed_layers(
        self, texts: Sequence[str], layers: tuple[int, ...], long: Long
    ) -> list[dict[int, TokenVectors]]: ...


class _Vectors:
    """Of texts, the least recently used first."""

    def __init__(self) -> None:
        self.texts: OrderedDict[tuple[str, Long], dict[int, TokenVectors]] = OrderedDict()
        self.bytes = 0


class Memo:
    """An Embedder that remembers; the least recently used texts go first when `limit` bytes are full."""

    def __init__(self, encoder: Encoder, limit: int | None = None) -> None:
        self.encoder = encoder
        self.identity, self.layers = encoder.identity, encoder.layers
        self.width, self.max_tokens = encoder.width, encoder.max_tokens
        self.limit = whole_number("QUINTET_MEMO_BYTES", DEFAULT_BYTES, 0) if limit is None else limit
        self.passes = 0
        """Texts that went through the encoder."""
        self.texts = 0
        """Texts that were asked for."""
        self._announced: set[int] = set()
        self._lock = threading.RLock()

    @property
    def _kept(self) -> _Vectors:
        return current().store(self, _Vectors)

    @property
    def bytes(self) -> int:
        return self._kept.bytes

    def announce(self, layer: int) -> None:
        self._announced.add(self._checked(layer))

    def embed(self, texts: Sequence[str], layer: int, long: Long = "window") -> list[TokenVectors]:
        self._checked(layer)
        with self._lock:
            self.texts += len(texts)
            found: dict[str, TokenVectors] = {}
            absent: list[str] = []
            for text in dict.fromkeys(texts):
                kept = self._recall(text, long)
                if layer in kept:
                    found[text] = kept[layer]
                else:
                    absent.append(text)
            found.update(self._encode(absent, layer, long))
            return [found[text] for text in texts]

    def _recall(self, text: str, long: Long) -> dict[int, TokenVectors]:
        """What is kept of a text. One that fits the model whole is the same however long ones are treated."""
        known = self._kept.texts
        for mode in (long, *(other for other in _MODES if other != long)):
            kept = known.get((text, mode))
            if kept is not None and (mode == long or _fits(kept, self.max_tokens)):
                known.move_to_end((text, mode))
                return kept
        return {}

    def forget(self) -> None:
        """Drops what is kept; announcements stay."""
        current().drop(self)

    def _encode(self, texts: list[str], layer: int, long: Long) -> dict[str, TokenVectors]:
        if not texts:
            return {}
        layers = tuple(sorted(self._announced | {layer}))
        self.passes += len(texts)
        found = {}
        for text, made in zip(texts, self.encoder.embed_layers(texts, layers, long), strict=True):
            found[text] = made[layer]
            self._keep((text, long), made)
        return found

    def _keep(self, key: tuple[str, Long], made: dict[int, TokenVectors]) -> None:
        kept = self._kept
        kept.bytes += _size(made) - _size(kept.texts.pop(key, {}))
        kept.texts[key] = made
        while kept.bytes > self.limit:
            kept.bytes -= _size(kept.texts.popitem(last=False)[1])

    def _checked(self, layer: int) -> int:
        if not 0 <= layer <= self.layers:
            raise ModelError(f"{self.identity} has layers 0 to {self.layers}, not {layer}")
        return layer


def _fits(kept: dict[int, TokenVectors], max_tokens: int) -> bool:
    vectors = next(iter(kept.values()))
    return vectors.cut == 0 and len(vectors) <= max_tokens


def _size(made: dict[int, TokenVectors]) -> int:
    return sum(v.vectors.nbytes + v.starts.nbytes + v.ends.nbytes + len(v.text) for v in made.values())
