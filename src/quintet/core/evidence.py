"""Evidence and texts in one line."""

from __future__ import annotations

import string

from quintet.core.blend import ADDS
from quintet.core.score import Score, Span


def counted(count: int, noun: str) -> str:
    """1 row, 2 rows."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def visible(text: str) -> str:
    """Control characters and lone surrogates as marks, so that a text cannot drive the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def shorten(text: str, width: int) -> str:
    one_line = " ".join(visible(text).split())
    return one_line if len(one_line) <= width else one_line[: width - 1] + "…"


def _word(text: str, span: Span) -> str:
    """Without the marks around it: in a list with commas they would be doubled."""
    word = shorten(text[span.start : span.end], 20)
    return word.strip(string.punctuation) or word


FINE = 0.9
"""From here on a word says nothing against a text; on every scale of words that reaches so far, 1 is the best."""


def weakest(score: Score, text: str, count: int = 3) -> str:
    """A few words of evidence for one line: what stands behind a low score."""
    pairs = [span for span in score.spans if span.kind == "pair"]
    again = [span for span in pairs if span.note == "said" or (span.note and set(span.note) <= set("ABCD"))]
    if again:
        return "repeats: " + "; ".join(shorten(text[p.start : p.end], 30) for p in again[:count])
    loose = [span for span in pairs if span.value < 0.5]
    if loose:
        worst = min(loose, key=lambda s: (s.value, s.start))
        said = {"": "does not follow", "order": "the order may be wrong here"}.get(worst.note, worst.note)
        return f"{said}: {shorten(text[worst.start : worst.end], 60)}"
    claims = [span for span in score.spans if span.kind == "sentence" and span.p_supported is not None]
    doubted = sorted((span for span in claims if span.value < 0.5), key=lambda s: (s.value, s.start))
    if doubted:
        worst = doubted[0]
        at_fault = [w for w in score.spans if w.kind == "word" and worst.start <= w.start and w.end <= worst.end]
        shown = at_fault[:count] or [worst]
        return f"{worst.note}: " + ", ".join(shorten(text[w.start : w.end], 60) for w in shown)
    words = sorted((s for s in score.spans if s.kind == "word"), key=lambda s: (s.value, s.start))[:count]
    if words and words[0].note and {word.note for word in words} == {words[0].note}:
        return f"{words[0].note}: " + ", ".join(_word(text, w) for w in words)
    faults = [
        s for s in score.spans if s.kind == "sentence" and s.field == "output" and s.note and 0.0 <= s.value < 0.5
    ]
    if faults:
        worst = min(faults, key=lambda s: (s.value, s.start))
        return f"{worst.note}: {shorten(text[worst.start : worst.end], 60)}"
    words = [word for word in words if word.value < FINE]
    if words:
        return "weakest: " + ", ".join(f"{_word(text, w)} {w.value:.2f}" for w in words)
    added = sorted((value, name.removesuffix(ADDS)) for name, value in score.parts.items() if name.endswith(ADDS))
    if added:
        return "lowest: " + ", ".join(f"{name} {value:+.2f}" for value, name in added[:count])
    return ", ".join(f"{name} {value:.2f}" for name, value in list(score.parts.items())[:count])
