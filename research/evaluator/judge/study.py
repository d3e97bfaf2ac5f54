"""Correlations of signals and blends with ratings. Test sets are only read with look=True."""
from __future__ import annotations

import gzip, json

import numpy as np
from scipy.stats import rankdata

VAL = {
    "sum.consistency": [("xsumfaith", "consistency", 0), ("factcc", "consistency", 0), ("polytope", "consistency", 0), ("dialsumm", "consistency", 1), ("wice", "consistency", 0)],
    "sum.coherence": [("newsroom", "coherence", 1), ("dialsumm", "coherence", 1)],
    "sum.fluency": [("newsroom", "fluency", 1), ("dialsumm", "fluency", 1), ("simp_da", "fluency", 0), ("simp_struct", "grammaticality", 0)],
    "sum.relevance": [("newsroom", "relevance", 1), ("newsroom", "informativeness", 1), ("dialsumm", "relevance", 1)],
    "dlg.coherence": [("convai2_grade", "relevance", 0), ("dd_grade", "relevance", 0), ("empathetic_grade", "relevance", 0), ("dd_zhao", "relevance", 0), ("gupta", "overall", 0), ("persona_zhao", "overall", 0), ("humod", "relevance", 0), ("dstc7", "relevance", 0)],
    "dlg.naturalness": [("dd_zhao", "grammar", 0), ("humod", "language_usage", 0), ("persona_see", "fluency", 0), ("persona_see", "make_sense", 0), ("dstc7", "overall", 0), ("dd_zhao", "overall", 0)],
    "dlg.engagingness": [("pe_utt", "engagingness", 0), ("pe_dd", "engagingness", 0), ("dd_zhao", "content", 0), ("dstc7", "informativeness", 0), ("persona_see", "interest", 0), ("persona_see", "enjoy", 0)],
    "dlg.overall": [("dd_zhao", "overall", 0), ("persona_zhao", "overall", 0), ("gupta", "overall", 0), ("dstc7", "overall", 0)],
    "pres": [("simp_da", "meaning", 0), ("simp_struct", "meaning", 0)],
}
TEST = {
    "sum.coherence": [("summeval", "coherence", 1)], "sum.consistency": [("summeval", "consistency", 1), ("qags_cnn", "consistency", 0), ("qags_xsum", "consistency", 0)],
    "sum.fluency": [("summeval", "fluency", 1)], "sum.relevance": [("summeval", "relevance", 1)],
    "dlg.naturalness": [("topical", "naturalness", 0), ("persona", "naturalness", 0)], "dlg.coherence": [("topical", "coherence", 0), ("persona", "coherence", 0)],
    "dlg.engagingness": [("topical", "engagingness", 0), ("persona", "engagingness", 0)], "dlg.groundedness": [("topical", "groundedness", 0), ("persona", "groundedness", 0)],
    "dlg.overall": [("topical", "overall", 0), ("persona", "overall", 0), ("fed_turn", "Overall", 0)],
    "d2t.naturalness": [("sfres", "naturalness", 0), ("sfhot", "naturalness", 0), ("bagel", "naturalness", 0)], "d2t.informativeness": [("sfres", "informativeness", 0), ("sfhot", "informativeness", 0), ("bagel", "informativeness", 0)],
    "pres": [("yelp", "preservation", 0)], "text.quality": [("lqual", "overall", 0)],
}


def spear(a, b):
    if len(a) < 3:
        return np.nan
    ra, rb = rankdata(a), rankdata(b)
    if ra.std() == 0 or rb.std() == 0:
        return np.nan
    return float(np.corrcoef(ra, rb)[0, 1])


class Study:
    def __init__(s, human, files):
        H = json.load(gzip.open(human, "rt")); s.n = len(H)
        s.set = np.array([h["set"] for h in H]); s.g = np.array([str(h["g"]) for h in H]); s.h = [h["human"] for h in H]
        s.sig = {}
        for f in files:
            z = np.load(f); ids = z["__id__"]
            for k in z.files:
                if k != "__id__":
                    v = np.full(s.n, np.nan, np.float32); v[ids] = z[k]; s.sig[k] = v
        s.idx, s.y = {}, {}
        for d in (VAL, TEST):
            for cells in d.values():
                for st, k, _ in cells:
                    if (st, k) not in s.idx:
                        i = np.where(s.set == st)[0]; y = np.array([np.nan if s.h[j].get(k) is None else float(s.h[j][k]) for j in i]); ok = ~np.isnan(y)
                        s.idx[(st, k)] = i[ok]; s.y[(st, k)] = y[ok]

    def corr(s, v, cell):
        st, k, by = cell; i = s.idx[(st, k)]; y = s.y[(st, k)]; x = v[i]
        ok = ~np.isnan(x)
        if ok.mean() < 0.5:
            return np.nan
        x = np.where(ok, x, np.nanmean(x))
        if not by:
            return spear(x, y)
        r = [spear(x[m], y[m]) for m in (s.g[i] == q for q in np.unique(s.g[i]))]
        return float(np.nanmean(r))

    def boot(s, v, cell, n=1000, seed=0):
        st, k, by = cell; i = s.idx[(st, k)]; y = s.y[(st, k)]; x = v[i]; x = np.where(np.isnan(x), np.nanmean(x), x); r = np.random.default_rng(seed)
        if by:
            per = np.array([spear(x[m], y[m]) for m in (s.g[i] == q for q in np.unique(s.g[i]))]); per = per[~np.isnan(per)]
            b = [per[r.integers(0, len(per), len(per))].mean() for _ in range(n)]
        else:
            b = []
            for _ in range(n):
                j = r.integers(0, len(x), len(x)); b.append(spear(x[j], y[j]))
        return np.nanpercentile(b, [2.5, 97.5])

    def z(s, name, st):
        """z within a set (study only; shipped constants come from validation sets)."""
        v = s.sig[name.lstrip("-")]; i = s.set == st; x = v[i]; m, d = np.nanmean(x), np.nanstd(x)
        return (-1 if name[0] == "-" else 1) * np.nan_to_num((x - m) / (d + 1e-9))

    def blend(s, names, cell):
        v = np.full(s.n, np.nan); i = s.set == cell[0]; v[i] = sum(s.z(n, cell[0]) for n in names); return s.corr(v, cell)

    def table(s, dim, top=25, names=None, cells=None):
        cells = cells or VAL[dim]; rows = []
        for k, v in s.sig.items():
            if names and not any(k.startswith(n) for n in names):
                continue
            c = [s.corr(v, x) for x in cells]
            if np.isfinite(c).any():
                rows.append((np.nanmean(c), k, c))
        rows.sort(key=lambda r: -abs(r[0]))
        print("##", dim, [f"{a}.{b}"[:22] for a, b, _ in cells])
        for m, k, c in rows[:top]:
            print(f"{m:7.3f} {k:24s} " + " ".join(f"{x:6.3f}" for x in c))
