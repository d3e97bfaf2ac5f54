"""How long do bootstrap intervals take? The target: 1,000 resamples x 20 metrics x SummEval under 10 seconds.

    python benchmarks/bootstrap_speed.py [--resamples 1000] [--metrics 20] [--shared ../shared]

SummEval's shape: 1,600 items (100 documents by 16 systems), four dimensions. Ratings are read from the benchmark folder
where it is there and made up otherwise; scores are made up, since their values do not change the time. Ends with
status 1 where the target is missed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import time
from pathlib import Path

# Two cores are what the target is stated for; the count must be set before numpy is loaded.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "2")

import numpy as np  # noqa: E402

from quintet.stats.inputs import Ratings, Scores  # noqa: E402
from quintet.stats.study import Study  # noqa: E402

TARGET_SECONDS = 10.0
DIMENSIONS = ("coherence", "consistency", "fluency", "relevance")


def read_summeval(folder: Path) -> Ratings | None:
    path = folder / "benchmarks" / "summeval" / "summeval_outputs.jsonl.gz"
    if not path.exists():
        return None
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return Ratings(
        ids=[f"{row['doc_id']}/{row['system_id']}" for row in rows],
        values={name: np.array([row["scores"][name] for row in rows]) for name in DIMENSIONS},
        documents=[row["doc_id"] for row in rows],
        systems=[row["system_id"] for row in rows],
    )


def made_up(rng: np.random.Generator) -> Ratings:
    documents, systems = np.repeat(np.arange(100), 16), np.tile(np.arange(16), 100)
    return Ratings(
        ids=[f"{d}/{s}" for d, s in zip(documents, systems, strict=True)],
        values={name: np.clip(rng.normal(4, 1, (1600, 3)).round(), 1, 5).mean(axis=1) for name in DIMENSIONS},
        documents=[str(d) for d in documents],
        systems=[str(s) for s in systems],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--metrics", type=int, default=20)
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[2] / "shared")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    ratings = read_summeval(options.shared) or made_up(rng)
    truth = ratings.rating("coherence")
    scores = [Scores(f"m{i}", truth + rng.normal(size=len(truth)), ratings.ids) for i in range(options.metrics)]
    cases = [("by document", "documents", "spearman"), ("by document", "both", "spearman")]
    cases += [("pooled", "items", "spearman"), ("pooled", "items", "pearson"), ("by system", "both", "spearman")]
    print(f"{platform.machine()}, {os.cpu_count()} cores, numpy {np.__version__}, {len(ratings.ids)} items")
    print(f"{options.resamples} resamples x {options.metrics} metrics x {len(DIMENSIONS)} dimensions")
    slowest = 0.0
    for level, unit, statistic in cases:
        study = Study("summeval", level, resample=unit, interval_of=statistic, resamples=options.resamples)
        start = time.perf_counter()
        study.run(ratings, scores)
        took = time.perf_counter() - start
        slowest = max(slowest, took)
        print(f"  {level:<12} {statistic:<9} {unit + ' drawn again':<24} {took:6.2f} s")
    print(f"slowest {slowest:.2f} s, target {TARGET_SECONDS:g} s: {'met' if slowest < TARGET_SECONDS else 'missed'}")
    return 0 if slowest < TARGET_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
