"""One object for Ray Data, Spark and datasets: same kind of batch back, same scores as `quintet.score`."""

from collections.abc import Iterator

import numpy as np
import pytest

from quintet import _api as api

METRICS = ["gruen-redundancy", "bertscore-f:model=fake:embedder"]
ROWS = {
    "output": [f"The dog ran home {n}. The dog ran home {n}." for n in range(20)],
    "references": [[f"A dog {n}.", "It ran."] for n in range(20)],
    "mine": list(range(20)),
}


@pytest.fixture(scope="module")
def expected() -> dict[str, list[float]]:
    result = api.score(ROWS, metrics=METRICS, cache=False)
    return {name: result[name] for name in METRICS}


def test_lists_and_arrays_come_back_as_they_came(expected: dict[str, list[float]]) -> None:
    scorer = api.batch_scorer(metrics=METRICS)
    lists = scorer(ROWS)
    assert lists == {**ROWS, **expected}
    references = np.empty(20, object)
    references[:] = ROWS["references"]
    arrays = scorer({"output": np.array(ROWS["output"], object), "references": references, "mine": np.arange(20)})
    assert all(isinstance(values, np.ndarray) for values in arrays.values())
    assert {name: arrays[name].tolist() for name in METRICS} == expected
    assert set(ROWS) == {"output", "references", "mine"}


def test_a_data_frame_and_an_iterator_of_them(expected: dict[str, list[float]]) -> None:
    pandas = pytest.importorskip("pandas")
    scorer = api.batch_scorer(metrics=METRICS)
    frame = pandas.DataFrame(ROWS, index=range(5, 25))
    whole = scorer(frame)
    assert list(whole.columns) == [*ROWS, *METRICS]
    assert list(whole.index) == list(frame.index)
    assert whole["gruen-redundancy"].tolist() == expected["gruen-redundancy"]

    def batches() -> Iterator[object]:  # what mapInPandas hands to its function
        yield frame[:12]
        yield frame[12:]

    parts = list(scorer(batches()))
    assert [len(part) for part in parts] == [12, 8]
    assert pandas.concat(parts).equals(whole)


def test_datasets_map(expected: dict[str, list[float]], tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    mapped = datasets.Dataset.from_dict(ROWS).map(api.batch_scorer(metrics=METRICS), batched=True, batch_size=64)
    assert {name: list(mapped[name]) for name in METRICS} == expected


def test_a_column_of_the_same_name_is_kept() -> None:
    batch = {"output": ["The dog ran. The dog ran."], "gruen-redundancy": ["mine"]}
    scored = api.batch_scorer(metrics="gruen-redundancy")(batch)
    assert scored["gruen-redundancy"] == ["mine"]
    assert len(scored["quintet.gruen-redundancy"]) == 1
