"""What a judge keeps of grounds it has read: keys and values of every layer, for all outputs that stand beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STATE_BYTES = 64 * 2**20
"""Memory for grounds already read; a sub-word takes 37 kB. Questions come sorted by their grounds, so a few suffice."""

States = NDArray[np.float32]
"""(layers, 2, heads, sub-words, width of a head)"""
Names = list[tuple[str, str]]
"""Of keys and values, layer by layer."""


def past_names(layers: int) -> Names:
    """The graph's inputs for the states of the grounds. One input for all would be cut up, that is copied, at every
    run."""
    return [(f"past_key_{index}", f"past_value_{index}") for index in range(layers)]


def fresh_names(layers: int) -> Names:
    """The graph's outputs for the states of what it was given, each (heads, texts, sub-words, width of a head)."""
    return [(f"fresh_key_{index}", f"fresh_value_{index}") for index in range(layers)]


def as_inputs(states: States) -> dict[str, States]:
    """Views, not copies."""
    return {
        name: part
        for names, own in zip(past_names(len(states)), states, strict=True)
        for name, part in zip(names, own, strict=True)
    }


def from_outputs(fresh: Sequence[States], text: int, length: int) -> States:
    """The states of one text of a run, without what it was filled up with."""
    own = np.stack([part[:, text, :length] for part in fresh])
    return own.reshape(len(fresh) // 2, 2, *own.shape[1:])
