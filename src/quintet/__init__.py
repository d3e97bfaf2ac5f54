"""quintet judges generated text on every dimension people care about, with evidence for each score.

    import quintet

    result = quintet.score([{"output": "…", "source": "…"}], task="fact")
    result.means(), result.signatures

The public names are those in `__all__`; they are looked up when first used, so importing quintet costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quintet._version import __version__

if TYPE_CHECKING:
    from quintet._api import load as load
    from quintet._api import score as score
    from quintet._claims import Claim as Claim
    from quintet._claims import claims as claims
    from quintet.core.dimension import Dimension as Dimension
    from quintet.core.example import Example as Example
    from quintet.core.metric import Metric as Metric
    from quintet.core.result import Result as Result
    from quintet.core.score import Score as Score
    from quintet.core.score import Span as Span
    from quintet.errors import QuintetError as QuintetError
    from quintet.errors import UserError as UserError

_HOMES = {
    "load": "quintet._api",
    "score": "quintet._api",
    "Claim": "quintet._claims",
    "claims": "quintet._claims",
    "Dimension": "quintet.core.dimension",
    "Example": "quintet.core.example",
    "Metric": "quintet.core.metric",
    "Result": "quintet.core.result",
    "Score": "quintet.core.score",
    "Span": "quintet.core.score",
    "QuintetError": "quintet.errors",
    "UserError": "quintet.errors",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'quintet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
