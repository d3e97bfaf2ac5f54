"""Linguistic quality of CNN/DailyMail summaries (Chaganty et al. 2018), as GRUEN uses it; two or five raters.

Variants: `outputs` of systems that were rated; `all`, the human references rated beside them included.
"""

from __future__ import annotations

from quintet.core.example import Example
from quintet.data.rated import Rated, from_lists
from quintet.data.raw_files import RawFolder

QUALITIES = ("overall", "grammar", "redundancy", "focus", "clarity", "hter")
HUMAN = "reference"


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    numbered = enumerate(raw.jsonl("chaganty2018_cnndm_lqual/lqual.jsonl"))
    rows = [
        (n, row)
        for n, row in numbered
        if row["scores"]["overall"] is not None and (variant == "all" or row["system_id"] != HUMAN)
    ]
    examples = [
        Example(
            output=row["system_output"],
            references=() if row["system_id"] == HUMAN else (row["reference"],),
            # One summary was rated twice, so ids count rows of the file.
            id=f"{n:04d}",
            system=row["system_id"],
            group=row["doc_id"],
        )
        for n, row in rows
    ]
    return from_lists(examples, [{q: row["responses"].get(q, ()) for q in QUALITIES} for _, row in rows])
