"""Makes IM2 on the bundled evaluator: the small heads 5-NUF and 5-IES, the constant of D-MLM, fitted two-level weights,
and the figures of docs/metrics/im2.md (in-sample and with one data set left out, heads and weights trained anew).

    python scripts/build_im2.py BENCHMARKS CORPORA [--model bundled:evaluator] [--rows 250] [--write FOLDER]

By IM2's own definition it learns from the development ratings of DSTC10 track 5; fed, topical-usr and persona-usr
repeat test sets and are left out, dstc6 has no context. --write puts the heads into FOLDER/dialogue-nuf and
FOLDER/dialogue-ies, and the tables `bundled` and `fitted` into src/quintet/metrics/im2/blend.toml.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quintet.core.blend_text import blend_toml
from quintet.core.cache import fresh
from quintet.core.example import Example
from quintet.data.benchmark import load
from quintet.metrics.fitting import RatedSet, fit_two_levels
from quintet.metrics.im2.classifiers import (
    DialogueMlm,
    RightOrder,
    SelfConsistency,
    TopicCoherence,
    TrueResponse,
    ValidUtterance,
)
from quintet.metrics.im2.diversity import DistN
from quintet.metrics.im2.inputs import CATEGORIES, route
from quintet.models import adapters as pooled_head
from quintet.models.open import open_model
from quintet_train.pseudo.im2 import five_point, scale_of
from quintet_train.small_heads import Head, HeadPlan, fit_head, head_points, layers

Floats = np.ndarray
RATED = (
    "convai2-grade", "dailydialog-grade", "empathetic-grade", "dailydialog-zhao", "dailydialog-gupta",
    "dstc7", "humod", "persona-zhao",
)  # fmt: skip
DIALOGUES = "persona-see"
PLAN = HeadPlan(hidden=16, decay=10.0)
"""Decay chosen by five-fold cross-validation over the contexts of dailydialog-zhao; 1 to 30 differ by .03."""
LESSONS = {"im2-nuf5": "nuf", "im2-ies5": "ies"}
TARGET = Path(__file__).parents[1] / "src" / "quintet"
MARK = "# Written by scripts/build_im2.py:"
TURNS = 100
TAUGHT = 600


@dataclass
class Part:
    """One data set: what the metrics say of its rows, features for the two heads, ratings by original name."""

    name: str
    scores: dict[str, Floats]
    features: dict[str, Floats]
    ratings: dict[str, Floats]
    units: Floats
    """Rows with one number are rated together: the turns of a dialogue."""


def read(name: str, data: Path, rows: int) -> tuple[list[Example], dict[str, Floats], Floats]:
    """A sample of whole units in the order of the file; ratings by their published names."""
    made = load(f"dstc10/{name}", data)
    grouped = made.unit == "group"
    keys = np.array([e.group if grouped else str(i) for i, e in enumerate(made.examples)])
    units = list(dict.fromkeys(keys.tolist()))
    wanted = rows // 4 if grouped else rows
    chosen = set(random.Random(0).sample(units, min(wanted, len(units))))
    places = [i for i, key in enumerate(keys) if key in chosen]
    numbers = {unit: n for n, unit in enumerate(dict.fromkeys(keys[places].tolist()))}
    ratings = {made.original_names.get(d, d): np.asarray(made.ratings[d])[places] for d in made.dimensions}
    return [made.examples[i] for i in places], ratings, np.array([numbers[keys[i]] for i in places])


def score(part: str, data: Path, rows: int, model: str) -> Part:
    examples, ratings, units = read(part, data, rows)
    metrics = (
        SelfConsistency(f"{model}#abba"), ValidUtterance(f"{model}#acc"), TopicCoherence(f"{model}#sel"),
        TrueResponse(f"{model}#abac"), RightOrder(f"{model}#abba"), DistN(), DialogueMlm(model),
    )  # fmt: skip
    found = {m.name: np.array([row[m.dimensions[0].name].value for row in m.score(examples)]) for m in metrics}
    features = features_of(examples, model)
    fresh()
    print(f"{part}: {len(examples)} rows, {', '.join(ratings)}", flush=True)
    return Part(part, found, features, ratings, units)


@dataclass
class Lesson:
    """What a head may learn from one data set."""

    head: str
    part: str
    features: Floats
    targets: Floats


def lessons(part: str, data: Path, model: str) -> list[Lesson]:
    """Ratings of a category on five points, the mean over its qualities; more rows than are judged afterwards."""
    examples, ratings, units = read(part, data, TAUGHT)
    found = []
    for head, category in LESSONS.items():
        own = [values for quality, values in ratings.items() if route(quality) == category]
        if own and len(set(units.tolist())) == len(units):
            targets = np.mean([five_point(values, scale_of(values.tolist())) for values in own], axis=0)
            found.append(Lesson(head, part, features_of(examples, model)[head], targets))
    return found


def features_of(examples: Sequence[Example], model: str) -> dict[str, Floats]:
    """What the heads read: 5-NUF the response alone, 5-IES the response beside the last turn."""
    judge = open_model(model, "judge")
    pairs: dict[str, list[tuple[str, tuple[str, ...]]]] = {
        "im2-nuf5": [(e.output, ()) for e in examples],
        "im2-ies5": [(e.output, (e.history or ("",))[-1:]) for e in examples],
    }
    return {
        name: np.stack([one.pooled for one in judge.score(own, joint=bool(judge.joint))]) for name, own in pairs.items()
    }


def heads(taught: Iterable[Lesson], without: str = "") -> dict[str, Head]:
    """A head for each kind that has ratings in some other data set."""
    made = {}
    for name in LESSONS:
        own = [lesson for lesson in taught if lesson.head == name and lesson.part != without]
        if own:
            features = np.concatenate([lesson.features for lesson in own])
            made[name] = fit_head(features, np.concatenate([lesson.targets for lesson in own]), PLAN)
    return made


def with_heads(part: Part, made: Mapping[str, Head]) -> dict[str, Floats]:
    """A lesson nothing was learnt for gives the middle of the scale."""
    five = {n: head_points(part.features[n], made[n]) if n in made else np.full(len(part.units), 3.0) for n in LESSONS}
    return {**part.scores, **five}


def constant_of_likelihood(corpora: Path, model: str) -> dict[str, object]:
    """D-MLM to 0..1: its 5 % and 95 % quantiles over turns of Topical-Chat (no rated text)."""
    path = corpora / "topical_chat" / "topical_chat_valid_freq.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        turns = [turn[1] for line in lines for turn in json.loads(line)["turns"] if turn[1].strip()]
    chosen = random.Random(0).sample(turns, TURNS)
    rows = DialogueMlm(model).score([Example(text) for text in chosen])
    low, high = np.quantile([row["specificity"].value for row in rows], [0.05, 0.95])
    return {"shift": round(float(low), 4), "scale": round(float(high - low), 4), "clip": [0.0, 1.0]}


def base_tables(constant: Mapping[str, object]) -> str:
    """Table 2's weights with the constants of the bundled models."""
    published = tomllib.loads((TARGET / "metrics/im2/blend.toml").read_text(encoding="utf-8"))["published"]
    texts = []
    for name, table in published.items():
        rows = [{**row, **constant} if row["metric"] == "im2-dmlm" else row for row in table["signals"]]
        texts.append(blend_toml(f"bundled/{name}", table["question"], rows) + "low = 0.0\nhigh = 1.0\n")
    return "\n".join(_bounds_first(text) for text in texts)


