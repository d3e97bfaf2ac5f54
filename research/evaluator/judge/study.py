"""Correlations of signals and blends with ratings, on validation sets; test sets are looked at by benchmarks/agreement.py alone."""
from __future__ import annotations

import gzip, json

import numpy as np
from scipy.stats import rankdata

_FLUENCY = [("newsroom", "fluency", 1), ("dialsumm", "fluency", 1), ("simp_da", "fluency", 0), ("simp_struct", "grammaticality", 0)]
_COHERENCE = [("newsroom", "coherence", 1), ("dialsumm", "coherence", 1)]
VAL = {
    "sum.consistency": [("xsumfaith", "consistency", 0), ("factcc", "consistency", 0), ("polytope", "consistency", 0), ("dialsumm", "consistency", 1), ("wice", "consistency", 0)],
    "sum.coherence": _COHERENCE,
    "sum.fluency": _FLUENCY,
    "sum.relevance": [("newsroom", "relevance", 1), ("newsroom", "informativeness", 1), ("dialsumm", "relevance of one length", 1), ("polytope", "relevance", 1)],
    "dlg.coherence": [("convai2_grade", "relevance", 0), ("dd_grade", "relevance", 0), ("empathetic_grade", "relevance", 0), ("dd_zhao", "relevance", 0), ("gupta", "overall", 0), ("persona_zhao", "overall", 0), ("humod", "relevance", 0), ("dstc7", "relevance", 0)],
    "dlg.naturalness": [("dd_zhao", "grammar", 0), ("humod", "language_usage", 0), ("persona_see", "fluency", 0), ("persona_see", "make_sense", 0), ("dstc7", "overall", 0), ("dd_zhao", "overall", 0)],
    "dlg.engagingness": [("pe_utt", "engagingness", 0), ("pe_dd", "engagingness", 0), ("dd_zhao", "content", 0), ("dstc7", "informativeness", 0), ("persona_see", "interest", 0), ("persona_see", "enjoy", 0)],
    "dlg.overall": [("dd_zhao", "overall", 0), ("persona_zhao", "overall", 0), ("gupta", "overall", 0), ("dstc7", "overall", 0)],
    "dlg.understandability": [("persona_see", "make_sense", 0), ("dd_zhao", "grammar", 0), ("dd_zhao", "relevance", 0), ("convai2_grade", "relevance", 0), ("empathetic_grade", "relevance", 0)],
    "fact.consistency": [("factcc", "consistency", 0), ("wice", "consistency", 0), ("xsumfaith", "consistency", 0)],
    "rew.preservation": [("simp_da", "meaning", 0), ("simp_struct", "meaning", 0)],
    "rew.fluency": [("simp_da", "fluency", 0), ("simp_struct", "grammaticality", 0)],
    "text.grammaticality": _FLUENCY,
    "text.structure": _COHERENCE,
    "text.focus": _COHERENCE,
    "text.quality": [*_COHERENCE, *_FLUENCY],
}
"""Dimension to (set, rating, whether the correlation is of each document's outputs, then the mean)."""


def derive(signals):
    """Files of judge.score hold sums of log-probabilities: gains and the package's names for them. Files of judge.package need nothing."""
    if "lm.ntok" not in signals:
        return
    length, alone = signals["lm.ntok"], signals["lm.unc.sum"]
    for kind in ("sum", "mean"):
        if f"lm.h12.{kind}" in signals:
            turns = signals[f"lm.h12.{kind}"]; both = signals.get(f"lm.fh12.{kind}", np.full_like(turns, np.nan))
            signals[f"lm.ctx.{kind}"] = np.where(np.isfinite(both), both, turns)
    for given in ("doc", "mr", "h12", "ctx"):
        if f"lm.{given}.sum" in signals:
            gain = signals[f"lm.{given}.sum"] - alone
            signals.update({f"pmi.{given}.sum": gain, f"pmi.{given}.mean": gain / length, f"pmi.{given}.log": np.sign(gain) * np.log1p(np.abs(gain) / 5)})
    if "lm.fh12.sum" in signals:
        signals["gain.fact.sum"] = signals["lm.fh12.sum"] - signals["lm.h12.sum"]
    for name in [n for n in signals if n.startswith(("emb0.", "sf."))]:
        signals.setdefault(name.replace("emb0.", "emb.").removeprefix("sf."), signals[name])
    for old, new in (("lm.out|inp.mean", "lm.inp.mean"), ("tok.sent", "tok.b1"), ("len", "length")):
        if old in signals:
            signals.setdefault(new, signals[old])


def spear(a, b):
    if len(a) < 3:
        return np.nan
    ra, rb = rankdata(a), rankdata(b)
    if ra.std() == 0 or rb.std() == 0:
        return np.nan
    return float(np.corrcoef(ra, rb)[0, 1])


def partial(a, b, held):
    """Rank correlation of a and b with a third held constant."""
    ab, ah, bh = spear(a, b), spear(a, held), spear(b, held)
    rest = (1 - ah * ah) * (1 - bh * bh)
    return (ab - ah * bh) / np.sqrt(rest) if rest > 1e-9 else np.nan


def parse(text):
    """`0.5*acc.mean coh.whole` to names and weights."""
    found = []
    for one in text.split():
        weight, star, name = one.rpartition("*")
        found.append((name, float(weight) if star else 1.0))
    return found


class Study:
    def __init__(self, human, files):
        rows = json.load(gzip.open(human, "rt")); self.n = len(rows)
        self.set = np.array([row["set"] for row in rows]); self.group = np.array([str(row["g"]) for row in rows])
        self.human = [row["human"] for row in rows]; self.signals = {}
        for file in files:
            table = np.load(file); ids = table["__id__"]
            for name in table.files:
                if name != "__id__":
                    self.signals.setdefault(name, np.full(self.n, np.nan, np.float32))[ids] = table[name]
        derive(self.signals)
        self.scored = np.any([np.isfinite(v) for v in self.signals.values()], axis=0)

    def cell(self, cell):
        """Places that were scored and rated, ratings, and groups of places (None: all together)."""
        name, rating, grouped = cell
        y = np.array([np.nan if self.set[k] != name or self.human[k].get(rating) is None else float(self.human[k][rating]) for k in range(self.n)])
        at = np.flatnonzero(np.isfinite(y) & self.scored)
        return at, y[at], [np.flatnonzero(self.group[at] == g) for g in np.unique(self.group[at])] if grouped else None

    def blend(self, blend, name, constants=None):
        """Σ weight × normal value over one set; without constants by the set's own mean and deviation (in the study only)."""
        out = np.full(self.n, np.nan); own = (self.set == name) & self.scored; total = np.zeros(own.sum())
        for signal, weight in blend:
            x = self.signals[signal][own].astype(float)
            mean, deviation = constants[signal] if constants else (np.nanmean(x), np.nanstd(x) + 1e-9)
            total += weight * np.nan_to_num((x - mean) / deviation)
        out[own] = total
        return out

    def correlation(self, x, cell, held=None):
        at, y, groups = self.cell(cell)
        return correlation(x[at], y, groups, None if held is None else held[at])


def correlation(x, y, groups, held=None):
    one = (lambda k: spear(x[k], y[k])) if held is None else (lambda k: partial(x[k], y[k], held[k]))
    if groups is None:
        return one(slice(None)) if len(x) >= 20 else np.nan
    return float(np.nanmean([one(g) for g in groups])) if groups else np.nan
