"""The files around the code: workflows, image, metadata."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def workflow(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))
    return found


def test_every_python_that_is_named_is_tested() -> None:
    jobs = workflow("tests.yml")["jobs"]
    matrix = jobs["matrix"]["strategy"]["matrix"]
    named = {c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)}
    assert set(matrix["python"]) == named
    assert min(named, key=lambda v: int(v[2:])) == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_a_release_builds_every_distribution_without_a_stored_token() -> None:
    text = (ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8")
    for folder in (".", "training", "weights", "weights/reader", "weights/lm"):
        assert re.search(rf"--outdir dist {re.escape(folder)}$", text, re.MULTILINE), folder
    jobs = workflow("publish.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "password" not in text


def test_a_release_has_whole_links(tmp_path: Path) -> None:
    projects = ("pyproject.toml", "training/pyproject.toml")
    for name in ("README.md", "scripts/release.py", *projects):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, tmp_path / "scripts" / "release.py", "someone/somewhere", "v1.2.3"]
    subprocess.run(command, check=True)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert not re.search(r"\]\((?!https?://)", readme)
    assert "](https://raw.githubusercontent.com/someone/somewhere/v1.2.3/docs/pictures/example.png)" in readme
    assert "](https://github.com/someone/somewhere/blob/v1.2.3/docs/start.md)" in readme
    for name in projects:
        urls = tomllib.loads((tmp_path / name).read_text(encoding="utf-8"))["project"]["urls"]
        assert all(url.startswith("https://github.com/someone/somewhere") for url in urls.values())


def test_the_image_copies_what_exists() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = [word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for word in line.split()]
    let_in = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in let_in, name
