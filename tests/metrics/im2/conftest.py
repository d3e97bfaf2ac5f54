"""Where the random models of a few thousand weights are built."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))
