"""Cells to text: what numbers, nulls, lists, objects, arrays and lists of messages in a table mean."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeGuard

from quintet.core.plain import Cells
from quintet.errors import InputError

# Where a cell is an object (MLflow, chat logs, retrieved documents), the keys that hold its text, by field.
_TEXT_KEYS = {
    "output": ("response", "output", "answer", "content", "text", "summary"),
    "references": ("expected_response", "expected_output", "reference", "references", "ground_truth", "answer"),
    "history": ("messages", "history", "question", "query", "input", "content", "text"),
    "question": ("question", "query", "input", "content", "text"),
    "contexts": ("page_content", "content", "text", "node", "document", "context", "passage", "passages", "sentences"),
}
_SOURCE_KEYS = ("source", "document", "article", "context", "input", "prompt", "page_content", "text", "content")
_QUESTION_KEYS = {"question", "query"}
_TURN_KEYS = ("content", "text", "utterance", "message", "value", "data")
_ROLE_KEYS = ("role", "from", "type", "speaker")
_ROLES = {
    **dict.fromkeys(("assistant", "gpt", "ai", "model", "bot", "chatgpt", "aimessage", "ai_message"), "assistant"),
    **dict.fromkeys(("user", "human", "humanmessage", "human_message", "prompter"), "user"),
    **dict.fromkeys(("system", "developer", "systemmessage"), "system"),
    **dict.fromkeys(("tool", "function", "observation", "toolmessage", "tool_response", "ipython"), "tool"),
}
PARTS = ("reply", "turns", "asked", "tools", "calls")
"""What a path may ask of a list of messages, after a colon."""
RETRIEVED = "retrieved"
"""What a path may ask of a list of spans: what retrievers returned."""
CALL_ARGUMENTS = ("arguments", "args", "input", "input_parameters", "parameters")
"""What tools call the arguments of a call."""


def value_at(row: Cells, column: str) -> Any:
    """A cell as plain Python data; a path looks inside it: `vars.question`, `choices.*.text`, `messages:reply`."""
    if column in row:
        return plain(row[column])
    path, colon, part = column.rpartition(":")
    if colon and part == RETRIEVED:
        return retrieved(value_at(row, path))
    if colon and part in PARTS:
        messages = value_at(row, path)
        return part_of(messages, part) if is_messages(messages) else None
    return _at(row, column.split("."))


def _at(value: object, keys: Sequence[str]) -> Any:
    value = plain(value)
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    if isinstance(value, Mapping):
        return _at(value.get(key), rest)
    if not isinstance(value, (list, tuple)):
        return None
    if key == "*":
        found = [_at(item, rest) for item in value]
        several = [inner for item in found for inner in (item if isinstance(item, list) else [item])]
        return [item for item in several if item is not None]
    place = int(key) if key.removeprefix("-").isdigit() else len(value)
    return _at(value[place], rest) if -len(value) <= place < len(value) else None


def retrieved(spans: object) -> list[Any] | None:
    """The documents that spans of retrievers returned, as MLflow keeps them; None where there is no such span."""
    found: list[Any] = []
    for span in spans if isinstance(spans, (list, tuple)) else ():
        span = plain(span)
        said = plain(span.get("attributes")) if isinstance(span, Mapping) else None
        if isinstance(said, Mapping) and str(said.get("mlflow.spanType", "")).strip('"') == "RETRIEVER":
            outputs = said.get("mlflow.spanOutputs")
            outputs = _decoded_list(outputs) if isinstance(outputs, str) else outputs
            found += outputs if isinstance(outputs, list) else []
    return found or None


def is_messages(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a cell is a list of messages of which each says who speaks."""
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(isinstance(plain(message), Mapping) and speaker(message) for message in value)


def speaker(message: object) -> str:
    """assistant, user, system, tool, or nothing where the message does not say."""
    message = plain(message)
    if not isinstance(message, Mapping):
        return ""
    for key in _ROLE_KEYS:
        if isinstance(said := message.get(key), str) and said.lower() in _ROLES:
            return _ROLES[said.lower()]
    return ""


def part_of(messages: Sequence[Any], part: str) -> Any:
    """One of PARTS; None where it is not there."""
    if part == "calls":
        made = [plain(call) for message in messages for call in plain(message).get("tool_calls") or ()]
        return json.dumps(made, ensure_ascii=False)
    ends = speaker(messages[-1]) == "assistant"
    if part == "reply":
        return message_text(messages[-1]) or "" if ends else None
    before = messages[:-1] if ends else messages
    if part == "tools":
        return [text for m in before if speaker(m) == "tool" and (text := message_text(m))] or None
    if part == "asked":
        return next((text for m in reversed(before) if speaker(m) == "user" and (text := message_text(m))), None)
    return [text for m in before if speaker(m) in ("user", "assistant") and (text := message_text(m))]


def message_text(message: Cells) -> str | None:
    """What a message says in words; pictures, sound and calls of tools have none."""
    content = plain(next((message[key] for key in _TURN_KEYS if message.get(key) is not None), None))
    if isinstance(content, (list, tuple)):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in map(plain, content)]
        return "\n".join(part for part in parts if isinstance(part, str)) or None
    if isinstance(content, Mapping):  # ShareGPT and others wrap the text once more
        return message_text(content)
    return None if content is None else _scalar(content, "message", "")


