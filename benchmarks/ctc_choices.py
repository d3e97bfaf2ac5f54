"""How CTC-E's defaults were chosen: Pearson with ratings on validation sets for each switch.

    python benchmarks/ctc_choices.py [--data DIR]

The sets have no facts, so what is scored is the sum of align(response -> history) over content words.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from quintet import _api as api
from quintet.data.benchmark import Benchmark, load
from quintet.stats.inputs import ratings_of
from quintet.stats.study import Study

ROWS = 900
SETS = {
    "dstc10/dailydialog-zhao": "content",
    "dstc10/dstc7": "informativeness",
    "predictive_engagement": "engagingness",
    "dstc10/persona-zhao": "overall",
}
CHOICES = ("", ":unit=subword", ":center=no", ":layer=9", ":layer=9,center=no", ":stopwords=drop-listed")


def first_rows(benchmark: Benchmark) -> Benchmark:
    examples = tuple(replace(e, context="") for e in benchmark.examples[:ROWS])
    return replace(
        benchmark, examples=examples, ratings={d: v[:ROWS] for d, v in benchmark.ratings.items()}, annotators={}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    folder = parser.parse_args().data
    metrics = [f"ctc-engagingness{choice}" for choice in CHOICES]
    print("| set, dimension | " + " | ".join(choice.lstrip(":") or "default" for choice in CHOICES) + " |")
    print("|---|" + "---|" * len(CHOICES))
    for name, dimension in SETS.items():
        benchmark = first_rows(load(name, folder))
        scores = api.score_benchmark(benchmark, metrics, [dimension], None, True)
        study = Study(set=name, dimensions=(dimension,), resamples=0, ceiling=False)
        found = {record.metric: record.pearson for record in study.run(ratings_of(benchmark), scores)}
        print(f"| {name} {dimension} | " + " | ".join(f"{found[metric]:.3f}" for metric in metrics) + " |")


if __name__ == "__main__":
    main()
