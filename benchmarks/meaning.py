"""Does the evaluator measure meaning? Prints every figure that docs/method.md and the known failures quote.

    python benchmarks/meaning.py [--data ../shared] [--metric NAME:PARAMETERS] [--rows N] [PART ...]

Parts: twins (ours, no data folder needed), contrast, edits, support, words, calibration, failures (writes the figures
of docs/known-failures.md). All are validation sets,
except the twins, which are held out from everything. Intervals are 95 %, by resampling documents. `--metric` asks
another metric than the task's own (one that says how far an output is consistent with its source).
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import quintet

ROOT = Path(__file__).resolve().parents[1]
EDITS = ("podcast", "qmsumm", "sales_call", "scitldr")
Asked = Callable[[Sequence[Mapping[str, Any]]], list[float]]
Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def interval(groups: Sequence[Any], value: Callable[[Sequence[Any]], float], seed: int = 0) -> str:
    """[low, high] of `value` when the groups are drawn anew 1,000 times."""
    rng = np.random.default_rng(seed)
    drawn = [value([groups[at] for at in rng.integers(len(groups), size=len(groups))]) for _ in range(1000)]
    known = [one for one in drawn if not math.isnan(one)]
    low, high = np.percentile(known, [2.5, 97.5])
    return f"[{low:.3f}, {high:.3f}]"


def share(rights: Sequence[Sequence[bool]]) -> float:
    every = [one for own in rights for one in own]
    return sum(every) / len(every) if every else math.nan


def area(good: Sequence[float], bad: Sequence[float]) -> float:
    if not good or not bad:
        return math.nan
    return float(np.mean([[(a > b) + 0.5 * (a == b) for b in bad] for a in good]))


def balanced(rows: Sequence[tuple[float, bool]], cut: float) -> float:
    right = [[(value >= cut) == true for value, true in rows if true == side] for side in (True, False)]
    return sum(share([own]) for own in right) / 2


def best_cut(rows: Sequence[tuple[float, bool]]) -> float:
    return max(sorted({value for value, _ in rows}), key=lambda cut: balanced(rows, cut))


def grouped(rows: Sequence[Any], key: Callable[[Any], Any]) -> list[list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return list(found.values())


def asker(metric: str | None) -> Asked:
    def ask(rows: Sequence[Mapping[str, Any]]) -> list[float]:
        given = [{"id": str(at), "source": row["source"], "output": row["output"]} for at, row in enumerate(rows)]
        if metric:
            result = quintet.score(given, metrics=[metric])
            column = next(iter(result[0]))
        else:
            result, column = quintet.score(given, task="fact"), "consistency"
        return [row[column].value for row in result]

    return ask


def twins(ask: Asked, rows: list[Row]) -> None:
    values = ask([{"source": row["source"], "output": row[side]} for row in rows for side in ("true", "false")])
    pairs = list(zip(values[::2], values[1::2], strict=True))
    right = [[a > b] for a, b in pairs]
    print(f"twins: {share(right):.3f} {interval(right, share)} of {len(right)} in order")
    labelled = [(value, side) for pair in pairs for value, side in zip(pair, (True, False), strict=True)]
    print(f"twins: balanced accuracy at .5 {balanced(labelled, 0.5):.3f}")
    by: dict[str, list[bool]] = defaultdict(list)
    for row, (own,) in zip(rows, right, strict=True):
        by[row["fault"]].append(own)
    print("  by fault: " + ", ".join(f"{name} {sum(own)}/{len(own)}" for name, own in sorted(by.items())))


def failures(ask: Asked, rows: list[Row], page: Path, examples: int = 8) -> None:
    """Writes the figures by kind of fault and the pairs ordered most wrongly into the page of known failures."""
    values = ask([{"source": row["source"], "output": row[side]} for row in rows for side in ("true", "false")])
    pairs = list(zip(rows, values[::2], values[1::2], strict=True))
    by = grouped(pairs, lambda pair: pair[0]["fault"])
    lines = ["| kind of fault | pairs in order | mean of the true | mean of the false |", "|---|---:|---:|---:|"]
    for own in sorted(by, key=lambda own: own[0][0]["fault"]):
        right = sum(true > false for _, true, false in own)
        means = f"{np.mean([true for _, true, _ in own]):.2f} | {np.mean([false for _, _, false in own]):.2f}"
        lines.append(f"| {own[0][0]['fault']} | {right} of {len(own)} | {means} |")
    lines += ["", "The pairs ordered most wrongly, at most one of each kind:", "", "```text"]
    shown: set[str] = set()
    for row, true, false in sorted(pairs, key=lambda pair: pair[1] - pair[2]):
        if true < false and row["fault"] not in shown and len(shown) < examples:
            shown.add(row["fault"])
            lines += [f"{row['fault']}: {row['source']}", f"  true  {true:.2f}  {row['true']}"]
            lines += [f"  false {false:.2f}  {row['false']}", ""]
    lines[-1:] = ["```"]
    before, _, rest = page.read_text("utf-8").partition("<!-- failures -->\n")
    after = rest.partition("<!-- /failures -->")[2]
    made = "\n".join(lines)
    page.write_text(f"{before}<!-- failures -->\n{made}\n<!-- /failures -->{after}", "utf-8")
    print(f"failures: {page.name} written")


def contrast(ask: Asked, rows: list[Row]) -> None:
    own = [row for row in rows if row["part"] == "consistency"]
    for row, value in zip(own, ask(own), strict=True):
        row["value"] = value
    documents = grouped(own, lambda row: row["doc"])

    def ordered(chosen: Sequence[list[Row]], fault: str = "") -> float:
        return share(
            [
                [a["value"] > b["value"] for a in doc if a["faithful"] and a["type"] != "copy"
                 for b in doc if not b["faithful"] and fault in ("", b["type"])]
                for doc in chosen
            ]
        )  # fmt: skip

    def copies(chosen: Sequence[list[Row]]) -> float:
        every = [row for doc in chosen for row in doc]
        return area(
            [row["value"] for row in every if row["type"] == "copy"],
            [row["value"] for row in every if not row["faithful"]],
        )

    print(
        f"contrast: same document, abstractive above unfaithful {ordered(documents):.3f} {interval(documents, ordered)}"
    )
    print(f"contrast: copies above unfaithful, AUC {copies(documents):.3f} {interval(documents, copies)}")
    labelled = [(row["value"], bool(row["faithful"])) for row in own]
    print(f"contrast: balanced accuracy at .5 {balanced(labelled, 0.5):.3f}")
    faults = sorted({row["type"] for row in own if not row["faithful"]})
    print("  by fault: " + ", ".join(f"{fault} {ordered(documents, fault):.2f}" for fault in faults))
    contrast_dialogue([row for row in rows if row["part"] == "dialogue"])
    contrast_relevance([row for row in rows if row["part"] == "relevance"])
    contrast_style([row for row in rows if row["part"] == "text"])


def contrast_dialogue(rows: list[Row]) -> None:
    given = [
        {"id": row["id"], "output": row["output"], "source": row["source"],
         **({"context": row["context"]} if row["context"] else {})}
        for row in rows
    ]  # fmt: skip
    got = {}
    for own in ([row for row in given if "context" in row], [row for row in given if "context" not in row]):
        found = quintet.score(own, task="dialogue")  # one table has the same columns throughout
        got.update((row["id"], scores) for row, scores in zip(own, found, strict=True))
    kinds = {row["id"]: row["type"] for row in rows}
    right: list[list[bool]] = []
    by: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        own = []
        for other in row["better_than"]:
            above = got[row["id"]][row["dimension"]].value > got[other][row["dimension"]].value
            own.append(above)
            by[kinds[other]].append(above)
        right.append(own)
    print(f"dialogue: pairs in order {share(right):.3f} {interval(right, share)}")
    print("  by kind: " + ", ".join(f"{kind} {sum(own)}/{len(own)}" for kind, own in sorted(by.items())))


def contrast_relevance(rows: list[Row]) -> None:
    given = [{"id": row["id"], "output": row["output"], "source": row["source"]} for row in rows]
    result = quintet.score(given, task="summarization", dims=["relevance"])
    for row, found in zip(rows, result, strict=True):
        row["value"] = found["relevance"].value
    right = []
    lead: list[bool] = []
    for doc in grouped(rows, lambda row: row["doc"]):
        pairs = [(a, b) for a in doc for b in doc if a["rank"] < b["rank"]]
        right.append([a["value"] > b["value"] for a, b in pairs])
        lead += [a["value"] > b["value"] for a, b in pairs if "lead" in b["type"]]
    print(f"relevance: pairs in order {share(right):.3f} {interval(right, share)}")
    print(f"  above the lead without the outcome {sum(lead)}/{len(lead)}")


def contrast_style(rows: list[Row]) -> None:
    result = quintet.score([{"id": row["id"], "output": row["output"]} for row in rows], task="text", dims=["quality"])
    value = {row["id"]: found["quality"].value for row, found in zip(rows, result, strict=True)}
    moved = [abs(value[row["id"]] - value[row["equal_to"]]) for row in rows if row.get("equal_to") in value]
    print(f"text: style alone moves quality by {np.mean(moved):.3f} on average ({len(moved)} pairs)")


def edits(ask: Asked, folder: Path, most: int | None) -> list[tuple[float, bool]]:
    found: dict[str, list[tuple[float, bool]]] = {}
    for name in EDITS:
        rows = thinned(read(folder / "summedits" / f"{name}.jsonl.gz"), most)
        found[name] = list(zip(ask(rows), (bool(int(row["consistent"])) for row in rows), strict=True))
    fixed, learnt = [], []
    for name, rows in found.items():
        others = [row for other, own in found.items() if other != name for row in own]
        fixed.append(balanced(rows, 0.5))
        learnt.append(balanced(rows, best_cut(others)))
        auc = area([v for v, true in rows if true], [v for v, true in rows if not true])
        print(
            f"edits {name}: n {len(rows)}, AUC {auc:.3f}, balanced accuracy at .5 {fixed[-1]:.3f}, "
            f"at the other domains' best cut {learnt[-1]:.3f}, at its own {balanced(rows, best_cut(rows)):.3f}"
        )
    print(f"edits, mean of four: at .5 {np.mean(fixed):.3f}, at the other domains' best cut {np.mean(learnt):.3f}")
    return [row for rows in found.values() for row in rows]


def thinned(rows: list[Row], most: int | None) -> list[Row]:
    """Every so-manieth row, where fewer are wanted."""
    if most is None or len(rows) <= most:
        return rows
    return [rows[int(at)] for at in np.linspace(0, len(rows) - 1, most)]


def support(ask: Asked, folder: Path, most: int | None) -> dict[str, list[tuple[float, bool]]]:
    """Sets with labels or ratings of support; AUC, or Spearman's correlation for ratings."""
    from scipy.stats import spearmanr

    sets: dict[str, list[tuple[Row, float]]] = {}
    sets["wice"] = [
        ({"source": "\n".join(row["evidence"]), "output": row["claim"]}, float(row["label"] == "supported"))
        for row in read(folder / "wice" / "claim_dev.jsonl.gz")
    ]
    for name in ("factcc", "polytope", "xsumfaith"):
        sets[name] = [
            ({"source": row["document"], "output": row["claim"]}, float(row["label"]))
            for row in read(folder / "summac_parts" / f"{name}.jsonl.gz")
        ]
    sets["dialsummeval"] = [
        ({"source": row["dialogue"].replace(" | ", "\n").strip("| "), "output": row["summary"]},
         float(np.mean([one["consistency"] for one in row["annotations"]])))
        for row in read(folder / "dialsummeval" / "human_judgment.jsonl.gz")
    ]  # fmt: skip
    labelled: dict[str, list[tuple[float, bool]]] = {}
    figures = []
    for name, rows in sets.items():
        chosen = [rows[int(at)] for at in np.linspace(0, len(rows) - 1, min(len(rows), most or len(rows)))]
        values = ask([row for row, _ in chosen])
        truth = [label for _, label in chosen]
        pairs = list(zip(values, truth, strict=True))
        if name == "dialsummeval":
            figure = float(spearmanr(values, truth).statistic)
            shown = interval(pairs, lambda own: float(spearmanr(*zip(*own, strict=True)).statistic))
            print(f"support {name}: n {len(pairs)}, Spearman {figure:.3f} {shown}")
        else:
            figure = area([v for v, t in pairs if t], [v for v, t in pairs if not t])
            shown = interval(pairs, lambda own: area([v for v, t in own if t], [v for v, t in own if not t]))
            labelled[name] = [(v, bool(t)) for v, t in pairs]
            print(
                f"support {name}: n {len(pairs)}, AUC {figure:.3f} {shown}, "
                f"balanced accuracy at .5 {balanced(labelled[name], 0.5):.3f}"
            )
        figures.append(figure)
    print(f"support, mean of {len(figures)}: {np.mean(figures):.3f}")
    return labelled


