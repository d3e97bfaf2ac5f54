"""Dialogue corpora as records: turns of one speaker joined, facts beside the turns that could use them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quintet.text.detokenise import detokenise
from quintet_train import rows
from quintet_train.evaluator.tables import Choice, Dialogue, Record

Row = Mapping[str, Any]


def _joined(turns: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Consecutive messages of one speaker as one; what stands beside the first of them is kept."""
    out: list[list[Any]] = []
    for speaker, said, *rest in turns:
        text = detokenise(said)
        if not text:
            continue
        if out and out[-1][0] == speaker:
            out[-1][1] += " " + text
        else:
            out.append([speaker, text, *rest])
    return out


def _texts(turns: Iterable[Sequence[Any]]) -> tuple[str, ...]:
    return tuple(turn[1] for turn in turns)


def _plain(row: Row, name: str) -> Iterator[Record]:
    """`turns` of texts, or of lists with the text second; `facts` if there are any."""
    turns = tuple(detokenise(turn if isinstance(turn, str) else turn[1]) for turn in row["turns"])
    if len(turns) > 1:
        yield Dialogue(name, turns, tuple(detokenise(fact) for fact in row.get("facts") or ()))


def _messages(row: Row, name: str) -> Iterator[Record]:
    """Lists of speaker and text (Topical-Chat)."""
    yield Dialogue(name, _texts(_joined(row["turns"])))


def read_sections(path: Path) -> dict[Any, dict[str, str]]:
    """CMU-DoG's documents, a text for each section; the first is a table about the film."""
    out: dict[Any, dict[str, str]] = {}
    for _, row in rows.lines(path):
        out[row["doc"]] = {number: detokenise(_section(section)) for number, section in row["sections"].items()}
    return out


def _section(section: Any) -> str:
    if not isinstance(section, dict):
        return str(section)
    cast, rating, response = (section.get(key, []) for key in ("cast", "rating", "critical_response"))
    return (
        f"{section.get('movieName')} ({section.get('year')}). Directed by {section.get('director')}. "
        f"Genre: {section.get('genre')}. {section.get('introduction', '')} Cast: {'; '.join(cast[:4])}. "
        f"{' '.join(rating)} {' '.join(response)}"
    )


def _grounded(row: Row, name: str) -> Iterator[Record]:
    """CMU-DoG: only speakers who saw the document have facts; short chats are tests of the form."""
    if len(row["turns"]) < 8 or (row.get("rating") or 1) < 1:
        return
    turns, texts, readers = _joined(row["turns"]), row["sections"][row["doc"]], row["whoSawDoc"]
    facts = [texts.get(str(section), "") if speaker in readers else "" for speaker, _, section in turns]
    yield Dialogue(name, _texts(turns), tuple(facts))


def _profiles(row: Row, name: str) -> Iterator[Record]:
    """ConvAI2: a person and a machine, each with a profile; only the person's turns are right replies."""
    turns = _joined(row["turns"])
    if len(turns) < 4:
        return
    human = tuple(speaker == "Human" for speaker, *_ in turns)
    own, other = (" ".join(row[key] or []) for key in ("user_profile", "bot_profile"))
    yield Dialogue(name, _texts(turns), tuple(own if person else other for person in human), human)


def _liked(row: Row, name: str) -> Iterator[Record]:
    """Dialogues that their participants rated at least 3 of 5."""
    turns = _joined(row["turns"])
    if len(turns) >= 6 and (row["eval_score"] or 0) >= 3:
        yield Dialogue(name, _texts(turns))


def _meeting(row: Row, name: str) -> Iterator[Record]:
    """Stretches of twelve turns of a usual length."""
    turns = [turn for turn in _joined(row["turns"]) if 3 < len(turn[1].split()) < 60]
    for start in range(0, len(turns) - 12, 12):
        yield Dialogue(name, _texts(turns[start : start + 12]))


def _choice(row: Row, name: str) -> Iterator[Record]:
    """MuTual: `m : … f : …` and four replies."""
    if row.get("answer") not in ("A", "B", "C", "D"):
        return
    history = tuple(detokenise(turn) for turn in re.split(r"\b[mf] : ", row["context"]) if turn.strip())
    replies = tuple(detokenise(re.sub(r"^[mf] : ", "", reply)) for reply in row["options"])
    yield Choice(history, replies, "ABCD".index(row["answer"]))


_TASKS: Mapping[str, Callable[[str, str], list[str]]] = {
    r"task57[34]_": lambda text, answer: re.split(r"\s*\n?\s*(?:customer|agent): ", text),
    r"task150[01]_": lambda text, answer: [one.strip("' \n") for one in re.split(r"(?:System|User): ", text)],
    r"task35[0-9]_casino": lambda text, answer: _negotiation(text),
    r"task1603|task565": lambda text, answer: [text, answer],
    r"task1714": lambda text, answer: [*re.split(r"\s*\n?\s*(?:User|Computer): ", text), answer],
}
"""Tasks of Natural Instructions that hold dialogues, and how their turns are told apart."""


def _negotiation(text: str) -> list[str]:
    found = re.match(r"Context: (.*)\nUtterance: '(.*)'", text, re.DOTALL)
    return [*(one.strip("' ") for one in re.split(r"' '", found.group(1))), found.group(2)] if found else []


def _instructions(row: Row, name: str) -> Iterator[Record]:
    """Natural Instructions: named `ni:TASK`; repeated dialogues are left out later."""
    for pattern, split in _TASKS.items():
        if re.match(pattern, row["t"]):
            turns = tuple(detokenise(turn) for turn in split(row["i"], row["o"][0]) if turn.strip())
            if len(turns) >= 2:
                yield Dialogue(f"ni:{row['t'].partition('_')[0]}", turns)
            return


DIALOGUE_READERS: Mapping[str, Callable[[Row, str], Iterable[Record]]] = {
    "dialogues": _plain,
    "messages": _messages,
    "grounded-dialogues": _grounded,
    "profile-dialogues": _profiles,
    "liked-dialogues": _liked,
    "meetings": _meeting,
    "reply-choices": _choice,
    "instruction-dialogues": _instructions,
}
