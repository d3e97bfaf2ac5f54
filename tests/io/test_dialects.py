"""Rows as each tool writes them, and what they are read as; nothing is read twice over, nothing asked is a source."""

import json
from pathlib import Path

import pytest

from quintet.errors import InputError
from quintet.io.columns import detect_columns, to_example
from quintet.io.dialects import paths_of, table
from quintet.io.items import Items
from quintet.io.sources import rows_from_python
from quintet.io.tables import open_table

GOLDEN = {
    found["dialect"]: found
    for path in sorted((Path(__file__).parents[1] / "golden" / "dialects").glob("*.json"))
    if (found := json.loads(path.read_text(encoding="utf-8")))
}


SETS = sorted((Path(__file__).parents[1] / "golden" / "columns").glob("*.json"))


def read(row, task="rag", explicit=None):
    columns = detect_columns(row, task, explicit, paths=frozenset(paths_of(row)))
    return columns, to_example(row, columns, 1, task)


def test_every_dialect_has_a_golden_file_and_only_those():
    assert set(GOLDEN) == {dialect.name for dialect in table().dialects}


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_a_row_of_each_tool(name):
    columns, example = read(GOLDEN[name]["row"])
    assert columns.dialect == name
    for field, expected in GOLDEN[name]["rag"].items():
        found = getattr(example, field)
        assert (list(found) if isinstance(found, tuple) else found) == expected, field
    # What was asked is nowhere taken for what the output was made from.
    assert example.question is None or example.source != example.question
    assert name in columns.line()
    assert "output=" in columns.line()


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_rows_of_data_sets_known_by_their_columns(path):
    given = json.loads(path.read_text(encoding="utf-8"))
    _, example = read(given["row"], given["task"], given["columns"])
    for field, expected in given["fields"].items():
        found = getattr(example, field)
        assert (list(found) if isinstance(found, tuple) else found) == expected, field


def test_pairs_of_preference_sets_are_for_prefer():
    for one, two in (("chosen", "rejected"), ("response_a", "response_b"), ("answer_a", "answer_b")):
        with pytest.raises(InputError, match=rf"{one}.*{two}.*quintet prefer"):
            detect_columns(["prompt", one, two])


def test_a_question_is_no_source_where_contexts_stand_beside_it():
    for names in ("question contexts answer", "query response source_documents", "input output contexts"):
        columns = detect_columns(names.split(), "fact")
        assert columns.source not in ("question", "query", "input", None)
        assert columns.question in ("question", "query", "input")
    assert detect_columns(["question", "answer"], "fact").source is None


def test_two_readings_are_refused_with_both():
    row = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "response": "c"}
    with pytest.raises(InputError, match=r"messages:reply.*or response.*columns=.*messages:reply.* or columns="):
        read(row)
    assert read(row, explicit="output=response")[1].output == "c"
    assert read(row, explicit="output=messages:reply")[1].output == "b"
    with pytest.raises(InputError, match=r"'chosen' and 'rejected' are two outputs.*quintet prefer"):
        detect_columns(["prompt", "chosen", "rejected"])


def test_messages_that_end_in_a_question_have_no_reply():
    row = {"messages": [{"role": "user", "content": "a"}], "response": "c"}
    columns, example = read(row, "dialogue")
    assert (columns.output, example.history) == ("response", ("a",))


def test_rows_below_a_key_and_nested_columns_of_every_table(tmp_path):
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"version": 4, "results": {"results": [GOLDEN["promptfoo"]["row"]] * 2}}))
    with Items(open_table(path), "rag", None) as items:
        assert [item.example.output for item in items] == ["It opens in May 2027."] * 2
    for make in (lambda rows: rows, lambda rows: {"messages": [row["messages"] for row in rows]}):
        with Items(rows_from_python(make([GOLDEN["messages"]["row"]])), "dialogue", None) as items:
            assert next(iter(items)).example.output == "It opens in May 2027."


def test_lists_as_pandas_writes_them_to_csv(tmp_path):
    path = tmp_path / "ragas.csv"
    path.write_text("user_input,retrieved_contexts,response\nq,\"['a, b', 'c']\",r\n")
    with Items(open_table(path), "rag", None) as items:
        assert next(iter(items)).example.contexts == ("a, b", "c")


def test_traces_of_mlflow_have_their_contexts_in_spans_of_retrievers():
    said = {"mlflow.spanType": '"RETRIEVER"', "mlflow.spanOutputs": '[{"page_content": "a b", "metadata": {}}]'}
    other = {"mlflow.spanType": '"LLM"', "mlflow.spanOutputs": '["c"]'}
    row = {"trace_id": "tr-1", "request": {"question": "q?"}, "response": {"answer": "b"}}
    for spans, contexts in (([{"attributes": other}, {"attributes": said}], ("a b",)), ([{"attributes": other}], None)):
        columns, example = read({**row, "spans": spans})
        assert columns.dialect == "MLflow agent evaluation"
        assert (example.output, example.question, example.contexts, example.id) == ("b", "q?", contexts, "tr-1")
