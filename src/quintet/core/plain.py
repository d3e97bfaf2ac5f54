"""What files, tables and requests hold before anything is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]
"""An object of JSON or TOML, as it is read or will be written."""
Cells = Mapping[str, Any]
"""One row: its cells by column."""
Foreign = Any
"""An object of a library that is imported where it is asked for, so that its type cannot be named here."""
