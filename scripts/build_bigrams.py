"""Counts the bigrams of Topical-Chat's dialogues into src/quintet/metrics/im2/bigrams.json.gz, the table of im2-dist.

    python scripts/build_bigrams.py CORPORA

CORPORA holds topical_chat/topical_chat_{valid_freq,valid_rare,test_rare}.jsonl.gz (CDLA-Sharing-1.0; the conversations
behind USR's ratings come from test_freq, which is not among them).
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from quintet.metrics.im2.diversity import BUNDLED, count_table

PARTS = ("valid_freq", "valid_rare", "test_rare")
LEAST = 5
TARGET = Path(__file__).parents[1] / "src" / "quintet" / "metrics" / "im2" / BUNDLED


def main(corpora: Path) -> None:
    turns = []
    for part in PARTS:
        with gzip.open(corpora / "topical_chat" / f"topical_chat_{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
            turns += [turn[1] for line in lines for turn in json.loads(line)["turns"] if turn[1].strip()]
    table = count_table(turns, n=2, least=LEAST)
    TARGET.write_bytes(gzip.compress(table.to_json().encode("utf-8"), 9, mtime=0))
    print(f"{len(turns)} turns, {table.total} bigrams, {table.distinct} distinct, {len(table.counts)} kept")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
