"""SummEval (Fabbri et al. 2021): 100 CNN/DailyMail articles, 16 systems, means of three experts.

Variants: `original` text with 11 references (these were published tokenised only), `tokenised` (every text so, as in
BARTScore), `unieval` (tokenised, first reference only). Overall is the mean of the four dimensions, as in UniEval.
"""

from __future__ import annotations

from typing import Any

from quintet.core.example import Example
from quintet.data.rated import Rated, from_means
from quintet.data.raw_files import RawFolder


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    documents = {row["doc_id"]: row for row in raw.jsonl("summeval/summeval_docs.jsonl")}
    rows = raw.jsonl("summeval/summeval_outputs.jsonl")
    examples = [_example(row, documents[row["doc_id"]], variant) for row in rows]
    scores = [{**row["scores"], "overall": round(sum(row["scores"].values()) / len(row["scores"]), 10)} for row in rows]
    return from_means(examples, scores)


def _example(row: dict[str, Any], document: dict[str, Any], variant: str) -> Example:
    suffix = "" if variant == "original" else "_tok"
    references = document["references_tok"]
    return Example(
        output=row["system_output" + suffix],
        source=document["source" + suffix],
        references=tuple(references[:1] if variant == "unieval" else references),
        id=f"{row['doc_id']}/{row['system_id']}",
        system=row["system_id"],
        group=row["doc_id"],
    )
