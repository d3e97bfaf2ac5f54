"""What GRADE knows of words: keywords, their neighbours in ConceptNet and how many steps lie between them.

None of it can be shipped. `gather` reads the files a user brings, once; the folder of a converted checkpoint keeps what
comes of them. Beside the authors' `keyword.vocab`: Numberbatch's text file or the authors' two files of neighbours'
means, edges of ConceptNet or the authors' file of hops, and `utterances.txt`, the dialogues that are rated, one turn a
line, from which the release counts how rare a word is. WordNet's folder `dict` tells nouns, verbs and adjectives apart.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.word_table import WordTable
from quintet.text.content_words import ENGLISH
from quintet.text.tokens import words
from quintet.text.wordnet import WordNet, read_wordnet

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

FILE = "concepts.safetensors"
MOST = 16
"""Keywords of a context with its response; one place before them and one after them are marks."""
PAD, BEGIN, END, UNKNOWN = range(4)
SPECIAL = 4
UNREACHABLE = 20
NEIGHBOURS = 10
LEAST_WEIGHT = 0.15
WEIGHTS = {"noun": 2.0, "verb": 1.0, "adj": 0.5}
"""What a word's part of speech counts for; other words are never keywords."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Edges both ways as compressed rows; `places` are the nodes of the vocabulary's words, -1 for none."""

    starts: Ints
    ends: Ints
    places: Ints

    def around(self, node: int) -> Ints:
        return self.ends[self.starts[node] : self.starts[node + 1]]

    def steps(self, source: int) -> Ints:
        """Steps from a word to every other of the vocabulary, and one more, as the release counts them; -1: no way."""
        far = np.full(len(self.starts) - 1, -1, np.int32)
        front = self.places[source : source + 1]
        front, step = front[front >= 0], 1
        while len(front):
            far[front] = step
            ahead = np.unique(np.concatenate([self.around(int(node)) for node in front]))
            front, step = ahead[far[ahead] < 0], step + 1
        return np.where(self.places >= 0, far[self.places], -1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Concepts:
    words: tuple[str, ...]
    """The checkpoint's vocabulary in its order, without the four marks before it."""
    near: Floats
    """Of each word the mean vector of ten neighbours one edge away; zeros where there is none."""
    far: Floats
    forms: Mapping[str, tuple[str, float]]
    """Of every word form in the utterances its base form, and what it counts for before its share of a turn."""
    hops: Mapping[tuple[str, str], int] | None
    graph: Graph | None

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _steps(self) -> Callable[[int], Ints]:
        if self.graph is None:
            raise ModelError("the folder has neither hops nor edges of ConceptNet; convert the checkpoint again")
        return lru_cache(maxsize=256)(self.graph.steps)

    def keywords(self, turn: str) -> list[str]:
        """Base forms by tf-idf, in order; a word that comes twice counts twice and stands there twice."""
        found = [piece.text.lower() for piece in words(turn, punctuation=True)]
        known = [self.forms.get(form) for form in found]
        times = Counter(base[0] if base else form for base, form in zip(known, found, strict=True))
        return [base for base, weight in filter(None, known) if weight * times[base] / len(found) > LEAST_WEIGHT]

    def ids(self, found: Sequence[str]) -> list[int]:
        return [BEGIN, *(self._index.get(word, UNKNOWN - SPECIAL) + SPECIAL for word in found[:MOST]), END]

    def weight(self, first: int, second: int) -> float:
        """1 / hops of two ids; words without a way to one another are 20 apart."""
        if min(first, second) < SPECIAL:
            return 1.0 / UNREACHABLE
        a, b = first - SPECIAL, second - SPECIAL
        if self.hops is not None:
            hops = self.hops.get((self.words[a], self.words[b]), -1)
        else:
            hops = int(self._steps(a)[b])
        return 1.0 / (hops if hops > 0 else UNREACHABLE)

    def edges(self, context: Sequence[int], response: Sequence[int]) -> Floats:
        """(D + I)^-1/2 (A + I) (D + I)^-1/2.

        As released: a keyword of the response stands at its place within the response, not at its place in the graph.
        The release leaves out a fifth of the entries by chance, when scoring too; here all stay, so that scores repeat.
        """
        links = np.eye(MOST + 2, dtype=np.float64)
        for i, first in enumerate(context):
            for j, second in enumerate(response):
                if min(first, second) >= UNKNOWN:
                    weight = self.weight(first, second)
                    links[i, j] = weight + (i == j)
                    links[j, i] = weight + (i == j)
        scale = links.sum(axis=1) ** -0.5
        return (scale[:, None] * links * scale[None, :]).astype(np.float32)

    def batch(self, pairs: Sequence[tuple[str, str]]) -> dict[str, NDArray[np.generic]]:
        """`keywords`, `near`, `far`, `edges` and `count`; a line of the context is a turn."""
        wide = MOST + 2
        ids = np.full((len(pairs), wide), PAD, np.int64)
        edges = np.zeros((len(pairs), wide, wide), np.float32)
        count = np.zeros(len(pairs), np.float32)
        for row, (context, response) in enumerate(pairs):
            left = [word for turn in context.splitlines() for word in self.keywords(turn)]
            right = self.keywords(response)
            both = self.ids([*left, *right])
            ids[row, : len(both)], count[row] = both, len(both)
            edges[row] = self.edges(self.ids(left), self.ids(right))
        known = (ids >= SPECIAL)[..., None]
        places = np.maximum(ids - SPECIAL, 0)
        rings = {"near": self.near[places] * known, "far": self.far[places] * known}
        return {"keywords": ids, "edges": edges, "count": count, **rings}

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        arrays: dict[str, NDArray[np.generic]] = {"near": self.near, "far": self.far}
        if self.graph is not None:
            arrays |= {"starts": self.graph.starts, "ends": self.graph.ends, "places": self.graph.places}
        plain = {
            "words": self.words,
            "forms": self.forms,
            "hops": None if self.hops is None else [[a, b, steps] for (a, b), steps in self.hops.items()],
        }
        # In one file with the rest: its digest is the model's name in signatures.
        arrays["plain"] = np.frombuffer(json.dumps(plain, ensure_ascii=False).encode(), np.uint8)
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / FILE)

    @classmethod
    def open(cls, folder: Path) -> Concepts:
        from safetensors.numpy import load_file

        try:
            arrays = load_file(folder / FILE)
            plain = json.loads(arrays["plain"].tobytes())
            forms = {form: (str(base), float(weight)) for form, (base, weight) in plain["forms"].items()}
            hops = None if plain["hops"] is None else {(a, b): int(steps) for a, b, steps in plain["hops"]}
            graph = Graph(arrays["starts"], arrays["ends"], arrays["places"]) if "starts" in arrays else None
            return cls(tuple(plain["words"]), arrays["near"], arrays["far"], forms, hops, graph)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{folder} has no keywords that can be read ({error})") from None


