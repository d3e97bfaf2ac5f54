"""Frames, datasets and evaluate: the real libraries, the same scores as quintet.score gives."""

from pathlib import Path
from typing import Any

import pytest

import quintet
from quintet.errors import InputError, UnknownName
from quintet.integrations import datasets_map, hf_evaluate

ROWS = [
    {"output": "The dog ran home.", "source": "A dog ran home after dark.", "references": ["A dog went home."]},
    {"output": "A dragon ate the moon.", "source": "A dog ran home after dark.", "references": ["The dog ran."]},
    {"output": "The dog ran home. The dog ran home.", "source": "A dog ran.", "references": ["A dog went.", "It ran."]},
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINTET_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def direct() -> list[float]:
    return quintet.score(ROWS, "fact")["consistency"]


def test_pandas(direct: list[float]) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    import quintet.integrations.pandas_frames  # noqa: F401

    frame = pd.DataFrame(ROWS, index=[7, 7, 3])
    scored = frame.quintet.score(task="fact")
    assert scored["consistency"].tolist() == direct
    assert scored.index.tolist() == [7, 7, 3]
    assert list(frame.columns) == list(ROWS[0]), "the frame itself is not changed"
    again = scored.quintet.score(task="fact")
    assert again["quintet.consistency"].tolist() == direct
    assert frame.quintet.means("fact")["consistency"] == pytest.approx(sum(direct) / 3)
    assert frame.quintet.result("fact").rows[0].scores["consistency"].spans


def test_pandas_rows_without_a_field_are_nan() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    import quintet.integrations.pandas_frames  # noqa: F401

    frame = pd.DataFrame([ROWS[0], {**ROWS[1], "source": None}])
    scored = frame.quintet.score("fact", skip_bad=True)
    assert scored["consistency"].isna().tolist() == [False, True]
    with pytest.raises(InputError, match="neither a task nor a metric"):
        frame.quintet.score()


def test_polars(direct: list[float]) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    import quintet.integrations.polars_frames  # noqa: F401

    frame = pl.DataFrame(ROWS)
    scored = frame.quintet.score(task="fact")
    assert scored["consistency"].to_list() == direct
    assert scored.columns == [*ROWS[0], "consistency"]
    assert frame.lazy().quintet.score("fact").equals(scored)
    renamed = frame.rename({"output": "words", "source": "beside"})
    assert (
        renamed.quintet.score("fact", columns={"output": "words", "source": "beside"})["consistency"].to_list()
        == direct
    )


def test_datasets_map(direct: list[float]) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    data = datasets.Dataset.from_list(ROWS)
    scored = data.map(datasets_map.scorer("fact"), batched=True, batch_size=2)
    assert scored["consistency"][:] == pytest.approx(direct)
    assert scored.column_names == [*ROWS[0], "consistency"]
    assert scored.cleanup_cache_files() == 0


def test_compute_as_evaluate_has_it(direct: list[float]) -> None:
    outputs, sources = [r["output"] for r in ROWS], [r["source"] for r in ROWS]
    found = hf_evaluate.load("fact").compute(predictions=outputs, sources=sources)
    assert found["consistency_scores"] == direct
    assert found["consistency"] == pytest.approx(sum(direct) / 3)
    assert "-consistency|" in found["signatures"]["consistency"]
    rouge = hf_evaluate.load(metrics="rouge-1")
    assert rouge.compute(predictions=["a b"], references=["a b"])["rouge-1"] == 1.0
    assert rouge.compute(predictions=["a b"], references=[["c", "a b"]])["rouge-1"] == 1.0
    with pytest.raises(UnknownName, match="did you mean references"):
        rouge.compute(predictions=["a"], refrences=["a"])
    with pytest.raises(InputError, match="differ in length"):
        rouge.compute(predictions=["a"], references=["a", "b"])


def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **given: Any) -> Any:
    pytest.importorskip("evaluate", reason="evaluate is not installed")
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")
    monkeypatch.setattr("evaluate.config.HF_METRICS_CACHE", str(tmp_path / "hf"))
    return hf_evaluate.as_evaluation_module(**given)


def test_a_real_evaluation_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: list[float]) -> None:
    metric = module(tmp_path, monkeypatch, task="fact", inputs=("sources",))
    for row in ROWS:
        metric.add(predictions=row["output"], sources=row["source"])
    assert metric.compute()["consistency_scores"] == direct
    by_references = module(tmp_path, monkeypatch, metrics="rouge-1")
    found = by_references.compute(predictions=["a b", "c"], references=[["a b"], ["d", "c"]])
    assert found["rouge-1_scores"] == [1.0, 1.0]