def words(folder: Path) -> None:
    """F1 of words at fault in claims that people marked, on contexts held out from training."""
    from quintet_train.reader import data

    hit = said = marked = 0
    for source in data.known_sources():
        if source.name not in ("defacto", "bump", "diasumfact"):
            continue
        groups = data.chosen(data.pairs(source, folder.parent / "corpora"), out=True)
        rows = [(group.context, claim) for group in groups for claim in group.claims if claim.wrong]
        result = quintet.score(
            [{"id": str(at), "source": context, "output": claim.text} for at, (context, claim) in enumerate(rows)],
            metrics=["evaluator-claims-document"],
        )
        for (_, claim), row in zip(rows, result, strict=True):
            spans = [span for span in next(iter(row.values())).spans if span.kind == "word"]
            for word in data.words(claim.text):
                wrong = any(word.start < end and start < word.end for start, end in claim.wrong)
                flagged = any(word.start < span.end and span.start < word.end for span in spans)
                hit, said, marked = hit + (wrong and flagged), said + flagged, marked + wrong
        print(f"words {source.name}: {len(rows)} claims; F1 so far {2 * hit / max(1, said + marked):.3f}")
    score = 2 * hit / max(1, said + marked)
    print(f"words at fault: F1 {score:.3f} ({marked} marked, {said} flagged, {hit} of them right)")


