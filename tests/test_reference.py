"""The reference pages say what the code says, and what people wrote stays short."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))


def test_the_reference_is_current() -> None:
    from write_docs import pages

    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: python scripts/write_docs.py"


WRITTEN_BY_SCRIPTS = re.compile(r"<!-- (\w+) -->.*?<!-- /\1 -->", re.DOTALL)
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def test_the_prose_can_be_read_in_an_evening() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    words = {}
    for page in pages:
        if page.parent.name != "reference":
            text = CODE.sub("", WRITTEN_BY_SCRIPTS.sub("", page.read_text(encoding="utf-8")))
            words[page.name] = sum(bool(re.search("[A-Za-z]{2}", word)) for word in text.split())
    longest = sorted(words.items(), key=lambda item: -item[1])[:10]
    assert sum(words.values()) <= 20_000, f"{sum(words.values())} words; the longest pages: {longest}"


def test_the_notebook_stays_a_notebook() -> None:
    """Every word and figure of research/ but for the tables that a script writes."""
    pages = (ROOT / "research").rglob("*.md")
    words = {
        str(page.relative_to(ROOT)): len(WRITTEN_BY_SCRIPTS.sub("", page.read_text(encoding="utf-8")).split())
        for page in pages
    }
    assert sum(words.values()) <= 5_000, words


def test_a_newcomer_reads_three_files_in_ten_minutes() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\d\. `([^`]+)`", text, re.MULTILINE)
    lines = {name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in listed}
    assert len(lines) == 3
    assert sum(lines.values()) < 300, lines
