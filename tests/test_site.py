"""The documentation site builds without a warning, has every page, and asks no other server for anything."""

import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FETCHED = re.compile(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?(?:https?:)?//|<link[^>]*\shref=\"?(?:https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the site needs the dependency group docs")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    # Strict: a page missing from the navigation, a dead link or a dead anchor is an error.
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 40
    for page in pages:
        assert (site / page.with_suffix(".html")).is_file(), page


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not FETCHED.search(page.read_text(encoding="utf-8")), page.name
    styles = "".join(file.read_text(encoding="utf-8") for file in site.rglob("*.css"))
    assert not re.search(r"@import\s|url\(\"?(?:https?:)?//", styles)


def test_figures_of_agreement_are_those_of_the_page_that_measures_them() -> None:
    """README.md and `choosing.md` repeat some; a new measurement must not leave old ones there."""
    measured: dict[str, tuple[str, ...]] = {}
    for cells in table_rows(ROOT / "docs" / "agreement.md"):
        if len(cells) > 5:  # the first table is the evaluator's
            measured.setdefault(cells[0], (cells[3], cells[4].split(" ")[0], cells[5]))
    for page, least in ((ROOT / "docs" / "choosing.md", 20), (ROOT / "README.md", 8)):
        repeated = [c for c in table_rows(page) if len(c) > 3 and re.match(r"\.\d{3} \[", c[3])]
        assert len(repeated) > least
        for _, dimension, where, full, fast, people, *_ in repeated:
            assert dimension in where or where == "cnndm_quality overall"
            assert (full, fast, people) == measured[where], where


def table_rows(page: Path) -> list[list[str]]:
    lines = page.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_pages_opened_from_disk_find_what_they_look_for(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # a server sends it from any address, so its own are absolute
            continue
        for target in re.findall(r"<(?:script|link|img)[^>]*\s(?:src|href)=\"([^\"#?:]+)\"", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_lists_and_tables_after_a_line_of_text_become_lists_and_tables(site: Path) -> None:
    text = (site / "metrics" / "gruen.html").read_text(encoding="utf-8")
    assert re.search(r"being means over sentences\.</p>\s*<ul>\s*<li><code>released</code>", text)
    assert "<p>|" not in "".join(page.read_text(encoding="utf-8") for page in site.rglob("*.html"))


def test_room_is_made_where_it_is_needed_only() -> None:
    spec = spec_from_file_location("site_hooks", ROOT / "scripts" / "site_hooks.py")
    assert spec is not None
    assert spec.loader is not None
    hooks = module_from_spec(spec)
    spec.loader.exec_module(hooks)
    assert hooks.with_room("text\n- a\n- b\n  more\n- c") == "text\n\n- a\n- b\n  more\n- c"
    assert hooks.with_room("text\n| a |\n|---|\n| b |") == "text\n\n| a |\n|---|\n| b |"
    unchanged = ["# Title\n\n- a\n- b", "```sh\nx\n- a\n| b\n```", "1. a\n2. b", "- a\n  1. b\n- c"]
    for text in unchanged:
        assert hooks.with_room(text) == text
