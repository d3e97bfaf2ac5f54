"""Imports run downward only; packages on one level do not see one another. The plan stands in docs/decisions.md."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "quintet"
DOORS = {"cli", "server", "report", "integrations"}
"""The packages that print or serve; they may use one another."""
LEVELS = [
    DOORS,
    {"reproduce"},
    {"_saved", "_prefer"},
    {"_api", "_claims"},
    {"stats", "runner"},
    {"metrics"},
    {"models", "data"},
    {"text", "io"},
    {"core"},
    {"_checked"},
    {"errors"},
    {"_install", "_secrets", "_version"},
]
FORBIDDEN = {
    "runner": {"metrics", "models", "data"},
    "stats": {"metrics", "models"},
    "metrics": {"data"},
}
LEVEL = {package: number for number, packages in enumerate(LEVELS) for package in packages}
TRAINING = Path(__file__).parents[1] / "training" / "quintet_train"
FRONT = (ROOT / "__init__.py", ROOT / "__main__.py")
TREES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(ROOT.rglob("*.py")) if path not in FRONT}


def imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "a relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
            names.add(node.module)
    return names


IMPORTS = {path: imported(tree) for path, tree in TREES.items()}


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_imports_run_downward() -> None:
    for path, names in IMPORTS.items():
        package = package_of(path)
        for target in {name.split(".")[1] for name in names if name.startswith("quintet.")} & LEVEL.keys():
            if target == package or {package, target} <= DOORS:
                continue
            assert LEVEL[target] > LEVEL[package], f"{path}: {package} may not import {target}"
            assert target not in FORBIDDEN.get(package, set()), f"{path}: {package} may not import {target}"


def test_foreign_libraries_stay_where_they_belong() -> None:
    standard = set(sys.stdlib_module_names) | {"quintet"}
    for path, names in IMPORTS.items():
        package, roots = package_of(path), {name.split(".")[0] for name in names}
        if package == "core":
            assert roots <= standard, "core is standard library only"
        if {"torch", "transformers"} & roots:
            assert path.stem.startswith(("torch_", "convert")), f"{path}: torch only in models/torch_* and in training"
        if "onnxruntime" in roots:
            assert path.stem == "onnx_backend", f"{path}: onnxruntime has one home"
        if {"urllib", "http", "socket", "requests", "httpx"} & roots:
            known = path.stem in ("fetch", "_install") or package == "server" or "openai" in path.stem
            assert known, f"{path}: the network is io/fetch's"
        if "nltk" in roots:
            assert path.stem == "punkt", f"{path}: nltk cuts sentences and no more"
        assert not {"pickle", "shelve", "marshal", "scipy", "sklearn"} & roots, path


def test_only_doors_print_and_nothing_asserts() -> None:
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                assert package_of(path) in DOORS, f"{path}: only the doors print"
            assert not isinstance(node, ast.Assert), f"{path}: say what is wrong with quintet.errors"
        assert not {"utils", "helpers", "common", "misc"} & {part.removesuffix(".py") for part in path.parts}


def test_no_two_modules_import_each_other_and_no_function_is_long() -> None:
    names = {".".join(("quintet", *path.relative_to(ROOT).with_suffix("").parts)): path for path in TREES}
    for name, path in names.items():
        for other in IMPORTS[path] & names.keys() - {name}:
            assert name not in IMPORTS[names[other]], f"{name} and {other} import each other"
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                assert lines <= 80, f"{path}: {node.name} has {lines} lines"


def test_metric_families_do_not_import_one_another() -> None:
    families = {p.name for p in (ROOT / "metrics").iterdir() if p.is_dir() and p.name != "__pycache__"}
    for path in (ROOT / "metrics").rglob("*.py"):
        family = path.relative_to(ROOT / "metrics").parts[0]
        if family not in families:
            continue
        for name in IMPORTS[path]:
            parts = name.split(".")
            if parts[:2] == ["quintet", "metrics"] and len(parts) > 2 and parts[2] in families:
                assert parts[2] == family, f"{family} imports {parts[2]}"


def test_the_package_knows_nothing_of_training_and_training_of_no_metric() -> None:
    assert not [path for path, names in IMPORTS.items() if any(name.split(".")[0] == "quintet_train" for name in names)]
    for path in TRAINING.rglob("*.py"):
        known = {
            name.split(".")[1] for name in imported(ast.parse(path.read_text("utf-8"))) if name.startswith("quintet.")
        }
        assert not known & {"metrics", *DOORS}, path


def test_no_two_test_modules_share_a_name() -> None:
    # pytest imports them by name: the second would not be collected.
    folders = (Path(__file__).parent, TRAINING.parent / "tests")
    names = [path.name for folder in folders for path in folder.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
