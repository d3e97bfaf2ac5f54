"""Items from training corpora for dimensions without a validation set: replies beside facts, texts beside records.

python -m judge.constants CORPORA OUT.json.xz
A third of the outputs are the true ones, a third belong to something else of the same kind, a third are the true ones corrupted.
"""
from __future__ import annotations

import json, lzma, sys
from pathlib import Path
from random import Random

from quintet_train.evaluator import corpora, noise
from quintet_train.evaluator.data_groups import written
from quintet_train.evaluator.tables import Described, Dialogue
from quintet_train.recipe import load

EACH = 600



def outputs(own, other, lent, rng, place):
    return (own, other, noise.corrupt(own, rng, [lent], rng.choice([1, 2])))[place % 3]


def facts(records, rng):
    turns = [(d, i) for d in records for i in range(2, len(d.turns)) if d.facts and d.facts[i]]
    rng.shuffle(turns)
    for n, (d, i) in enumerate(turns[:EACH]):
        other, at = rng.choice(turns)
        yield {"set": "fact", "out": outputs(d.turns[i], other.turns[at], other.turns[at - 1], rng, n), "hist": list(d.turns[max(0, i - 12):i]), "fact": d.facts[i]}


def data(records, rng):
    rows = [d for d in records if d.slots and d.texts]
    rng.shuffle(rows)
    for n, d in enumerate(rows[:EACH]):
        other = rng.choice(rows)
        yield {"set": "d2t", "out": outputs(d.texts[0], other.texts[0], rng.choice(other.texts), rng, n), "mr": written(d.slots, rng), "refs": list(d.texts[1:4] or d.texts[:1])}


if __name__ == "__main__":
    folder, rng = Path(sys.argv[1]), Random(5)
    recipe = load("evaluator")
    read = {}
    for source in recipe.data.sources:
        read.setdefault(source.rows, []).append(source)
    talks, texts = [], []
    for rows in ("messages", "grounded-dialogues", "profile-dialogues"):
        for source in read[rows]:
            talks += [r for r in corpora.read(source, folder, recipe.data.seed) if isinstance(r, Dialogue)]
    for rows in ("described", "dialogue-acts"):
        for source in read[rows]:
            texts += [r for r in corpora.read(source, folder, recipe.data.seed) if isinstance(r, Described)]
    items = [*facts(talks, rng), *data(texts, rng)]
    for n, item in enumerate(items):
        item.update(id=n, test=0)
    with lzma.open(sys.argv[2], "wt") as out:
        json.dump({"docs": [], "items": items}, out)
    print(len(items), items[0], items[-1])
