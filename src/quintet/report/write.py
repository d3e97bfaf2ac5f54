"""Puts a report together: one file, no network, the same bytes for the same input."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable
from html import escape
from importlib.resources import files

from quintet._version import __version__
from quintet.core.item import Scored
from quintet.core.result import Result
from quintet.io.atomic import Target
from quintet.report import sections
from quintet.report.gather import SHOWN_EXAMPLES, Gathered, Gatherer, gather
from quintet.report.payload import pack, payload
from quintet.report.statistics import compare_systems, summarize
from quintet.runner.plan import Plan

SCRIPTS = ("theme.js", "payload.js", "dom.js", "text.js", "example.js", "table.js", "lists.js", "page.js")
TITLE = "quintet report"


class ReportWriter:
    """For a run that goes row by row: `write` each, and the file appears when the `with` block ends well."""

    def __init__(
        self, path: str | os.PathLike[str], plan: Plan, title: str = TITLE, shown: int = SHOWN_EXAMPLES
    ) -> None:
        self._plan, self._title = plan, title
        self._gatherer = Gatherer(tuple(plan.described.values()), shown)
        self._target = Target(path)

    def write(self, scored: Scored) -> None:
        self._gatherer.add(scored)

    def __enter__(self) -> ReportWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                page = page_of(self._gatherer.gathered(self._plan.left_out), self._title)
                with self._target.told():
                    self._target.stream.write(page.encode("utf-8"))
                self._target.finish()
        finally:
            self._target.abandon()


def write_report(
    path: str | os.PathLike[str],
    plan: Plan | Result,
    rows: Iterable[Scored] | None = None,
    title: str = TITLE,
    shown: int = SHOWN_EXAMPLES,
) -> None:
    """Writes the report of a plan's `rows`, read once, or of a Result. The file appears only when it is whole."""
    target = Target(path)
    try:
        page = render_report(plan, rows, title, shown)
        with target.told():
            target.stream.write(page.encode("utf-8"))
        target.finish()
    finally:
        target.abandon()


def render_report(
    plan: Plan | Result, rows: Iterable[Scored] | None = None, title: str = TITLE, shown: int = SHOWN_EXAMPLES
) -> str:
    columns = plan.columns if isinstance(plan, Result) else plan.described
    if rows is None:
        rows = plan.rows if isinstance(plan, Result) else ()
    return page_of(gather(tuple(columns.values()), rows, plan.left_out, shown), title)


def page_of(gathered: Gathered, title: str) -> str:
    summaries = summarize(gathered)
    systems = sections.systems_section(gathered, summaries, compare_systems(gathered))
    script = "".join(asset(name) for name in SCRIPTS)
    parts = {
        "title": escape(_clean(title)),
        "policy": policy(script),
        "style": asset("report.css"),
        "subtitle": escape(_subtitle(gathered)),
        "summary": sections.summary_table(summaries),
        "signatures": sections.signatures(gathered),
        "left_out": sections.left_out(gathered),
        "charts": sections.chart_section(gathered, summaries),
        "systems": f'<section id="systems"><h2>Systems</h2>{systems}</section>' if systems else "",
        "systems_link": '<a href="#systems">Systems</a>' if systems else "",
        "sample": escape(_sample(gathered)),
        "version": escape(__version__),
        "data": pack(payload(gathered)),
        "script": script,
    }
    page = asset("report.html")
    # One pass over the template: what a text brings in is never searched for marks again.
    pieces = page.split("{{")
    return _clean(pieces[0] + "".join(parts[name] + rest for name, rest in (p.split("}}", 1) for p in pieces[1:])))


def asset(name: str) -> str:
    return files("quintet.report").joinpath("assets", name).read_text(encoding="utf-8")


def policy(script: str) -> str:
    """Only our own script runs and nothing is fetched, even if a text should ever get out of its place."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    rules = ("default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'", "base-uri 'none'")
    return "; ".join((*rules, "form-action 'none'"))


def _subtitle(gathered: Gathered) -> str:
    count = f"{gathered.rows:,} example{'' if gathered.rows == 1 else 's'}"
    systems = f" · {len(gathered.systems)} systems" if len(gathered.systems) > 1 else ""
    return f"{count}{systems} · {len(gathered.columns)} dimension{'' if len(gathered.columns) == 1 else 's'}"


def _sample(gathered: Gathered) -> str:
    if len(gathered.kept) == gathered.rows:
        return ""
    return (
        f"{len(gathered.kept):,} of {gathered.rows:,} examples are listed here: the worst and best of each dimension "
        "and a random sample. All figures above are over all rows."
    )


def _clean(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
