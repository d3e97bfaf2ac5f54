"""FED (Mehri and Eskenazi 2020): responses and whole dialogues of Meena, Mitsuku and people, five annotators.

fed_dialog has two variants. `whole`: one example per dialogue, the output being all that the system said, the history
all that the user said. `turns`: one example per system turn with what came before; a dialogue's score is their mean.
"""

from __future__ import annotations

from typing import Any

from quintet.core.example import Example
from quintet.data.rated import Rated, from_lists
from quintet.data.raw_files import RawFolder

Turn = tuple[str, str]


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = raw.json("fed/fed_data.json")
    kept = [row for row in rows if ("response" in row) == (name == "fed_turn")]
    if name == "fed_turn":
        return from_lists(_responses(kept), [row["annotations"] for row in kept], "fed")
    dialogues = [_turns(row["context"]) for row in kept]
    if variant == "whole":
        whole = [
            _whole(turns, row["system"], f"{n:03d}") for n, (turns, row) in enumerate(zip(dialogues, kept, strict=True))
        ]
        return from_lists(whole, [row["annotations"] for row in kept], "fed")
    examples, ratings = [], []
    for n, (turns, row) in enumerate(zip(dialogues, kept, strict=True)):
        for place in (i for i, (speaker, _) in enumerate(turns) if speaker == "System"):
            history = tuple(text for _, text in turns[:place])
            group = f"{n:03d}"
            examples.append(
                Example(turns[place][1], history=history, id=f"{group}/{place:02d}", system=row["system"], group=group)
            )
            ratings.append(row["annotations"])
    return from_lists(examples, ratings, "fed", unit="group")


def _responses(rows: list[dict[str, Any]]) -> list[Example]:
    return [
        Example(
            output=_turns(row["response"])[0][1],
            history=tuple(text for _, text in _turns(row["context"])),
            id=f"{n:03d}",
            system=row["system"],
            # Three responses of each dialogue were rated.
            group=f"{n // 3:03d}",
        )
        for n, row in enumerate(rows)
    ]


def _whole(turns: list[Turn], system: str, name: str) -> Example:
    said = {who: tuple(text for speaker, text in turns if speaker == who) for who in ("System", "User")}
    return Example("\n".join(said["System"]), history=said["User"], id=name, system=system, group=name)


def _turns(text: str) -> list[Turn]:
    """`User: …` and `System: …` lines; a line without a speaker goes on with the turn before it."""
    turns: list[Turn] = []
    for line in text.split("\n"):
        speaker, colon, said = line.partition(":")
        if colon and speaker in ("User", "System"):
            turns.append((speaker, said.strip()))
        elif turns:
            turns[-1] = (turns[-1][0], f"{turns[-1][1]} {line.strip()}".strip())
        else:
            turns.append(("User", line.strip()))
    return turns
