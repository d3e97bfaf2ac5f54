"""Constants of USR's regression for the bundled models, into src/quintet/metrics/usr/blend.toml (tables `bundled` and
`bundled-personachat`: the published weights, with means and deviations of the bundled sub-metrics).

    python scripts/build_usr.py BENCHMARKS CORPORA [--model bundled:evaluator] [--rows 50]

MLM and DR(x=c): responses of systems in four validation sets of DSTC10, --rows of each. DR(x=f): CMU-DoG's turns beside
their section, as many turns of other dialogues, and as many sentences of the section in other words (few turns use it).
The texts that are scored later never take part.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

from quintet.core.blend import read_table
from quintet.core.blend_text import blend_toml
from quintet.core.example import Example
from quintet.data.benchmark import load
from quintet.metrics.fitting import constants_of
from quintet.metrics.usr.likelihood import MaskedLikelihood
from quintet.metrics.usr.retrieval import DialogueRetrieval, FactRetrieval
from quintet.text.sentences import sentences
from quintet_train.pseudo.rewrite import rule_paraphraser
from quintet_train.pseudo.usr import other_turn
from quintet_train.rows import Dialogue, read

SETS = ("convai2-grade", "dailydialog-zhao", "dailydialog-gupta", "persona-zhao")
TARGET = Path(__file__).parents[1] / "src/quintet/metrics/usr/blend.toml"
MARK = "# Written by scripts/build_usr.py:"
TABLES = {"bundled": "usr/topical-chat", "bundled-personachat": "usr/personachat"}


def responses(data: Path, rows: int) -> list[Example]:
    """Validation sets whose files keep the turns apart, or have short contexts."""
    found: list[Example] = []
    for name in SETS:
        examples = load(f"dstc10/{name}", data).examples
        found += random.Random(0).sample(list(examples), rows)
    return found


def grounded(corpora: Path, pairs: int) -> list[Example]:
    folder = corpora / "cmu_dog"
    records = read(folder / "cmu_dog.jsonl.gz", "grounded-dialogues", (), folder / "cmu_dog_wiki.jsonl.gz")
    dialogues = [record for record in records if isinstance(record, Dialogue)]
    rng = random.Random(0)
    places = [(d, t) for d, own in enumerate(dialogues) for t in range(1, len(own.turns)) if own.fact(t).strip()]
    found = []
    for d, t in rng.sample(places, pairs):
        own = dialogues[d]
        wrong = other_turn(dialogues, d, own.turns[t], rng) or own.turns[0]
        used = rule_paraphraser(rng.choice(sentences(own.fact(t))).text, rng)
        found += [Example(text, context=own.fact(t)) for text in (own.turns[t], wrong, used)]
    return found


def main() -> None:
    ask = argparse.ArgumentParser()
    ask.add_argument("benchmarks", type=Path)
    ask.add_argument("corpora", type=Path)
    ask.add_argument("--model", default="bundled:evaluator")
    ask.add_argument("--rows", type=int, default=50)
    given = ask.parse_args()
    said = responses(given.benchmarks, given.rows)
    facts = grounded(given.corpora, 2 * given.rows)
    jobs = {
        "usr-mlm": (MaskedLikelihood(given.model), said),
        "usr-dr-context": (DialogueRetrieval(f"{given.model}#sel"), said),
        "usr-dr-fact": (FactRetrieval(f"{given.model}#gro"), facts),
    }
    scores = {n: np.array([next(iter(row.values())).value for row in m.score(rows)]) for n, (m, rows) in jobs.items()}
    constants = constants_of(scores)
    told = f"{MARK} published weights, means and deviations of the bundled models"
    texts = [f"{told} over {len(said)} responses of {', '.join(SETS)} and {len(facts)} of CMU-DoG."]
    for name, published in TABLES.items():
        table = read_table(published)
        rows = [
            {**row, "shift": round(constants[row["metric"]][0], 4), "scale": round(constants[row["metric"]][1], 4)}
            for row in table["signals"]
        ]
        texts.append(blend_toml(name, table["question"], rows, float(table["intercept"])))
    kept = TARGET.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    TARGET.write_text(f"{kept}\n\n" + "\n\n".join(texts), encoding="utf-8")
    print(constants, {name: np.quantile(values, [0, 0.5, 1]).round(3).tolist() for name, values in scores.items()})


if __name__ == "__main__":
    main()
