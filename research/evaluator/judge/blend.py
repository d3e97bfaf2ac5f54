"""Blends of the release candidate: which signals, their constants and percentiles, as TOML for scripts/evaluator_blends.py.

python -m judge.blend val|toml HUMAN.json.gz CONST.json.xz OUT FILE.npz… CONST=FILE.npz   (files that judge.package wrote; CONST: of judge.constants' items)
"""
from __future__ import annotations

import json, lzma, sys

import numpy as np

from .study import VAL, Study, parse

CON = "nli.bs tok.bs rd.doc.nli rd.doc.con rd.doc.words lm.doc.chance cov2 emb.doc.Pc12"
CONF = "0.5*nli.b1 0.5*con.b1 0.5*tok.b1 cov2 emb.doc.Pc12"
ACC, SEL, COV = "0.5*acc.whole 0.5*rd.alone.acc", "0.5*sel.h3 0.5*rd.dlg.sel", "0.25*cov.b1 0.25*rd.doc.cov 0.25*rel.b1 0.25*rd.doc.rel"
"""A question that encoder and language model both answer is one voice, which they share; so are coverage and relevance."""
FULL = {
    "sum.coherence": "lm.doc.mean pmi.doc.mean cohd.b1 coh.whole rd.alone.coh",
    "sum.consistency": CON,
    "sum.fluency": "acc.mean rd.alone.acc lm.doc.mean",
    "sum.relevance": f"emb.doc.cos {COV} lm.doc.mean emb.refm.Rc9",
    "dlg.naturalness": f"{ACC} lm.ctx.mean pmi.ctx.mean {SEL}",
    "dlg.coherence": f"{SEL} pmi.h12.mean emb.hist1.cos",
    "dlg.engagingness": f"{SEL} idfsumlog pmi.ctx.log",
    "dlg.groundedness": "fact.idf emb.fact.cos gain.fact.sum fact.gro",
    "dlg.understandability": f"{SEL} pmi.ctx.mean lm.ctx.mean",
    "dlg.overall": f"{SEL} pmi.ctx.mean lm.ctx.mean",
    "d2t.naturalness": "acc.mean rd.alone.acc lm.mr.mean",
    "d2t.informativeness": "0.5*mr.d2t 0.5*rd.mr.d2t mr.said emb.refm.F9 0.5*refm.adq 0.5*rd.refm.adq",
    "rew.preservation": "emb.inp.F12 emb.inp.cos 0.5*inp.adq 0.5*rd.inp.adq",
    "rew.fluency": "acc.mean rd.alone.acc lm.inp.mean",
    "fact.consistency": CON,
    "text.grammaticality": "acc.mean rd.alone.acc",
    "text.structure": "coh.whole rd.alone.coh 0.5*ord.mean",
    "text.focus": "coh.whole rd.alone.coh",
    "text.quality": "acc.mean coh.whole rd.alone.acc rd.alone.coh",
}
FAST = {
    **FULL,
    "sum.coherence": "cohd.b1 coh.whole acc.mean",
    "sum.relevance": "emb.doc.cos cov.b1 emb.refm.Rc9",
    "sum.consistency": CONF,
    "sum.fluency": "0.5*acc.mean 0.5*acc.whole cohd.b1",
    "dlg.naturalness": "acc.whole sel.h3",
    "dlg.coherence": "sel.h3 emb.hist1.cos",
    "dlg.engagingness": "sel.h3 idfsumlog",
    "dlg.groundedness": "fact.idf emb.fact.cos fact.gro",
    "dlg.understandability": "acc.whole sel.h3",
    "dlg.overall": "sel.h3 emb.hist1.cos",
    "d2t.naturalness": "acc.mean acc.whole",
    "d2t.informativeness": "mr.d2t mr.said emb.refm.F9 refm.adq",
    "rew.preservation": "emb.inp.F12 emb.inp.cos inp.adq",
    "rew.fluency": "0.5*acc.mean 0.5*acc.whole",
    "fact.consistency": CONF,
    "text.grammaticality": "0.5*acc.mean 0.5*acc.whole",
    "text.structure": "coh.whole 0.5*ord.mean",
    "text.focus": "coh.whole",
    "text.quality": "acc.mean coh.whole",
}
TASK = {"sum": "summarization", "dlg": "dialogue", "d2t": "data2text", "rew": "rewriting", "fact": "fact", "text": "text"}
MADE = "items made from training corpora"


