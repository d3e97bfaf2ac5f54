"""Builds means.npy for an encoder: the mean sub-word vector of each layer over general English text.

    python scripts/build_token_means.py MODEL_SPEC CORPORA_FOLDER OUT_FILE

Sub-word vectors of an encoder crowd into a narrow cone, so that any two have a high cosine; taking the mean away opens
it. The text is a sample of corpora that shipped weights may be made from: news, dialogue, science, encyclopaedia.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from quintet.models.open import open_model

ROWS = 120
CHARACTERS = 800


def texts(folder: Path) -> Iterator[str]:
    for name, pick in {
        "cnndm/cnndm_subset": lambda r: [r["document"], r["summary"]],
        "bbc_news_summary/bbc_news_summary": lambda r: [r["document"]],
        "topical_chat/topical_chat_valid_freq": lambda r: [turn[1] for turn in r["turns"][:6]],
        "sgd/sgd": lambda r: [turn[1] for turn in r["turns"][:6]],
        "scitldr/scitldr_a_train": lambda r: [" ".join(r["source"])],
        "boolq/boolq_4k": lambda r: [r["passage"]],
    }.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number >= ROWS:
                    break
                for text in pick(json.loads(line)):
                    yield text[:CHARACTERS]


def main(spec: str, folder: str, out: str) -> None:
    model = open_model(spec)
    every = range(model.layers + 1)
    for layer in every:
        model.announce(layer)
    sums, count = np.zeros((model.layers + 1, model.width)), 0
    sample = list(texts(Path(folder)))
    for start in range(0, len(sample), 32):
        part = sample[start : start + 32]
        for layer in every:
            for vectors in model.embed(part, layer):
                sums[layer] += vectors.inner.vectors.sum(axis=0)
                count += len(vectors.inner) if layer == 0 else 0
        model.forget()
    np.save(out, (sums / count).astype(np.float32))
    print(f"{len(sample)} texts, {count} sub-words")


if __name__ == "__main__":
    main(*sys.argv[1:])
