"""Where things lie on disk. Nothing is created here."""

from __future__ import annotations

import os
from pathlib import Path

OFFLINE_VARIABLES = ("QUINTET_OFFLINE", "HF_HUB_OFFLINE")
_OFF = ("", "0", "false", "no", "off")


def cache_folder() -> Path:
    """Downloads and stored results: QUINTET_CACHE, else XDG_CACHE_HOME/quintet, else ~/.cache/quintet."""
    if own := os.environ.get("QUINTET_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "quintet"
    return Path.home() / ".cache" / "quintet"


def offline_variable() -> str | None:
    """The variable that forbids the network, if one is set."""
    return next((name for name in OFFLINE_VARIABLES if os.environ.get(name, "").strip().lower() not in _OFF), None)
