"""Signals that need no model: coverage, rarity, repetition, length. The idf table is the package's, counted on training corpora only."""
from __future__ import annotations

import math, sys
from collections import Counter

import numpy as np

from .textnorm import STOP, content, detok, sentences, words


def grams(w, n):
    return [tuple(w[i:i + n]) for i in range(len(w) - n + 1)]


def surface(items, paras, idf):
    from .score import Sig
    S = Sig(len(items)); dc = {}
    for n, it in enumerate(items):
        P = lambda k, v: S.put(k, n, v)
        w = words(it["out"]); c = [x for x in w if x not in STOP and len(x) > 1]; u = set(c)
        P("len", len(w)); P("loglen", math.log(1 + len(w))); P("clen", len(c)); P("idfsum", sum(idf(x) for x in u)); P("idfmean", np.mean([idf(x) for x in c]) if c else 0)
        P("idfsumlog", math.log(1 + sum(idf(x) for x in u))); P("question", float("?" in it["out"]))
        g2, g3 = grams(w, 2), grams(w, 3)
        P("norep1", len(set(c)) / len(c) if c else 1); P("norep2", len(set(g2)) / len(g2) if g2 else 1); P("norep3", len(set(g3)) / len(g3) if g3 else 1)
        ss = [set(content(x)) for x in it["sents"]]
        red = 0.0
        for i in range(len(ss)):
            for j in range(i):
                a, b = ss[i], ss[j]
                if min(len(a), len(b)) >= 2:
                    red = max(red, len(a & b) / min(len(a), len(b)))
        P("nored", 1 - red); P("endok", float(it["out"].rstrip()[-1:] in ".!?\"'"))
        if "doc" in it:
            d = it["doc"]
            if d not in dc:
                dw = words(" ".join(paras[d])); dc[d] = (set(dw), set(grams(dw, 2)), set(grams(dw, 3)), Counter(x for x in dw if x not in STOP and len(x) > 1), words(" ".join(paras[d][:3])))
            d1, d2, d3, tf, lead = dc[d]
            P("cov1", np.mean([x in d1 for x in w]) if w else 0); P("cov2", np.mean([x in d2 for x in g2]) if g2 else 0); P("cov3", np.mean([x in d3 for x in g3]) if g3 else 0)
            P("covc", np.mean([x in d1 for x in c]) if c else 0)
            den = sum(idf(x) for x in u); P("covidf", sum(idf(x) for x in u if x in d1) / den if den else 0)
            tot = sum(math.log(1 + v) * idf(x) for x, v in tf.items()); P("salience", sum(math.log(1 + tf[x]) * idf(x) for x in u if x in tf) / tot if tot else 0)
            P("salmean", sum(math.log(1 + tf[x]) * idf(x) for x in u if x in tf) / len(u) if u else 0)
        if it.get("refs"):
            f = []
            for r in it["refs"][:11]:
                rc = Counter(x for x in words(r)); wc = Counter(w); o = sum((rc & wc).values()); R = o / max(1, sum(rc.values())); Pq = o / max(1, len(w))
                ri = set(content(r)); den = sum(idf(x) for x in ri); den2 = sum(idf(x) for x in u)
                f.append([R, Pq, 2 * R * Pq / (R + Pq) if R + Pq else 0, sum(idf(x) for x in ri & u) / den if den else 0, sum(idf(x) for x in ri & u) / den2 if den2 else 0])
            f = np.array(f)
            for j, nm in enumerate(["r1r", "r1p", "r1f", "idfr", "idfp"]):
                P("ref0." + nm, f[0][j]); P("refm." + nm, f[:, j].mean()); P("refx." + nm, f[:, j].max())
        if it.get("fact"):
            fs = set(content(it["fact"])); P("fact.idf", sum(idf(x) for x in u & fs)); den = sum(idf(x) for x in u); P("fact.idfp", sum(idf(x) for x in u & fs) / den if den else 0)
            f2 = set(grams(words(it["fact"]), 2)); P("fact.cov2", np.mean([x in f2 for x in g2]) if g2 else 0)
        elif "hist" in it:
            P("fact.idf", 0.0); P("fact.idfp", 0.0)
        if it.get("hist"):
            hs = set(content(" ".join(it["hist"][-3:]))); P("hist.idf", sum(idf(x) for x in u & hs)); P("new.idf", sum(idf(x) for x in u - hs))
            h2 = [set(grams(words(h), 2)) for h in it["hist"][-8:]]
            P("norephist", 1 - max([len(set(g2) & h) / max(1, len(set(g2))) for h in h2] or [0]))
        if it.get("inp"):
            iw = words(it["inp"]); rc, wc = Counter(iw), Counter(w); o = sum((rc & wc).values()); P("inp.r1f", 2 * o / max(1, len(iw) + len(w)))
    return {"sf." + k: v for k, v in S.v.items()}


if __name__ == "__main__":
    from quintet.metrics.evaluator.rarity import word_table

    from .score import load_items, save
    items, paras = load_items(sys.argv[1]); save(sys.argv[2], surface(items, paras, word_table().idf), items)
