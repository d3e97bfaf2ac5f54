"""DialSummEval (Gao and Wan 2022): 100 SAMSum dialogues, 14 systems, three annotators."""

from __future__ import annotations

from quintet.core.example import Example
from quintet.data.rated import Rated, from_lists
from quintet.data.raw_files import RawFolder


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = raw.jsonl("dialsummeval/human_judgment.jsonl")
    examples = [
        Example(
            output=row["summary"],
            source=row["dialogue"].removeprefix("| ").replace(" | ", "\n"),
            id=f"{row['id']}/{row['model_id']}",
            system=row["model_id"],
            group=row["id"],
        )
        for row in rows
    ]
    ratings = [{d: [person[d] for person in row["annotations"]] for d in row["annotations"][0]} for row in rows]
    return from_lists(examples, ratings)
