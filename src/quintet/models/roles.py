"""What a metric may ask of a model. A role never names a framework.

Texts are data: a backend must encode them so that separators, prompts or control characters inside a text cannot
change the structure of the model's input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Long = Literal["window", "cut"]
"""What to do with a text longer than the model: overlapping windows (nothing lost), or cut as the papers do."""


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """The sub-words of one text at one layer, first and last being the model's special tokens."""

    text: str
    starts: NDArray[np.int32]
    """First character of each sub-word in `text`; specials have start == end."""
    ends: NDArray[np.int32]
    vectors: NDArray[np.float32]
    """(sub-words, width), as the model gives them, not normalised."""
    cut: int = 0
    """Sub-words at the end of the text that the model did not see."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def inner(self) -> TokenVectors:
        """Without the two special tokens."""
        return TokenVectors(self.text, self.starts[1:-1], self.ends[1:-1], self.vectors[1:-1], self.cut)

    def token(self, index: int) -> str:
        return self.text[self.starts[index] : self.ends[index]]


@runtime_checkable
class Embedder(Protocol):
    """One vector per sub-word of a text, at any layer; layer 0 is the embedding table, `layers` the last."""

    identity: str
    """Name, digest, backend and precision, for signatures: `gte-small@1a2b3c4d/onnx/int8`."""
    layers: int
    width: int
    max_tokens: int

    def announce(self, layer: int) -> None:
        """Says that `layer` will be asked for, so that one pass over a text serves every metric of a run."""

    def embed(self, texts: Sequence[str], layer: int, long: Long = "window") -> list[TokenVectors]: ...
