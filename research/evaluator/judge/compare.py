"""Signals of several runs beside one another, on the validation items that all of them have.

python -m judge.compare HUMAN.json.gz NAME=FILE.npz[,FILE.npz…] … [DIMENSION:BLEND …]   (a blend as in blend.py; default: likelihoods)
"""
from __future__ import annotations

import sys, warnings

import numpy as np

from .blend import derive, finish, parse
from .study import VAL, Study, spear

LIKELIHOODS = (
    "sum.consistency:lm.doc.mean", "sum.coherence:lm.doc.mean", "sum.fluency:lm.doc.mean", "sum.relevance:lm.doc.mean",
    "dlg.coherence:pmi.h12.mean", "dlg.overall:pmi.h12.mean", "dlg.engagingness:pmi.h12.sum",
)


def corr(S, x, cell, common):
    name, key, by = cell; i, y = S.idx[(name, key)], S.y[(name, key)]; ok = common[i]; i, y = i[ok], y[ok]
    if len(i) < 20:
        return np.nan
    return np.nanmean([spear(x[i][S.g[i] == g], y[S.g[i] == g]) for g in set(S.g[i])]) if by else spear(x[i], y)


def blended(S, blend, name, common):
    """z-scores of the set's common items: no constants, so that runs are compared and not their constants."""
    out = np.full(S.n, np.nan); own = (S.set == name) & common
    z = lambda x: (x - np.nanmean(x)) / (np.nanstd(x) + 1e-9)
    out[own] = sum(w * np.nan_to_num(z(S.sig[n][own].astype(float))) for n, w in blend)
    return out


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    runs = {}
    for told in (one for one in sys.argv[2:] if "=" in one):
        name, _, files = told.partition("="); S = runs[name] = Study(sys.argv[1], files.split(","))
        derive(S.sig); finish(S.sig)
    for row in [one for one in sys.argv[2:] if "=" not in one] or LIKELIHOODS:
        dim, _, text = row.partition(":"); blend = parse(text)
        common = np.all([np.isfinite(S.sig[n]) for S in runs.values() for n, _ in blend], axis=0)
        figures = {name: np.nanmean([corr(S, blended(S, blend, c[0], common), c, common) for c in VAL[dim]]) for name, S in runs.items()}
        print(f"{dim:18s} {text[:50]:50s}", " ".join(f"{name} {value:.3f}" for name, value in figures.items()), f"(n={int(common.sum())})")
