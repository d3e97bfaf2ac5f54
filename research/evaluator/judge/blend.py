"""Blends of release candidate 4: which signals, chosen on validation sets; constants, percentiles; the one look at the test sets.

python -m judge.blend val|toml|look FOLDER  (FOLDER holds the signal files that score.py and surface.py wrote)
"""

from __future__ import annotations

import os, sys

import numpy as np

from quintet.metrics.evaluator.rarity import word_table

from . import score as scoring, surface
from .study import TEST, VAL, Study

ROOT = os.environ.get("QUINTET_SIGNALS", ".")

VAL["text.quality"] = VAL["sum.coherence"] + VAL["sum.fluency"]
VAL["dlg.understandability"] = [
    ("persona_see", "make_sense", 0),
    ("dd_zhao", "grammar", 0),
    ("dd_zhao", "relevance", 0),
    ("convai2_grade", "relevance", 0),
    ("empathetic_grade", "relevance", 0),
]
VAL["fact.consistency"] = [("factcc", "consistency", 0), ("wice", "consistency", 0), ("xsumfaith", "consistency", 0)]
VAL["rew.fluency"] = [("simp_da", "fluency", 0), ("simp_struct", "grammaticality", 0)]
VAL["rew.preservation"] = VAL.pop("pres")
VAL["text.grammaticality"] = VAL["sum.fluency"]
VAL["text.structure"] = VAL["text.focus"] = VAL["sum.coherence"]
TEST["rew.preservation"] = TEST.pop("pres")
TEST["dlg.understandability"] = [("topical", "understandability", 0), ("persona", "understandability", 0)]
TEST["text.grammaticality"] = [("lqual", "grammar", 0)]

PRES = "emb0.inp.F12 emb0.inp.cos inp.adq"
CON = "0.5*nli.b1 0.5*con.b1 0.5*tok.sent 0.5*rd.doc.nli 0.5*rd.doc.con 0.5*rd.doc.words lm.doc.mean sf.cov2 emb0.doc.Pc12"
CONF = "0.5*nli.b1 0.5*con.b1 0.5*tok.sent sf.cov2 emb0.doc.Pc12"
BL = {
    "sum.coherence": "lm.doc.mean pmi.doc.mean cohd.b1 coh.whole rd.alone.coh",
    "sum.consistency": CON,
    "sum.fluency": "acc.mean rd.alone.acc lm.doc.mean",
    "sum.relevance": "emb0.doc.cos cov.b1 emb0.refm.Rc9 lm.doc.mean rd.doc.cov",
    "dlg.naturalness": "acc.whole lm.ctx.mean pmi.ctx.mean sel.h3",
    "dlg.coherence": "sel.h3 pmi.h12.mean emb0.hist1.cos",
    "dlg.engagingness": "sel.h3 sf.idfsumlog pmi.ctx.log",
    "dlg.groundedness": "sf.fact.idf emb0.fact.cos gain.fact.sum fact.gro",
    "dlg.understandability": "sel.h3 pmi.ctx.mean lm.ctx.mean",
    "dlg.overall": "sel.h3 pmi.ctx.mean lm.ctx.mean",
    "d2t.naturalness": "acc.mean rd.alone.acc lm.mr.mean",
    "d2t.informativeness": "0.5*mr.d2t 0.5*rd.mr.d2t emb0.refm.F9 0.5*refm.adq 0.5*rd.refm.adq",
    "rew.preservation": PRES,
    "rew.fluency": "acc.mean rd.alone.acc lm.out|inp.mean",
    "fact.consistency": CON,
    "text.grammaticality": "acc.mean rd.alone.acc",
    "text.structure": "coh.whole rd.alone.coh 0.5*ord.mean",
    "text.focus": "coh.whole rd.alone.coh",
    "text.quality": "acc.mean coh.whole rd.alone.acc rd.alone.coh",
}
FAST = {
    **BL,
    "sum.coherence": "cohd.b1 coh.whole acc.mean",
    "sum.relevance": "emb0.doc.cos cov.b1 emb0.refm.Rc9",
    "sum.consistency": CONF,
    "sum.fluency": "0.5*acc.mean 0.5*acc.whole cohd.b1",
    "dlg.naturalness": "acc.whole sel.h3",
    "dlg.coherence": "sel.h3 emb0.hist1.cos",
    "dlg.engagingness": "sel.h3 sf.idfsumlog",
    "dlg.groundedness": "sf.fact.idf emb0.fact.cos fact.gro",
    "dlg.understandability": "acc.whole sel.h3",
    "dlg.overall": "sel.h3 emb0.hist1.cos",
    "d2t.naturalness": "acc.mean acc.whole",
    "d2t.informativeness": "mr.d2t emb0.refm.F9 refm.adq",
    "rew.fluency": "0.5*acc.mean 0.5*acc.whole",
    "fact.consistency": CONF,
    "text.grammaticality": "0.5*acc.mean 0.5*acc.whole",
    "text.structure": "coh.whole 0.5*ord.mean",
    "text.focus": "coh.whole",
    "text.quality": "acc.mean coh.whole",
}


