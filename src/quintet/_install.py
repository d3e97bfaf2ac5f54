"""The command that installs one of quintet's distributions, for messages; from the checkout, where there is one.

The distribution of the code is called quintet-eval: `quintet` on the package index belongs to somebody else.
"""

from __future__ import annotations

from pathlib import Path

FOLDERS = {
    "quintet-eval": ".",
    "quintet-train": "training",
    "quintet-weights": "weights",
    "quintet-weights-reader": "weights/reader",
    "quintet-weights-lm": "weights/lm",
}
"""Where a checkout holds each distribution."""


def install(package: str, extra: str = "") -> str:
    """`pip install 'quintet-eval[torch]'`, or the same with the folder of the checkout."""
    found = checkout()
    target = package if found is None else str(found / FOLDERS[package])
    return f"pip install '{target}[{extra}]'" if extra else f"pip install '{target}'"


def checkout() -> Path | None:
    """The repository that quintet runs from or was installed from, while it lies on this machine."""
    here = Path(__file__).resolve().parents[2]
    return next((place for place in (here, _origin()) if place and (place / "training/pyproject.toml").is_file()), None)


def _origin() -> Path | None:
    # Imported here: only a message needs it, and `quintet --version` is to stay quick.
    import importlib.metadata
    import json
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        url = urlsplit(
            json.loads(importlib.metadata.distribution("quintet-eval").read_text("direct_url.json") or "")["url"]
        )
    except (importlib.metadata.PackageNotFoundError, ValueError, KeyError):
        return None
    return Path(url2pathname(url.path)) if url.scheme == "file" else None
