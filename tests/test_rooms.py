"""Imports run downward only; packages on one level do not see one another. The plan stands in docs/decisions.md."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "quintet"
DOORS = {"cli", "server", "report", "integrations", "gate"}
"""The packages that print or serve; they may use one another."""
FLOORS = [
    DOORS,
    {"_api"},
    {"stats", "runner"},
    {"metrics"},
    {"models", "data"},
    {"text", "io"},
    {"core"},
    {"errors", "_version"},
]
SHUT = {
    "runner": {"metrics", "models", "data"},
    "stats": {"metrics", "models"},
    "metrics": {"data"},
}
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
TRAINING = Path(__file__).parents[1] / "training" / "quintet_train"
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
        if {room, target} <= DOORS:
            continue
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
        assert path.stem.startswith(("torch_", "convert")), "torch only in models/torch_* and in training"
    if "onnxruntime" in roots:
        assert path.stem == "onnx_backend"
    if {"urllib", "http", "socket", "requests", "httpx"} & roots - {"quintet"}:
        assert path.stem == "fetch" or room == "server" or "openai" in path.stem, "the network is io/fetch's"
    assert not {"pickle", "shelve", "marshal", "scipy", "pandas", "nltk", "sklearn"} & (roots - {"pandas"})


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_doors_print(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert room_of(path) in DOORS, "only the doors print"
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


def test_the_package_knows_nothing_of_training_and_training_of_no_metric() -> None:
    assert not [path for path in MODULES if any(name.split(".")[0] == "quintet_train" for name in imports(path))]
    for path in TRAINING.rglob("*.py"):
        known = {name.split(".")[1] for name in imports(path) if name.startswith("quintet.") and "." in name}
        assert not known & {"metrics", *DOORS}, path


def test_no_two_test_modules_share_a_name() -> None:
    # pytest imports them by name: the second would not be collected.
    folders = (Path(__file__).parent, TRAINING.parent / "tests")
    names = [path.name for folder in folders for path in folder.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
