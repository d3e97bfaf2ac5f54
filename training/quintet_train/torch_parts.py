"""The door to torch and transformers: opened only when something is really trained."""

from __future__ import annotations

import importlib
from typing import Any

from quintet.errors import MissingExtra


def need(package: str) -> Any:
    """The package, or one line that says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingExtra(package.split(".")[0], "torch", "training") from None
