"""The service of the tests beside it is started by the same helper as elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(next((Path(__file__).parents[1]).rglob("service_process.py")).parent)]
