"""Newsroom's human evaluation (Grusky et al. 2018): 60 articles, 7 systems, means of three raters.

Variants: `original` text, its HTML undone; `tokenised` text as in BARTScore and CTC. The reference is always tokenised.
"""

from __future__ import annotations

import html
import re

from quintet.core.example import Example
from quintet.data.rated import Rated, from_means
from quintet.data.raw_files import RawFolder


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    documents = {row["doc_id"]: row for row in raw.jsonl("newsroom_ner18/newsroom_ner18_docs.jsonl")}
    rows = raw.jsonl("newsroom_ner18/newsroom_ner18_outputs.jsonl")
    if variant == "original":
        originals = raw.jsonl("newsroom_ner18/newsroom_original_text.jsonl")
        texts = [(_plain(row["system_output"]), _plain(row["source"])) for row in originals]
    else:
        texts = [(row["system_output"], documents[row["doc_id"]]["source"]) for row in rows]
    examples = [
        Example(
            output=output,
            source=source,
            references=(documents[row["doc_id"]]["ref_summ"],),
            id=f"{row['doc_id']}/{row['system_id']}",
            system=row["system_id"],
            group=row["doc_id"],
        )
        for row, (output, source) in zip(rows, texts, strict=True)
    ]
    return from_means(examples, [row["scores"] for row in rows])


def _plain(text: str) -> str:
    paragraphs = re.sub(r"\s*</p>\s*<p>\s*", "\n", text)
    return html.unescape(re.sub(r"</?p>", "", paragraphs)).strip()
