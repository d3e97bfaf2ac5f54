"""Aligner D, a tagger: a word is as aligned as the model finds it probable (CTC section 3.5, released package)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quintet.metrics.ctc.alignment import NO_GROUNDS, Alignment
from quintet.metrics.ctc.cleaning import Cleaned, clean
from quintet.metrics.long_texts import Slice, Sliced, in_slices
from quintet.models.roles import FIRST_WHOLE, Limits, TokenTagger, WordClasses

ALIGNED = 0
"""The released class order: 0 is "OK", 1 "BAD". The paper's text has 1 for aligned."""
RELEASED_GIVES_NONE = "the released package gives no score here: line break in the text that is scored"
PACKAGE = Limits(total=512, strategy="only_second", first=255)
"""The first 256 ids of the candidate, `<s>` among them; then the context is shortened, its last `</s>` kept."""
PAPER = Limits(total=512, strategy="only_second", first=255, closed=False)
"""The paper's scripts cut the ids of the whole pair at 512: the last `</s>` goes, one more sub-word stays."""
_FRAME = 4
_WORD = re.compile(r"\S+")

Pair = tuple[str, str]


def align_tags(
    model: TokenTagger, pairs: Sequence[Pair], limits: Limits | None = None, released: bool = False
) -> list[Alignment]:
    """One alignment per pair (a, b); without `limits` long texts are read in slices and nothing is lost.

    A word's value is then the highest that any slice of b gives it. `released` flags what the package refuses.
    """
    cleaned = {text: clean(text) for pair in pairs for text in pair}
    asked = [(cleaned[a].text, cleaned[b].text) for a, b in pairs]
    jobs = list(dict.fromkeys((a, b) for a, b in asked if a and b))
    if limits is None:
        found = in_slices(
            jobs,
            lambda inputs: model.tag([(texts[0], texts[1]) for texts in inputs], FIRST_WHOLE),
            lambda result: sum(result.cut),
            model.max_tokens - _FRAME,
            (True, True),
        )
    else:
        results = model.tag(jobs, limits) if jobs else []
        found = [Sliced(tuple((_everything(t),) for t in j), (r,)) for j, r in zip(jobs, results, strict=True)]
    by_job = dict(zip(jobs, found, strict=True))
    alignments = []
    for (a, _), job in zip(pairs, asked, strict=True):
        flags = (RELEASED_GIVES_NONE,) if released and "\n" in job[0] else ()
        alignments.append(_alignment(a, cleaned[a], by_job[job], flags) if job in by_job else _unaligned(a, job[1]))
    return alignments


def _everything(text: str) -> Slice:
    return Slice(0, len(text), 0, len(text))


def _alignment(original: str, cleaned: Cleaned, read: Sliced[WordClasses], flags: tuple[str, ...]) -> Alignment:
    spans: list[tuple[int, int]] = []
    values: list[float] = []
    cut_a = cut_b = 0
    for own, results in read.by_first():
        words = results[0]
        best = _highest(results)
        for start, end, value in zip(words.starts.tolist(), words.ends.tolist(), best.tolist(), strict=False):
            place = own.start + start
            if own.first <= place < own.last:
                spans.append(cleaned.span(place, own.start + end))
                values.append(value)
        cut_a += max(result.cut[0] for result in results)
        cut_b = max(cut_b, *(result.cut[1] for result in results))
    starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
    unknown = np.full((len(values), 2), -1, np.int32)
    return Alignment(original, starts, ends, np.array(values, np.float64), unknown, cut_a, cut_b, flags=flags)


def _highest(results: Sequence[WordClasses]) -> NDArray[np.float64]:
    """Per word over the slices of b; a slice that had to cut a speaks for the words it saw."""
    best = np.zeros(max(len(result.starts) for result in results))
    for result in results:
        seen = len(result.starts)
        best[:seen] = np.maximum(best[:seen], result.probabilities[:, ALIGNED])
    return best


def _unaligned(text: str, context: str) -> Alignment:
    """A text without words, or with nothing to look at: every word is 0."""
    spans = [match.span() for match in _WORD.finditer(text)]
    starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
    unknown = np.full((len(spans), 2), -1, np.int32)
    flags = () if context else (NO_GROUNDS,)
    return Alignment(text, starts, ends, np.zeros(len(spans)), unknown, flags=flags)
