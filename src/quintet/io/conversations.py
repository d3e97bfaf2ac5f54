"""Conversations turn by turn: a row that holds a list of messages becomes a row for each turn of the assistant."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintet.core.plain import Cells
from quintet.io.columns import ColumnMap, detect_columns, parse_columns
from quintet.io.dialects import plain_name
from quintet.io.records import BadRow, Record, RowItem, Table
from quintet.io.values import is_messages, message_text, plain, speaker, texts, value_at

TASKS = ("conversation", "chat")
NAMES = ("messages", "conversation", "conversations", "turns", "user_input", "inputs.messages", "request.messages")
"""Where a list of messages is looked for, first to last."""
IDS = ("id", "session_id", "conversation_id", "thread_id", "dialogue_id", "request_id")
CONTEXTS = ("contexts", "retrieved_contexts", "documents")
OWN = ("id", "session", "turn", "history", "question", "contexts", "output")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the assistant: all it says until the user speaks again."""

    history: tuple[str, ...]
    question: str | None
    """What the user said last."""
    contexts: tuple[str, ...]
    """Calls of tools and what they returned so far."""
    output: str


def turns_of(messages: Sequence[object]) -> list[Turn]:
    """Messages of one speaker in a row are one turn, so that the turns of a history alternate."""
    history: list[tuple[str, str]] = []
    contexts: list[str] = []
    found: list[Turn] = []
    for message in map(plain, messages):
        who, text = speaker(message), message_text(message)
        contexts += _calls(message)
        if who == "tool" and text:
            contexts.append(text)
        if who not in ("user", "assistant") or not text:
            continue
        if history and history[-1][0] == who:
            history[-1] = (who, f"{history[-1][1]}\n{text}")
        else:
            history.append((who, text))
        if who == "assistant":
            before = [said for _, said in history[:-1]]
            question = before[-1] if before else None
            turn = Turn(tuple(before), question, tuple(contexts), history[-1][1])
            if found and found[-1].history == turn.history:
                found.pop()
            found.append(turn)
    return found


def _reply(row: Cells, messages: Sequence[object]) -> list[object]:
    """What a chat completion answers to messages that end with the user: it stands beside them, in `choices`."""
    if speaker(plain(messages[-1])) == "assistant":
        return []
    choices = plain(row.get("choices"))
    first = plain(choices[0]) if isinstance(choices, list | tuple) and choices else None
    reply = plain(first.get("message")) if isinstance(first, Mapping) else None
    return [reply] if isinstance(reply, Mapping) else []


def _calls(message: Cells) -> list[str]:
    """`search(query="boots")`, however the call is written down."""
    found = []
    for call in plain(message.get("tool_calls")) or ():
        call = plain(call)
        of = plain(call.get("function")) if isinstance(call, Mapping) else None
        of = of if isinstance(of, Mapping) else call
        if isinstance(of, Mapping) and of.get("name"):
            given = next((of[key] for key in ("arguments", "args", "input") if of.get(key) is not None), "")
            found.append(f"{of['name']}({given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)})")
    return found


def messages_column(table: Table, columns: Mapping[str, tuple[str, ...]]) -> str | None:
    """The column or path of the messages; None where rows hold one turn each."""
    named = columns.get("history", ())
    there = {path.partition("@")[0] for path in table.paths if "@" in path}
    if named:
        return named[0] if named[0] in there else None
    by_name = {".".join(map(plain_name, path.split("."))): path for path in there}
    return next((by_name[name] for name in NAMES if name in by_name), None)


def turn_by_turn(table: Table, columns: Any) -> tuple[Table, ColumnMap | None]:
    """The table with a row per turn and its columns; as it was, where it holds no list of messages."""
    settled = parse_columns(columns)
    path = messages_column(table, settled)
    if path is None:
        return table, None
    top = path.partition(".")[0]
    kept = [name for name in table.columns if name != top and name not in (*OWN, *CONTEXTS)]
    made = Table(table.name, _rows(table, path, kept), [*OWN, *kept], close=table.close)
    explicit: dict[str, tuple[str, ...]] = {
        field: (field,) for field in ("id", "history", "question", "contexts", "output")
    }
    explicit |= {"group": ("session",), **{f: c for f, c in settled.items() if f in ("references", "system")}}
    found = detect_columns(made.columns, "conversation", explicit, where=table.name)
    return made, replace(found, dialect=f"{path}, turn by turn")


def _rows(table: Table, path: str, kept: Sequence[str]) -> Iterator[RowItem]:
    for record in table:
        if isinstance(record, BadRow):
            yield record
            continue
        messages = value_at(record.values, path)
        turns = turns_of([*messages, *_reply(record.values, messages)]) if is_messages(messages) else []
        if not turns:
            yield BadRow(record.position, f"{path} holds no turn of an assistant", values=dict(record.values))
            continue
        session = next((str(record.values[n]) for n in IDS if record.values.get(n) is not None), None)
        session = session or str(record.position.row)
        beside = {name: record.values[name] for name in kept if name in record.values}
        given = next((record.values[n] for n in CONTEXTS if record.values.get(n) is not None), None)
        first = () if given is None else tuple(texts(given, "contexts", str(record.position)))
        for number, turn in enumerate(turns, 1):
            own = {"id": f"{session}/{number}", "session": session, "turn": number, "history": list(turn.history),
                   "question": turn.question, "contexts": [*first, *turn.contexts], "output": turn.output}  # fmt: skip
            yield Record(record.position, {**own, **beside})