def to_unit(fitted: str) -> str:
    """The same ranking on 0..1, as Table 2 has it: weights of each table divided by their sum, which goes to the level
    above."""
    tables = tomllib.loads(fitted)["fitted"]
    sums = {name: sum(row["weight"] for row in tables[name]["signals"]) for name in CATEGORIES}
    texts = []
    for name, table in tables.items():
        raw = [row["weight"] * (sums[row["metric"].removeprefix("im2-")] if name == "im2" else 1.0)
               for row in table["signals"]]  # fmt: skip
        total = sum(raw) or 1.0
        rows = [{**row, "weight": round(w / total, 4)} for row, w in zip(table["signals"], raw, strict=True)]
        texts.append(blend_toml(f"fitted/{name}", table["question"], rows) + "low = 0.0\nhigh = 1.0\n")
    return "\n".join(_bounds_first(text) for text in texts)


def _bounds_first(text: str) -> str:
    """TOML wants plain keys before tables."""
    bounds = "low = 0.0\nhigh = 1.0\n"
    head, _, rest = text.removesuffix(bounds).partition("\n\n")
    return f"{head}\n{bounds}\n{rest}"


def combined(tables: Mapping[str, Mapping[str, object]], scores: Mapping[str, Floats]) -> dict[str, Floats]:
    """Every category and IM2, from a set of tables as a file has them."""
    known = dict(scores)
    for name in (*CATEGORIES, "im2"):
        total = np.zeros(len(next(iter(scores.values()))))
        for row in tables[name]["signals"]:  # type: ignore[attr-defined]
            low, high = row.get("clip", (-np.inf, np.inf))
            normal = np.clip((known[row["metric"]] - row.get("shift", 0.0)) / row.get("scale", 1.0), low, high)
            total = total + row["weight"] * normal
        known[f"im2-{name}" if name != "im2" else "im2"] = total
    return known


