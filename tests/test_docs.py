"""Every Python snippet in the README and the docs is executed; every page that is linked exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
ON_BENCHMARKS = re.compile(r"^```py\n(.*?)^```", re.DOTALL | re.MULTILINE)
"""These read the benchmark files, which are not in the repository."""
EXTRAS = {"evaluate", "mlflow", "inspect_ai"}
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_run(page: Path, monkeypatch: pytest.MonkeyPatch, pages_cache: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("QUINTET_CACHE", str(pages_cache))
    run(SNIPPET.findall(page.read_text(encoding="utf-8")), page)


WITH_BENCHMARKS = [page for page in PAGES if ON_BENCHMARKS.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_BENCHMARKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_on_benchmarks_run(page: Path, shared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUINTET_CACHE", str(tmp_path))
    monkeypatch.setenv("QUINTET_DATA", str(shared / "benchmarks"))
    monkeypatch.setenv("QUINTET_CORPORA", str(shared / "corpora"))
    run(ON_BENCHMARKS.findall(page.read_text(encoding="utf-8")), page)


def run(snippets: list[str], page: Path) -> None:
    namespace: dict[str, object] = {}
    for code in snippets:
        try:
            exec(compile(code, str(page), "exec"), namespace)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            pytest.skip(f"{error.name} is not installed")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_metric_has_a_page() -> None:
    from quintet.metrics import metrics

    pages = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs" / "metrics").glob("*.md"))
    for entry in metrics:
        assert re.search(rf"(?<![\w-]){re.escape(entry.name)}(?![\w+-])", pages), (
            f"{entry.name} stands on no page of docs/metrics"
        )


def test_every_dependency_has_its_reason() -> None:
    import tomllib

    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").lower()
    file = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = file["project"]
    groups = (d for group in file["dependency-groups"].values() for d in group if isinstance(d, str))
    extras = (d for extra in project["optional-dependencies"].values() for d in extra)
    wanted = [*project["dependencies"], *extras, *groups]
    for requirement in wanted:
        name = re.split(r"[<>=\[;~! ]", requirement)[0].lower()
        assert name in reasons, f"{name} has no line in docs/dependencies.md"
