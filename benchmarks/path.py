"""How far one example travels on its way to a score: modules that run, functions, and the deepest stack.

    python benchmarks/path.py [--task summarization] [--fast] [--metric NAME]

Counts quintet's own frames while `quintet score` scores one row with evidence.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from quintet.cli import main as command

ROOT = Path(__file__).resolve().parents[1]
SOURCE = str(ROOT / "src" / "quintet")
EXAMPLES = {"data2text": "data2text.csv", "rewriting": "rewriting.tsv"}


class Walk:
    """What runs, by module; functions that run while a module is imported or a class is made are not counted."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.functions: set[tuple[str, int]] = set()
        self.calls = 0
        self.deepest: list[str] = []

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCE) or code.co_name in ("<module>", "__getattr__"):
            return
        if not code.co_flags & 1:  # the body of a class
            return
        self.modules.add(code.co_filename)
        self.functions.add((code.co_filename, code.co_firstlineno))
        self.calls += 1
        stack = []
        at: FrameType | None = frame
        while at is not None:
            if at.f_code.co_name == "<module>" and at.f_code.co_filename.startswith(SOURCE):
                return  # still importing
            if at.f_code.co_filename.startswith(SOURCE):
                stack.append(f"{Path(at.f_code.co_filename).relative_to(SOURCE)}:{at.f_code.co_name}")
            at = at.f_back
        if len(stack) > len(self.deepest):
            self.deepest = stack


def walk(task: str, options: list[str]) -> Walk:
    found = Walk()
    file = ROOT / "examples" / EXAMPLES.get(task, f"{task}.jsonl")
    line = [
        "score",
        str(file),
        "--task",
        task,
        "--no-cache",
        "--evidence",
        "--limit",
        "1",
        "--format",
        "jsonl",
        *options,
    ]
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        threading.setprofile(found.see)
        sys.setprofile(found.see)
        try:
            command(line)
        except SystemExit as leave:
            if leave.code:
                said.seek(0)
                raise SystemExit(said.read()) from None
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="summarization")
    parser.add_argument("--metric", action="append", default=[])
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--stack", action="store_true", help="print the deepest stack")
    parser.add_argument("--modules", action="store_true", help="print the modules")
    asked = parser.parse_args()
    options = [*(["--fast"] if asked.fast else []), *(part for name in asked.metric for part in ("--metric", name))]
    seen = walk(asked.task, options)
    print(
        f"modules {len(seen.modules)}, functions {len(seen.functions)}, calls {seen.calls}, depth {len(seen.deepest)}"
    )
    if asked.modules:
        print("\n".join(sorted(str(Path(name).relative_to(SOURCE)) for name in seen.modules)))
    if asked.stack:
        print("\n".join(reversed(seen.deepest)))
