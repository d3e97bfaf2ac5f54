"""Conversations turn by turn: messages of several tools, sessions from their turns, the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import quintet
from quintet.cli import main
from quintet.io.conversations import turns_of
from quintet.io.items import Items
from quintet.io.sources import rows_from_python
from quintet.metrics.rag.conversation import questions, turned

CHAT = Path(__file__).parents[2] / "examples" / "chat.jsonl"
SAID = [("user", "I need boots. My size is 42."), ("assistant", "High or low ones?"), ("user", "High."),
        ("assistant", "Then take these.")]  # fmt: skip
OPENAI = [{"role": who, "content": text} for who, text in SAID]
SHAREGPT = [{"from": {"user": "human", "assistant": "gpt"}[who], "value": text} for who, text in SAID]
PARTS = [{"role": who, "content": [{"type": "text", "text": text}]} for who, text in SAID]


@pytest.mark.parametrize(
    "row",
    [{"messages": OPENAI}, {"conversations": SHAREGPT}, {"messages": PARTS}, {"turns": OPENAI}, {"user_input": OPENAI}],
    ids=["OpenAI", "ShareGPT", "content parts", "deepeval", "ragas"],
)
def test_each_turn_of_the_assistant_is_a_row(row: dict[str, Any]) -> None:
    with Items(rows_from_python([{"id": "s", "kind": "shop", **row}]), "conversation", None) as items:
        found = list(items)
    assert [item.example.id for item in found if item.example] == ["s/1", "s/2"]
    first, second = (item.example for item in found)
    assert first is not None
    assert second is not None
    assert (first.history, first.output, first.group) == ((SAID[0][1],), SAID[1][1], "s")
    assert (second.history, second.question) == (tuple(text for _, text in SAID[:3]), "High.")
    assert found[1].carried["kind"] == "shop"
    assert "messages" not in found[1].carried


def test_tools_are_context_and_a_turn_ends_when_the_user_speaks() -> None:
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "hours", "arguments": '{"day": "Sunday"}'}}]}
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "When is it open?"},
        {"role": "assistant", "content": "Let me look."},
        call,
        {"role": "tool", "content": "Sunday 11 to 17"},
        {"role": "assistant", "content": "From 11 to 17."},
        {"role": "user", "content": "Thanks!"},
    ]
    (turn,) = turns_of(messages)
    assert turn.output == "Let me look.\nFrom 11 to 17."
    assert turn.contexts == ('hours({"day": "Sunday"})', "Sunday 11 to 17")
    assert (turn.history, turn.question) == (("When is it open?",), "When is it open?")


def test_the_reply_of_a_chat_completion_ends_the_conversation() -> None:
    reply = {"role": "assistant", "content": "Then take these."}
    row = {"id": "s", "messages": OPENAI[:3], "choices": [{"index": 0, "message": reply}]}
    with Items(rows_from_python([row]), "conversation", None) as items:
        outputs = [item.example.output for item in items if item.example]
    assert outputs == ["High or low ones?", "Then take these."]


def test_a_conversation_without_a_reply_is_named() -> None:
    rows = [{"messages": OPENAI}, {"messages": OPENAI[:1]}]
    with (
        Items(rows_from_python(rows), "conversation", None, skip_bad=True) as items,
    ):
        assert [item.problem for item in items][-1].endswith("messages holds no turn of an assistant")


def test_rows_of_one_turn_each_are_taken_as_they_are() -> None:
    row = {"history": ["Hi", "Hello", "Who are you?"], "response": "Ann.", "session": "a"}
    with Items(rows_from_python([row]), "conversation", None) as items:
        (item,) = items
    assert item.example is not None
    assert item.example.history == ("Hi", "Hello", "Who are you?")
    assert item.example.question == "Who are you?", "what was said last"
    with Items(rows_from_python([{"prompt": "Who are you?", "completion": "Ann."}]), "conversation", None) as items:
        assert {"question", "history"} <= items.present
        (item,) = items
    assert item.example is not None
    assert (item.example.history, item.example.question) == (("Who are you?",), "Who are you?")
    assert item.example.source is None


@pytest.fixture(scope="module")
def result() -> quintet.Result:
    return quintet.score(str(CHAT), task="conversation", dims=["consistency", "retention"], cache=False)


def test_contradictions_and_questions_asked_twice_are_found(result: quintet.Result) -> None:
    scores = {row.item.example.id: row for row in result.rows if row.item.example}
    wavering = scores["museum-wavering/3"]
    assert wavering.scores["consistency"].value < 0.5 < scores["museum-steady/3"].scores["consistency"].value
    (span,) = wavering.scores["consistency"].spans
    field, start, end = span.other or ("", 0, 0)
    assert span.note == "contradicts an earlier turn"
    assert wavering.item.example is not None
    assert wavering.item.example.text(field)[start:end].startswith("The city museum is open from 11:00")
    again = scores["shoes-forgetful/2"].scores["retention"]
    assert again.value < 0.5 < scores["shoes-attentive/1"].scores["retention"].value
    assert [span.note for span in again.spans][-1] == "asks what was said already"


def test_sessions_have_mean_worst_turn_and_end(result: quintet.Result) -> None:
    sessions = {session.id: session for session in result.sessions()}
    assert list(sessions) == ["shoes-attentive", "shoes-forgetful", "museum-steady", "museum-wavering"]
    own = [row.scores["consistency"].value for row in result.rows[-3:]]
    score = sessions["museum-wavering"].scores["consistency"]
    assert (score.worst_turn, score.worst, score.end) == (3, own[2], own[2])
    assert score.mean == pytest.approx(sum(own) / 3)
    assert sessions["museum-wavering"].to_json()["consistency.worst_turn"] == 3


def test_the_command_shows_and_writes_sessions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sessions.csv"
    with pytest.raises(SystemExit) as done:
        main(["score", str(CHAT), "--task", "chat", "--dims", "retention", "--no-cache", "--sessions", str(out)])
    assert done.value.code == 0
    shown = capsys.readouterr()
    assert "messages, turn by turn" in shown.err
    assert "conversations: mean of the turns" in shown.out
    header, *rows = out.read_text(encoding="utf-8").splitlines()
    assert header == "session,turns,system,retention,retention.worst,retention.worst_turn,retention.end"
    assert len(rows) == 4
    with pytest.raises(SystemExit) as done:
        main(["score", str(CHAT), "--task", "dialogue", "--sessions", str(out)])
    assert done.value.code == 2
    assert json.loads(CHAT.read_text(encoding="utf-8").splitlines()[0])["id"] == "shoes-attentive"


def test_the_other_speaker_is_turned_around_and_questions_are_told_apart() -> None:
    assert turned("I'm sure my boots fit you.") == "you're sure your boots fit I."
    found = questions("Sure. What size are they, and what is your budget?")
    assert [piece.text for piece in found] == ["What size are they", "what is your budget?"]