def gather(folder: Path, width: int) -> Concepts:
    """The files of a folder, read once; what is missing is named."""
    vocabulary = tuple(line.strip() for line in _lines(folder / "keyword.vocab"))
    hops_file = next(iter(sorted(folder.glob("*.hop"))), None)
    edges_file = next((file for name in ("*.csv", "*.tsv") for file in sorted(folder.glob(name))), None)
    ready = [folder / "1st_hop_nr10.embedding", folder / "2nd_hop_nr10.embedding"]
    vectors = next(iter(sorted(folder.glob("numberbatch*.txt"))), None)
    if edges_file is None and (hops_file is None or not all(file.is_file() for file in ready)):
        raise ModelError(
            f"{folder} has neither edges of ConceptNet (a .csv or .tsv) nor the authors' .hop and two .embedding files"
        )
    net = None if edges_file is None else _Net.read(edges_file)
    if all(file.is_file() for file in ready):
        near, far = (_rows(WordTable(file), vocabulary, width) for file in ready)
    elif net is not None and vectors is not None:
        near, far = net.rings(vocabulary, WordTable(vectors), width)
    else:
        raise ModelError(f"{folder} has no Numberbatch (numberbatch*.txt) and no 1st_hop_nr10.embedding with its pair")
    hops = None if hops_file is None else dict(_pairs(hops_file))
    graph = None if net is None or hops is not None else net.graph(vocabulary)
    tags = read_wordnet(str(folder / "dict")) if (folder / "dict").is_dir() else None
    return Concepts(vocabulary, near, far, word_forms(_lines(folder / "utterances.txt"), tags), hops, graph)


def word_forms(utterances: Iterable[str], tags: WordNet | None) -> dict[str, tuple[str, float]]:
    """Base form of each content word, and its part of speech times log10(turns / (turns with it + 1)).

    The release tags each turn (NLTK's perceptron); here a word is what it most often is in WordNet, and a noun in its
    own form without WordNet.
    """

    @cache
    def base(form: str) -> tuple[str, float]:
        if form in ENGLISH or len(form) < 2 or not any(c.isalpha() for c in form):
            return form, 0.0
        if tags is None:
            return form, WEIGHTS["noun"]
        part, lemma = tags.commonest(form)
        return lemma, WEIGHTS.get(part, 0.0)

    turns = [{piece.text.lower() for piece in words(line, punctuation=True)} for line in utterances]
    held = Counter(lemma for turn in turns for lemma in {base(form)[0] for form in turn})
    out: dict[str, tuple[str, float]] = {}
    for form in sorted({form for turn in turns for form in turn}):
        lemma, weight = base(form)
        if weight:
            out[form] = lemma, weight * math.log10(len(turns) / (held[lemma] + 1))
    return out


