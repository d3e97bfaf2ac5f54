"""Checks and tool calls: what passes, what fails, and what the flag says."""

import json
from pathlib import Path
from typing import Any

import pytest

import quintet
from quintet.core.example import Example
from quintet.errors import InputError


def check(name: str, output: str, *references: str) -> tuple[float, str]:
    (row,) = quintet.load(name).score([Example(output=output, references=references)])
    (score,) = row.values()
    return score.value, score.flags[0] if score.flags else ""


@pytest.mark.parametrize(
    ("name", "passes", "fails", "why"),
    [
        ("exact:text=Yes", " Yes\n", "yes", "is not 'Yes'"),
        ("exact:text=Yes,ignore_case=yes", "YES", "No", "is not"),
        ("contains:text=a|b", "xbx", "xcx", "lacks 'a'"),
        ("contains:text=a|b,all=yes", "ab", "a", "lacks 'b'"),
        ("starts-with:text=Dear", " Dear all", "Hi", "does not begin with 'Dear'"),
        ('regex:pattern="^\\d{2,3}$"', "123", "1234", "does not match"),
        ("regex:pattern=b+,whole=yes", "bbb", "bba", "does not match"),
        ("json-valid:kind=object", '```json\n{"a": 1}\n```', "[1]", "JSON, but no object"),
        ("json-valid", "[1]", "{'a': 1}", "no JSON: Expecting property name"),
        ("json-valid", "1", "NaN", "NaN is no JSON"),
        ("length:least=2,most=3", "one two", "one", "1 words, at least 2"),
        ("length:most=1,unit=sentences", "Dr. No came.", "He came. He went.", "2 sentences, at most 1"),
        ("language:code=de", "Das ist ein ganz einfacher deutscher Satz.", "This is English.", "looks like en"),
        ("at-least:of=response-length,value=3", "a b c", "a b", ""),
    ],
)
def test_passing_and_failing(name: str, passes: str, fails: str, why: str) -> None:
    assert check(name, passes) == (1.0, "")
    value, flag = check(name, fails)
    assert value == 0.0
    assert why in flag


def test_without_a_parameter_each_row_says_what_it_expects() -> None:
    assert check("exact", "Paris", "Lyon", "Paris")[0] == 1.0
    assert check("contains", "It is Paris.", "Paris")[0] == 1.0
    assert check("regex", "2024-01-02", r"\d{4}-\d\d-\d\d")[0] == 1.0
    assert check("regex", "x", "(") == (0.0, "the reference is no regular expression (missing ) at position 1)")
    assert check("json-schema", "[1]", '{"type": "array"}')[0] == 1.0


def test_a_pattern_without_end_is_given_up() -> None:
    value, flag = check("regex:pattern=^(a|aa)+$", "a" * 60 + "b")
    assert value == 0.0
    assert "took longer" in flag or "does not match" in flag


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot provide instructions for this.",
        "As an AI language model, I am unable to give medical advice.",
        "I must decline this request.",
        "That goes against my guidelines.",
        "Sorry, I can’t assist with that request.",
    ],
)
def test_refusals(text: str) -> None:
    assert check("refusal", text)[0] == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "The council said it cannot help the owners of flooded houses.",
        "I'm sorry for your loss. The funeral is on Monday.",
        "I can't wait to see it!",
        "The document does not say when the bridge opens.",
    ],
)
def test_these_are_no_refusals(text: str) -> None:
    assert check("refusal", text)[0] == 0.0


def test_a_schema_from_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text('{"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}')
    name = f"json-schema:schema={file}"
    before = quintet.load(name).signature
    assert check(name, '{"a": 3}') == (1.0, "")
    assert check(name, '{"a": "x"}') == (0.0, "$.a: 'x' is not of type 'integer'")
    assert "s.json" not in before
    other = tmp_path / "t.json"
    other.write_text("{}")
    assert quintet.load(f"json-schema:schema={other}").signature != before
    with pytest.raises(InputError, match="cannot be read"):
        quintet.load(f"json-schema:schema={tmp_path}/none.json").prepare()
    elsewhere = quintet.load("json-schema", schema='{"$ref": "https://example.org/other.json"}')
    with pytest.raises(InputError, match="refers to what is not in it"):
        elsewhere.score([Example(output="1")])


A, B = {"name": "search", "args": {"q": "x"}}, {"name": "open", "args": {"n": 1}}
OPENAI = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}
ANTHROPIC = {"type": "tool_use", "id": "1", "name": "search", "input": {"q": "x"}}
DEEPEVAL = {"name": "search", "input_parameters": {"q": "x"}}


def calls(made: Any, expected: Any, **parameters: str) -> tuple[float, list[str]]:
    metric = quintet.load("tool-calls", **parameters)
    row = metric.score([Example(output=json.dumps(made), references=(json.dumps(expected),))])[0]
    return row["tool-calls"].value, list(row["tool-calls"].flags)


@pytest.mark.parametrize("form", [OPENAI, ANTHROPIC, DEEPEVAL, {"tool_calls": [OPENAI]}])
def test_every_tools_form_of_a_call_is_read(form: dict[str, Any]) -> None:
    assert calls(form, [A])[0] == 1.0


def test_orders_of_calls() -> None:
    table = {  # made, expected: exact, in order, any order
        "same": ([A, B], [A, B], 1, 1, 1),
        "between": ([A, A, B], [A, B], 0, 1, 1),
        "swapped": ([B, A], [A, B], 0, 0, 1),
        "lacking": ([A], [A, B], 0, 0, 0),
        "twice": ([A], [A, A], 0, 0, 0),
        "none": ([], [], 1, 1, 1),
    }
    for made, expected, *wanted in table.values():
        found = [calls(made, expected, order=order)[0] for order in ("exact", "in-order", "any-order")]
        assert found == wanted
    assert calls([A], [A, B])[1] == ["not called: open(n=1)"]
    assert "called in another order" in calls([B, A], [A, B])[1]


def test_arguments_by_schema_or_not_at_all() -> None:
    loose = {"name": "search", "arguments": {"type": "object", "required": ["q"]}}
    strict = {"name": "search", "arguments": {"properties": {"q": {"const": "y"}}}}
    y = {"name": "search", "args": {"q": "y"}}
    assert calls([A], [loose])[0] == 0.0
    assert calls([A], [loose], arguments="schema")[0] == 1.0
    # The loose one fits both calls, the strict one only the second of them.
    assert calls([y, A], [loose, strict], arguments="schema", order="any-order")[0] == 1.0
    assert calls([{"name": "search"}], [A], arguments="ignore")[0] == 1.0


def test_calls_from_columns_and_messages() -> None:
    rows = [{"tools_called": [DEEPEVAL], "expected_tools": [A], "input": "find x"}]
    columns = "output=tools_called,references=expected_tools"
    assert quintet.score(rows, metrics="tool-calls", columns=columns, cache=False)["tool-calls"] == [1.0]
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [OPENAI]}]
    rows = [{"messages": messages, "expected_tools": json.dumps([A])}]
    columns = "output=messages:calls,references=expected_tools"
    assert quintet.score(rows, metrics="tool-calls", columns=columns, cache=False)["tool-calls"] == [1.0]
