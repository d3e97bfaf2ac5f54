"""USR's rated responses: Topical-Chat and PersonaChat (Mehri and Eskenazi 2020)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from quintet.core.example import Example
from quintet.data.rated import Rated, from_lists
from quintet.data.raw_files import RawFolder

GROUND_TRUTH = "Original Ground Truth"
QUALITIES = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge", "Overall")


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = _topical_chat(raw) if name == "topical_chat" else _persona_chat(raw)
    contexts = {history: f"{n:02d}" for n, history in enumerate(dict.fromkeys(row["history"] for row in rows))}
    truth = {row["history"]: row["response"] for row in rows if row["system"] == GROUND_TRUTH}
    examples = [_example(row, contexts[row["history"]], truth[row["history"]]) for row in rows]
    rated = from_lists(examples, [row["ratings"] for row in rows])
    return replace(rated, raters=[row["raters"] for row in rows] if all(row["raters"] for row in rows) else None)


def _example(row: dict[str, Any], group: str, truth: str) -> Example:
    """The reference is the original response of the same context, as in USR's own baselines."""
    return Example(
        output=row["response"].strip(),
        context=row["fact"].strip(),
        references=(truth.strip(),),
        history=tuple(turn.strip() for turn in row["history"].strip().split("\n")),
        id=f"{group}/{row['system']}",
        system=row["system"],
        group=group,
    )


def _topical_chat(raw: RawFolder) -> list[dict[str, Any]]:
    """Texts and means from CTC's file, single ratings from DSTC10's, which orders and flattens differently."""
    single = defaultdict(list)
    for row in raw.jsonl("topical_chat_usr/topical-usr_per_annotator_dstc10.jsonl"):
        ratings = row["annotations"]
        means = (sum(ratings[quality]) / len(ratings[quality]) for quality in QUALITIES)
        single[_key(row["context"], row["response"], means)].append(ratings)
    rows = []
    for row in raw.json("topical_chat_usr/topical_chat_ctc.json"):
        means = (row[quality.lower().replace(" ", "_")] for quality in QUALITIES)
        ratings = _only(single[_key(row["dialog_history"], row["response"], means)], row["response"])
        rows.append(_row(row["dialog_history"], row["fact"], row["response"], row["model"], ratings))
    return rows


def _key(history: str, response: str, means: Iterable[float]) -> tuple[str, str, tuple[float, ...]]:
    # One context has the same response from two systems: their means tell them apart.
    return " ".join(history.split()), " ".join(response.split()), tuple(round(mean, 6) for mean in means)


def _only(found: Sequence[Any], response: str) -> Any:
    if not found:
        raise ValueError(f"no single ratings for the response {response[:60]!r}")
    return found[0]


def _persona_chat(raw: RawFolder) -> list[dict[str, Any]]:
    return [
        _row(
            dialogue["context"],
            dialogue["fact"],
            answer["response"],
            answer["model"],
            answer,
            dialogue.get("annotators", ()),
        )
        for dialogue in raw.json("persona_chat_usr/pc_usr_data.json")
        for answer in dialogue["responses"]
    ]


def _row(
    history: str, fact: str, response: str, system: str, ratings: dict[str, list[int]], raters: Sequence[str] = ()
) -> dict[str, Any]:
    kept = {quality: ratings[quality] for quality in QUALITIES}
    texts = {"history": history, "fact": fact, "response": response}
    return {**texts, "system": system, "ratings": kept, "raters": tuple(raters)}
