"""A verdict for a terminal, for a comment on a pull request, or for a program."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from quintet.cli.screen import counted, shorten
from quintet.gate.judge import Check, Failing, Verdict

_HEADERS = ("dimension", "limit", "mean", "95 % interval", "n", "verdict")
_MARKED = "\\`*_{}[]<>|~&$:"
"""What means something in Markdown; a colon ends a link's scheme."""
_CALLS = "@#"
"""GitHub looks for people and issues after entities are read: a word joiner keeps the sign apart from the name."""


def as_json(verdict: Verdict) -> str:
    return json.dumps(verdict.to_json(), indent=1, allow_nan=False)


def as_text(verdict: Verdict) -> str:
    rows = [_HEADERS, *(_cells(check) for check in verdict.checks)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADERS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for check in verdict.failed:
        lines += ["", _heading(check)]
        lines += [f"  {shorten(e.id, 40)}  {_score(e)}  {shorten(e.evidence, 120)}" for e in check.examples]
    lines += _notes(verdict)
    return "\n".join(lines)


def as_markdown(verdict: Verdict) -> str:
    title = "### quintet: passed" if verdict.passed else "### quintet: fell short"
    lines = [title, "", _row(_HEADERS), _row(["---"] * len(_HEADERS))]
    lines += [_row([escape(cell) for cell in _cells(check)]) for check in verdict.checks]
    for check in verdict.failed:
        lines += ["", f"<details><summary>{escape(_heading(check))}</summary>", "", _row(["id", "score", "evidence"])]
        lines.append(_row(["---"] * 3))
        lines += [
            _row([escape(shorten(e.id, 60)), _score(e), escape(shorten(e.evidence, 160))]) for e in check.examples
        ]
        lines += ["", "</details>"]
    notes = _notes(verdict)
    lines += ["", *(escape(note) + "  " for note in notes if note)] if notes else []
    return "\n".join(lines)


def escape(text: str) -> str:
    """A text is data: it can neither break the table nor draw, link or call anyone."""
    return "".join(f"&#{ord(c)};" if c in _MARKED else f"{c}\u2060" if c in _CALLS else c for c in text)


FORMATS: dict[str, Callable[[Verdict], str]] = {"text": as_text, "markdown": as_markdown, "json": as_json}


def one_line(verdict: Verdict) -> str:
    """What fell short, for the last line of a log."""
    return "gate not passed: " + "; ".join(_reason(check) for check in verdict.failed)


def _reason(check: Check) -> str:
    if check.difference is not None and check.p is not None:
        return (
            f"{check.dimension} changed by {check.difference:+.3f}, more than {check.limit:g} is allowed to be lost "
            f"({_p(check.p)}, n={check.n})"
        )
    word = "below" if check.kind == "min" else "above"
    return f"mean {check.dimension} {check.mean:.3f} is {word} {check.limit:g} (n={check.n})"


def _cells(check: Check) -> tuple[str, ...]:
    verdict = "passed" if check.passed else "FAILED"
    if check.difference is not None and check.p is not None:
        mean = f"{check.before:.3f} → {check.mean:.3f}"
        span = f"difference {check.difference:+.3f} [{check.low:+.3f}, {check.high:+.3f}]"
        return check.dimension, f"drop ≤ {check.limit:g}", mean, span, str(check.n), f"{verdict} ({_p(check.p)})"
    sign = "≥" if check.kind == "min" else "≤"
    single = math.isnan(check.low)
    span = "–" if single else f"[{check.low:.3f}, {check.high:.3f}]"
    clear = check.low >= check.limit if check.kind == "min" else check.high <= check.limit
    if check.passed and not clear and not single:
        verdict = "passed, but the interval holds the limit"
    return check.dimension, f"{sign} {check.limit:g}", f"{check.mean:.3f}", span, str(check.n), verdict


def _heading(check: Check) -> str:
    verb = "is" if check.below == 1 else "are"
    what = "lost more than" if check.kind == "max-drop" else f"{verb} {'below' if check.kind == 'min' else 'above'}"
    more = f", the worst {len(check.examples)}" if check.below > len(check.examples) else ""
    return f"{check.dimension}: {check.below} of {counted(check.n, 'example')} {what} {check.limit:g}{more}"


def _score(example: Failing) -> str:
    return f"{example.score:.3f}" if example.before is None else f"{example.before:.3f} → {example.score:.3f}"


def _p(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3f}"


def _notes(verdict: Verdict) -> list[str]:
    missing = {check.dimension: check.missing for check in verdict.checks if check.missing}
    lines = [
        f"{counted(count, 'row')} {'was' if count == 1 else 'were'} not judged on {name}"
        for name, count in missing.items()
    ]
    lines += verdict.signatures
    return ["", *lines] if lines else []


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
