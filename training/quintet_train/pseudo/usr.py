"""USR's lessons: dialogue text for the masked language model, true and random responses for retrieval.

Strings as in the released data: lower-case words with blanks between them, `_eos` after each turn, `_go` before the
response. Only the last turn of the history is shown; DR(x=c) adds the fact, DR(x=f) sees the fact alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from quintet.errors import InputError
from quintet.text.usr_lines import context_text, fact_text, mlm_line, response_text, spaced
from quintet_train.items import PairItem, TextItem
from quintet_train.rows import Dialogue, Record

__all__ = ["context_text", "fact_text", "mlm", "mlm_line", "response_text", "retrieval", "spaced"]


def mlm(records: Sequence[Record], limit: int, rng: Random) -> list[TextItem]:
    """One line per pair of turns, in the order of the corpus; blocks of equal length are cut by the network's side."""
    lines = [
        TextItem(mlm_line(before, after))
        for dialogue in records
        if isinstance(dialogue, Dialogue)
        for before, after in zip(dialogue.turns, dialogue.turns[1:], strict=False)
        if before.strip() and after.strip()
    ]
    return lines[:limit] if limit else lines


def retrieval(
    records: Sequence[Record], limit: int, rng: Random, *, sees: str = "context", negatives: int = 1
) -> list[PairItem]:
    """Label 1 for the true response, 0 for the response of another dialogue (1:1 unless told otherwise)."""
    if sees not in ("context", "fact"):
        raise InputError(f"usr.retrieval sees context or fact, not {sees!r}")
    dialogues = [record for record in records if isinstance(record, Dialogue)]
    places = [(d, t) for d, dialogue in enumerate(dialogues) for t in range(1, len(dialogue.turns))]
    if sees == "fact":
        places = [(d, t) for d, t in places if dialogues[d].fact(t).strip()]
    rng.shuffle(places)
    items: list[PairItem] = []
    for d, t in places:
        dialogue = dialogues[d]
        fact = dialogue.fact(t)
        first = context_text(dialogue.turns[t - 1], fact) if sees == "context" else fact_text(fact)
        items.append(PairItem(first, response_text(dialogue.turns[t]), 1))
        for _ in range(negatives):
            other = other_turn(dialogues, d, dialogue.turns[t], rng)
            if other is not None:
                items.append(PairItem(first, response_text(other), 0))
        if limit and len(items) >= limit:
            break
    return items[:limit] if limit else items


def other_turn(dialogues: Sequence[Dialogue], own: int, response: str, rng: Random) -> str | None:
    """A turn of another dialogue that is not word for word the true response; None if there is none to be found."""
    for _ in range(20):
        d = rng.randrange(len(dialogues))
        turn = rng.choice(dialogues[d].turns)
        if d != own and turn.strip() and turn != response:
            return turn
    return None
