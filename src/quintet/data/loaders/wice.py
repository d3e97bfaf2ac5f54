"""WiCE (Kamoi et al. 2023): claims of Wikipedia and the evidence they cite; supported 1, partially .5, not 0."""

from __future__ import annotations

from quintet.core.example import Example
from quintet.data.rated import Rated, from_means
from quintet.data.raw_files import RawFolder

SUPPORT = {"supported": 1.0, "partially_supported": 0.5, "not_supported": 0.0}


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = raw.jsonl(f"wice/claim_{name.removeprefix('wice_')}.jsonl")
    examples = [
        Example(row["claim"], "\n".join(row["evidence"]), id=row["meta"]["id"], group=row["meta"]["id"]) for row in rows
    ]
    return from_means(examples, [{"consistency": SUPPORT[row["label"]]} for row in rows])
