"""DailyDialog with several references (Gupta et al. 2019): 100 contexts, 5 systems, mean appropriateness."""

from __future__ import annotations

from quintet.core.example import Example
from quintet.data.rated import Rated, from_means
from quintet.data.raw_files import RawFolder


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = raw.csv("gupta2019_multiref/mturk_rating_processed_output.csv")
    examples = [
        Example(
            output=row["response"].strip(),
            references=tuple(reference.strip() for reference in row["all_references"].split("\t")),
            history=tuple(turn.strip() for turn in row["context"].split("||||")),
            id=f"{row['context_id']}/{row['model']}",
            system=row["model"],
            group=row["context_id"],
        )
        for row in rows
    ]
    return from_means(examples, [{"appropriateness": row["human_average_rating"]} for row in rows])
