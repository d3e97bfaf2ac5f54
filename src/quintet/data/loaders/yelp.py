"""Sentiment transfer on Yelp (Mir et al. 2019): 244 sentences, 12 settings of three systems, means of three raters."""

from __future__ import annotations

from collections import Counter
from typing import Any

from quintet.core.example import Example
from quintet.data.rated import Rated, from_means
from quintet.data.raw_files import RawFolder


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    human = raw.json("yelp_mir2019/mir2019_human_scores.json")
    seen: Counter[str] = Counter()
    examples, ratings = [], []
    for row in raw.json("yelp_mir2019/yelp_ctc.json"):
        system = row["model"]
        place = seen[system]
        seen[system] += 1
        group = f"{place:03d}"
        examples.append(
            Example(row["output_sent"], row["input_sent"], id=f"{group}/{system}", system=system, group=group)
        )
        ratings.append(_ratings(human, system, place))
    return from_means(examples, ratings)


def _ratings(human: dict[str, Any], system: str, place: int) -> dict[str, float | None]:
    """Naturalness was rated on the absolute scale for nine of the twelve settings."""
    natural = human["naturalness"].get(system)
    return {
        "content_preservation": human["content_preservation"][system][place],
        "naturalness": natural["absolute"][place] if natural else None,
        "style_transfer_intensity": human["style_transfer_intensity"][system][place],
    }
