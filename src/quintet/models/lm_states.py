"""Keys and values of a language model, under the names its graph has for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

States = tuple[NDArray[np.float32], ...]
"""Keys and values of each layer in turn: (1, heads, sub-words, width of a head)."""


class StateNames(NamedTuple):
    past: tuple[str, ...]
    """Inputs: of what was read before."""
    present: tuple[str, ...]
    """Outputs: of that and of what is read now, to be another run's past as they are."""


def state_names(layers: int) -> StateNames:
    kinds = [f"{kind}_{layer}" for layer in range(layers) for kind in ("key", "value")]
    return StateNames(tuple(f"past_{kind}" for kind in kinds), tuple(f"present_{kind}" for kind in kinds))


def size(states: States) -> int:
    """In bytes."""
    return sum(part.nbytes for part in states)