def mk(enc, lm=f"{ROOT}/sig_lm.npz", extra=()):
    S = Study(f"{ROOT}/human.json.gz", [f"{ROOT}/sig_emb0.npz", lm, f"{ROOT}/sig_sf.npz", enc, *extra])
    derive(S.sig)
    return S


def derive(g):
    n = g["lm.ntok"]
    u = g["lm.unc.sum"]
    for b in ("doc", "h1", "h3", "h12", "f", "fh1", "fh12", "mr", "out|ref", "out|inp"):
        if f"lm.{b}.sum" in g:
            g[f"pmi.{b}.sum"] = g[f"lm.{b}.sum"] - u
            g[f"pmi.{b}.mean"] = g[f"pmi.{b}.sum"] / n
    if "lm.fh12.sum" in g:
        g["gain.fact.sum"] = g["lm.fh12.sum"] - g["lm.h12.sum"]
        g["gain.fact.mean"] = g["gain.fact.sum"] / n
    for k in list(g):
        if k.startswith("pmi.") and k.endswith(".sum"):
            g[k[:-3] + "log"] = np.sign(g[k]) * np.log1p(np.abs(g[k]) / 5)
    for a in ("sel", "abac"):
        if a + ".h1" in g:
            g[a + ".m"] = (g[a + ".h1"] + g[a + ".h3"]) / 2
    if "sf.idfsum" in g:
        g["sf.idfsqrt"] = np.sqrt(np.maximum(g["sf.idfsum"], 0))
    if "nli.mean" in g:
        g["nli.both"] = (g["nli.mean"] + g["nli.big"]) / 2


def parse(t):
    out = []
    for x in t.split():
        w, n = (float(x.split("*")[0]), x.split("*")[1]) if "*" in x else (1.0, x)
        out.append((n, w))
    return out


def consts(S, dim, blend):
    cells = {c[0] for c in VAL.get(dim, [])}
    out = {}
    for n, _ in blend:
        m, s = [], []
        for st in sorted(cells):
            x = S.sig[n][S.set == st]
            x = x[~np.isnan(x)]
            if len(x) > 20:
                m.append(x.mean())
                s.append(x.std())
        if m:
            out[n] = (float(np.mean(m)), float(np.mean(s)))
    return out


def score(S, blend, st, k=None):
    v = np.full(S.n, np.nan)
    t = 0
    for n, w in blend:
        x = S.sig[n][S.set == st].astype(float)
        m, s = (np.nanmean(x), np.nanstd(x)) if not k or n not in k else k[n]
        t = t + w * np.nan_to_num((x - m) / (s + 1e-9))
    v[S.set == st] = t
    return v


def val(S, dim, t, fixed=True):
    b = parse(t)
    k = consts(S, dim, b) if fixed else None
    c = [S.corr(score(S, b, c[0], k), c) for c in VAL[dim]]
    return np.nanmean(c), c


def finish(g):
    for s in ("sum", "mean", "log"):
        for a in ("pmi", "lm"):
            if f"{a}.h12.{s}" in g:
                g[f"{a}.ctx.{s}"] = np.where(
                    np.isnan(g.get(f"{a}.fh12.{s}", np.full_like(g[f"{a}.h12.{s}"], np.nan))), g[f"{a}.h12.{s}"], g.get(f"{a}.fh12.{s}", g[f"{a}.h12.{s}"])
                )


def study(test=False):
    S = mk(f"{ROOT}/sig_val.npz", extra=[f"{ROOT}/sig_pkg.npz"])
    if test:
        z = np.load(f"{ROOT}/sig_test.npz")
        i = z["__id__"]
        for k in z.files:
            if k != "__id__":
                S.sig.setdefault(k, np.full(S.n, np.nan, np.float32))[i] = z[k]
        derive(S.sig)
    finish(S.sig)
    return S if test else scored(S)


def scored(S):
    """Only items that the language model has read: where it is slow, not all are."""
    only = np.isfinite(S.sig["lm.ntok"])
    S.all_of = {name: int((S.set == name).sum()) for name in np.unique(S.set)}
    S.set = np.where(only, S.set, "")
    for k, i in S.idx.items():
        S.idx[k], S.y[k] = i[only[i]], S.y[k][only[i]]
    return S


def levels(v, weights):
    """The 0th, 5th, ... 100th percentile; a set counts by all of its items, of which some are here."""
    order = np.argsort(v)
    v, w = v[order], weights[order]
    return np.interp(np.linspace(0, 1, 21), (np.cumsum(w) - w) / (w.sum() - w[-1]), v)


