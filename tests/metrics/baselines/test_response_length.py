"""The «Word Length» rows of CTC's Tables F.1 to F.4: Pearson, Spearman, Kendall over all rows, pooled."""

import gzip
import json

import pytest

from quintet.core.example import Example
from quintet.metrics.baselines.counts import ResponseLength

TABLE = {
    "persona_chat_usr/persona_chat_ctc.json.gz": {
        "engaging": (0.3910, 0.4220, 0.3267),
        "uses_knowledge": (0.3171, 0.3051, 0.2467),
    },
    "topical_chat_usr/topical_chat_ctc.json.gz": {
        "engaging": (0.4079, 0.4089, 0.3053),
        "uses_knowledge": (0.2624, 0.2681, 0.2084),
    },
}


@pytest.mark.parametrize("path", TABLE)
def test_published_correlations(benchmarks, path):
    stats = pytest.importorskip("scipy.stats")
    rows = json.loads(gzip.decompress((benchmarks / path).read_bytes()))
    lengths = [row["length"].value for row in ResponseLength().score([Example(r["response"]) for r in rows])]
    for quality, published in TABLE[path].items():
        ratings = [r[quality] for r in rows]
        found = [f(lengths, ratings).statistic for f in (stats.pearsonr, stats.spearmanr, stats.kendalltau)]
        assert found == pytest.approx(published, abs=5e-5)
