"""Imports run downward only; rooms on one floor do not see one another. The plan stands in docs/decisions.md."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "quintet"
FLOORS = [
    {"serve"},
    {"api"},
    {"train", "meta", "engine"},
    {"metrics"},
    {"models", "data"},
    {"text", "files"},
    {"core"},
    {"errors", "_version"},
]
SHUT = {
    "engine": {"metrics", "models", "data"},
    "meta": {"metrics", "models"},
    "metrics": {"data"},
    "train": {"metrics"},
}
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FRONT = (ROOT / "__init__.py", ROOT / "__main__.py")
MODULES = sorted(path for path in ROOT.rglob("*.py") if path not in FRONT)


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
            names.add(node.module)
    return names


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_downward(path: Path) -> None:
    room = room_of(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "quintet" or len(parts) < 2 or parts[1] not in FLOOR or parts[1] == room:
            continue
        target = parts[1]
        assert FLOOR[target] > FLOOR[room], f"{room} may not import {target}"
        assert target not in SHUT.get(room, set()), f"{room} may not import {target}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_foreign_libraries_stay_in_their_rooms(path: Path) -> None:
    room = room_of(path)
    roots = {name.split(".")[0] for name in imports(path)}
    if room == "core":
        import sys

        assert roots <= set(sys.stdlib_module_names) | {"quintet"}, "core is standard library only"
    if {"torch", "transformers"} & roots:
        assert room == "train" or path.stem.startswith(("torch_", "convert")), "torch only in train and models/torch_*"
    if "onnxruntime" in roots:
        assert path.stem == "onnx_backend" or room == "train"
    if {"urllib", "http", "socket", "requests", "httpx"} & roots - {"quintet"}:
        assert path.stem == "fetch" or room == "serve" or "openai" in path.stem, "the network is files/fetch's"
    assert not {"pickle", "shelve", "marshal", "scipy", "pandas", "nltk", "sklearn"} & (roots - {"pandas"})


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_serve_prints_and_nothing_is_long(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    assert len(source.splitlines()) <= 400, "no module over 400 lines"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} is over 60 lines"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert room_of(path) == "serve", "only serve prints"
        if isinstance(node, ast.Assert):
            raise AssertionError("assert is for tests; say what is wrong with quintet.errors")
    assert not {"utils", "helpers", "common", "misc"} & {part.removesuffix(".py") for part in path.parts}


def test_metric_families_do_not_import_one_another() -> None:
    families = {p.name for p in (ROOT / "metrics").iterdir() if p.is_dir() and p.name != "__pycache__"}
    for path in (ROOT / "metrics").rglob("*.py"):
        family = path.relative_to(ROOT / "metrics").parts[0]
        if family not in families:
            continue
        for name in imports(path):
            parts = name.split(".")
            if parts[:2] == ["quintet", "metrics"] and len(parts) > 2 and parts[2] in families:
                assert parts[2] == family, f"{family} imports {parts[2]}"


def test_no_two_test_modules_share_a_name() -> None:
    # pytest imports them by name: the second would not be collected.
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
