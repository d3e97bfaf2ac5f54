"""Development and hidden test sets of DSTC10 track 5.1 (Zhang et al. 2021): responses with lists of ratings by quality.

Two forms: `NAME_eval.json` (turns separated by newlines, system, references), which the hidden test files share, and
`NAME.jsonl` (context flattened to one line, so the history is one turn; no system).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from quintet.core.example import Example
from quintet.data.rated import Rated, from_lists
from quintet.data.raw_files import RawFolder


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    part = name.partition("/")[2]
    if name.startswith("dstc10_hidden/"):
        rows = raw.json(f"{name}.json")
    elif raw.find(f"dstc10_dev/{part}_eval.json"):
        rows = raw.json(f"dstc10_dev/{part}_eval.json")
    else:
        rows = raw.jsonl(f"dstc10_dev/{part}.jsonl")
    if not isinstance(rows, list) or not rows:
        raise ValueError("expected a list of rated responses")
    contexts = {text: f"{n:04d}" for n, text in enumerate(dict.fromkeys(row.get("context") for row in rows))}
    ids = _ids(rows)
    examples = [_example(row, name, contexts[row.get("context")]) for row, name in zip(rows, ids, strict=True)]
    return from_lists(examples, [row["annotations"] for row in rows], "fed" if part.startswith("fed") else "")


def _ids(rows: list[dict[str, Any]]) -> list[str]:
    """The dialogue id where it tells rows apart, with the system where that helps, otherwise the row number."""
    plain = [str(row.get("dialogue_id", "")).strip() for row in rows]
    with_system = [f"{name}/{_system(row)}" for name, row in zip(plain, rows, strict=True)]
    for names in (plain, with_system):
        if "" not in plain and max(Counter(names).values()) == 1:
            return names
    return [f"{n:05d}" for n in range(len(rows))]


def _system(row: dict[str, Any]) -> str | None:
    found = row.get("model", row.get("model_name"))
    return None if found is None else str(found)


def _example(row: dict[str, Any], name: str, group: str) -> Example:
    context = row.get("context")
    references = row.get("reference") or ()
    return Example(
        output=row["response"].strip(),
        references=(references,) if isinstance(references, str) else tuple(references),
        history=None if context is None else tuple(turn.strip() for turn in context.strip().split("\n")),
        id=name,
        system=_system(row),
        # Without a context nothing says which responses belong together.
        group=None if context is None else group,
    )
