"""quintet judges generated text on every dimension people care about, with evidence for each score.

    import quintet

    result = quintet.score([{"output": "…", "source": "…"}], task="fact")
    result.means(), result.signatures

The public names stand in `__init__.pyi`, each once; they are looked up when first used, so importing quintet costs
nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from quintet._version import __version__

with open(__file__ + "i", encoding="utf-8") as _stub:
    _HOMES = {line.split()[3]: line.split()[1] for line in _stub if line.startswith("from ")}

__all__ = ["__version__", *sorted(_HOMES.keys() - {"__version__"})]

if not TYPE_CHECKING:  # checkers read the stub

    def __getattr__(name):
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'quintet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