def all_constants(S):
    items, _ = scoring.load_items(f"{ROOT}/const.json.xz")
    st = np.array([i["set"] for i in items])
    g = {}
    for f in ("con_enc", "con_emb", "con_lm"):
        z = np.load(f"{ROOT}/{f}.npz")
        for k in z.files:
            if k != "__id__":
                g[k] = np.full(len(items), np.nan)
                g[k][z["__id__"]] = z[k]
    g.update({k: np.asarray(v, float) for k, v in surface.surface(items, [], word_table().idf).items()})
    g["gain.fact.sum"] = g["lm.fh12.sum"] - g["lm.h12.sum"]
    out = {}
    for mode, X in (("full", BL), ("fast", FAST)):
        for dim in X:
            b = parse(X[dim])
            if dim in VAL:
                k = consts(S, dim, b)
                sets = sorted({c[0] for c in VAL[dim]})
                v = np.concatenate([score(S, b, s, k)[S.set == s] for s in sets])
                w = np.concatenate([np.full((S.set == s).sum(), S.all_of[s] / (S.set == s).sum()) for s in sets])
                src = "validation: " + ", ".join(sorted({c[0] for c in VAL[dim]}))
            else:
                m = st == ("d2t" if dim.startswith("d2t") else "fact")
                if dim.startswith("d2t"):
                    m = m & (np.arange(len(m)) % 3 != 1)  # texts of other records: generators never stray that far
                k = {n: (float(np.nanmean(g[n][m])), float(np.nanstd(g[n][m]))) for n, _ in b}
                v = sum(w * np.nan_to_num((g[n][m] - k[n][0]) / k[n][1]) for n, w in b)
                w = np.ones(len(v))
                src = "items made from training corpora"
            out[(dim, mode)] = (b, k, levels(v / sum(x for _, x in b), w), src)
    return out


TASK = {"sum": "summarization", "dlg": "dialogue", "d2t": "data2text", "rew": "rewriting", "fact": "fact", "text": "text"}
PUB = {"lm.out|inp.mean": "lm.inp.mean", "tok.sent": "tok.b1"}
PACKAGE = {"tok.sent": "tok.p1"}
"""Signals that the package computes in another way: its own constants (judge.shipped) are written, the study stands in for the figures."""
pub = lambda n: PUB.get(n) or ("emb." + n[5:] if n.startswith("emb0.") else n[3:] if n.startswith("sf.") else n)


def toml(S, C, out):
    files = {}
    for dim in BL:
        t, _, name = dim.partition(".")
        for mode in ("full", "fast"):
            b, k, q, src = C[(dim, mode)]
            L = [f"[{name}.{mode}]", f'constants_from = "{src}"']
            if dim in VAL:
                L.append(f"validation_spearman = {np.nanmean([S.corr(score(S, b, c[0], k), c) for c in VAL[dim]]):.3f}")
            L.append("signals = [")
            k = {**k, **{n: consts(S, dim, [(PACKAGE[n], 1)])[PACKAGE[n]] for n, _ in b if n in PACKAGE}}
            for n, w in b:
                L.append(f'  {{ name = "{pub(n)}", weight = {w:g}, mean = {k[n][0]:.5g}, sd = {k[n][1]:.5g} }},')
            L += [
                "]",
                "# weighted mean of (signal - mean) / sd at the 0th, 5th, ... 100th percentile",
                f"percentiles = [{', '.join(f'{x:.4f}' for x in q)}]",
                "",
            ]
            files.setdefault(TASK[t], []).append("\n".join(L))
    for f, parts in files.items():
        open(f"{out}/{f}.toml", "w").write(
            "# Release candidate 4. Blend = weighted mean of (signal - mean) / sd; a missing signal counts 0. Signals are defined in README.md.\n\n"
            + "\n".join(parts)
        )


def look(S, C):
    miss = np.isnan(S.sig["emb0.fact.cos"])
    S.sig["sf.fact.idf"] = np.where(miss, np.nan, S.sig["sf.fact.idf"])
    rows = []
    for mode, X in (("full", BL), ("fast", FAST)):
        for dim in X:
            b, k, _, _ = C[(dim, mode)]
            for c in TEST.get(dim, []):
                v = score(S, b, c[0], k)
                r = S.corr(v, c)
                z = S.corr(score(S, b, c[0]), c)
                lo, hi = S.boot(v, c, 400)
                loo = sg = []
                if mode == "full":
                    loo = [f"-{pub(b[i][0])} {S.corr(score(S, b[:i] + b[i + 1 :], c[0], k), c):.3f}" for i in range(len(b))] if len(b) > 1 else []
                    sg = [
                        f"{pub(n)} {S.corr(np.where(S.set == c[0], np.nan_to_num(S.sig[n], nan=np.nanmean(S.sig[n][S.set == c[0]])), np.nan), c):.3f}"
                        for n, _ in b
                    ]
                rows.append(f"| {mode} | {c[0]} {c[1]} | {r:.3f} [{lo:.2f},{hi:.2f}] | {z:.3f} | {'; '.join(sg)} | {'; '.join(loo)} |")
    return rows


if __name__ == "__main__":
    if sys.argv[1] == "val":
        S = study()
        for mode, X in (("full", BL), ("fast", FAST)):
            for d in X:
                if d in VAL:
                    m, c = val(S, d, X[d])
                    print(f"VAL {mode} {d:22s} {m:.3f}", X[d], "|", " ".join(f"{x:.2f}" for x in c))
    elif sys.argv[1] == "toml":
        S = study()
        toml(S, all_constants(S), sys.argv[2])
    elif sys.argv[1] == "look":
        S = study(True)
        C = all_constants(S)
        print("\n".join(look(S, C)))
