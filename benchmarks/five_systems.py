"""How the five systems agree with people on the bundled models: the tables of docs/metrics/{ctc,usr,unieval,gruen}.md.

    python benchmarks/five_systems.py [FAMILY …] [--rows 150] [--data DIR]
    python benchmarks/five_systems.py --test          # test sets: once for a release, logged in research/looks.md

Pooled Spearman over a seeded sample of rows, 95 % bootstrap over rows. IM2's table comes from scripts/build_im2.py.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quintet.core.cache import fresh
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.parameters import build
from quintet.data.benchmark import load
from quintet.metrics import metrics
from quintet.stats.coefficients import spearman

Column = tuple[str, str]
"""Metric and its dimension ("" for the only one), or a part of its score."""
ALIGNERS = ("E", "D", "R")


def aligned(name: str) -> list[Column]:
    return [(f"{name}:aligner={kind}", "") for kind in ALIGNERS]


def asked(task: str, *dimensions: str) -> list[Column]:
    return [(f"unieval-{task}:dims={name}", name) for name in dimensions]


USR = [("usr", part) for part in ("overall", "usr-mlm", "usr-dr-context")]
GRUEN = [("gruen", part) for part in ("linguistic quality", "grammaticality", "non-redundancy", "focus", "structure")]
VALIDATION: Mapping[str, Sequence[tuple[str, str, list[Column]]]] = {
    "ctc": [
        ("xsum_faith", "faithfulness", aligned("ctc-consistency")),
        ("dialsummeval", "consistency", aligned("ctc-consistency")),
        ("newsroom", "relevance", aligned("ctc-relevance")),
        ("simplicity_da", "preservation", aligned("ctc-preservation")),
        ("dstc10/dailydialog-zhao", "content", aligned("ctc-engagingness")),
    ],
    "usr": [
        ("dstc10/dailydialog-zhao", "overall", USR),
        ("dstc10/persona-zhao", "overall", USR),
        ("dstc10/dailydialog-gupta", "overall", USR),
        ("dstc10/convai2-grade", "relevance", USR),
    ],
    "unieval": [
        ("dialsummeval", "coherence", asked("summarization", "coherence")),
        ("dialsummeval", "consistency", asked("summarization", "consistency")),
        ("dialsummeval", "fluency", asked("summarization", "fluency")),
        ("newsroom", "coherence", asked("summarization", "coherence")),
        ("newsroom", "fluency", asked("summarization", "fluency")),
        ("newsroom", "relevance", asked("summarization", "relevance")),
        ("xsum_faith", "faithfulness", [("unieval-fact", "")]),
        ("dstc10/dailydialog-zhao", "grammaticality", asked("dialogue", "naturalness", "understandability")),
        ("dstc10/dailydialog-zhao", "relevance", asked("dialogue", "coherence")),
        ("dstc10/dailydialog-zhao", "content", asked("dialogue", "engagingness")),
    ],
    "gruen": [
        ("newsroom", "fluency", GRUEN),
        ("newsroom", "coherence", GRUEN),
        ("dialsummeval", "fluency", GRUEN),
        ("simplicity_da", "fluency", GRUEN),
    ],
}  # fmt: skip
TEST: Mapping[str, Sequence[tuple[str, str, list[Column]]]] = {
    "usr": [
        ("topical_chat", "overall", [*USR, ("usr", "usr-dr-fact")]),
        ("persona_chat", "overall", [*USR, ("usr", "usr-dr-fact")]),
    ],
    "unieval": [
        ("summeval", "coherence", asked("summarization", "coherence")),
        ("summeval", "consistency", asked("summarization", "consistency")),
        ("summeval", "fluency", asked("summarization", "fluency")),
        ("summeval", "relevance", asked("summarization", "relevance")),
        ("topical_chat", "naturalness", asked("dialogue", "naturalness")),
        ("topical_chat", "coherence", asked("dialogue", "coherence")),
        ("topical_chat", "engagingness", asked("dialogue", "engagingness")),
        ("topical_chat", "groundedness", asked("dialogue", "groundedness")),
        ("qags_cnn", "consistency", [("unieval-fact", "")]),
        ("sfres", "naturalness", asked("data2text", "naturalness")),
        ("sfres", "informativeness", asked("data2text", "informativeness")),
    ],
    "gruen": [("cnndm_quality", "overall", GRUEN), ("sfhot", "naturalness", GRUEN[:2])],
    "ctc": [
        ("qags_cnn", "consistency", aligned("ctc-consistency")),
        ("summeval", "consistency", aligned("ctc-consistency")),
        ("topical_chat", "groundedness", aligned("ctc-groundedness")),
        ("topical_chat", "engagingness", aligned("ctc-engagingness")),
        ("yelp", "preservation", aligned("ctc-preservation")),
    ],
    "im2": [
        ("topical_chat", "overall", [("im2", "")]),
        ("topical_chat", "coherence", [("im2-cr", "")]),
        ("persona_chat", "overall", [("im2", "")]),
        ("fed_turn", "overall", [("im2", "")]),
    ],
}  # fmt: skip


def sample(name: str, dimension: str, rows: int, data: str | None) -> tuple[list[Example], np.ndarray]:
    """Rows that were rated; an absent fact is an empty one, as the dialogue sets without facts have none to give."""
    made = load(name, data)
    ratings = np.asarray(made.ratings[dimension], float)
    rated = [i for i in range(len(made)) if np.isfinite(ratings[i])]
    chosen = sorted(random.Random(0).sample(rated, min(rows, len(rated))))
    examples = [made.examples[i] for i in chosen]
    return [e if e.context is not None or not e.history else replace(e, context="") for e in examples], ratings[chosen]


def rows_of(examples: Sequence[Example], name: str, instead: str) -> list[Row]:
    key = (name, tuple(examples))
    if key not in _known:
        _known.clear()
        metric = build(metrics, name)
        named = {k: v for k, v in metric.parameters.items() if isinstance(v, str) and v.startswith("bundled:evaluator")}
        if instead:
            # Constants were settled for the bundled models above and stay.
            metric = replace(metric, **{k: v.replace("bundled:evaluator", instead) for k, v in named.items()})
        _known[key] = list(metric.score(examples))
        fresh()
    return _known[key]


_known: dict[tuple[str, tuple[Example, ...]], list[Row]] = {}
"""The last table: several columns, and dimensions of one set, read it."""


def scored(examples: Sequence[Example], column: Column, instead: str) -> np.ndarray:
    rows = rows_of(examples, column[0], instead)
    first = next(iter(rows[0]))
    wanted = column[1] or first
    return np.array([row[wanted].value if wanted in row else row[first].parts[wanted] for row in rows])


def told_part(column: Column) -> str:
    return "" if column[1] in ("", "overall", "linguistic quality") or "dims=" in column[0] else f": {column[1]}"


def cell(values: np.ndarray, ratings: np.ndarray) -> str:
    rng = np.random.default_rng(0)
    picks = [rng.integers(0, len(values), len(values)) for _ in range(500)]
    draws = [spearman(values[pick], ratings[pick]) for pick in picks if len(set(values[pick])) > 1]
    if not draws or len(set(values)) == 1:
        return "constant"
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return f"{spearman(values, ratings):.3f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("family", nargs="*")
    ask.add_argument("--rows", type=int, default=150)
    ask.add_argument("--data")
    ask.add_argument("--evaluator", default="", help="dir:FOLDER of a candidate in place of bundled:evaluator")
    ask.add_argument("--test", action="store_true", help="test sets; add a row to research/looks.md")
    given = ask.parse_args()
    tables = TEST if given.test else VALIDATION
    for family in given.family or tables:
        print(f"\n{family}\n\n| set, rated quality | n | metric | Spearman |\n|---|---|---|---|", flush=True)
        for name, dimension, columns in tables[family]:
            examples, ratings = sample(name, dimension, given.rows, given.data)
            for column in columns:
                began = time.perf_counter()
                told = cell(scored(examples, column, given.evaluator), ratings)
                spent = (time.perf_counter() - began) / len(examples)
                print(
                    f"| {name} {dimension} | {len(examples)} | {column[0]}{told_part(column)} | {told} | {spent:.2f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
