"""GRADE (Huang et al. 2020): coherence of 1,200 responses, about ten ratings each; two turns of context."""

from __future__ import annotations

import json

from quintet.core.example import Example
from quintet.data.rated import Rated, from_lists
from quintet.data.raw_files import RawFolder

PARTS = {"convai2": "convai2", "dailydialog": "dailydialog_EVAL", "empathetic": "empatheticdialogues"}


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    part = PARTS[name.partition("/")[2]]
    rows = [row for row in raw.json("grade/human_judgement.json") if row["Dataset"] == part]
    references = _references(raw, part.removesuffix("_EVAL"))
    contexts = {text: f"{n:03d}" for n, text in enumerate(dict.fromkeys(row["Context"] for row in rows))}
    examples = [
        Example(
            output=row["Response"].strip(),
            references=(references[_key(row["DialogModel"], row["Context"], row["Response"])],),
            history=tuple(turn.strip() for turn in row["Context"].split("|||")),
            id=str(row["ID"]),
            system=row["DialogModel"],
            group=contexts[row["Context"]],
        )
        for row in rows
    ]
    return from_lists(examples, [{"coherence": json.loads(row["HumanScores"])} for row in rows])


def _references(raw: RawFolder, part: str) -> dict[tuple[str, str, str], str]:
    found = {}
    lines = raw.json("grade/eval_data_ctx_ref_hyp.json")
    for path in lines:
        folder, _, file = path.rpartition("/")
        if file == "human_ctx.txt" and folder.startswith(f"{part}/"):
            system = folder.partition("/")[2]
            columns = (lines[f"{folder}/human_{kind}.txt"] for kind in ("ctx", "hyp", "ref"))
            for context, response, reference in zip(*columns, strict=True):
                found[_key(system, context, response)] = reference.strip()
    return found


def _key(system: str, context: str, response: str) -> tuple[str, str, str]:
    return system, " ".join(context.split()), " ".join(response.split())