class _Net:
    """ConceptNet between English concepts, both ways. As in the graph of the release no `HasContext`, no concept with a
    function word in it and no edge from a concept to itself."""

    def __init__(self, names: dict[str, int], first: Ints, second: Ints) -> None:
        self.names = names
        ends = np.unique(np.concatenate([np.stack([first, second], 1), np.stack([second, first], 1)]), axis=0)
        self._ends = np.ascontiguousarray(ends[:, 1])
        self._starts = np.searchsorted(ends[:, 0], np.arange(len(names) + 1)).astype(np.int32)

    @classmethod
    def read(cls, path: Path) -> _Net:
        names: dict[str, int] = {}
        first, second = [], []
        for line in _lines(path):
            edge = _edge(line)
            if edge is not None and edge[0] != edge[1] and not _functional(edge):
                first.append(names.setdefault(edge[0], len(names)))
                second.append(names.setdefault(edge[1], len(names)))
        if not first:
            raise ModelError(
                f"{path} holds no edges; ConceptNet's assertions, or lines of two words with a tab between"
            )
        return cls(names, np.array(first, np.int32), np.array(second, np.int32))

    def graph(self, vocabulary: Sequence[str]) -> Graph:
        places = [self.names.get(word.replace("-", "_"), -1) for word in vocabulary]
        return Graph(self._starts, self._ends, np.array(places, np.int32))

    def rings(self, vocabulary: Sequence[str], table: WordTable, width: int) -> tuple[Floats, Floats]:
        """Means of the ten neighbours nearest to a word in meaning, one edge away and two.

        As in the release a neighbour that is reached on several ways stands among the ten as often. Where there are
        fewer than ten the release draws among them by chance; here each counts once.
        """
        graph = self.graph(vocabulary)
        every = list(self.names)
        rows = _rows(table, every, width)
        norms = np.linalg.norm(rows, axis=1)
        near, far = (np.zeros((len(vocabulary), width), np.float32) for _ in range(2))
        for number, word in enumerate(vocabulary):
            # The rings go by the word as it stands, hops by its form with "_".
            node, own = self.names.get(word, -1), table.vector(word)
            if node < 0 or own is None:
                continue
            ring = graph.around(node)
            second = np.concatenate([graph.around(int(one)) for one in ring])
            for out, found in ((near, ring), (far, second[second != node])):
                there = found[norms[found] > 0]
                alike = rows[there] @ own / norms[there]
                best = there[np.argsort(-alike, kind="stable")[:NEIGHBOURS]]
                if len(best):
                    out[number] = rows[best].mean(axis=0).round(4)
        return near, far


def _functional(edge: tuple[str, str]) -> bool:
    return any(part in ENGLISH for concept in edge for part in concept.split("_"))


def _edge(line: str) -> tuple[str, str] | None:
    """ConceptNet's own line (five fields, English ends), one with relation, head, tail and weight, or two words."""
    fields = line.rstrip("\n").split("\t")
    if len(fields) == 2:
        return fields[0], fields[1]
    if len(fields) not in (4, 5):
        return None
    relation, head, tail = fields[1:4] if len(fields) == 5 else fields[:3]
    if relation.rpartition("/")[2].lower() == "hascontext":
        return None
    if len(fields) == 4:
        return head, tail
    ends = [end.split("/") for end in (head, tail)]
    if any(end[:3] != ["", "c", "en"] or len(end) < 4 for end in ends):
        return None
    return ends[0][3], ends[1][3]


def _pairs(path: Path) -> Iterator[tuple[tuple[str, str], int]]:
    for number, line in enumerate(_lines(path), 1):
        try:
            first, second, steps = line.strip().split("|||")
            yield (first, second), int(steps)
        except ValueError:
            raise ModelError(f"{path}, line {number}: a line is WORD|||WORD|||HOPS") from None


def _rows(table: WordTable, vocabulary: Sequence[str], width: int) -> Floats:
    if table.width != width:
        raise ModelError(f"{table.identity}: its vectors have {table.width} numbers, the checkpoint's have {width}")
    out = np.zeros((len(vocabulary), width), np.float32)
    for number, word in enumerate(vocabulary):
        row = table.vector(word) if word else None
        if row is not None:
            out[number] = row
    return out


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from file
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8'})") from None
