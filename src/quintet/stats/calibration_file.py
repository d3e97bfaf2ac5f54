"""Several dimensions fitted one by one into one calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quintet.core.calibration import Calibration
from quintet.errors import InputError, UnknownName
from quintet.stats.calibration import Labelled, fit
from quintet.stats.calibration_threshold import Aim


def calibrate(
    columns: Mapping[str, Labelled],
    *,
    accept: Mapping[str, float] | float | None = None,
    aim: Aim | None = None,
    signatures: Mapping[str, str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    on_note: Callable[[str], None] = lambda note: None,
) -> Calibration:
    """A dimension that cannot be fitted is named and left out; it is an error where it is the only one."""
    if isinstance(accept, Mapping):
        for name in accept:
            if name not in columns:
                raise UnknownName("dimension in --accept", name, columns)
    curves, facts = {}, {}
    for name, labelled in columns.items():
        line = accept.get(name) if isinstance(accept, Mapping) else accept
        try:
            found = fit(labelled, aim, line, resamples, seed)
        except InputError as error:
            if len(columns) == 1:
                raise InputError(error.what, name, error.todo) from None
            on_note(f"{name} was left out: {error.what}")
            continue
        for warning in found.warnings:
            on_note(f"{name}: {warning}")
        curves[name], facts[name] = found.curve, found.to_json()
    if not curves:
        raise InputError("nothing could be calibrated", todo="see the lines above")
    kept = {name: signature for name, signature in (signatures or {}).items() if name in curves}
    return Calibration(curves, kept, facts)
