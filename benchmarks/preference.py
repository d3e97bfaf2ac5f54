"""How often does `quintet prefer` agree with people, and are its probabilities true?

    python benchmarks/preference.py [--data ../shared] [--rows N] [--full] [--write]

Pairs of WMT19-DARR beside their reference, auto-j's human test and hh-rlhf's harmless part, all without training on
them. Slope and threshold are fitted on every other pair of the first two sets (pairs of one input stay together) and
reported on the others; hh-rlhf is reported alone. Intervals are 95 %, by resampling inputs.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import quintet
from quintet.models.open import identity
from quintet.stats.preference import OVERALL, Scale

ROOT = Path(__file__).resolve().parents[1]
BINS = (0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
"""Of the probability of the output that quintet prefers."""
MARKS = "<!-- agreed -->", "<!-- /agreed -->"
Row = dict[str, Any]


@dataclass(frozen=True)
class Pair:
    data: str
    input: str
    """Pairs of one input are kept together."""
    first: Row
    second: Row
    choice: int
    """1: people preferred the first, -1: the second, 0: neither."""


@dataclass(frozen=True)
class Seen:
    pair: Pair
    apart: float
    """Overall score of the first minus that of the second."""


def read(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def some(pairs: Sequence[Pair], n: int) -> list[Pair]:
    return [pairs[at] for at in np.linspace(0, len(pairs) - 1, min(n, len(pairs))).astype(int)]


def wmt(data: Path) -> Iterator[Pair]:
    for at, row in enumerate(read(data / "corpora/wmt19_darr/wmt19_darr_x_en.jsonl.gz")):
        better, worse = ({"source": row["ref"], "output": row[side]} for side in ("better", "worse"))
        pair = (better, worse, 1) if at % 2 else (worse, better, -1)
        yield Pair("WMT19-DARR", row["ref"], *pair)


def auto_j(data: Path) -> Iterator[Pair]:
    for row in read(data / "corpora/auto_j/autoj_pairwise_human_test.jsonl.gz"):
        both = ({"history": [row["prompt"]], "output": row[f"response {n}"]} for n in (1, 2))
        yield Pair("auto-j", row["prompt"], *both, {0: 1, 1: -1, 2: 0}[row["label"]])


def harmless(data: Path) -> Iterator[Pair]:
    for at, row in enumerate(read(data / "corpora/hh_rlhf/hh_harmless_base_test.jsonl.gz")):
        chosen, rejected = (_talk(row[side]) for side in ("chosen", "rejected"))
        if chosen and rejected and chosen["history"] == rejected["history"]:
            pair = (chosen, rejected, 1) if at % 2 else (rejected, chosen, -1)
            yield Pair("hh-rlhf, harmless", chosen["history"][0], *pair)


def _talk(text: str) -> Row | None:
    turns = [turn.partition(":")[2].strip() for turn in text.split("\n\n") if turn.startswith(("Human:", "Assistant:"))]
    return {"history": turns[:-1], "output": turns[-1]} if len(turns) % 2 == 0 and all(turns) else None


SETS = {wmt: "rewriting", auto_j: "conversation", harmless: "conversation"}


def judged(pairs: Sequence[Pair], task: str, fast: bool) -> tuple[list[Seen], dict[str, list[tuple[Pair, float]]]]:
    """The difference of the overall scores, and by dimension."""
    sides = [[{"id": str(at), **getattr(pair, side)} for at, pair in enumerate(pairs)] for side in ("first", "second")]
    # With slope 1 and no threshold the probability of the first is the logistic of the difference.
    found = quintet.prefer(*sides, task=task, fast=fast, slope=1.0, threshold=0.0)
    by: dict[str, list[tuple[Pair, float]]] = {}
    for row in found.rows:
        pair = pairs[int(row["id"])]
        for name in (key.removesuffix(".first") for key in row if key.endswith(".first")):
            if row[f"{name}.first"] is not None:
                chance = row[f"{name}.first"]
                by.setdefault(name, []).append((pair, math.log(chance / (1.0 - chance))))
    return [Seen(*one) for one in by[OVERALL]], by


def loss(seen: Sequence[Seen], scale: Scale) -> float:
    """Mean of -log of the probability of what people said."""
    kinds = {1: 0, 0: 1, -1: 2}
    return float(np.mean([-math.log(max(scale.chances(s.apart)[kinds[s.pair.choice]], 1e-9)) for s in seen]))


def fitted(sets: Sequence[Sequence[Seen]]) -> Scale:
    """The pair of constants with the least loss, each set weighing the same; only auto-j has ties."""
    grid = [Scale(slope, edge) for slope in np.arange(0.5, 12.01, 0.25) for edge in np.arange(0.05, 1.51, 0.05)]

    # Pairs of which nobody says "equal" tell nothing of ties: theirs are the odds of first against second.
    def cost(scale: Scale) -> float:
        return sum(loss(own, scale) if any(s.pair.choice == 0 for s in own) else decided(own, scale) for own in sets)

    return min(grid, key=cost)


def decided(seen: Sequence[Seen], scale: Scale) -> float:
    """The same loss where a tie is no answer."""
    found = []
    for s in seen:
        first, _, second = scale.chances(s.apart)
        found.append(-math.log(max((first if s.pair.choice == 1 else second) / (first + second), 1e-9)))
    return float(np.mean(found))


def interval(groups: Sequence[Sequence[Any]], value: Any) -> str:
    rng = np.random.default_rng(0)
    drawn = [value([x for at in rng.integers(len(groups), size=len(groups)) for x in groups[at]]) for _ in range(1000)]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return f"[{low:.2f}, {high:.2f}]"


def grouped(rows: Sequence[Any], key: Any) -> list[list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return list(found.values())


def share(rows: Sequence[tuple[Pair, float]]) -> float:
    known = [0.5 + 0.5 * float(np.sign(apart)) * pair.choice for pair, apart in rows if pair.choice]
    return float(np.mean(known)) if known else math.nan


def off(seen: Sequence[Seen], scale: Scale) -> float:
    """Expected calibration error of the probability of the preferred output; ties are no success."""
    rows = [sure(s, scale) for s in seen]
    total = 0.0
    for low, high in itertools.pairwise(BINS):
        own = [(chance, right) for chance, right in rows if low <= chance < high or chance == high == 1.0]
        if own:
            total += (
                len(own) / len(rows) * abs(float(np.mean([c for c, _ in own])) - float(np.mean([r for _, r in own])))
            )
    return total


def sure(seen: Seen, scale: Scale) -> tuple[float, bool]:
    """P(the output that quintet prefers is better), and whether people said so."""
    first, _, second = scale.chances(seen.apart)
    return (first, seen.pair.choice == 1) if first >= second else (second, seen.pair.choice == -1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--rows", type=int, default=300, help="pairs of each set, spread evenly over it")
    parser.add_argument("--full", action="store_true", help="with the language model")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/comparing.md")
    given = parser.parse_args()
    fit: list[list[Seen]] = []
    held: list[list[Seen]] = []
    lines = ["| pairs | task | overall | by dimension |", "|---|---|---|---|"]
    for pairs, task in SETS.items():
        chosen = some(list(pairs(given.data)), given.rows)
        seen, by = judged(chosen, task, not given.full)
        sides: list[list[Seen]] = [[], []]
        for number, own in enumerate(grouped(seen, lambda s: s.pair.input)):
            sides[number % 2] += own
        if pairs is not harmless:
            fit.append(sides[0])
        held.append(seen if pairs is harmless else sides[1])
        inputs = {s.pair.input for s in held[-1]}
        agreed = {}
        for name, rows in by.items():
            own = [row for row in rows if row[0].input in inputs]
            n = sum(pair.choice != 0 for pair, _ in own)
            agreed[name] = f"{share(own):.2f} {interval(grouped(own, lambda r: r[0].input), share)}"
        overall = agreed.pop(OVERALL)
        others = ", ".join(f"{name} {figure}" for name, figure in agreed.items())
        lines.append(f"| {n} of {chosen[0].data} | {task} | {overall} | {others} |")
        print(lines[-1], flush=True)
    scale = fitted(fit)
    lines += ["", f"The reader was {identity('bundled:reader').partition('/')[0]}.", ""]
    lines += calibrated(held, scale, sum(map(len, fit)))
    print("\n".join(lines))
    if given.write:
        page = ROOT / "docs" / "comparing.md"
        before, _, rest = page.read_text("utf-8").partition(MARKS[0])
        made = "\n".join((MARKS[0], *lines, MARKS[1]))
        page.write_text(before + made + rest.partition(MARKS[1])[2], "utf-8")


def calibrated(held: Sequence[Sequence[Seen]], scale: Scale, n: int) -> Iterator[str]:
    """What the fitted and the shipped constants say of pairs that they were not fitted on."""
    yield "| constants | pairs held out | calibration error | log loss (even chances: 1.099) |"
    yield "|---|---|---|---:|"
    shipped = Scale()
    for name, one in ((f"fitted on {n} other pairs", scale), ("shipped", shipped)):
        for own in held:
            spread = interval(grouped(own, lambda s: s.pair.input), lambda rows, one=one: off(rows, one))
            constants = f"{name}: {one.slope:g}, {one.threshold:g}"
            yield f"| {constants} | {own[0].pair.data} | {off(own, one):.2f} {spread} | {loss(own, one):.3f} |"
    yield ""
    yield "| P(the preferred is better), shipped | people said so | pairs held out of the first two sets |"
    yield "|---|---|---:|"
    rows = [(s.pair.input, *sure(s, shipped)) for own in held[:2] for s in own]
    for low, high in itertools.pairwise(BINS):
        inside = [row for row in rows if low <= row[1] < high or row[1] == high == 1.0]
        if inside:
            spread = interval(grouped(inside, lambda r: r[0]), right)
            yield f"| {np.mean([c for _, c, _ in inside]):.2f} | {right(inside):.2f} {spread} | {len(inside)} |"
    ties = held[1]
    expected, said = (np.mean([shipped.chances(s.apart)[1] for s in ties]), np.mean([not s.pair.choice for s in ties]))
    yield f"| a tie (auto-j): {expected:.2f} | {said:.2f} | {len(ties)} |"


def right(rows: Sequence[tuple[str, float, bool]]) -> float:
    return float(np.mean([said for _, _, said in rows]))


if __name__ == "__main__":
    main()
