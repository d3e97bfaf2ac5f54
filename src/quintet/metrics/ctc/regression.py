"""Aligner R, a regressor: the aggregated alignment of a pair as one number (CTC section 3.5, released package)."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.metrics.ctc.alignment import NO_GROUNDS, Aggregate, Alignment
from quintet.metrics.long_texts import Sliced, in_slices
from quintet.models.roles import WHOLE, Limits, Regressor, Value

PACKAGE = Limits(total=512)
_FRAME = 3

Pair = tuple[str, str]


def align_values(
    model: Regressor, pairs: Sequence[Pair], limits: Limits | None, aggregate: Aggregate, a_first: bool
) -> list[Alignment]:
    """One number per pair (a, b), the context b in the first slot unless `a_first`.

    Without `limits`, long texts are read in slices: the best slice of b counts; slices of a are added up where the
    model was trained on sums, and averaged by their length where it was trained on means.
    """
    usable = list(dict.fromkeys(pair for pair in pairs if pair[0].strip() and pair[1].strip()))
    if limits is None:
        read = in_slices(
            usable,
            lambda inputs: _ask(model, [(texts[0], texts[1]) for texts in inputs], WHOLE, a_first),
            lambda value: sum(value.cut),
            model.max_tokens - _FRAME,
            (False, True),
        )
        found = {pair: _combined(pair[0], one, aggregate) for pair, one in zip(usable, read, strict=True)}
    else:
        values = _ask(model, usable, limits, a_first)
        found = {pair: Alignment.as_one(pair[0], one.value, one.cut) for pair, one in zip(usable, values, strict=True)}
    return [
        found[pair] if pair in found else Alignment.as_one(pair[0], 0.0, flags=() if pair[1].strip() else (NO_GROUNDS,))
        for pair in pairs
    ]


def _ask(model: Regressor, pairs: Sequence[Pair], limits: Limits, a_first: bool) -> list[Value]:
    """Values with what was cut of a and of b, in this order."""
    if not pairs:
        return []
    if a_first:
        return list(model.values(list(pairs), limits))
    found = model.values([(b, a) for a, b in pairs], limits)
    return [Value(one.value, (one.cut[1], one.cut[0])) for one in found]


def _combined(text: str, read: Sliced[Value], aggregate: Aggregate) -> Alignment:
    total = weights = 0.0
    cut_a = cut_b = 0
    for own, results in read.by_first():
        weight = float(len(text[own.start : own.end].split())) if aggregate == "mean" else 1.0
        total += weight * max(result.value for result in results)
        weights += weight
        cut_a += max(result.cut[0] for result in results)
        cut_b = max(cut_b, *(result.cut[1] for result in results))
    return Alignment.as_one(text, total / weights if aggregate == "mean" else total, (cut_a, cut_b))
