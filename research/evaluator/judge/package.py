"""Signals of validation items as the package computes them, and what they are made of: words, sub-words, nearest pieces.

QUINTET_THREADS=1 python -m judge.package items.json.xz OUT PART PARTS   (writes OUT.npz and OUT.jsonl.gz as it goes; two processes, half an hour)
"""
from __future__ import annotations

import gzip, json, lzma, sys, time
from pathlib import Path

import numpy as np

from quintet.core.example import Example
from quintet.core.parameters import build
from quintet.metrics import metrics as registry
from quintet.metrics.evaluator.likelihood import Likelihood, grounds_of
from quintet.metrics.evaluator.matching import content_pieces, nearest
from quintet.metrics.evaluator.reading import read_document, read_output
from quintet.models.memo import forget_all
from quintet.models.open import open_model
from quintet.text.content_words import plain_words

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from evaluator_blends import signal  # noqa: E402

ALONE = "acc.whole acc.mean acc.min coh.whole ord.mean idfsum idfsumlog lm.unc.mean rd.alone.acc rd.alone.coh"
READ = "con nli words cohd rel cov"
NAMES = {
    "doc": f"{ALONE} cohd.b1 rel.b1 cov.b1 con.b1 nli.b1 tok.b1 cov2 lm.doc.mean pmi.doc.mean pmi.doc.sum " + " ".join(f"rd.doc.{h}" for h in READ.split())
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
                if name == "tok.b1":
                    out["words"] = [[(s.start, s.end, s.value) for s in row[of].spans if s.kind == "word"] for row in rows]
    return out


def parts(one):
    """Sub-words of outputs after the document and alone, and each content piece's nearest in the document."""
    lm, words = Likelihood(), open_model("bundled:gte-small")
    output = read_output(one.output)
    (given,), (alone,) = lm.read([(grounds_of(one, "document"), output.text)]), lm.read([(grounds_of(one, "nothing"), output.text)])
    found = {"text": output.text}
    if len(given) == 1 and len(alone) == 1:
        found.update(starts=given[0].starts.tolist(), lp=np.round(given[0].log_probs, 3).tolist(), un=np.round(alone[0].log_probs, 3).tolist(), w=np.round(given[0].judgement.words, 3).tolist())
    a, b = words.embed([output.text, " ".join(read_document(one.source))], 12)
    near = nearest(a, b); inner = a.inner; keep = content_pieces(inner)
    found["near"] = [(int(inner.starts[k]), int(inner.ends[k]), round(float(near.forth[k]), 4), round(float(near.where[k]) / max(1, len(b.inner)), 4)) for k in np.flatnonzero(keep)]
    return found


def main(file, out, part, parts_):
    told = json.load(lzma.open(file, "rt")); docs, items = told["docs"], list(chosen(told["items"]))
    by_kind = {kind: [i for i in items if kind in i] for kind in ("hist", "inp", "mr", "doc")}
    if "doc" in by_kind:
        by_kind["doc"].sort(key=lambda i: (i["doc"], i["id"]))
    mine = []
    for kind, own in by_kind.items():
        mine += [(kind, own[k : k + CHUNK]) for k in range(0, len(own), CHUNK)][part::parts_]
    total = sum(len(own) for _, own in mine); print(total, "items", flush=True)
    values, ids, started, done = {}, [], time.time(), 0
    with gzip.open(f"{out}.jsonl.gz", "wt") as rows:
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
            words = {}
            for what, which in asked.items():
                if which:
                    for name, found in score(metrics_of(NAMES[what].split()), [examples[k] for k in which]).items():
                        if name == "words":
                            words = dict(zip(which, found))
                        else:
                            put(name, which, found)
            if kind == "doc":
                for k, one in enumerate(examples):
                    rows.write(json.dumps({"id": own[k]["id"], "enc": words.get(k, []), **parts(one)}) + "\n")
            if kind == "doc" and asked["refs"]:
                back = [Example(output=own[k]["refs"][0], source=own[k]["out"]) for k in asked["refs"]]
                for name, found in score(metrics_of(NAMES["back"].split()), back).items():
                    if name != "words":
                        put(f"back.{name}", asked["refs"], found)
            forget_all(); done += len(own)
            print(done, total, kind, own[0]["set"], round(time.time() - started), flush=True)
            np.savez(f"{out}.npz", __id__=np.array(ids), **{n: np.array([c.get(k, np.nan) for k in range(len(ids))], np.float32) for n, c in values.items()})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
