"""Likelihoods and heads of a language model on validation items, read by the package on a CPU: up to some hundred items a set.

python -m judge.reads MODEL items.json.xz OUT.npz PART PARTS   (about 15 minutes in two processes; candidate 4 was chosen on these)
"""
import sys, time, numpy as np
from .score import load_items, save
from .networks import dlg_prefix, doc_prefix, mr_prefix
from quintet.models.open import open_model
from quintet.metrics.evaluator.reader import _Reading
from quintet.metrics.evaluator.reading import read_output
model, items_file, out, part, parts = sys.argv[1:6]; part, parts = int(part), int(parts)
lm = open_model(model, "causal-lm")
items, paras = load_items(items_file); items = [i for i in items if not i["test"]]
CAP = dict(xsumfaith=360, dialsumm=500, newsroom=420, polytope=320, factcc=307, wice=360, simp_struct=250, simp_da=600, humod=300)
by = {}
for i in items: by.setdefault(i["set"], []).append(i)
chosen = []
for s, own in by.items():
    n = CAP.get(s, 300); k = max(1, len(own) // n)
    chosen += own[:n] if s in ("dialsumm", "newsroom") else own[::k][:n]
docs = sorted((i for i in chosen if "doc" in i), key=lambda i: i["doc"]); rest = [i for i in chosen if "doc" not in i]
half = lambda x: x[len(x) * part // parts: len(x) * (part + 1) // parts]
chosen = half(docs) + half(rest); print(len(chosen), flush=True)
sig = {}; t = time.time()
def put(name, n, v): sig.setdefault(name, np.full(len(chosen), np.nan, np.float32))[n] = v
for n, i in enumerate(chosen):
    o = read_output(i["out"]); text = " " + o.text; q = []
    if "doc" in i: q = [("doc", doc_prefix(" ".join(paras[i["doc"]])), ("con", "nli", "words", "cohd", "rel", "cov")), ("unc", doc_prefix(""), ("acc", "coh"))]
    elif "hist" in i:
        h = i["hist"][-12:]; q = [("h12", dlg_prefix(h), ("sel",)), ("unc", dlg_prefix([]), ()), ("alone", doc_prefix(""), ("acc", "coh"))]
        if i.get("fact"): q += [("fh12", dlg_prefix(h, i["fact"]), ("sel", "gro"))]
    elif "mr" in i: q = [("mr", mr_prefix(i["mr"]), ("d2t",)), ("alone", doc_prefix(""), ("acc", "coh"))]
    elif "inp" in i: q = [("out|inp", doc_prefix(i["inp"]), ("adq", "con", "nli", "words")), ("unc", doc_prefix(""), ("acc", "coh"))]
    else: q = [("unc", doc_prefix(""), ("acc", "coh"))]
    for name, prefix, heads in q:
        (r,) = lm.log_probs([(prefix, text)])
        put(f"lm.{name}.sum", n, r.log_probs.sum()); put(f"lm.{name}.mean", n, r.log_probs.mean()); put("lm.ntok", n, len(r.log_probs))
        for h in heads: put(f"rd.{'alone' if name == 'unc' else name}.{h}", n, _Reading(o, [r]).value(h))
        if "words" in heads:
            w = np.sort(np.asarray(r.judgement.words)); put(f"rd.{name}.words.low", n, w[:max(1, len(w) // 5)].mean())
    if i.get("refs"):
        v = [lm.log_probs([(doc_prefix(x), text)])[0] for x in i["refs"][:2]]
        put("rd.refm.adq", n, np.mean([_Reading(o, [r]).value("adq") for r in v])); put("rd.refm.cov", n, np.mean([_Reading(o, [r]).value("cov") for r in v]))
    if n % 100 == 0: print(n, round(time.time() - t), i["set"], flush=True)
    if n % 300 == 299: save(out, sig, chosen)
save(out, sig, chosen); print("DONE")
