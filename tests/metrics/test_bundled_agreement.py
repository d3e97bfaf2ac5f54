"""What the bundled encoder reaches on public ratings: floors that a change must not fall below."""

from pathlib import Path

import pytest

from quintet import _api as api


@pytest.mark.parametrize(
    ("metric", "dimension", "floor"),
    [("ctc-engagingness", "engagingness", 0.52), ("ctc-groundedness", "groundedness", 0.44)],
)
def test_ctc_by_embedding_on_topical_chat(
    benchmarks: Path, tmp_path_factory: pytest.TempPathFactory, metric: str, dimension: str, floor: float
) -> None:
    """Pearson, pooled over all 360 rows; stop words removed, summed."""
    cache = tmp_path_factory.getbasetemp() / "topical.sqlite"
    records = api.bench(["topical_chat"], [metric], dims=[dimension], data=benchmarks, cache=cache, resamples=0)
    (record,) = [r for r in records if r.kind == "metric"]
    assert record.n == 360
    assert record.pearson >= floor
