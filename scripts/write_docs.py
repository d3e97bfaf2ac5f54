"""Writes the pages that repeat what the code says: docs/reference/*.md, and the session in README.md.

    python scripts/write_docs.py              # the reference
    python scripts/write_docs.py --session    # also scores README's example anew, with the bundled models

tests/test_reference.py fails where a page of the reference is out of date.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import quintet

ROOT = Path(__file__).parents[1]
WRITTEN = "<!-- Written by scripts/write_docs.py; change the code instead. -->"
SHOWN = "quintet score examples/summarization.jsonl --task summarization --limit 3"
ELSEWHERE = {"train"}
"""Commands whose options a distribution of its own brings."""


def pages() -> dict[Path, str]:
    folder = ROOT / "docs" / "reference"
    return {
        folder / "cli.md": command_line(),
        folder / "python.md": python(),
        folder / "metrics.md": metrics(),
        folder / "sets.md": sets(),
    }


def command_line() -> str:
    from typer.main import get_command

    from quintet.cli.app import app

    program: Any = get_command(app)
    parts = ["# Command line", WRITTEN, "Exit codes: 0 done, 2 bad input or options, 3 a gate failed, 130 interrupted."]
    for name, command in program.commands.items():
        parts.append("\n".join(_command(name, command)))
        for part, below in getattr(command, "commands", {}).items():
            parts.append("\n".join(_command(f"{name} {part}", below)))
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    options = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    arguments = (
        "" if name in ELSEWHERE else "".join(f" {_argument(p)}" for p in options if p.param_type_name == "argument")
    )
    yield f"## quintet {name}"
    yield f"`quintet {name}{arguments}{' [OPTIONS]' if options else ''}`"
    yield ""
    yield _plain(command.help or command.short_help or "")
    if name in ELSEWHERE or not options:
        return
    yield ""
    yield "| option | |"
    yield "|---|---|"
    for option in options:
        flags = f"`{_argument(option)}`" if option.param_type_name == "argument" else _flags(option)
        yield f"| {flags} | {_cell(_help(option))} |"


def _argument(option: Any) -> str:
    text = option.metavar or option.name.upper()
    return str(text) if option.required else f"[{text}]"


def _flags(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len))
    return names if option.is_flag else f"{names} `{option.metavar or option.name.upper()}`"


def _help(option: Any) -> str:
    default = option.default
    shown = (
        getattr(option, "show_default", False) and default not in (None, "", [], (), False) and not callable(default)
    )
    return (option.help or "") + (f" Default: {default}." if shown else "")


def python() -> str:
    parts = ["# Python", WRITTEN, "What `import quintet` offers."]
    for name in quintet.__all__:
        if name.startswith("_"):
            continue
        thing = getattr(quintet, name)
        parts.append("\n".join(_class(name, thing) if inspect.isclass(thing) else _function(name, thing)))
    return "\n\n".join(parts) + "\n"


def _function(name: str, thing: Any) -> Iterator[str]:
    yield f"## {name}"
    yield "```text"
    yield _signature(f"quintet.{name}", thing)
    yield "```"
    yield _plain(inspect.getdoc(thing) or "")


def _class(name: str, thing: Any) -> Iterator[str]:
    yield f"## {name}"
    own = inspect.cleandoc(vars(thing).get("__doc__") or "")
    if not own.startswith(f"{name}("):  # what dataclass writes itself
        yield _plain(own)
    fields = {f.name: str(f.type) for f in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else {}
    if fields:
        yield ""
        yield "Fields: " + ", ".join(f"`{field}: {kind}`" for field, kind in fields.items() if field[0] != "_") + "."
    rows = []
    for label, member in vars(thing).items():
        if label.startswith("_") or label in fields:
            continue
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(plain, property):
            rows.append((f"`.{label}`", inspect.getdoc(plain)))
        elif inspect.isfunction(plain):
            rows.append((f"`{_signature(f'.{label}', plain)}`", inspect.getdoc(plain)))
    said = [(what, _plain(doc).split("\n\n")[0]) for what, doc in rows if doc]
    if said:
        yield ""
        yield "| | |"
        yield "|---|---|"
        yield from (f"| {_cell(what)} | {_cell(doc)} |" for what, doc in said)


class _Bare:
    """An annotation or default shown as it is written, without quotes, on every version of Python."""

    def __init__(self, text: object) -> None:
        self.text = text if isinstance(text, str) else inspect.formatannotation(text)

    def __repr__(self) -> str:
        return self.text


def _signature(name: str, thing: Any) -> str:
    known = inspect.signature(thing)
    empty = inspect.Signature.empty
    kept = [
        p.replace(
            annotation=empty if p.annotation is empty else _Bare(p.annotation),
            default=_Bare("...") if inspect.isfunction(p.default) else p.default,
        )
        for p in known.parameters.values()
        if p.name not in ("self", "cls")
    ]
    given = known.return_annotation
    made = known.replace(parameters=kept, return_annotation=given if given is empty else _Bare(given))
    line = f"{name}{made}"
    if len(line) <= 110:
        return line
    shown = [str(made.replace(parameters=[p], return_annotation=empty))[1:-1].removeprefix("*, ") for p in kept]
    kinds = [p.kind for p in kept]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    ends = "" if given is empty else f" -> {_Bare(given)!r}"
    return f"{name}(\n" + "".join(f"    {text},\n" for text in shown) + f"){ends}"


def metrics() -> str:
    lines = ["# All metrics", WRITTEN, "", "`quintet metrics` prints this, with each metric's model.", ""]
    lines += ["| metric | needs | range | better | what |", "|---|---|---|---|---|"]
    for row in _listed("metrics"):
        cells = [f"`{row['name']}`", *(_cell(row[key]) for key in ("needs", "range", "better", "summary"))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def sets() -> str:
    lines = [
        "# Benchmark sets",
        WRITTEN,
        "",
        "`quintet data --show NAME` prints citation, source and notes of a set.",
        "",
    ]
    lines += ["| set | rows | systems | use | dimensions and scales | variants |", "|---|---:|---:|---|---|---|"]
    for row in _listed("data"):
        scales = [f"{name} {_scale(*row['scales'].get(name, (None, None)))}".strip() for name in row["dimensions"]]
        variants = ", ".join(f"`{name}`" for name in row["variants"])
        cells = [f"`{row['name']}`", row["size"] or "", row["systems"] or "", row["split"], ", ".join(scales), variants]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def _scale(low: float | None, high: float | None) -> str:
    if low is None:
        return ""
    return f"≥ {low:g}" if high is None else f"{low:g}–{high:g}"


def _listed(what: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "quintet", what, "--json"]
    found: list[dict[str, Any]] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def _plain(text: str) -> str:
    """A docstring's indented code becomes a fence that no test runs."""
    lines: list[str] = []
    for block in re.split(r"\n{2,}", inspect.cleandoc(text)):
        indented = all(line.startswith("    ") for line in block.split("\n"))
        block = inspect.cleandoc(block) if indented else block
        kind = "pycon" if block.startswith(">>>") else "text"
        lines.append(
            f"```{kind}\n{block.replace('  # doctest: +SKIP', '')}\n```" if indented or kind == "pycon" else block
        )
    return "\n\n".join(lines)


def _cell(text: object) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


def session() -> None:
    """README's example, scored; the table of its rows between the marks."""
    command = [sys.executable, "-m", *SHOWN.split(), "--no-cache"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"}
    )
    table = done.stdout.split("\n\n")[0].rstrip()
    shown = "\n".join(line.rstrip() for line in table.splitlines())
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    marks = re.compile(r"<!-- session -->.*?<!-- /session -->", re.DOTALL)
    block = f"<!-- session -->\n```text\n$ {SHOWN}\n{shown}\n```\n<!-- /session -->"
    readme.write_text(marks.sub(lambda _: block, text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--session", action="store_true", help="score README's example anew, too")
    given = parser.parse_args()
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if given.session:
        session()


if __name__ == "__main__":
    main()