def plain(value: object) -> Any:
    """Nulls of every library become None; NumPy and Arrow values and pydantic's objects become Python's."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, Decimal) and not value.is_finite()):
        return None
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, (Mapping, list, tuple)):
        return value
    for method in ("to_pylist", "to_list", "tolist", "as_py", "model_dump"):  # the last of documents and messages
        convert = getattr(value, method, None)
        if convert is not None:
            return plain(convert())
    return value


def whole_text(value: object, field: str, where: str) -> str | None:
    """A cell as one text; lists are joined by newlines (not for the output: one row is one output)."""
    value = plain(value)
    if value is None:
        return None
    if field in ("output", "references") and are_calls(value):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return whole_text(_from_object(value, field, where), field, where)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        items = [_triple(item) if field == "source" else None for item in value]
        items = [whole_text(item, field, where) if one is None else one for item, one in zip(value, items, strict=True)]
        if field == "output" and len(items) != 1:
            raise InputError(f"the output is a list of {len(items)} texts", where, "give each output a row of its own")
        return "\n".join(item for item in items if item is not None)
    return _scalar(value, field, where)


def _triple(item: Any) -> str | None:
    """`subject | relation | object`, as data-to-text sets write a triple in one line."""
    is_list = isinstance(item, Sequence) and not isinstance(item, (str, bytes))
    return " | ".join(item) if is_list and len(item) == 3 and all(isinstance(part, str) for part in item) else None


def texts(value: object, field: str, where: str, may_be_encoded: bool = False) -> list[str]:
    """A cell as several texts. `may_be_encoded`: CSV has no lists, so a cell may hold one written as JSON."""
    value = plain(value)
    if value is None:
        return []
    if field == "references" and are_calls(value):
        return [json.dumps(value, ensure_ascii=False)]
    if isinstance(value, Mapping):
        return texts(_from_object(value, field, where), field, where)
    if isinstance(value, str) and (may_be_encoded or field == "contexts"):
        value = _decoded_list(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        found = (whole_text(item, field, where) for item in value)
        return [item for item in found if item is not None]
    return [_scalar(value, field, where)]


def are_calls(value: object) -> bool:
    """Whether a cell holds calls of tools: objects that name a tool and its arguments."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return bool(items) and all(_is_call(plain(item)) for item in items)


def _is_call(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    inner = item["function"] if isinstance(item.get("function"), Mapping) else item
    return isinstance(inner.get("name"), str) and any(key in inner for key in CALL_ARGUMENTS)


def turns(value: object, where: str) -> tuple[str, ...]:
    """Turns of a dialogue, oldest first: a list (of texts or chat messages), or one text with a turn per line."""
    value = plain(value)
    if isinstance(value, Mapping):
        return turns(_from_object(value, "history", where), where)
    if isinstance(value, str):
        value = _decoded_list(value)
    if isinstance(value, str):
        return tuple(turn.strip() for turn in value.split("\n") if turn.strip())
    if is_messages(value):
        return tuple(text for m in value if speaker(m) in ("user", "assistant") and (text := message_text(m)))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        found = (_turn(plain(item), where) for item in value)
        return tuple(turn for turn in found if turn is not None)
    return () if value is None else (_scalar(value, "history", where),)


def _turn(value: object, where: str) -> str | None:
    if isinstance(value, Mapping):
        key = next((key for key in _TURN_KEYS if key in value), None)
        if key is None:
            raise InputError(f"a turn is an object with {_keys(value)}", where, "give each turn as text")
        value = value[key]
    return whole_text(value, "history", where)


def _from_object(value: Cells, field: str, where: str) -> Any:
    known = _TEXT_KEYS.get(field, _SOURCE_KEYS)
    key = next((key for key in known if plain(value.get(key)) is not None), None)
    if field == "source" and key is None and value and set(value) <= _QUESTION_KEYS:
        return None  # what was asked is not what the output was made from
    if key is None and len(value) == 1:
        key = next(iter(value))
    if key is None:
        if not value or all(plain(item) is None for item in value.values()):
            return None
        example = f"--columns {field}=COLUMN.{next(iter(value))}"
        raise InputError(f"the {field} is an object with {_keys(value)}", where, f"name one of them: {example}")
    return value[key]


def _keys(value: Cells) -> str:
    return f"keys {', '.join(map(repr, list(value)[:5]))}" if value else "no keys"


def _decoded_list(text: str) -> Any:
    if text[:1] != "[" or text.rstrip()[-1:] != "]":
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        try:  # pandas writes lists to CSV as Python does
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
    return value if all(isinstance(item, (str, dict)) for item in value) else text


def _scalar(value: object, field: str, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and field in ("id", "system", "group") and abs(value) < 2**53:
        return str(int(value))  # pandas turns whole numbers to floats when one is missing
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"the {field} holds bytes that are not UTF-8 ({error.reason})", where) from None
    return str(value)
