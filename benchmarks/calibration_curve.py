"""How people rated outputs by the evaluator's score: the table and the picture of docs/calibration.md.

    python benchmarks/calibration_curve.py [--data DIR] [--study RATINGS.json.gz SIGNALS.npz …]

Validation sets only. Without --study the package scores them itself (about an hour on one core).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from agreement import write_page
from evaluator_signals import Floats, Models, Study, evaluated, first_rows, product
from rating_curves import FEWEST, Step, curve, draw_curves, standing

from quintet.data.benchmark import load

ROOT = Path(__file__).resolve().parents[1]
SETS = (
    "newsroom", "dialsummeval", "summac/polytope", "wice_dev", "wice_test", "dstc10/dailydialog-zhao",
    "dstc10/convai2-grade", "dstc10/dailydialog-grade", "dstc10/empathetic-grade", "gupta_multiref",
    "predictive_engagement", "predictive_engagement/convai", "simplicity_da", "structural_simplicity",
)  # fmt: skip
Pairs = dict[str, dict[str, tuple[Floats, Floats]]]
"""Task and dimension, then set and rated dimension, to scores and standings."""


def gather(data: str | None, study: Study | None, models: Models, limit: int | None) -> Pairs:
    found: Pairs = {}
    for name in SETS:
        benchmark = first_rows(load(name, data), limit if study is None else None)
        if benchmark.split != "validation":
            raise SystemExit(f"{name} is not a validation set")
        dims = evaluated(benchmark)
        scored = (
            product(benchmark, dims, False, models, True) if study is None else study.blended(benchmark, dims, False)
        )
        read = slice(None) if study is None or not scored else study.read(benchmark)
        for rated, blended in scored.items():
            task, dimension = benchmark.answered_by(rated)
            where = f"{task} {dimension}"
            short = name.removeprefix("dstc10/") + ("" if rated == dimension else f" ({rated})")
            found.setdefault(where, {})[short] = (blended.value[read], standing(benchmark.ratings[rated])[read])
    return found


def pooled(pairs: Mapping[str, tuple[Floats, Floats]]) -> tuple[Step, ...]:
    """All sets together: standings are comparable, ratings are not."""
    scores, places = (np.concatenate([pair[k] for pair in pairs.values()]) for k in (0, 1))
    return curve(scores, places)


def table(pairs: Pairs) -> str:
    heads = [f"{k / 10:g}–{(k + 1) / 10:g}".replace("0.", ".") for k in range(10)]
    lines = [
        "| task, dimension | n | " + " | ".join(heads) + " | score ≥ .5 against below |",
        "|---|---|" + "---|" * 11,
    ]
    for where, sets in pairs.items():
        steps = pooled(sets)
        cells = [f"{s.mean:.2f} ±{(s.most - s.least) / 2:.2f}" if s.n >= FEWEST else "" for s in steps]
        scores, places = (np.concatenate([pair[k] for pair in sets.values()]) for k in (0, 1))
        here = np.isfinite(scores) & np.isfinite(places)
        upper, lower = places[here & (scores >= 0.5)], places[here & (scores < 0.5)]
        split = f"{upper.mean():.2f} against {lower.mean():.2f}" if len(upper) and len(lower) else ""
        lines.append(f"| {where} | {int(here.sum())} | " + " | ".join(cells).replace("0.", ".") + f" | {split} |")
    return "\n".join(lines).replace(" 0.", " .")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--judge")
    parser.add_argument("--lm")
    parser.add_argument("--study", nargs="+", metavar="FILE")
    parser.add_argument("--blends", default=str(ROOT / "research" / "evaluator" / "blends"))
    parser.add_argument("--page", default=str(ROOT / "docs" / "calibration.md"))
    parser.add_argument("--picture", default=str(ROOT / "docs" / "pictures" / "calibration.svg"), help=".svg or .png")
    given = parser.parse_args()
    study = None
    if given.study:
        study = Study(Path(given.study[0]), [Path(p) for p in given.study[1:]], Path(given.blends))
    pairs = gather(given.data, study, Models(given.judge, given.lm), given.limit)
    panels = {where: {name: curve(*pair) for name, pair in sets.items()} for where, sets in pairs.items()}
    draw_curves(panels, given.picture)
    write_page(table(pairs), Path(given.page))


if __name__ == "__main__":
    main()