def per_unit(values: Floats, units: Floats) -> Floats:
    return np.bincount(units, values) / np.bincount(units)


def ranks(values: Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def spearman(a: Floats, b: Floats) -> float:
    a, b = ranks(a), ranks(b)
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


Answers = dict[str, list[tuple[str, Floats, Floats]]]
"""Data set to (quality, score per unit, rating per unit)."""


def answers(parts: Sequence[Part], values: Callable[[Part], Mapping[str, Floats]], selective: bool) -> Answers:
    found: Answers = {}
    for part in parts:
        known = values(part)
        found[part.name] = []
        for quality, rating in part.ratings.items():
            name = route(quality) if selective else "im2"
            score = known["im2" if name == "im2" else f"im2-{name}"]
            here = np.isfinite(rating)
            units = np.unique(part.units[here], return_inverse=True)[1]
            found[part.name].append((quality, per_unit(score[here], units), per_unit(rating[here], units)))
    return found


def average(found: Answers, draw: np.random.Generator | None = None) -> tuple[dict[str, float], float]:
    """Mean over qualities for each set, and the mean over sets (facts 5.7); `draw` resamples the units of each set."""
    by_set = {}
    for name, own in found.items():
        n = len(own[0][1])
        pick = np.arange(n) if draw is None else draw.integers(0, n, n)
        by_set[name] = float(np.mean([spearman(s[pick[pick < len(s)]], r[pick[pick < len(r)]]) for _, s, r in own]))
    return by_set, float(np.mean(list(by_set.values())))


def interval(found: Answers, count: int = 300) -> tuple[dict[str, tuple[float, float]], tuple[float, float]]:
    rng = np.random.default_rng(0)
    draws = [average(found, rng) for _ in range(count)]
    whole = np.quantile([mean for _, mean in draws], [0.025, 0.975])
    sets = {name: np.quantile([by[name] for by, _ in draws], [0.025, 0.975]) for name in found}
    return {name: (float(a), float(b)) for name, (a, b) in sets.items()}, (float(whole[0]), float(whole[1]))


def report(parts: Sequence[Part], ways: Mapping[str, Callable[[Part], Mapping[str, Floats]]]) -> None:
    columns = {}
    for way, values in ways.items():
        for kind in ("SELECTIVE", "OVERALL"):
            found = answers(parts, values, kind == "SELECTIVE")
            columns[f"{kind}, {way}"] = (average(found), interval(found))
    print("| data set | n | qualities | " + " | ".join(columns) + " |")
    print("|---|---|---|" + "---|" * len(columns))
    for part in parts:
        cells = [
            f"{s[0][part.name]:.3f} [{i[0][part.name][0]:.2f}, {i[0][part.name][1]:.2f}]" for s, i in columns.values()
        ]
        print(
            f"| {part.name} | {len(set(part.units.tolist()))} | {', '.join(part.ratings)} | " + " | ".join(cells) + " |"
        )
    cells = [f"**{s[1]:.3f}** [{i[1][0]:.2f}, {i[1][1]:.2f}]" for s, i in columns.values()]
    print("| mean of sets | | | " + " | ".join(cells) + " |")


def main() -> None:
    ask = argparse.ArgumentParser()
    ask.add_argument("benchmarks", type=Path)
    ask.add_argument("corpora", type=Path)
    ask.add_argument("--model", default="bundled:evaluator")
    ask.add_argument("--rows", type=int, default=250)
    ask.add_argument("--write", type=Path)
    given = ask.parse_args()
    taught = [lesson for name in RATED for lesson in lessons(name, given.benchmarks, given.model)]
    print({(lesson.head, lesson.part): len(lesson.targets) for lesson in taught}, flush=True)
    whole = heads(taught)
    if given.write:
        judge = open_model(given.model, "judge")
        for name, head in whole.items():
            made = f"dialogue-{LESSONS[name]}"
            pooled_head.write(given.write / made, made, layers(head), judge, "tanh")
    constant = constant_of_likelihood(given.corpora, given.model)
    base = base_tables(constant)
    print(f"D-MLM: {constant}", flush=True)
    parts = [score(name, given.benchmarks, given.rows, given.model) for name in (*RATED, DIALOGUES)]
    tables, fitted = study(parts, taught, whole, base)
    report(parts, tables)
    fitted = to_unit(fitted)
    print(f"\n{fitted}")
    if given.write:
        path = TARGET / "metrics/im2/blend.toml"
        kept = path.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
        told = f"{MARK} constants of the bundled evaluator, weights fitted on DSTC10 development ratings."
        path.write_text(f"{kept}\n\n{told}\n\n{base}\n{fitted}", encoding="utf-8")


def study(
    parts: Sequence[Part], taught: Sequence[Lesson], whole: Mapping[str, Head], base: str
) -> tuple[dict[str, Callable[[Part], Mapping[str, Floats]]], str]:
    """Ways to compute IM2 (by name), and the weights fitted on everything."""
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "base.toml"
        file.write_text(base, encoding="utf-8")
        source = f"{file}#bundled"

        def fit(chosen: Sequence[Part], made: Mapping[str, Head]) -> str:
            sets = [RatedSet(p.name, with_heads(p, made), p.ratings) for p in chosen if p.name != DIALOGUES]
            return fit_two_levels(sets, base=source, unrated="base")

        everything = fit(parts, whole)
        without = {p.name: heads(taught, p.name) for p in parts}
        others = {
            p.name: tomllib.loads(fit([q for q in parts if q is not p], without[p.name]))["fitted"] for p in parts
        }
    table_2, all_in = tomllib.loads(base)["bundled"], tomllib.loads(everything)["fitted"]
    ways: dict[str, Callable[[Part], Mapping[str, Floats]]] = {
        "Table 2 weights, in-sample heads": lambda p: combined(table_2, with_heads(p, whole)),
        "Table 2 weights, set left out": lambda p: combined(table_2, with_heads(p, without[p.name])),
        "fitted, in-sample": lambda p: combined(all_in, with_heads(p, whole)),
        "fitted, set left out": lambda p: combined(others[p.name], with_heads(p, without[p.name])),
    }
    return ways, everything


if __name__ == "__main__":
    main()