def calibration(rows: Sequence[tuple[float, bool]], bins: int = 10) -> None:
    """Expected calibration error, each side of the labels weighing one half."""
    values = np.array([value for value, _ in rows])
    truth = np.array([true for _, true in rows])
    weights = np.where(truth, 0.5 / truth.sum(), 0.5 / (~truth).sum())
    error = 0.0
    for low in np.arange(bins) / bins:
        own = (values >= low) & ((values < low + 1 / bins) | (low + 1 / bins >= 1))
        if own.any():
            said = np.average(values[own], weights=weights[own])
            error += weights[own].sum() * abs(said - np.average(truth[own], weights=weights[own]))
    print(f"expected calibration error {error:.3f} over {len(rows)} rows, both labels weighing the same")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parts", nargs="*", default=[])
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared")
    options.add_argument("--metric")
    options.add_argument("--rows", type=int, help="of each set at most")
    given = options.parse_args()
    parts = given.parts or ["twins", "contrast", "edits", "support", "words", "calibration"]
    ask, folder = asker(given.metric), given.data / "benchmarks"
    labelled: list[tuple[float, bool]] = []
    if "twins" in parts:
        twins(ask, read(ROOT / "benchmarks" / "twins.jsonl"))
    if "failures" in parts:
        failures(ask, read(ROOT / "benchmarks" / "twins.jsonl"), ROOT / "docs" / "known-failures.md")
    if "contrast" in parts:
        contrast(ask, read(folder / "contrast" / "contrast_dev.jsonl.gz"))
    if {"edits", "calibration"} & set(parts):
        labelled += edits(ask, folder, given.rows)
    if {"support", "calibration"} & set(parts):
        labelled += [row for name, own in support(ask, folder, given.rows).items() if name != "polytope" for row in own]
    if "words" in parts:
        words(folder)
    if "calibration" in parts:
        calibration(labelled)


if __name__ == "__main__":
    main()
