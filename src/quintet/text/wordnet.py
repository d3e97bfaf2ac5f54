"""WordNet from the folder `dict` that the user brings: synonyms for METEOR's third stage, base forms for GRADE."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from quintet.errors import InputError

_PARTS = ("noun", "verb", "adj", "adv")
_ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}
"""Morphy's rules: what an inflected word may end in, and what stands there in its base form."""


class WordNet:
    def __init__(self, folder: Path) -> None:
        try:
            self._data = {part: (folder / f"data.{part}").read_bytes() for part in _PARTS}
            self._index = {part: _indexed((folder / f"index.{part}").read_text("utf-8")) for part in _PARTS}
        except (OSError, UnicodeDecodeError, ValueError, IndexError):
            todo = "name the folder with index.noun, data.noun and their like"
            raise InputError("this is not WordNet's folder `dict`", str(folder), todo) from None
        self._irregular = {part: _exceptions(folder / f"{part}.exc") for part in _PARTS}
        self._senses = _counted(folder / "index.sense")
        self._known: dict[str, frozenset[str]] = {}

    def commonest(self, word: str) -> tuple[str, str]:
        """What a word most often is in WordNet's tagged texts (noun, verb, adj, adv; "" if it is nothing known), and
        its shortest base form as such."""
        best, out = (-1, -1), ("", word)
        for part in _PARTS:
            known = [base for base in self._bases(word.lower(), part) if base in self._index[part]]
            if not known:
                continue
            often = max(self._senses.get((part, base), 0) for base in known)
            here = often, max(len(self._index[part][base]) for base in known)
            if here > best:
                best, out = here, (part, min(known, key=lambda base: (len(base), base)))
        return out

    def synonyms(self, word: str) -> frozenset[str]:
        """The single words of every synset that the word, in its base form, stands in; and the word itself."""
        if word not in self._known:
            found = {word}
            for part in _PARTS:
                for base in self._bases(word.lower(), part):
                    for place in self._index[part].get(base, ()):
                        found.update(lemma for lemma in self._synset(part, place) if "_" not in lemma)
            self._known[word] = frozenset(found)
        return self._known[word]

    def _bases(self, word: str, part: str) -> set[str]:
        if word in self._irregular[part]:
            return {word, *self._irregular[part][word]}
        rules = (rule.split(":") for rule in _ENDINGS[part].split())
        return {word, *(word[: -len(end)] + base for end, base in rules if word.endswith(end))}

    def _synset(self, part: str, place: int) -> list[str]:
        """A line of the data file: offset, file number, kind, number of words in hexadecimal, then word and sense."""
        data = self._data[part]
        fields = data[place : data.find(b"\n", place)].decode("utf-8").split(" ")
        # An adjective may carry its place in a phrase: "galore(ip)".
        return [fields[4 + 2 * i].partition("(")[0].lower() for i in range(int(fields[3], 16))]


def _indexed(text: str) -> dict[str, list[int]]:
    """Word to offsets; the last `number of synsets` fields of a line, which is the third from its start."""
    lines = (line.split() for line in text.splitlines() if line and not line.startswith(" "))
    return {fields[0]: [int(place) for place in fields[-int(fields[2]) :]] for fields in lines}


def _exceptions(path: Path) -> dict[str, list[str]]:
    if not path.is_file():
        return {}
    lines = (line.split() for line in path.read_text("utf-8").splitlines())
    return {fields[0]: fields[1:] for fields in lines if fields}


def _counted(path: Path) -> dict[tuple[str, str], int]:
    """How often a lemma was tagged as a part of speech, all its senses together; without the file nothing."""
    parts = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
    out: dict[tuple[str, str], int] = {}
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    for key, *_, times in (line.split() for line in lines if line):
        lemma, _, rest = key.partition("%")
        place = parts.get(rest[:1], ""), lemma
        out[place] = out.get(place, 0) + int(times)
    return out


@cache
def read_wordnet(folder: str) -> WordNet:
    return WordNet(Path(folder).expanduser())


def wordnet_identity(folder: str) -> str:
    """For signatures: a digest of the indexes; a folder that cannot be read says so when it is used."""
    files = [Path(folder).expanduser() / f"index.{part}" for part in _PARTS]
    if not all(file.is_file() for file in files):
        return f"{folder}@unread"
    return f"wordnet@{hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()[:8]}"
