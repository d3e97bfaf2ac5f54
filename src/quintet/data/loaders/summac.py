"""Parts of the SummaC benchmark (Laban et al. 2022): is the summary consistent with the document, yes or no?

polytope: SummaC's label, 1 for a summary without any error, is `overall`; `consistency` is freedom from inaccuracies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from quintet.core.example import Example
from quintet.data.rated import Rated, annotator_table, from_means
from quintet.data.raw_files import RawFolder

POLYTOPE = {
    "overall": "label",
    "consistency": "inaccuracy_label",
    "non-redundancy": "duplication_label",
    "coverage": "omission_label",
    "conciseness": "addition_label",
}


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    part = name.partition("/")[2]
    rows = raw.jsonl(f"summac_parts/{part}.jsonl")
    documents = {text: f"{n:03d}" for n, text in enumerate(dict.fromkeys(row["document"] for row in rows))}
    examples = [_example(n, row, documents[row["document"]], part) for n, row in enumerate(rows)]
    labels = POLYTOPE if part == "polytope" else {"consistency": "label"}
    rated = from_means(examples, [{dimension: row[label] for dimension, label in labels.items()} for row in rows])
    if all("annotations" in row and len(row["annotations"]) > 1 for row in rows) and part == "summeval":
        return replace(rated, annotators={"consistency": annotator_table([row["annotations"] for row in rows])})
    return rated


def _example(n: int, row: dict[str, Any], group: str, part: str) -> Example:
    # PolyTope's ids end with the number of the system.
    system = row["ID"].partition("-")[2] if part == "polytope" else row.get("model_name")
    return Example(row["claim"], row["document"], id=f"{n:03d}", system=system, group=group)
