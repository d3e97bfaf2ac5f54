"""What docs/statistics.md and docs/comparing.md print is what their examples print."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["statistics.md", "comparing.md"])
def test_examples_print_what_the_page_says(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})
        printed = capsys.readouterr().out
        for promised in re.findall(r"^print\(.*\)  # (.+)$", block, re.M):
            assert promised in printed
