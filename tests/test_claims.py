"""Claims: how a text is cut, what each is held against, and what the command prints. On the fake reader."""

import json

import pytest

import quintet
from quintet.cli import main
from quintet.core.example import Example
from quintet.errors import InputError
from quintet.metrics.evaluator.claims import (
    LONGEST,
    claims_of,
    judge_claims,
    source_of,
    sources_of,
    turns_text,
)
from quintet.metrics.evaluator.reading import read_output
from quintet.models.open import open_model
from quintet.models.roles import COPIED
from quintet.text.passages import Passages

SOURCE = "The council voted on Monday to repair the old bridge. Work begins in May. Mayor Ann Lee paid for the paint."


def cut(text: str) -> list[str]:
    return [piece.text for piece in claims_of(read_output(text))]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The bridge is old. It opens in May.", ["The bridge is old.", "It opens in May."]),
        ("The bridge is very old, and it was painted blue.", ["The bridge is very old", "it was painted blue."]),
        ("The bridge is old; the paint is new enough.", ["The bridge is old", "the paint is new enough."]),
        ("Apples, pears and plums were sold.", ["Apples, pears and plums were sold."]),
        ("Ann Lee paid for it. She was glad.", ["Ann Lee paid for it.", "Ann Lee was glad."]),
        ("Ann Lee met Bob Ray. She was glad.", ["Ann Lee met Bob Ray.", "She was glad."]),
        ("It's Dorothea's. She's glad.", ["It's Dorothea's.", "Dorothea's glad."]),
    ],
)
def test_sentences_are_cut_where_a_clause_stands_alone(text, claims):
    assert cut(text) == claims


def test_a_claim_says_where_it_stands_and_what_is_at_fault():
    text = "The old bridge  is repaired. Mayor Ann Lee paid for enormous fireworks."
    found = quintet.claims(text, source=SOURCE, model="fake:reader")
    assert [text[claim.start : claim.end] for claim in found] == [claim.text for claim in found]
    last = found[-1]
    assert last.verdict != "supported"
    assert [word.text for word in last.faults] == ["enormous", "fireworks"]
    assert all(text[word.start : word.end] == word.text for word in last.faults)
    assert last.supported + last.contradicted + last.absent == pytest.approx(1)
    for claim in found:
        if claim.source is not None:
            assert SOURCE[claim.source.start : claim.source.end] == claim.source.text


@pytest.mark.parametrize(("text", "source"), [("", SOURCE), ("A claim.", "  ")])
def test_nothing_to_judge_is_said(text, source):
    with pytest.raises(InputError, match="is empty"):
        quintet.claims(text, source=source, model="fake:reader")


def test_the_passage_of_a_long_source_holds_what_matters():
    filler = [f"Sentence number {at} speaks of gardens and of weather in general terms." for at in range(200)]
    passages = Passages([*filler[:120], "The treasurer Imogen Vale resigned on Friday.", *filler[120:]])
    shown = passages.about(["Imogen Vale stepped down as treasurer."])
    assert "The treasurer Imogen Vale resigned on Friday." in shown
    assert len(shown.split()) <= 260
    chosen = passages.chosen(["Imogen Vale stepped down as treasurer."])
    assert chosen == sorted(chosen)


def test_a_claim_is_never_longer_than_the_reader_sees():
    text = "The list names " + ", ".join(f"Item{at} of batch {at}" for at in range(90)) + "."
    found = claims_of(read_output(text))
    assert max(len(piece.text) for piece in found) <= LONGEST
    assert "".join(piece.text for piece in found) == text
    blank = "x" * 5000
    assert "".join(cut(blank)) == blank


@pytest.mark.parametrize(
    ("source", "claim", "said"),
    [
        ("A: The old bridge opens in May.", "The old bridge opens in May", True),
        ("The bridge is old, and it was painted blue in May.", "It was painted blue in May.", True),
        ("The bridge is old, but the paint was very new.", "The paint was very new.", True),
        ("If the bridge is old, and the paint was very new, it closes.", "The paint was very new.", False),
        ("He said that it is old, and the paint was very new.", "The paint was very new.", False),
        ("He denied that the bridge was closed.", "The bridge was closed.", False),
        ("Yes, it is.", "Yes, it is.", False),  # too short to say anything alone
    ],
)
def test_what_the_source_says_word_for_word(source, claim, said):
    (piece,) = claims_of(read_output(claim))
    assert source_of(source, "source").says(piece) is said
    (judged,) = judge_claims(open_model("fake:reader", "reader"), source_of(source, "source"), [piece])
    if said:
        assert judged.reading.supported >= COPIED
        assert not judged.reading.faults.any()


def test_places_are_in_the_field_as_given():
    references = ("A first text.", "The council met on Monday in May.")
    example = Example("The council met on Monday.", references=references, context="your persona: I like my old bike.")
    sources = sources_of(example, "references")
    whole = example.text("references")
    assert [whole[slice(*own.places[0])] for own in sources] == list(references)
    (fact,) = sources_of(example, "fact")
    assert example.context[slice(*fact.places[0])] == "I like my old bike."


def test_the_reply_is_always_b():
    assert turns_text(["Hello.", "Hi!", "How are you?"]) == "A: Hello.\nB: Hi!\nA: How are you?"
    assert turns_text(["A: Hello.", "B: Hi!"]) == "B: Hello.\nA: Hi!"


def test_the_command_prints_and_writes(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    row = {"id": "x1", "source": SOURCE, "output": "Work begins in May. Ann Lee paid for enormous fireworks."}
    rows.write_text(json.dumps(row) + "\n", encoding="utf-8")
    out = tmp_path / "claims.jsonl"
    with pytest.raises(SystemExit) as done:
        main(["claims", str(rows), "--model", "fake:reader", "--out", str(out)])
    assert done.value.code == 0
    (written,) = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())
    assert written["id"] == "x1"
    assert [claim["verdict"] for claim in written["claims"]] == ["supported", "not in the source"]
    with pytest.raises(SystemExit) as done:
        main(["claims", "--output", row["output"], "--source", SOURCE, "--model", "fake:reader"])
    assert done.value.code == 0
    shown = capsys.readouterr().out
    assert "+ Work begins in May." in shown
    assert "at fault: 'enormous', 'fireworks'" in shown
    with pytest.raises(SystemExit) as done:
        main(["claims", "--output", "Alone."])
    assert done.value.code == 2
