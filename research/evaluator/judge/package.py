"""Signals of validation items as the package computes them.

QUINTET_THREADS=1 python -m judge.package items.json.xz OUT PART PARTS [lm]   (writes OUT.npz as it goes; two processes, three quarters of an hour)
`lm`: only the language model's, if nothing else has changed; files named later win, so the others' values stay.
"""
from __future__ import annotations

import json, lzma, sys, time
from pathlib import Path

import numpy as np

from quintet.core.example import Example
from quintet.core.parameters import build
from quintet.metrics import metrics as registry
from quintet.models.memo import forget_all
from quintet.text.content_words import plain_words

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from evaluator_blends import signal  # noqa: E402

ALONE = "acc.whole acc.mean acc.min coh.whole ord.mean idfsum idfsumlog lm.unc.mean rd.alone.acc rd.alone.coh"
READ = "con nli words cohd rel cov"
NAMES = {
    "doc": f"{ALONE} cohd.b1 rel.b1 cov.b1 con.b1 nli.b1 tok.b1 nli.bs tok.bs cov2 lm.doc.mean lm.doc.chance pmi.doc.mean pmi.doc.sum " + " ".join(f"rd.doc.{h}" for h in READ.split())
    + " emb.doc.Pc12 emb.doc.Rc12 emb.doc.F12 emb.doc.cos emb.doc.Pc9 emb.doc.Rc9 emb.doc.F9",
    "refs": "emb.refm.Pc9 emb.refm.Rc9 emb.refm.F9 emb.refm.Pc12 emb.refm.Rc12 emb.refm.F12 emb.refm.cos refm.adq rd.refm.adq",
    "back": "con.b1 nli.b1 tok.b1 rd.doc.con rd.doc.nli rd.doc.words rd.doc.cov lm.doc.mean pmi.doc.mean",
    "hist": f"{ALONE} sel.h1 sel.h3 lm.h12.mean lm.ctx.mean pmi.h12.mean pmi.h12.sum pmi.h12.log pmi.ctx.mean pmi.ctx.sum pmi.ctx.log rd.dlg.sel emb.hist1.cos emb.hist1.F12 emb.hist1.Pc12",
    "fact": "fact.idf emb.fact.cos emb.fact.Pc12 gain.fact.sum fact.gro rd.dlg.gro",
    "mr": f"{ALONE} lm.mr.mean pmi.mr.mean mr.d2t rd.mr.d2t mr.said",
    "inp": f"{ALONE} lm.inp.mean inp.adq rd.inp.adq emb.inp.Pc12 emb.inp.Rc12 emb.inp.F12 emb.inp.cos",
}
"""By what an item has; `back`: the first reference judged beside the output, which says what of it the output covers."""
CAP = {"xsumfaith": 800, "wice": 100, "factcc": 200, "simp_struct": 500, "dstc7": 500, "humod": 300, "persona_see": 400, "persona_zhao": 450, "dd_zhao": 450}
CHUNK = 48
LM = ("lm.", "pmi.", "gain.", "rd.")


def metrics_of(names):
    """Name to metric and dimension; equal metrics are one object, so that they are asked once."""
    made, found = {}, {}
    for name in names:
        told = signal(name)
        key = json.dumps([told["metric"], told.get("parameters", {})], sort_keys=True)
        found[name] = (made.setdefault(key, build(registry, told["metric"], **told.get("parameters", {}))), told["of"])
    return found


def example(item, docs):
    source = docs[item["doc"]] if "doc" in item else item.get("mr") or item.get("inp")
    return Example(output=item["out"], source=source, context=item.get("fact"), history=tuple(item["hist"]) if "hist" in item else None, references=tuple(item.get("refs", ())))


def chosen(items):
    by = {}
    for item in items:
        if not item["test"]:
            by.setdefault(item["set"], []).append(item)
    for name, own in by.items():
        most = CAP.get(name, len(own))
        if len({i.get("doc") for i in own}) > 1:  # whole documents, so that each is read once
            docs = list(dict.fromkeys(i["doc"] for i in own)); step = max(1, round(len(own) / most)); kept = set(docs[::step])
            yield from (i for i in own if i["doc"] in kept)
        else:
            yield from own[:: max(1, -(-len(own) // most))]


def score(found, examples):
    """Name to values."""
    out = {}
    for metric in dict.fromkeys(metric for metric, _ in found.values()):
        metric.prepare()
        metric.foresee(examples)
        rows = metric.score(examples)
        for name, (own, of) in found.items():
            if own == metric:
                out[name] = [np.nan if row[of].value is None else row[of].value for row in rows]
    return out


def main(file, out, part, parts, only=""):
    named = {kind: [n for n in names.split() if not only or n.startswith(LM)] for kind, names in NAMES.items()}
    told = json.load(lzma.open(file, "rt")); docs, items = told["docs"], list(chosen(told["items"]))
    by_kind = {kind: [i for i in items if kind in i] for kind in ("hist", "inp", "mr", "doc")}
    if "doc" in by_kind:
        by_kind["doc"].sort(key=lambda i: (i["doc"], i["id"]))
    mine = []
    for kind, own in by_kind.items():
        mine += [(kind, own[k : k + CHUNK]) for k in range(0, len(own), CHUNK)][part::parts]
    total = sum(len(own) for _, own in mine); print(total, "items", flush=True)
    values, ids, started, done = {}, [], time.time(), 0
    for kind, own in mine:
        examples = [example(i, docs) for i in own]
        base = len(ids); ids += [i["id"] for i in own]

        def put(name, which, found):
            column = values.setdefault(name, {})
            column.update({base + k: v for k, v in zip(which, found, strict=True)})
        asked = {kind: list(range(len(own)))}
        put("length", asked[kind], [len(plain_words(one.output)) for one in examples])
        for more in ("refs", "fact"):
            asked[more] = [k for k, i in enumerate(own) if i.get(more)]
        for what, which in asked.items():
            if which:
                for name, found in score(metrics_of(named[what]), [examples[k] for k in which]).items():
                    put(name, which, found)
        if kind == "doc" and asked["refs"] and not only:
            back = [Example(output=own[k]["refs"][0], source=own[k]["out"]) for k in asked["refs"]]
            for name, found in score(metrics_of(named["back"]), back).items():
                put(f"back.{name}", asked["refs"], found)
        forget_all(); done += len(own)
        print(done, total, kind, own[0]["set"], round(time.time() - started), flush=True)
        np.savez(f"{out}.npz", __id__=np.array(ids), **{n: np.array([c.get(k, np.nan) for k in range(len(ids))], np.float32) for n, c in values.items()})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
