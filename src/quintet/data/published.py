"""What others published on the sets, to stand beside our own figures: facts in `published.toml`, with their sources."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Figures:
    """Spearman by dimension, of one metric on one set."""

    set: str
    metric: str
    size: str
    kind: str
    """small: under a billion parameters; large: an LLM; labels: an LLM fitted to human labels of the same kind."""
    source: str
    values: Mapping[str, float]
    level: str = "pooled"
    rows: int | None = None
    about: str = ""


@cache
def every_figure() -> tuple[Figures, ...]:
    plain = tomllib.loads(files("quintet.data").joinpath("published.toml").read_text(encoding="utf-8"))
    return tuple(Figures(**row) for row in plain["figures"])


def published(set: str) -> tuple[Figures, ...]:
    """In the order of the file; none for a set that nobody reports on."""
    return tuple(figures for figures in every_figure() if figures.set == set)
