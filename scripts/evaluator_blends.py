"""Blends of the study (research/evaluator/blends) as the product reads them (src/quintet/metrics/blends).

    python scripts/evaluator_blends.py [FOLDER]

The study names signals by short names (README there, "Signals, precisely"); here each becomes a metric, one of its
dimensions, parameters and a label that a user can read. Nothing is fitted here: means, deviations, weights and levels
are copied.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quintet.core.blend import read_table
from quintet.core.blend_text import plain_toml
from quintet.core.task import read_tasks
from quintet.metrics import metrics
from quintet.metrics.evaluator.table import BLENDS

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src" / "quintet" / "metrics" / "blends"
PAGE = ROOT / "docs" / "metrics" / "evaluator.md"
HEADER = """\
# Written by scripts/evaluator_blends.py from research/evaluator/blends. What a signal is: docs/metrics/evaluator.md
"""

EITHER = {"data2text/informativeness": ["source", "references"]}
"""Dimensions that can be answered with one of several fields."""

_WINDOWS = {
    "max": ("big", 0),
    "b1": ("big", 1),
    "b2": ("big", 2),
    "s1": ("small", 1),
    "s2": ("small", 2),
    "bs": ("both", 1),
}
"""Which windows of the document are looked at: their size, and how many of those that share most words (0: all)."""
_ALONE: dict[str, tuple[str, str, str]] = {
    "acc.whole": ("acceptability", "whole", "acceptability"),
    "acc.mean": ("acceptability", "mean", "acceptability of sentences"),
    "acc.min": ("acceptability", "lowest", "worst sentence"),
    "coh.whole": ("flow", "coherence", "flow"),
    "ord.mean": ("order", "order", "order of sentences"),
    "inp.adq": ("input", "adequacy", "same meaning as the input"),
    "mr.d2t": ("record", "content", "content of the record"),
    "mr.said": ("record-values", "said", "values of the record"),
    "fact.gro": ("grounding", "grounding", "use of the fact"),
    "refm.adq": ("reference", "adequacy", "same meaning as the references"),
    "cov2": ("overlap", "bigrams", "pairs of words from the document"),
    "idfsum": ("information", "information", "information"),
    "idfsumlog": ("information", "log", "information"),
    "fact.idf": ("fact-words", "shared", "words of the fact"),
    "gain.fact.sum": ("gain-fact", "sum", "likelier by the fact"),
}
_DOCUMENT = {
    "cohd": ("coherence", "coherence beside the document"),
    "rel": ("relevance", "relevance to the document"),
    "cov": ("coverage", "coverage of the document"),
}
_SUPPORT = {
    "con": ("consistency", "consistency of sentences"),
    "nli": ("entailment", "entailment of sentences"),
    "tok": ("words", "support of words"),
}
_READ = {
    "doc.con": ("reader", "consistency", "consistency"),
    "doc.nli": ("reader", "entailment", "entailment"),
    "doc.words": ("reader", "words", "support of words"),
    "doc.cohd": ("reader", "coherence", "coherence beside the document"),
    "doc.rel": ("reader", "relevance", "relevance to the document"),
    "doc.cov": ("reader", "coverage", "coverage of the document"),
    "alone.acc": ("reader-alone", "acceptability", "acceptability"),
    "alone.coh": ("reader-alone", "flow", "flow"),
    "dlg.sel": ("reader-dialogue", "selection", "answer to the turns"),
    "dlg.gro": ("reader-dialogue", "grounding", "use of the fact"),
    "mr.d2t": ("reader-record", "content", "content of the record"),
    "inp.adq": ("reader-input", "adequacy", "same meaning as the input"),
    "refm.adq": ("reader-reference", "adequacy", "same meaning as the references"),
}
"""Heads of the language model, by form and head; their labels end in `as read`."""
_HELD = {
    "claims.low": ("claims", "lowest", "least supported claim, held against the {}"),
    "claims.mean": ("claims", "mean", "support of its claims by the {}"),
    "claims.sound": ("claims", "sound", "no claim contradicted by the {}"),
    "covered": ("coverage", "covered", "what the {} says, held against the output"),
    "central": ("coverage", "central", "what matters in the {}, held against the output"),
    "fit": ("claims", "fit", "fit beside the {}"),
}
"""Signals of the reader, as `claims.low.doc`."""
_FIELDS = {"doc": "document", "inp": "input", "mr": "record", "refm": "references", "fact": "fact", "dlg": "dialogue"}
_GIVEN = {"doc": "document", "inp": "document", "mr": "record", "h12": "history", "ctx": "dialogue", "unc": "nothing"}
_BESIDE = {"doc": "document", "inp": "input", "refm": "references", "fact": "fact", "hist1": "turn"}
_MATCH = {
    "Pc": ("precision", "words found in"),
    "Rc": ("recall", "words found of"),
    "F": ("f-score", "words shared with"),
}


def signal(name: str) -> dict[str, Any]:
    """Metric, dimension, label and parameters of a signal of the study."""
    if name in _ALONE:
        metric, of, label = _ALONE[name]
        return {"metric": f"evaluator-{metric}", "of": of, "label": label}
    head, _, rest = name.partition(".")
    if head == "rd" and rest in _READ:
        metric, of, label = _READ[rest]
        return {"metric": f"evaluator-{metric}", "of": of, "label": f"{label} as read"}
    if head in _DOCUMENT:
        of, label = _DOCUMENT[head]
        window, best = _WINDOWS[rest]
        chosen = {"best": best} if window == "big" else {"window": window, "best": best}
        return {"metric": "evaluator-document", "of": of, "label": label, "parameters": chosen}
    if head in _SUPPORT:
        of, label = _SUPPORT[head]
        window, best = _WINDOWS[rest]
        chosen = {"window": window, "best": best}
        return {"metric": "evaluator-support", "of": of, "label": label, "parameters": chosen}
    if match := re.fullmatch(r"sel\.h(\d+)", name):
        turns = int(match.group(1))
        label = "answer to the last turn" if turns == 1 else f"answer to the last {turns} turns"
        return {"metric": "evaluator-response", "of": "selection", "label": label, "parameters": {"turns": turns}}
    if head == "lm":
        where, _, how = rest.partition(".")
        given = _GIVEN[where]
        beside = "input" if rest.startswith("inp.") else given
        label = "likelihood" if given == "nothing" else f"likelihood given the {beside}"
        return {
            "metric": f"evaluator-likelihood-{given}",
            "of": "chance" if how == "chance" else "likelihood",
            "label": label,
        }
    if head == "pmi":
        given, of = rest.split(".")
        label = f"likelier by the {_GIVEN[given]}" + ("" if of == "mean" else ", in all")
        return {"metric": f"evaluator-gain-{_GIVEN[given]}", "of": of, "label": label}
    if head == "emb":
        return _matching(rest)
    kind, _, beside = name.rpartition(".")
    if kind in _HELD:
        metric, of, label = _HELD[kind]
        field = _FIELDS[beside]
        return {"metric": f"evaluator-{metric}-{field}", "of": of, "label": label.format(field)}
    raise SystemExit(f"no metric is known for the signal {name!r}; add it here and to docs/metrics/evaluator.md")


def _matching(rest: str) -> dict[str, Any]:
    beside, _, how = rest.partition(".")
    field = _BESIDE[beside]
    metric = f"evaluator-matching-{field}"
    if how == "cos":
        return {"metric": metric, "of": "cosine", "label": f"closeness to the {field}"}
    match = re.fullmatch(r"(Pc|Rc|F)(\d+)", how)
    if match is None:
        raise SystemExit(f"no matching is called {rest!r}")
    of, label = _MATCH[match.group(1)]
    return {"metric": metric, "of": of, "label": f"{label} the {field}", "parameters": {"layer": int(match.group(2))}}


def convert(table: dict[str, Any], question: str, needs: list[str], either: list[str]) -> dict[str, Any]:
    total = sum(row["weight"] for row in table["signals"])
    signals = [
        {**signal(row["name"]), "shift": row["mean"], "scale": row["sd"], "weight": row["weight"] / total}
        for row in table["signals"]
    ]
    found: dict[str, Any] = {"question": question, "needs": needs}
    if either:
        found["either"] = either
    scale = "probability" if "probability" in table else "percentiles"
    shown = {"percentiles": "levels"}.get(scale, scale)
    evidence = {"evidence": table["evidence"]} if "evidence" in table else {}
    return {**found, "origin": table["constants_from"], **evidence, shown: table[scale], "signals": signals}


def without_language_model(table: Mapping[str, Any], name: str) -> None:
    """Refuses a `fast` blend with a signal that asks the language model, which is known by the role of its model."""
    for row in table["signals"]:
        if getattr(metrics[row["metric"]].build(), "model_role", None) == "causal-lm":
            raise SystemExit(f"{name}: fast leaves the language model out, and {row['label']!r} asks it")


def toml(name: str, table: dict[str, Any]) -> str:
    lines = [f"[{name}]"]
    lines += [f"{key} = {plain_toml(value)}" for key, value in table.items() if key != "signals"]
    for row in table["signals"]:
        lines += ["", f"[[{name}.signals]]", *(f"{key} = {plain_toml(value)}" for key, value in row.items())]
    return "\n".join(lines) + "\n"


def page_table() -> str:
    """What each dimension is made of, for the page: signals with their weights, if these are not equal."""
    lines = ["| metric | needs | full | `--fast` |", "|---|---|---|---|"]
    for task, dimensions in BLENDS.items():
        for dimension in dimensions:
            full, fast = (read_table(f"{task}/{dimension}/{mode}") for mode in ("full", "fast"))
            needs = ", ".join(full["needs"]) or " or ".join(full.get("either", ())) or "–"
            lines.append(f"| `evaluator-{task}-{dimension}` | {needs} | {_named(full)} | {_named(fast)} |")
    return "\n".join(lines)


def _named(table: Mapping[str, Any]) -> str:
    rows = table["signals"]
    equal = len({round(row["weight"], 6) for row in rows}) == 1
    return "; ".join(row["label"] + ("" if equal else f" ({row['weight']:.2g})") for row in rows)


def main(folder: Path) -> None:
    study = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}
    tasks = read_tasks()
    for task, dimensions in BLENDS.items():
        parts = [HEADER]
        for dimension in dimensions:
            path = f"{task}/{dimension}"
            about = tasks[task].dimensions[dimension].dimension
            for mode in ("full", "fast"):
                table = study[task][dimension][mode]
                made = convert(table, about.question, list(about.needs), EITHER.get(path, []))
                if mode == "fast":
                    without_language_model(made, path)
                parts.append(toml(f"{dimension}.{mode}", made))
        (TARGET / f"{task}.toml").write_text("\n".join(parts), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split("<!-- blends -->")
    after = rest.split("<!-- /blends -->")[1]
    PAGE.write_text(f"{before}<!-- blends -->\n{page_table()}\n<!-- /blends -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "research" / "evaluator" / "blends")
