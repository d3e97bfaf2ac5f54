"""The curve of a run, from its log."""

from __future__ import annotations

import json
from pathlib import Path


def draw(logs: list[Path], picture: Path) -> bool:
    """Loss of each step, and the kept figure where it was measured; False if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    steps: list[int] = []
    values: list[float] = []
    dev: list[tuple[int, float]] = []
    done = 0
    for log in logs:
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        steps += [done + row["step"] for row in rows]
        values += [row["loss"] for row in rows]
        dev += [(done + row["step"], row["dev_score"]) for row in rows if "dev_score" in row]
        done = steps[-1] if steps else 0
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(steps, values, color="tab:blue", linewidth=0.8, alpha=0.4)
    axes.plot(steps, _smooth(values), color="tab:blue", label="loss")
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    if dev:
        right = axes.twinx()
        right.plot([step for step, _ in dev], [score for _, score in dev], "o-", color="tab:orange", label="held out")
        right.set_ylabel("held-out score")
    figure.savefig(picture, dpi=110, metadata={"Software": None})
    return True


def _smooth(values: list[float]) -> list[float]:
    out: list[float] = []
    for value in values:
        out.append(value if not out else 0.95 * out[-1] + 0.05 * value)
    return out
