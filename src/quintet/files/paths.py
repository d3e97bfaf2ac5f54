"""Where things lie on disk. Nothing is created here."""

from __future__ import annotations

import os
from pathlib import Path

OFFLINE_VARIABLES = ("QUINTET_OFFLINE", "HF_HUB_OFFLINE")
_OFF = ("", "0", "false", "no", "off")


def cache_folder() -> Path:
    """Downloads and stored results: QUINTET_CACHE, else XDG_CACHE_HOME/quintet, else ~/.cache/quintet."""
    return _folder("QUINTET_CACHE", "XDG_CACHE_HOME", Path(".cache"))


def data_folder() -> Path:
    """Benchmarks and corpora the user has: QUINTET_DATA, else XDG_DATA_HOME/quintet, else ~/.local/share/quintet."""
    return _folder("QUINTET_DATA", "XDG_DATA_HOME", Path(".local", "share"))


def offline_variable() -> str | None:
    """The variable that forbids the network, if one is set."""
    return next((name for name in OFFLINE_VARIABLES if os.environ.get(name, "").strip().lower() not in _OFF), None)


def _folder(own: str, shared: str, under_home: Path) -> Path:
    if os.environ.get(own):
        return Path(os.environ[own]).expanduser()
    if os.environ.get(shared):
        return Path(os.environ[shared]).expanduser() / "quintet"
    return Path.home() / under_home / "quintet"
