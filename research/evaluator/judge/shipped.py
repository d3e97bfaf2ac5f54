"""Signals as the package computes them, where the study has none of exactly that kind: written beside the study's files.

python -m judge.shipped FOLDER   (items.json.xz and const.json.xz there; writes sig_pkg.npz and con_enc.npz)
"""
from __future__ import annotations

import sys

import numpy as np

from quintet.core.example import Example
from quintet.metrics.evaluator.judged_alone import Acceptability
from quintet.metrics.evaluator.judged_beside import Grounding, RecordFit, ReferenceFit
from quintet.metrics.evaluator.judged_support import Support

from .score import load_items, save

EACH = 250
"""Items of a validation set: enough for a mean and a spread."""
CONSISTENCY = ("dialsumm", "factcc", "polytope", "wice", "xsumfaith")


def values(metric, examples, of):
    found = []
    for start in range(0, len(examples), 64):
        metric.foresee(examples[start:start + 64])
        found += [row[of].value for row in metric.score(examples[start:start + 64])]
    return np.array([np.nan if v is None else v for v in found], np.float32)


def constants(folder):
    items, _ = load_items(f"{folder}/const.json.xz")
    facts = [i for i in items if i["set"] == "fact"]; data = [i for i in items if i["set"] == "d2t"]
    sig = {}

    def put(name, own, metric, of, made):
        sig.setdefault(name, np.full(len(items), np.nan, np.float32))[[i["id"] for i in own]] = values(metric, [made(i) for i in own], of)
    put("fact.gro", facts, Grounding(), "grounding", lambda i: Example(output=i["out"], context=i["fact"]))
    text = lambda i: Example(output=i["out"], source=i["mr"], references=tuple(i["refs"]))
    put("mr.d2t", data, RecordFit(), "content", text); put("refm.adq", data, ReferenceFit(), "adequacy", text)
    put("acc.mean", data, Acceptability(), "mean", text); put("acc.whole", data, Acceptability(), "whole", text)
    save(f"{folder}/con_enc.npz", sig, items)


def support(folder):
    items, paras = load_items(f"{folder}/items.json.xz")
    chosen = [i for name in CONSISTENCY for i in [j for j in items if j["set"] == name][::max(1, sum(j["set"] == name for j in items) // EACH)]]
    chosen.sort(key=lambda i: i["doc"])
    examples = [Example(output=i["out"], source="\n".join(paras[i["doc"]])) for i in chosen]
    metric = Support(window="big", best=1)
    save(f"{folder}/sig_pkg.npz", {name: values(metric, examples, of) for name, of in (("tok.p1", "words"), ("con.p1", "consistency"), ("nli.p1", "entailment"))}, chosen)


if __name__ == "__main__":
    constants(sys.argv[1]); support(sys.argv[1])
