"""What the site's Markdown needs that GitHub's does not: an empty line before a list or a table.

MkDocs reads the pages with Python-Markdown, which takes a list right after a line of text for more text. The pages are
written for both, so the line is put in here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_FENCE = re.compile(r"\s*(```|~~~)")
_BLOCK = re.compile(r"(?:[-*+]|\d+\.) |\|")
_ROW = re.compile(r"\s*\|")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+\.) |\s+\S")


def on_page_markdown(markdown: str, **_: Any) -> str:
    return with_room(markdown)


def with_room(markdown: str) -> str:
    lines: list[str] = []
    fenced = False
    in_list = False
    for line in markdown.split("\n"):
        before = lines[-1] if lines else ""
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _BLOCK.match(line) and before.strip() and not _FENCE.match(before):
            goes_on = _ROW.match(before) if line.startswith("|") else in_list
            if not goes_on:
                lines.append("")
        if not fenced:
            in_list = bool(_ITEM.match(line)) and (in_list or bool(_BLOCK.match(line))) and not line.startswith("|")
        lines.append(line)
    return "\n".join(lines)


def on_post_build(config: Any, **_: Any) -> None:
    """A page opened from disk looks for the search index as a script, and its own script fails where there is none."""
    folder = Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
