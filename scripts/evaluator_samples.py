"""Draws the sample texts on which the evaluator's 8-bit arithmetic finds its scales: nothing is learnt from them.

    python scripts/evaluator_samples.py CORPORA OUT.jsonl

Only corpora whose licence lets weights be released: CNN/DailyMail, Topical-Chat, E2E and DART, BLiMP. Outputs with
grounds and without, right and wrong ones, fluent, cased, lower-cased and garbled ones.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import sys
from pathlib import Path

ROUNDS = 16


def read(path: Path, most: int) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in itertools.islice(lines, most)]


def run_of(words: list[str], size: int, rng: random.Random) -> str:
    start = rng.randrange(max(1, len(words) - size))
    return " ".join(words[start : start + size])


def garbled(text: str, rng: random.Random) -> str:
    words = text.split()
    rng.shuffle(words)
    return " ".join(words)


def main(corpora: Path, out: Path) -> None:
    rng = random.Random(0)
    news = read(corpora / "cnndm" / "cnndm_subset.jsonl.gz", 1950)
    chats = read(corpora / "topical_chat" / "topical_chat_valid_freq.jsonl.gz", 500)
    data = [
        row for row in read(corpora / "data2text" / "data2text.jsonl.gz", 31552)
        if row["source"].lower().startswith(("e2e", "dart")) and row["refs"]
    ]  # fmt: skip
    sentences = read(corpora / "blimp" / "blimp.jsonl.gz", 67000)
    pairs: list[tuple[str, str]] = []
    for _ in range(ROUNDS):
        own, other = rng.sample(news, 2)
        words, summary = own["document"].split(), (own if rng.random() < 0.6 else other)["summary"].replace("\n", " ")
        pairs += [(summary, run_of(words, 230, rng)), (summary, ""), (garbled(summary, rng), run_of(words, 230, rng))]
        pairs += [(run_of(summary.split(), rng.randrange(8, 25), rng), run_of(words, 75, rng))]
        pairs += [(run_of(words, 20, rng), run_of(words, 75, rng)), (summary.lower(), own["document"].lower()[:1400])]
        chat, stranger = (rng.choice(chats)["turns"] for _ in range(2))
        at = rng.randrange(1, len(chat))
        reply = (chat[at] if rng.random() < 0.6 else rng.choice(stranger))[1]
        pairs += [
            (reply, chat[at - 1][1]),
            (reply, ""),
            (reply, " ".join(turn[1] for turn in chat[max(0, at - 3) : at])),
        ]
        row = rng.choice(data)
        pairs += [(rng.choice(row["refs"]), str(row["input"])), (rng.choice(row["refs"]), rng.choice(row["refs"]))]
        minimal = rng.choice(sentences)
        pairs += [(minimal["good"], ""), (minimal["bad"], ""), (garbled(minimal["good"], rng), "")]
    rng.shuffle(pairs)
    lines = (json.dumps({"output": output, "source": source}) + "\n" for output, source in pairs)
    out.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
