"""A plan whose scores go through a user's calibration."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.core.calibration import ACCEPTED, Calibrated, Calibration, accepted_name
from quintet.errors import InputError
from quintet.runner.plan import Column, Plan


def calibrated_plan(plan: Plan, calibration: Calibration) -> Plan:
    """Every column that the calibration knows goes through its map; one with a threshold gets a second column, 1 or 0.

    The metrics below are stored as they are without a calibration, so nothing is scored again.
    """
    known = [column.label for column in plan.columns]
    if not set(known) & set(calibration.curves):
        names = ", ".join(calibration.curves)
        raise InputError(f"calibrates {names}; none of them is scored", calibration.source, "name one with --dims")
    columns: list[Column] = []
    for column in plan.columns:
        curve = calibration.curves.get(column.label)
        if curve is None:
            columns.append(column)
            continue
        calibration.check(column.label, column.metric.signature)
        metric = Calibrated(column.metric, column.dimension, curve, calibration.digest(column.label))
        columns.append(Column(column.label, metric, column.dimension))
        if curve.threshold is not None:
            columns.append(Column(accepted_name(column.label), metric, accepted_name(column.dimension)))
    return Plan(tuple(columns), plan.left_out)


def asked_dimensions(dims: Sequence[str] | None) -> list[str] | None:
    """`consistency.accepted` comes with consistency."""
    return None if dims is None else list(dict.fromkeys(name.removesuffix(ACCEPTED) for name in dims))
