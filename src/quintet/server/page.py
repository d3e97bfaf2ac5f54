"""The page at `/`: paste a source and an output, see scores and evidence as they arrive.

It draws evidence with the very scripts of the report.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

from quintet._version import __version__
from quintet.report.write import asset, policy

SHARED_SCRIPTS = ("theme.js", "payload.js", "dom.js", "text.js", "example.js")


def _own(name: str) -> str:
    return files("quintet.server").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    return "".join(asset(name) for name in SHARED_SCRIPTS) + _own("try.js")


@cache
def page() -> str:
    parts = {
        "style": asset("report.css") + _own("try.css"),
        "script": _script(),
        "version": escape(__version__),
    }
    pieces = _own("try.html").split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, rest in (p.split("}}", 1) for p in pieces[1:]))


@cache
def page_policy() -> str:
    return policy(_script()) + "; connect-src 'self'"
