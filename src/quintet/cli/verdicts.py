"""A verdict for a terminal, a comment on a pull request, a program, and what CI systems read."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

from quintet._version import __version__
from quintet.core.evidence import counted, shorten
from quintet.core.plain import JsonObject
from quintet.stats.gate import Check, Failing, Verdict

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


def _cells(check: Check) -> tuple[str, ...]:
    verdict = "passed" if check.passed else "FAILED"
    if check.difference is not None and check.p is not None:
        mean = f"{check.before:.3f} → {check.mean:.3f}"
        span = f"difference {check.difference:+.3f} [{check.low:+.3f}, {check.high:+.3f}]"
        return check.dimension, check.text, mean, span, str(check.n), f"{verdict} ({check.p_text})"
    single = math.isnan(check.low)
    shares = check.kind in ("min-share", "max-flag")
    span = "–" if single else "[{}, {}]".format(*(_value(v, shares) for v in (check.low, check.high)))
    if not single and check.low < check.limit < check.high:
        verdict += ", but the interval holds the limit"
    if check.near:
        verdict += f"; {counted(check.near, 'row')} near it"
    return check.dimension, check.text, _value(check.mean, shares), span, str(check.n), verdict


def _value(value: float, share: bool) -> str:
    return f"{100 * value:.1f} %" if share else f"{value:.3f}"


def _heading(check: Check) -> str:
    more = f", the worst {len(check.examples)}" if check.below > len(check.examples) else ""
    if check.kind == "min-worst":
        return f"{check.dimension}: the worst {counted(check.n, 'example')}"
    verb = "is" if check.below == 1 else "are"
    if check.kind == "max-flag":
        return f"{check.below} of {counted(check.n, 'example')} {verb} flagged: {check.dimension}"
    what = "lost more than" if check.kind == "max-drop" else f"{verb} {'above' if check.kind == 'max' else 'below'}"
    asked = check.limit if check.at is None else check.at
    return f"{check.dimension}: {check.below} of {counted(check.n, 'example')} {what} {asked:g}{more}"


def _score(example: Failing) -> str:
    if math.isnan(example.score):
        return "–"
    shown = f"{example.score:.3f}" if example.before is None else f"{example.before:.3f} → {example.score:.3f}"
    return f"{shown} (near)" if example.near else shown


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


# What CI systems read.

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def as_junit(verdict: Verdict, file: str = "") -> str:
    """One test case for each limit; what fell short is its failure, with the examples."""
    suite = ET.Element("testsuite", name="quintet gate", tests=str(len(verdict.checks)), errors="0", skipped="0")
    suite.set("failures", str(len(verdict.failed)))
    for check in verdict.checks:
        case = ET.SubElement(suite, "testcase", classname=_xml(file or "quintet"), name=_xml(_title(check)), time="0")
        if not check.passed:
            failure = ET.SubElement(case, "failure", type=check.kind, message=_xml(check.reason))
            failure.text = _xml("\n".join((_heading(check), *map(_line, check.examples))))
    root = ET.Element("testsuites", name="quintet")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def as_sarif(verdict: Verdict, file: str = "") -> str:
    """One result for each example that falls short, at its row; SARIF 2.1.0 as GitHub's code scanning takes it."""
    rules = [
        {"id": _rule(check), "shortDescription": {"text": _title(check)}, "defaultConfiguration": {"level": "error"}}
        for check in verdict.failed
    ]
    results = [
        {
            "ruleId": _rule(check),
            "level": "error",
            "message": {"text": f"{check.reason}. {_line(example)}"},
            "locations": [{"physicalLocation": _place(file, example)}],
        }
        for check in verdict.failed
        for example in check.examples
    ]
    results += [
        {"ruleId": _rule(check), "level": "error", "message": {"text": check.reason}}
        for check in verdict.failed
        if not check.examples
    ]
    driver = {"name": "quintet", "semanticVersion": __version__, "rules": rules}
    page = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(page, indent=1, allow_nan=False)


def as_github(verdict: Verdict, file: str = "") -> str:
    """Annotations of GitHub's workflow commands: one for each limit that did not hold, one for each example."""
    lines = []
    for check in verdict.failed:
        lines.append(_command("error", check.reason, title=f"quintet: {_title(check)}"))
        for example in check.examples:
            lines.append(
                _command("warning", _line(example), title=_title(check), file=file, line=_row_of(file, example))
            )
    return "\n".join(lines or [_command("notice", "every limit holds", title="quintet")])


def _command(kind: str, message: str, **about: object) -> str:
    known = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in about.items() if value)
    return f"::{kind} {known}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    """As GitHub's toolkit does it: a text cannot begin another command."""
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)


def _title(check: Check) -> str:
    return f"{check.dimension} {check.text}"


def _rule(check: Check) -> str:
    return f"{check.kind}/{check.dimension}"


def _line(example: Failing) -> str:
    return f"{shorten(example.id, 60)}: {_score(example)}  {shorten(example.evidence, 160)}"


def _place(file: str, example: Failing) -> JsonObject:
    place: JsonObject = {"artifactLocation": {"uri": file.replace("\\", "/") or "data"}}
    row = _row_of(file, example)
    return {**place, "region": {"startLine": row}} if row else place


def _row_of(file: str, example: Failing) -> int:
    """The line of a row, where each row is a line."""
    return example.row if file.lower().endswith((".jsonl", ".ndjson")) else 0


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


FORMATS: dict[str, Callable[[Verdict, str], str]] = {
    "text": lambda verdict, file: as_text(verdict),
    "markdown": lambda verdict, file: as_markdown(verdict),
    "json": lambda verdict, file: as_json(verdict),
    "junit": as_junit,
    "sarif": as_sarif,
    "github": as_github,
}
