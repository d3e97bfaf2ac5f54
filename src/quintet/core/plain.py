"""What files, tables and requests hold before anything is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]
"""An object of JSON or TOML, as it is read or will be written."""
Cells = Mapping[str, Any]
"""One row: its cells by column."""