def constants(study, dimension, blend):
    """Mean and deviation of each signal: the mean over the dimension's sets of each set's."""
    found = {}
    for name, _ in blend:
        own = [study.signals[name][(study.set == s) & study.scored].astype(float) for s in sorted({c[0] for c in VAL[dimension]})]
        own = [x[np.isfinite(x)] for x in own]
        own = [x for x in own if len(x) > 20]
        found[name] = (float(np.mean([x.mean() for x in own])), float(np.mean([x.std() for x in own])))
    return found


def levels(v, weights):
    """The 0th, 5th, ... 100th percentile; a set counts by all of its items, of which some are here."""
    order = np.argsort(v)
    v, w = v[order], weights[order]
    return np.interp(np.linspace(0, 1, 21), (np.cumsum(w) - w) / (w.sum() - w[-1]), v)


def of_validation(study, dimension, blend):
    k = constants(study, dimension, blend); sets = sorted({c[0] for c in VAL[dimension]}); v, w = [], []
    for name in sets:
        own = (study.set == name) & study.scored
        v.append(study.blend(blend, name, k)[own]); w.append(np.full(own.sum(), (study.set == name).sum() / own.sum()))
    return k, np.concatenate(v), np.concatenate(w), "validation: " + ", ".join(sets)


def of_made(items, signals, dimension, blend):
    """Texts of other records are left out: generators never stray that far."""
    sets = np.array([item["set"] for item in items]); place = np.arange(len(items))
    own = (sets == "d2t") & (place % 3 != 1) if dimension.startswith("d2t") else sets == "fact"
    k = {name: (float(np.nanmean(signals[name][own])), float(np.nanstd(signals[name][own]))) for name, _ in blend}
    v = sum(weight * np.nan_to_num((signals[name][own] - k[name][0]) / k[name][1]) for name, weight in blend)
    return k, v, np.ones(len(v)), MADE


def write(study, items, made, out):
    files = {}
    for dimension in FULL:
        task, _, name = dimension.partition(".")
        for mode, blends in (("full", FULL), ("fast", FAST)):
            blend = parse(blends[dimension])
            k, v, w, source = of_validation(study, dimension, blend) if dimension in VAL else of_made(items, made, dimension, blend)
            lines = [f"[{name}.{mode}]", f'constants_from = "{source}"']
            if dimension in VAL:
                found = [study.correlation(study.blend(blend, c[0], k), c) for c in VAL[dimension]]
                lines.append(f"validation_spearman = {np.nanmean(found):.3f}")
            lines.append("signals = [")
            lines += [f'  {{ name = "{n}", weight = {weight:g}, mean = {k[n][0]:.5g}, sd = {k[n][1]:.5g} }},' for n, weight in blend]
            lines += ["]", "# weighted mean of (signal - mean) / sd at the 0th, 5th, ... 100th percentile"]
            lines += [f"percentiles = [{', '.join(f'{x:.4f}' for x in levels(v / sum(x for _, x in blend), w))}]", ""]
            files.setdefault(TASK[task], []).append("\n".join(lines))
    head = "# Release candidate 14. Blend = weighted mean of (signal - mean) / sd; a missing signal counts 0. Signals are defined in README.md.\n\n"
    for file, parts in files.items():
        with open(f"{out}/{file}.toml", "w", encoding="utf-8") as target:
            target.write(head + "\n".join(parts))


def main(verb, human, const, out, *files):
    study = Study(human, [f for f in files if not f.startswith("CONST=")])
    if verb == "val":
        for mode, blends in (("full", FULL), ("fast", FAST)):
            for dimension in VAL:
                blend = parse(blends[dimension]); k = constants(study, dimension, blend)
                found = [study.correlation(study.blend(blend, c[0], k), c) for c in VAL[dimension]]
                print(f"{mode} {dimension:22s} {np.nanmean(found):.3f}", " ".join(f"{x:.2f}" for x in found), "|", blends[dimension])
        return
    items = json.load(lzma.open(const, "rt"))["items"]; made = {}
    for file in (f.removeprefix("CONST=") for f in files if f.startswith("CONST=")):
        table = np.load(file)
        for name in table.files:
            if name != "__id__":
                made.setdefault(name, np.full(len(items), np.nan))[table["__id__"]] = table[name]
    write(study, items, made, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
