"""What a calibration found, in lines that a person reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quintet.cli.screen import counted
from quintet.core.calibration import Calibration, Curve
from quintet.stats.records import decimal

_SHOWN = 6
"""Places of the map that are printed."""


def lines_of(calibration: Calibration) -> list[str]:
    return [
        line for name in calibration.curves for line in _lines(name, calibration.curves[name], calibration.facts[name])
    ]


def _lines(name: str, curve: Curve, facts: Mapping[str, Any]) -> list[str]:
    good = "" if facts["good"] is None else f", {facts['good']} good"
    dropped = f", {counted(facts['dropped'], 'row')} without a label or score left out" if facts["dropped"] else ""
    lines = [f"{name} ({facts['labels']}, n = {facts['n']}{good}{dropped})"]
    ranking = f"Spearman {_estimate(facts['spearman'])}, {_number(facts['spearman_held_out'])} on held-out rows"
    if facts["auc"] is not None:
        ranking += f"; AUC {_estimate(facts['auc'])}"
    error, drift = facts["brier"], facts["calibration_error"]
    lines += [
        f"  agreement  {ranking}",
        f"  error      Brier {_number(error['before'])} before, {_number(error['held_out'])} after "
        f"({_number(error['always_the_mean'])} for always saying the mean); "
        f"calibration error {_number(drift['before'])} before, {_number(drift['held_out'])} after",
        f"  map        {_map(curve, facts['value_intervals'])}",
    ]
    line = facts.get("threshold_facts")
    if line is not None:
        sign = "≥" if curve.higher_is_better else "≤"
        held = line["held_out"]
        lines.append(
            f"  threshold  score {sign} {_estimate(line['score'])}, chosen for {line['chosen_for']}; on held-out rows: "
            f"balanced accuracy {_number(held['balanced_accuracy'])}, precision {_number(held['precision'])}, "
            f"recall {_number(held['recall'])}"
        )
    return lines


def _map(curve: Curve, band: Sequence[Sequence[float]]) -> str:
    count = len(curve.scores)
    places = sorted({round(k * (count - 1) / (_SHOWN - 1)) for k in range(_SHOWN)})
    shown = [
        f"{curve.scores[k]:.2f} → {curve.values[k]:.2f} [{band[k][0]:.2f}, {band[k][1]:.2f}]" for k in places
    ]  # fmt: skip
    return ", ".join(shown)


def _estimate(found: Sequence[float | None]) -> str:
    value, low, high = found
    return f"{_number(value)} [{_number(low)}, {_number(high)}]"


def _number(value: float | None) -> str:
    return "–" if value is None else decimal(value)
