"""The verbs from Python: whatever container the rows come in, the scores are the same."""

import pandas
import polars
import pytest
from datasets import Dataset

import quintet

ROWS = [
    {"id": "a", "output": "The dog ran home.", "source": "A dog ran home at night.", "note": 1},
    {"id": "b", "output": "", "source": "Nothing.", "note": 2},
    {"id": "c", "output": "Cats sleep.", "source": "A dog ran home at night.", "note": 3},
]
COLUMNS = {key: [row[key] for row in ROWS] for key in ROWS[0]}
EXAMPLES = [quintet.Example(r["output"], source=r["source"], id=r["id"]) for r in ROWS]  # type: ignore[arg-type]


def score(data: object, **more: object) -> quintet.Result:
    return quintet.score(data, metrics="ctc-consistency", model="fake:embedder", cache=False, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [ROWS, COLUMNS, EXAMPLES, pandas.DataFrame(ROWS), polars.DataFrame(ROWS), Dataset.from_list(ROWS)],
    ids=["dicts", "lists", "examples", "pandas", "polars", "datasets"],
)
def test_every_container_gives_the_same(data: object) -> None:
    expected = score(ROWS)["ctc-consistency"]
    result = score(data)
    assert result["ctc-consistency"] == expected
    assert [row["id"] for row in result.to_dicts()] == ["a", "b", "c"]
    assert result.to_dicts()[1]["notes"] == ["empty output"]


def test_a_result_can_be_quoted_and_shown() -> None:
    result = score(ROWS)
    assert result.signatures["ctc-consistency"].startswith("ctc-consistency|")
    assert set(result.means()) == {"ctc-consistency"}
    assert "consistency" in result._repr_html_()
    assert pandas.DataFrame(result.to_dicts())["note"].tolist() == [1, 2, 3]
    assert result.to_dicts(evidence=True)[0]["evidence"]["ctc-consistency"]["spans"]


def test_named_metrics_and_metric_objects() -> None:
    metric = quintet.load("gruen-redundancy", penalty=0.5)
    result = quintet.score(ROWS, metrics=["response-length", metric], cache=False)
    assert result["response-length"] == [4.0, 0.0, 2.0]
    assert result["gruen-redundancy"] == [0.0, 0.0, 0.0]


def test_a_score_column_does_not_overwrite_one_of_the_input() -> None:
    rows = [dict(ROWS[0], **{"ctc-consistency": "mine"}), ROWS[2]]
    first, second = score(rows).to_dicts()
    assert first["ctc-consistency"] == "mine"
    assert isinstance(first["quintet.ctc-consistency"], float)
    assert isinstance(second["quintet.ctc-consistency"], float)


def test_two_names_for_one_thing_are_refused() -> None:
    with pytest.raises(quintet.UserError, match="neither a task nor a metric"):
        quintet.score(ROWS, cache=False)
