"""quintet judges generated text on every dimension people care about, with evidence for each score."""

from quintet._version import __version__

__all__ = ["__version__"]
