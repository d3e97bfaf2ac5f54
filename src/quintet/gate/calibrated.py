"""A scored file whose scores go through a calibration before they are judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from quintet.core.calibration import ACCEPTED, read_calibration
from quintet.errors import UnknownName
from quintet.gate.subject import Subject, scored_file


def calibrated_subject(path: str, dimensions: Sequence[str], calibration: str) -> Subject:
    """The file holds scores as they were before calibration; a dimension the calibration does not know is refused."""
    known = read_calibration(calibration)
    names = list(dict.fromkeys(name.removesuffix(ACCEPTED) for name in dimensions))
    for name in names:
        if name not in known.curves:
            raise UnknownName(f"dimension calibrated in {calibration}", name, known.curves)
    raw = scored_file(path, names)
    values, evidence = {}, {}
    for wanted in dimensions:
        name = wanted.removesuffix(ACCEPTED)
        curve = known.curves[name]
        if wanted.endswith(ACCEPTED) and curve.threshold is None:
            raise UnknownName(f"dimension calibrated in {calibration}", wanted, known.curves)
        change = curve.accepts if wanted.endswith(ACCEPTED) else curve.value
        values[wanted] = np.array([change(float(score)) for score in raw.values[name]])
        evidence[wanted] = raw.evidence[name]
    signatures = {wanted: f"{path}|calibration:{known.digest(wanted.removesuffix(ACCEPTED))}" for wanted in dimensions}
    return dataclasses.replace(raw, values=values, evidence=evidence, signatures=signatures)
