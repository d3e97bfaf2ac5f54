"""Sentences by Punkt with parameters from files the user brings: UniEval and GRUEN were computed with them.

The nltk library cuts (`quintet-eval[nltk]`); no pickle is opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from quintet.core.plain import Foreign
from quintet.errors import InputError, MissingExtra
from quintet.text.sentences import sentences
from quintet.text.tokens import Piece

RULES, PUNKT = "rules", "punkt:"
_PUNKT_FILES = ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt")

Split = Callable[[str], list[Piece]]


def splitter(name: str) -> Split:
    """`rules`: ours. `punkt:FOLDER`: NLTK's Punkt with the parameters in FOLDER (of its data, punkt_tab/english), as
    UniEval and GRUEN cut sentences."""
    if name == RULES:
        return lambda text: list(sentences(text))
    if not name.startswith(PUNKT):
        raise InputError(f"cannot cut sentences by {name!r}", todo="write sentences=rules or sentences=punkt:FOLDER")
    cut = _punkt(name.removeprefix(PUNKT)).span_tokenize
    return lambda text: [Piece(text[start:end], start, end) for start, end in cut(text)]


def sentences_identity(name: str) -> str:
    """For signatures: the rules, or the digest of Punkt's files."""
    return f"punkt@{_digest(name.removeprefix(PUNKT), _PUNKT_FILES)}" if name.startswith(PUNKT) else name


def _digest(folder: str, names: tuple[str, ...]) -> str:
    files = [Path(folder).expanduser() / name for name in names]
    if not all(file.is_file() for file in files):
        return "unread"
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def _lines(folder: Path, name: str) -> list[str]:
    try:
        return (folder / name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        todo = f"name the folder of NLTK's punkt_tab/english: {', '.join(_PUNKT_FILES)}"
        raise InputError(f"no file {name} of Punkt", str(folder), todo) from None


@cache
def _punkt(name: str) -> Foreign:
    try:
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    except ImportError:
        raise MissingExtra("nltk", "nltk", "sentences=punkt:FOLDER") from None
    folder = Path(name).expanduser()
    known = PunktParameters()
    known.abbrev_types = set(_lines(folder, "abbrev_types.txt"))
    known.sent_starters = set(_lines(folder, "sent_starters.txt"))
    known.collocations = {tuple(line.split("\t")) for line in _lines(folder, "collocations.tab")}
    known.ortho_context.update(
        {word: int(bits) for word, _, bits in (line.partition("\t") for line in _lines(folder, "ortho_context.tab"))}
    )
    made = PunktSentenceTokenizer()
    made._params = known
    return made
