"""The two DSTC10 development sets that rate whole dialogues: fed-dial and persona-see.

Each example is a turn pair; its group is the dialogue, whose ratings every turn repeats. A dialogue's score is the mean
over its turns, as IM2 does it.
"""

from __future__ import annotations

from quintet.core.example import Example
from quintet.data.rated import Rated, from_lists
from quintet.data.raw_files import RawFolder

PERSONA_SEE_TURNS = 6


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    part = name.partition("/")[2]
    turns = raw.jsonl(f"dstc10_dev/{part}_turns.jsonl")
    dialogues = raw.jsonl(f"dstc10_dev/{part}_anno.jsonl")
    lengths = _fed_lengths(raw) if part == "fed-dial" else [PERSONA_SEE_TURNS] * len(dialogues)
    if sum(lengths) != len(turns) or len(lengths) != len(dialogues):
        raise ValueError(f"{len(turns)} turns do not fill {len(dialogues)} dialogues")
    owners = [n for n, length in enumerate(lengths) for _ in range(length)]
    examples = [
        Example(row["response"].strip(), history=(row["context"].strip(),), id=f"{i:05d}", group=f"{owner:04d}")
        for i, (row, owner) in enumerate(zip(turns, owners, strict=True))
    ]
    ratings = [dialogues[owner] for owner in owners]
    return from_lists(examples, ratings, "fed" if part == "fed-dial" else "", unit="group")


def _fed_lengths(raw: RawFolder) -> list[int]:
    """Turn pairs per dialogue; the DSTC10 file does not say where a dialogue ends, FED's own does."""
    rows = raw.json("fed/fed_data.json")
    return [len(row["context"].split("\n")) // 2 for row in rows if "response" not in row]
