"""Nobody is told to install `quintet`, which on the package index is a stranger's: the distribution is quintet-eval."""

import re
from pathlib import Path

import pytest

from quintet import _install

ROOT = Path(__file__).parents[1]
TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".cff", ".html", ".sh", ""}
TOOL = r"(?:pip|pipx|uv|poetry|pdm)3? (?:pip |tool )?(?:install|add|run)\b"
STRANGER = (
    re.compile(TOOL + r"[^\n&|;]*?[ '\"]quintet(?=[ '\"`\[=<>~,;)]|$)", re.MULTILINE),
    re.compile(r"quintet\[[a-z]"),  # an extra of the old name
    re.compile(r"^ *(?:default|name): *quintet$", re.MULTILINE),  # the Action's default
    re.compile(r"(?:version|distribution|requires)\(['\"]quintet['\"]\)"),
)
"""Ways in which a page, a message or a setting names the old distribution."""


def texts() -> list[Path]:
    folders = ("src", "training", "weights", "docs", "tests", "scripts", "benchmarks", "examples", ".github", ".ci")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")] + list(ROOT.iterdir())
    apart = (Path(__file__), ROOT / "src/quintet/models/bundled", ROOT / "training/data")
    return [
        path
        for path in found
        if path.suffix in TEXT and path.is_file() and not any(path.is_relative_to(one) for one in apart)
    ]


@pytest.mark.parametrize(
    "line",
    [
        "pip install quintet",
        "pip install -q 'quintet[serve]' && x",
        "uv add quintet",
        "    default: quintet",
        "pip install torch quintet==1",
    ],
)
def test_the_patterns_know_the_old_lines(line: str) -> None:
    assert any(pattern.search(line) for pattern in STRANGER)


@pytest.mark.parametrize("line", ["pip install . && quintet score", "pip install 'quintet-eval[serve]'", "quintet[0]"])
def test_the_patterns_leave_right_lines_alone(line: str) -> None:
    assert not any(pattern.search(line) for pattern in STRANGER)


def test_no_text_installs_the_strangers_distribution() -> None:
    found = []
    for path in texts():
        text = path.read_text(encoding="utf-8", errors="ignore")
        found += [f"{path.relative_to(ROOT)}: {hit[0]}" for pattern in STRANGER for hit in pattern.finditer(text)]
    assert found == []


def test_messages_name_the_checkout_or_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _install.checkout() == ROOT
    assert _install.install("quintet-eval", "serve") == f"pip install '{ROOT}[serve]'"
    assert _install.install("quintet-train") == f"pip install '{ROOT / 'training'}'"
    monkeypatch.setattr(_install, "checkout", lambda: None)
    assert _install.install("quintet-eval", "serve") == "pip install 'quintet-eval[serve]'"
    assert _install.install("quintet-train") == "pip install 'quintet-train'"


def test_one_version_for_the_code_and_its_companions() -> None:
    import tomllib

    import quintet

    training = tomllib.loads((ROOT / "training" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert training["version"] == quintet.__version__
    assert f"quintet-eval=={quintet.__version__}" in training["dependencies"]
