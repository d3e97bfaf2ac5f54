"""The size of the house: lines, files, functions, two-way imports, `Any`.

python scripts/budgets.py
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
TREES = {
    "src": (ROOT / "src" / "quintet", 22_000),
    "training": (ROOT / "training" / "quintet_train", 7_000),
    "tests": (ROOT / "tests", 15_000),
    "training/tests": (ROOT / "training" / "tests", None),
}
LONGEST_FUNCTION = 80


def sources(folder: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}


def functions(text: str) -> list[tuple[int, str]]:
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [((node.end_lineno or node.lineno) - node.lineno + 1, node.name) for node in nodes]


def imports(files: dict[Path, str], root: Path) -> dict[str, set[str]]:
    """By module the modules of the same package that it imports, inside functions as well."""
    names = {".".join((root.name, *path.relative_to(root).with_suffix("").parts)): path for path in files}
    found: dict[str, set[str]] = {}
    for name, path in names.items():
        nodes = [node for node in ast.walk(ast.parse(files[path])) if isinstance(node, ast.ImportFrom) and node.module]
        asked = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
        asked |= {str(node.module) for node in nodes}
        found[name] = (asked & names.keys()) - {name}
    return found


def report() -> None:
    for name, (folder, most) in TREES.items():
        files = sources(folder)
        sizes = [len(text.splitlines()) for text in files.values()]
        print(f"{name}: {sum(sizes):,} lines in {len(sizes)} files{f' (at most {most:,})' if most else ''}")
        if name != "src":
            continue
        full = [size for size in sizes if size > 1]
        print(f"  median file {median(full):.0f} (120 to 250), longest {max(sizes)}")
        longest = sorted(((size, f"{path.relative_to(folder)}:{called}") for path, text in files.items()
                          for size, called in functions(text)), reverse=True)  # fmt: skip
        over = [where for size, where in longest if size > LONGEST_FUNCTION]
        print(f"  longest function {longest[0][0]} ({longest[0][1]}); over {LONGEST_FUNCTION}: {len(over)}")
        known = imports(files, folder)
        pairs = sorted({tuple(sorted((a, b))) for a, asked in known.items() for b in asked if a in known.get(b, ())})
        print(f"  two-way imports {len(pairs)}{': ' if pairs else ''}{', '.join(' ~ '.join(pair) for pair in pairs)}")
        importers = {module: sum(module in asked for asked in known.values()) for module in known}
        once = [module for module, count in importers.items() if count == 1]
        print(f"  modules that exactly one other imports {len(once)}")
        # `Foreign` is a name for Any, so it counts.
        print(
            f"  Any {sum(len(re.findall(r'[^a-zA-Z_](?:Any|Foreign)(?![a-zA-Z_])', text)) for text in files.values())}"
        )


if __name__ == "__main__":
    report()
