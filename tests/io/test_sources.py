"""Rows from Python objects, none of them changed."""

from __future__ import annotations

import copy
import subprocess
import sys

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from quintet.core.example import Example
from quintet.errors import InputError, UnknownName
from quintet.io.columns import to_example
from quintet.io.sources import rows_from_python

COLUMNS = {"prediction": ["a", "b"], "reference": [["r", "s"], ["t"]], "id": [1, 2]}
ROWS = [dict(zip(COLUMNS, cells, strict=True)) for cells in zip(*COLUMNS.values(), strict=True)]
EXPECTED = [
    Example(output="a", references=("r", "s"), id="1"),
    Example(output="b", references=("t",), id="2"),
]


def examples(table, task=None):
    columns = table.column_map(task)
    return [to_example(item.values, columns, item.position, task) for item in table]


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        tuple(ROWS),
        COLUMNS,
        {name: np.array(values, dtype=object) for name, values in COLUMNS.items()},
        {name: pd.Series(values) for name, values in COLUMNS.items()},
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).convert_dtypes(),
        pl.DataFrame(COLUMNS),
        pa.table(COLUMNS),
        pa.table(COLUMNS).to_batches()[0],
        datasets.Dataset.from_dict(COLUMNS),
        datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(),
        EXPECTED,
    ],
    ids=lambda data: f"{type(data).__module__}.{type(data).__name__}",
)
def test_the_same_rows_from_everything(data):
    before = copy.deepcopy(data) if isinstance(data, (list, tuple, dict)) else None
    table = rows_from_python(data)
    assert examples(table) == EXPECTED
    if before is not None:
        assert str(before) == str(data)


def test_generators_single_rows_and_plain_texts():
    assert examples(rows_from_python(row for row in ROWS)) == EXPECTED
    assert examples(rows_from_python({"prediction": "a", "reference": ["r", "s"], "id": "1"})) == EXPECTED[:1]
    assert [e.output for e in examples(rows_from_python(["x", ""]))] == ["x", ""]
    assert [e.output for e in examples(rows_from_python(pd.Series(["x", "y"])))] == ["x", "y"]
    assert [e.output for e in examples(rows_from_python(pl.Series(["x", "y"])))] == ["x", "y"]
    assert examples(rows_from_python(EXPECTED[0])) == EXPECTED[:1]
    assert list(rows_from_python([])) == []


def test_parallel_lists_mean_what_they_say_under_every_task():
    table = rows_from_python(["a", "b"], sources=["s", "t"], references=[["r"], "q"], histories=None)
    made = examples(table, "dialogue")
    assert [(e.source, e.references, e.history) for e in made] == [("s", ("r",), None), ("t", ("q",), None)]
    kept = Example(output="a", source="s\nt", history=("h",))
    assert examples(rows_from_python([kept]), "dialogue")[0].source == "s\nt"


def test_unequal_lengths_are_named():
    with pytest.raises(InputError, match=r"prediction: 2, reference: 1"):
        rows_from_python({"prediction": ["a", "b"], "reference": ["r"]})
    with pytest.raises(InputError, match=r"output: 2, source: 3"):
        rows_from_python(["a", "b"], sources=["x", "y", "z"])
    with pytest.raises(InputError, match="source is a str, not a list"):
        rows_from_python(["a", "b"], sources="xy")
    with pytest.raises(UnknownName, match="did you mean source"):
        rows_from_python(["a"], sorce=["x"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("file.jsonl", "cannot take rows from a str"),
        (7, "cannot take rows from a int"),
        ([{"output": "a"}, 5], "row 2: is a int, not a dict"),
        ([5], "row 1: is a int"),
        (["a", {"output": "b"}], "row 2: is a dict, not a text"),
        ([Example("a"), "b"], "row 2: is a str, not an Example"),
        (datasets.DatasetDict({"test": datasets.Dataset.from_dict(COLUMNS)}), r"splits \(test\)"),
        (pl.DataFrame(COLUMNS).lazy(), "call .collect"),
        (pd.DataFrame([[1, 2]], columns=["output", "output"]), "two columns are named 'output'"),
    ],
)
def test_what_cannot_be_rows(data, message):
    with pytest.raises(InputError, match=message):
        list(rows_from_python(data))


def test_nulls_of_a_data_frame():
    frame = pd.DataFrame({"output": ["a", "b"], "source": [None, "x"], "id": [1, None]})
    made = examples(rows_from_python(frame))
    assert [(e.source, e.id) for e in made] == [(None, "1"), ("x", "2")]


def test_no_data_frame_library_is_loaded():
    code = (
        "import sys; from quintet.io.sources import rows_from_python; import quintet.io.tables, "
        "quintet.io.writers, quintet.io.fetch; list(rows_from_python([{'output': 'a'}])); "
        "heavy = {'pandas', 'polars', 'pyarrow', 'datasets', 'numpy', 'arro3', 'urllib.request'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
