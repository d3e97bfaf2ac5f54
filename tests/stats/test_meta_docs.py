"""The examples in docs/meta run as printed."""

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "meta").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run_as_printed(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, str(page), "exec"), {})
        printed = capsys.readouterr().out
        for promised in re.findall(r"^print\(.*\)  # (.+)$", block, re.M):
            assert promised in printed


def test_there_are_pages():
    assert {"levels", "significance", "agreement", "study", "compare"} <= {page.stem for page in PAGES}
