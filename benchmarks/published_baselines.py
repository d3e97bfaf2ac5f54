"""Our baselines on public sets against the rows the papers print: writes the table of docs/baselines.md.

python benchmarks/published_baselines.py [--data DIR] > table.md
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from quintet import _api as api
from quintet.data.benchmark import Benchmark, load
from quintet.stats.inputs import ratings_of
from quintet.stats.records import Record
from quintet.stats.study import Study

GROUND_TRUTH = ("Original Ground Truth",)
SUMMEVAL = {  # UniEval, Table 3: Spearman by document; coherence, consistency, fluency, relevance
    "rouge-1": (0.167, 0.160, 0.115, 0.326),
    "rouge-2": (0.184, 0.187, 0.159, 0.290),
    "rouge-l": (0.128, 0.115, 0.105, 0.311),
    "bertscore-f": (0.284, 0.110, 0.193, 0.312),
    "moverscore": (0.159, 0.157, 0.129, 0.318),
}
SUMMEVAL_POOLED = {  # CTC, Tables D.1 (consistency) and D.3 (relevance), 11 references: Pearson, pooled
    "rouge-1": (0.1811, 0.3565),
    "rouge-2": (0.1583, 0.2685),
    "rouge-l": (0.1578, 0.3347),
    "bleu-4": (0.1794, 0.2750),
    "meteor": (0.1832, 0.3237),
    "bertscore-f": (0.2030, 0.3192),
}
TOPICAL = {  # UniEval, Table 4 (from USR): Spearman on 300 rows; naturalness, coherence, engagingness, groundedness
    "bleu-1": (0.133, 0.223, 0.334, 0.303),
    "bleu-4": (0.175, 0.235, 0.316, 0.310),
    "rouge-l": (0.146, 0.203, 0.300, 0.327),
    "meteor": (0.191, 0.302, 0.439, 0.391),
    "bertscore-f": (0.209, 0.233, 0.335, 0.317),
}
QAGS = {  # UniEval, Table 9: Spearman, the document as reference; CNN, XSUM
    "rouge-1": (0.318, -0.049),
    "rouge-2": (0.418, 0.083),
    "rouge-l": (0.324, -0.011),
    "bertscore-f": (0.505, 0.008),
}
EXTRA = ("chrf",)


def judge(
    benchmark: Benchmark, metrics: Sequence[str], level: str, dims: Sequence[str], exclude: Sequence[str] = ()
) -> list[Record]:
    scores = api.score_benchmark(benchmark, list(metrics), dims, None, True)
    study = Study(
        set=benchmark.name, level=level, dimensions=tuple(dims), exclude_systems=tuple(exclude), ceiling=False
    )
    return study.run(ratings_of(benchmark), scores)


def rows(
    title: str, found: list[Record], paper: dict[str, tuple[float, ...]], dims: Sequence[str], statistic: str
) -> None:
    print(f"\n### {title}\n")
    interval = " [95 %]" if all(r.interval_of == statistic for r in found) else ""
    print("| metric | " + " | ".join(f"{d}: paper | ours{interval}" for d in dims) + " |")
    print("|---|" + "---|---|" * len(dims))
    by = {(r.metric, r.dimension): r for r in found}
    for metric in dict.fromkeys(r.metric for r in found):
        cells = []
        for place, dim in enumerate(dims):
            record = by[metric, dim]
            printed = f"{paper[metric][place]:.3f}" if metric in paper else "–"
            bounds = f" [{record.low:.3f}, {record.high:.3f}]" if statistic == record.interval_of else ""
            cells.append(f"{printed} | {record.value(statistic):.3f}{bounds}")
        print(f"| {metric} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    folder = parser.parse_args().data
    four = ("coherence", "consistency", "fluency", "relevance")
    one = load("summeval", folder, "unieval")
    rows(
        "SummEval, Spearman by document, first reference",
        judge(one, [*SUMMEVAL, *EXTRA], "by document", four),
        SUMMEVAL,
        four,
        "spearman",
    )
    two = ("consistency", "relevance")
    eleven = load("summeval", folder, "tokenised")
    rows(
        "SummEval, Pearson pooled, 11 references",
        judge(eleven, [*SUMMEVAL_POOLED, *EXTRA], "pooled", two),
        SUMMEVAL_POOLED,
        two,
        "pearson",
    )
    dialogue = ("naturalness", "coherence", "engagingness", "groundedness")
    chat = load("topical_chat", folder)
    found = judge(chat, [*TOPICAL, *EXTRA], "pooled", dialogue, GROUND_TRUTH)
    rows("Topical-Chat, Spearman pooled, 300 rows, ground truth as reference", found, TOPICAL, dialogue, "spearman")
    for place, name in enumerate(("qags_cnn", "qags_xsum")):
        plain = load(name, folder, "unieval")
        against_source = replace(
            plain, examples=tuple(replace(e, references=(e.text("source"),)) for e in plain.examples)
        )
        paper = {metric: (values[place],) for metric, values in QAGS.items()}
        found = judge(against_source, [*QAGS, *EXTRA], "pooled", ("consistency",))
        rows(f"{name}, Spearman pooled, the document as reference", found, paper, ("consistency",), "spearman")


if __name__ == "__main__":
    main()
