"""Whose column names mean what, under which task; and what becomes of odd cells."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from quintet.errors import InputError, MissingField, UnknownName
from quintet.io.columns import detect_columns, identity_columns, parse_columns, to_example
from quintet.io.dialects import paths_of
from quintet.io.records import Position


def found(names: str, task: str | None = None, explicit: str | None = None) -> dict:
    return detect_columns(names.split(), task, explicit).as_dict()


@pytest.mark.parametrize(
    ("dialect", "task", "names", "expected"),
    [
        ("a context alone", "jokes", "output context",
         {"output": "output", "source": "context", "context": "context", "contexts": "context"}),
        ("UniEval", "summarization", "system_output source reference",
         {"output": "system_output", "source": "source", "references": ("reference",)}),
        ("UniEval", "dialogue", "system_output source context",
         {"output": "system_output", "history": "source", "context": "context"}),
        ("UniEval", "data2text", "system_output reference",
         {"output": "system_output", "references": ("reference",)}),
        ("UniEval", "fact", "system_output source", {"output": "system_output", "source": "source"}),
        ("Hugging Face", None, "predictions references", {"output": "predictions", "references": ("references",)}),
        ("Hugging Face", None, "prediction reference", {"output": "prediction", "references": ("reference",)}),
        ("deepeval", "summarization", "input actual_output expected_output retrieval_context",
         {"output": "actual_output", "source": "retrieval_context", "references": ("expected_output",),
          "question": "input", "contexts": "retrieval_context"}),
        ("deepeval", "dialogue", "input actual_output expected_output context retrieval_context",
         {"output": "actual_output", "history": "input", "references": ("expected_output",),
          "context": "retrieval_context", "question": "input", "contexts": "retrieval_context"}),
        ("deepeval", "fact", "input actual_output retrieval_context",
         {"output": "actual_output", "source": "retrieval_context", "question": "input",
          "contexts": "retrieval_context"}),
        ("MLflow", None, "inputs outputs expectations",
         {"output": "outputs", "source": "inputs", "references": ("expectations",)}),
        ("CTC", "summarization", "hypo doc refs", {"output": "hypo", "source": "doc", "references": ("refs",)}),
        ("CTC", "rewriting", "hypo input_sent", {"output": "hypo", "source": "input_sent"}),
        ("CTC", "dialogue", "hypo fact dialog_history",
         {"output": "hypo", "context": "fact", "history": "dialog_history"}),
        ("CTC", "fact", "hypo grounding", {"output": "hypo", "source": "grounding"}),
        ("USR", "dialogue", "response fact context", {"output": "response", "context": "fact", "history": "context"}),
        ("DSTC10", "dialogue", "context response annotations model",
         {"output": "response", "history": "context", "system": "model"}),
        ("CTC", "rewriting", "model input_sent output_sent preservation",
         {"output": "output_sent", "source": "input_sent", "system": "model"}),
        ("plain", "dialogue", "Response responses Context fact",
         {"output": "Response", "history": "Context", "context": "fact"}),
        ("GRUEN", "text", "Candidate overall", {"output": "Candidate"}),
        ("SummEval", "summarization", "id decoded references text model_id doc_id",
         {"output": "decoded", "source": "text", "references": ("references",), "id": "id", "system": "model_id",
          "group": "doc_id"}),
        ("plain", "summarization", "article summary highlights",
         {"output": "summary", "source": "article", "references": ("highlights",)}),
        ("plain", "summarization", "dialogue summary", {"output": "summary", "source": "dialogue"}),
        ("plain", "dialogue", "dialogue_history knowledge response",
         {"output": "response", "context": "knowledge", "history": "dialogue_history"}),
        ("plain", "dialogue", "source history response",
         {"output": "response", "source": "source", "history": "history"}),
        ("plain", "fact", "claim evidence", {"output": "claim", "source": "evidence"}),
        ("plain", "text", "text id", {"output": "text", "id": "id"}),
        ("plain", None, "text id", {"output": "text", "id": "id"}),
        ("plain", None, "text summary", {"output": "summary", "source": "text"}),
        ("plain", "data2text", "mr output ref1 ref10 ref2",
         {"output": "output", "source": "mr", "references": ("ref1", "ref2", "ref10")}),
        ("camel", None, "systemOutput Source-Text", {"output": "systemOutput", "source": "Source-Text"}),
        ("labels", None, "output system model model_id id example_id",
         {"output": "output", "system": "system", "id": "id"}),
    ],
)  # fmt: skip
def test_dialects(dialect, task, names, expected):
    assert found(names, task) == expected


def test_an_explicit_mapping_settles_the_rest():
    names = "prediction summary article text note"
    with pytest.raises(
        InputError, match=r"'prediction' and 'summary' could both be the output.*columns=\{\"output\": \"pred"
    ):
        found(names)
    assert found(names, None, "output=summary,source=text") == {"output": "summary", "source": "text"}
    assert found("response context turns_before", "dialogue", "history=turns_before") == {
        "output": "response",
        "context": "context",
        "history": "turns_before",
    }
    assert found("a b c", None, " output = a , references=b,references=c ") == {
        "output": "a",
        "references": ("b", "c"),
    }
    # A column that is given away no longer stands for anything else.
    assert found("output summary", "summarization", "output=summary,source=output") == {
        "output": "summary",
        "source": "output",
    }


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("output=sumary", UnknownName, "unknown column 'sumary'; did you mean summary"),
        ("outputs=summary", UnknownName, "unknown field 'outputs'; did you mean output"),
        ("output", InputError, "FIELD=COLUMN"),
        ("output=", InputError, "FIELD=COLUMN"),
        ("output=summary,output=article", InputError, "two columns for output"),
    ],
)
def test_bad_mappings(text, kind, message):
    with pytest.raises(kind, match=message):
        found("summary article", None, text)


def test_no_output_at_all():
    with pytest.raises(InputError, match=r"f\.csv: no column looks like the output \(columns: a, b\); pass columns="):
        detect_columns(["a", "b"], where="f.csv")


def test_two_sources_are_ambiguous():
    with pytest.raises(InputError, match="'document' and 'article' could both be the source"):
        found("output document article")
    with pytest.raises(InputError, match="'ref1' and 'reference' could both be the references"):
        found("output ref1 reference")


def example(row, task=None, explicit=None, **options):
    return to_example(row, detect_columns(row, task, explicit, **options), Position(7, "f.jsonl", 9), task)


def test_fields_of_a_dialogue():
    row = {"system_output": "fine .", "source": "hi . \n how are you ? \n\n", "context": "a fact .\n"}
    made = example(row, "dialogue")
    assert made.history == ("hi .", "how are you ?")
    assert made.context == "a fact .\n"
    assert made.source is None
    assert made.id == "7"


def test_lists_numbers_and_nulls():
    row = {
        "output": 3.5, "source": ["a", "b"], "references": ["r1", None, 2], "retrieval_context": ["p", "q"],
        "history": [{"role": "user", "content": "hi"}, "yes"], "id": 12.0, "system": np.int64(3), "doc_id": math.nan,
    }  # fmt: skip
    made = example(row)
    assert made.output == "3.5"
    assert made.source == "a\nb"
    assert made.references == ("r1", "2")
    assert made.context == "p\nq"
    assert made.history == ("hi", "yes")
    assert (made.id, made.system, made.group) == ("12", "3", None)
    assert row["references"] == ["r1", None, 2]


@pytest.mark.parametrize("null", [None, math.nan, math.inf, np.nan, np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN")])
def test_every_null_is_missing(null):
    made = example({"output": "x", "source": null, "references": null, "history": null, "id": null})
    assert (made.source, made.references, made.history, made.id) == (None, (), None, "7")
    with pytest.raises(MissingField, match="example 'k' has no 'output'"):
        example({"output": null, "id": "k"})


def test_an_empty_cell_is_missing_only_where_null_cannot_be_said():
    row = {"output": "", "source": "", "references": "", "history": "", "id": ""}
    made = example(row)
    assert (made.output, made.source, made.references, made.history) == ("", "", ("",), ())
    flat = example(row, empty_is_missing=True)
    assert (flat.output, flat.source, flat.references, flat.history, flat.id) == ("", None, (), None, "7")


def test_references_in_csv_and_in_line_files():
    row = {"output": "x", "references": 'a ||| "b"'}
    assert example(row).references == ('a ||| "b"',)
    assert example(row, reference_separator="|||").references == ("a", '"b"')
    row = {"output": "x", "references": '["a", "b"]', "history": '["hi", "ho"]'}
    assert example(row, empty_is_missing=True).references == ("a", "b")
    assert example(row, empty_is_missing=True).history == ("hi", "ho")
    assert example(row).references == ('["a", "b"]',)
    assert example({"output": "x", "references": "[sic]"}, empty_is_missing=True).references == ("[sic]",)


def test_objects_as_mlflow_has_them():
    row = {
        "inputs": {"question": "who?"},
        "outputs": {"response": "me"},
        "expectations": {"expected_response": "you", "guidelines": ["be kind"]},
    }
    made = example(row)
    assert (made.output, made.source, made.references) == ("me", None, ("you",))
    looked_into = detect_columns(row, paths=frozenset(paths_of(row)))
    assert to_example(row, looked_into, 1).question == "who?"
    talk = {"inputs": {"messages": [{"role": "user", "content": "hi"}]}, "outputs": "ho"}
    assert example(talk, "dialogue").history == ("hi",)
    assert example(row, None, "source=expectations.guidelines").source == "be kind"
    with pytest.raises(InputError, match=r"f\.jsonl, line 9: the source is an object with keys 'a', 'b'; .*COLUMN\.a"):
        example({"outputs": "x", "inputs": {"a": 1, "b": 2}})


def test_one_row_is_one_output():
    assert example({"output": ["only"]}).output == "only"
    with pytest.raises(InputError, match="line 9: the output is a list of 2 texts"):
        example({"output": ["a", "b"]})
    with pytest.raises(InputError, match="a turn is an object"):
        example({"output": "a", "history": [{"who": "me"}]})
    with pytest.raises(InputError, match="not UTF-8"):
        example({"output": b"\xff"})
    assert example({"output": b"ok"}).output == "ok"


def test_a_late_column_is_recognised():
    columns = detect_columns(["output"])
    made = to_example({"output": "x", "reference": "r"}, columns, 300)
    assert made.references == ("r",)
    assert made.id == "300"


def test_every_field_is_its_own_column_for_examples():
    row = {"output": "x", "source": "s\nt", "context": "c", "references": ("r",), "history": None, "id": "1",
           "system": None, "group": "g"}  # fmt: skip
    made = to_example(row, identity_columns(), 1, "dialogue")
    assert (made.source, made.history, made.group) == ("s\nt", None, "g")


def test_a_mapping_may_be_given_as_a_dict():
    assert parse_columns({"output": "a,b", "references": ["x", "y"]}) == {"output": ("a,b",), "references": ("x", "y")}


def test_no_rows_at_all_is_said_plainly():
    with pytest.raises(InputError, match=r"data: has no rows.*give at least one row"):
        detect_columns([], where="data")
