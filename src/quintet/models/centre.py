"""The mean sub-word vector of an encoder, kept in its folder as means.npy (one row per layer)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models import catalog
from quintet.models.open import split

NAME = "means.npy"


def token_mean(spec: str, layer: int) -> NDArray[np.float32] | None:
    """The mean at `layer`; None for a model that comes without one, which is then used as it is, and for the table of
    words, whose mean says how frequent words are written."""
    if layer == 0:
        return None
    kind, name = split(spec)
    if kind not in ("bundled", "dir"):
        return None
    folder = catalog.entry(name).folder if kind == "bundled" else Path(name).expanduser()
    means = _read(folder / NAME)
    return None if means is None else means[layer]


@lru_cache(maxsize=16)
def _read(path: Path) -> NDArray[np.float32] | None:
    if not path.exists():
        return None
    try:
        means: NDArray[np.float32] = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error}); remove it or build it again") from None
    return means
