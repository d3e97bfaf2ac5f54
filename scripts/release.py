"""Makes README.md and the projects ready for the package index: whole addresses instead of OWNER and relative links.

    python scripts/release.py OWNER/REPOSITORY TAG

The publish workflow runs it on its own checkout; nothing of it is committed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")


def whole_links(text: str, repository: str, tag: str) -> str:
    """Pictures from where the index may show them, pages from where they can be read."""

    def whole(match: re.Match[str]) -> str:
        picture, label, target = match.groups()
        host = "https://raw.githubusercontent.com" if picture else "https://github.com"
        return f"{picture}[{label}]({host}/{repository}/{'' if picture else 'blob/'}{tag}/{target})"

    return LINK.sub(whole, text)


def main(repository: str, tag: str, root: Path = ROOT) -> None:
    readme = root / "README.md"
    readme.write_text(whole_links(readme.read_text(encoding="utf-8"), repository, tag), encoding="utf-8")
    for project in (root / "pyproject.toml", root / "training" / "pyproject.toml"):
        text = project.read_text(encoding="utf-8")
        project.write_text(text.replace("github.com/OWNER/quintet", f"github.com/{repository}"), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
