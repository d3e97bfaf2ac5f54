"""Constants of gruen-grammaticality for the bundled models, into src/quintet/metrics/gruen/scaling.toml.

    python scripts/build_gruen.py CORPORA [--model bundled:evaluator] [--sentences 100]

Sentences of CNN/DailyMail and ROCStories, and the same sentences with UniEval's span noise. Likelihood: the 5 %
quantile of the spoiled ones becomes 0, the 95 % quantile of the others 1. Acceptability: the 95 % quantile of half the
log-odds of the others becomes y = 3, so that likely and acceptable together make y_g = 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quintet.metrics.gruen.grammaticality import Grammaticality
from quintet.text.sentences import sentences
from quintet_train.text.corrupt import span_noise

TARGET = Path(__file__).parents[1] / "src/quintet/metrics/gruen/scaling.toml"
MARK = "# Written by scripts/build_gruen.py:"
TOP = 3.0


def news(corpora: Path, count: int) -> list[str]:
    with gzip.open(corpora / "cnndm" / "cnndm_subset.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["document"] for line, _ in zip(lines, range(400), strict=False)]
    return chosen([piece.text for text in texts for piece in sentences(text)], count)


def stories(corpora: Path, count: int) -> list[str]:
    path = next((corpora / "rocstories").glob("*.jsonl.gz"))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(400), strict=False)]
    found = [text for row in rows for value in row.values() for text in (value if isinstance(value, list) else [value])]
    return chosen([piece.text for text in found if isinstance(text, str) for piece in sentences(text)], count)


def chosen(texts: Sequence[str], count: int) -> list[str]:
    plain = [text for text in dict.fromkeys(texts) if 5 <= len(text.split()) <= 40 and text[-1] in ".!?"]
    return random.Random(0).sample(plain, count)


def main() -> None:
    ask = argparse.ArgumentParser()
    ask.add_argument("corpora", type=Path)
    ask.add_argument("--model", default="bundled:evaluator")
    ask.add_argument("--sentences", type=int, default=100)
    given = ask.parse_args()
    good = [*news(given.corpora, given.sentences), *stories(given.corpora, given.sentences)]
    rng = random.Random(1)
    bad = [" ".join(span_noise(text.split(), rng, 3.0)) for text in good]
    metric = Grammaticality(given.model, f"{given.model}#acc", scaling="plain")
    likely = {
        name: np.array([v for v, _ in metric._likelihoods(texts)]) for name, texts in (("good", good), ("bad", bad))
    }
    odds = {name: np.array([v for v, _ in metric._acceptabilities(t)]) for name, t in (("good", good), ("bad", bad))}
    low, high = float(np.quantile(likely["bad"], 0.05)), float(np.quantile(likely["good"], 0.95))
    unit = float(np.quantile(odds["good"], 0.95)) / TOP
    kept = TARGET.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    told = (
        f"{MARK} quantiles over {len(good)} sentences of CNN/DailyMail and ROCStories, and the same sentences spoiled."
    )
    table = f"[bundled]\nlikelihood = [{low:.4f}, {high:.4f}]\nacceptability = {unit:.4f}\n"
    TARGET.write_text(f"{kept}\n\n{told}\n\n{table}", encoding="utf-8")
    for name in ("good", "bad"):
        print(
            name,
            np.quantile(likely[name], [0.05, 0.5, 0.95]).round(3),
            np.quantile(odds[name], [0.05, 0.5, 0.95]).round(3),
        )
    print(table)


if __name__ == "__main__":
    main()
