"""Blends beside one another on the same validation items: each cell, the mean, and the difference with a bootstrap interval.

python -m judge.compare HUMAN.json.gz FILE.npz… DIMENSION [--length] BLEND BLEND …   (a blend: `0.5*acc.mean coh.whole`; each is compared with the first)
By the z-scores of each set, so that blends are compared and not their constants; --length holds the number of words constant.
"""
from __future__ import annotations

import sys, warnings

import numpy as np

from .study import VAL, Study, correlation, parse

RESAMPLES = 500


def values(study, dimension, blend, held):
    """Correlation of each cell, and of each resample of it; resampled alike for every blend."""
    means, samples = [], []
    for place, cell in enumerate(VAL[dimension]):
        at, y, groups = study.cell(cell)
        x = study.blend(blend, cell[0])[at]; h = None if held is None else held[at]; rng = np.random.default_rng(place)
        means.append(correlation(x, y, groups, h))
        if groups:
            each = np.array([correlation(x, y, [g], h) for g in groups])
            samples.append([np.nanmean(each[rng.integers(0, len(each), len(each))]) for _ in range(RESAMPLES)])
        else:
            drawn = [rng.integers(0, len(x), len(x)) for _ in range(RESAMPLES)]
            samples.append([correlation(x[k], y[k], None, None if h is None else h[k]) for k in drawn])
    return np.array(means), np.array(samples)


def main(human, *rest):
    files = [one for one in rest if one.endswith(".npz")]
    held = "--length" in rest
    dimension, *blends = [one for one in rest if not one.endswith(".npz") and one != "--length"]
    study = Study(human, files)
    length = study.signals["length"] if held else None
    cells = ", ".join(f"{name} {rating}" for name, rating, _ in VAL[dimension])
    print(f"{dimension}: {cells}" + ("; length held constant" if held else ""))
    first = None
    for text in blends:
        means, samples = values(study, dimension, parse(text), length)
        row = f"{np.nanmean(means):.3f}  " + " ".join(f"{m:.2f}" for m in means)
        if first is not None:
            low, high = np.nanpercentile(np.nanmean(samples - first[1], axis=0), [2.5, 97.5])
            row += f"  difference {np.nanmean(means - first[0]):+.3f} [{low:+.3f}, {high:+.3f}]"
        first = first or (means, samples)
        print(f"{row}  {text}")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main(*sys.argv[1:])
