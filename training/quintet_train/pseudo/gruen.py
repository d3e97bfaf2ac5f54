"""GRUEN's two heads: acceptability of a sentence, and whether two halves of a text stand in their order.

The authors give no recipe for the first and never released the second; the rules here follow the paper's §3 and
ALBERT's sentence-order task, with every split of a text as a lesson (paper: splits 1..n-1, the swapped one negative).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from quintet.text.sentences import sentences
from quintet_train.items import PairItem
from quintet_train.rows import Dialogue, Document, Judged, Record
from quintet_train.text.corrupt import span_noise

IN_ORDER = 0
"""The class of the right order, as in ALBERT's own head."""


def acceptability(
    records: Sequence[Record], limit: int, rng: Random, *, noise: float = 0.0, mean: float = 2.0
) -> list[PairItem]:
    """CoLA-style rows as they are; with `noise`, that share of good sentences gives a corrupted negative as well."""
    items: list[PairItem] = []
    for record in records:
        if not isinstance(record, Judged) or not record.text.strip():
            continue
        items.append(PairItem(record.text.strip(), None, int(record.good)))
        if record.good and rng.random() < noise:
            bad = " ".join(span_noise(record.text.split(), rng, mean))
            items.append(PairItem(bad, None, 0))
    rng.shuffle(items)
    return items[:limit] if limit else items


def order_pairs(parts: Sequence[str], split: int) -> tuple[PairItem, PairItem]:
    """The two halves at `split` in their order and swapped."""
    left, right = " ".join(parts[:split]), " ".join(parts[split:])
    return PairItem(left, right, IN_ORDER), PairItem(right, left, 1 - IN_ORDER)


def order(records: Sequence[Record], limit: int, rng: Random, *, longest: int = 8, per_text: int = 3) -> list[PairItem]:
    """Windows of 2 to `longest` sentences, `per_text` random splits of each text, both orders of each split."""
    items: list[PairItem] = []
    texts = [record for record in records if isinstance(record, Document | Dialogue)]
    rng.shuffle(texts)
    for record in texts:
        parts = _sentences_of(record)
        if len(parts) < 2:
            continue
        for _ in range(per_text):
            size = rng.randint(2, min(longest, len(parts)))
            start = rng.randint(0, len(parts) - size)
            window = parts[start : start + size]
            right, swapped = order_pairs(window, rng.randint(1, size - 1))
            if right.first != right.second:
                items += [right, swapped]
        if limit and len(items) >= limit:
            break
    items = list(dict.fromkeys(items))
    return items[:limit] if limit else items


def _sentences_of(record: Document | Dialogue) -> list[str]:
    text = record.text if isinstance(record, Document) else " ".join(record.turns)
    return [piece.text for piece in sentences(text)]
