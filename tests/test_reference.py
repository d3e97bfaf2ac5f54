"""The reference pages say what the code says."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))


def test_the_reference_is_current() -> None:
    from write_docs import pages

    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: python scripts/write_docs.py"
