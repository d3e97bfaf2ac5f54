"""What others published on the sets, to stand beside our own figures: facts in `published.toml`, with their sources."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from quintet.data.benchmark import Benchmark, load
from quintet.data.catalog import entry
from quintet.data.rated import Floats, RawFolder, canonical, columns, find_folder, own_name
from quintet.errors import InputError, UnknownName

# Scores that the authors of USR, UniEval and CTC published for their own metrics, item by item.
#
# They are what a correlation routine is checked with: the published tables must come out of them exactly. For each of
# `topical_chat` (USR, UniEval), `qags_cnn`, `qags_xsum`, `sfres`, `sfhot` (UniEval), `summeval` and `newsroom` (CTC).

Scores = Mapping[str, Mapping[str, Floats]]
"""Metric to dimension to one number per example, in the order of the benchmark's examples."""

_UNIEVAL, _CTC, _USR = (
    "github.com/maszhongming/UniEval reproduce/unieval_predict",
    "the history of github.com/tanyuqian/ctc-gen-eval (train/data/Explainaboard)",
    "github.com/Shikib/usr examples (undr/mlm_roberta.scores, both/dr.scores, fct/dr.scores)",
)
FILES = {
    "topical_chat": (
        ("topical_chat_usr/topical_chat_unieval_with_predictions.json", _UNIEVAL),
        ("topical_chat_usr/usr_author_scores.jsonl", _USR),
    ),
    "qags_cnn": (("qags/qags_cnndm_unieval_with_predictions.json", _UNIEVAL),),
    "qags_xsum": (("qags/qags_xsum_unieval_with_predictions.json", _UNIEVAL),),
    "sfres": (("novikova2017_d2t/sfres_unieval_with_predictions.json", _UNIEVAL),),
    "sfhot": (("novikova2017_d2t/sfhot_unieval_with_predictions.json", _UNIEVAL),),
    "summeval": (("summeval/ctc_author_scores.jsonl", _CTC),),
    "newsroom": (("newsroom_ner18/ctc_author_scores.jsonl", _CTC),),
}
"""For each set the files with scores, and where a person would look for them."""
NAMES = tuple(FILES)
SHA256 = {
    "topical_chat_usr/topical_chat_unieval_with_predictions.json": (
        "a3bbafcd6ccedcecea71b4d90142e8430535e79684e227d522c417884bb45580"
    ),
    "topical_chat_usr/usr_author_scores.jsonl": "13503c1a044b74689b5dd0d8b42c4158eb20a0ac2c031974c5ef5f4d74fa0059",
    "qags/qags_cnndm_unieval_with_predictions.json": "ae0b971364bc781a4a2b660973f132ee5210589b7b342dd534bc9117e06a6311",
    "qags/qags_xsum_unieval_with_predictions.json": "588f820fc21288090396549d739d6465af745a43bed8ab11787c8d49903f2b7f",
    "novikova2017_d2t/sfres_unieval_with_predictions.json": (
        "49a11115f0d093ebb53cfb700af082e7912fb68684dd4b9ab6048e8c0459fad0"
    ),
    "novikova2017_d2t/sfhot_unieval_with_predictions.json": (
        "13c488292be9fd6027596736e672f29e6a34a65d3574c7ac9d35925ac17f9bd5"
    ),
    "summeval/ctc_author_scores.jsonl": "496fc4a08fcb8f165b210e47e21ec44442add541932c651e036028b8fb9e013d",
    "newsroom_ner18/ctc_author_scores.jsonl": "9d3172e1e0831a6d4ec2c17225fd59ac84cbbf31f10ad347f2da09028aa936ba",
}
"""Of the uncompressed files: published figures come out of these bytes and no others."""


def author_scores(name: str, folder: str | os.PathLike[str] | None = None) -> Scores:
    """The authors' scores for the set `name`, as {metric: {dimension: array}}.

    A metric that its authors judged on every quality (USR and its parts) has the same scores for each.
    """
    if name not in NAMES:
        raise UnknownName("set with authors' scores", name, NAMES)
    benchmark = load(name, folder)
    scores: dict[str, Mapping[str, Floats]] = {}
    for path, home in FILES[name]:
        raw = RawFolder(find_folder(folder), home)
        if home == _USR and raw.sha256(path) is None:
            continue  # came later than the others: a folder fetched before still serves
        if raw.sha256(path) not in (None, SHA256[path]):
            raise InputError("not the file that the authors released (sha256 differs)", path, "fetch it again")
        try:
            scores |= _READERS[home](benchmark, raw, path)
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            detail = " ".join(str(problem).split())[:80]
            raise InputError(f"not the authors' scores of {entry(name).title} ({detail})", path) from problem
    return scores


def _unieval(benchmark: Benchmark, raw: RawFolder, path: str) -> Scores:
    rows = raw.json(path)
    _check_order(benchmark, rows, lambda row: row["system_output"])
    found = columns([row["predict_scores"] for row in rows])
    return {"UniEval": {_dimension(benchmark, name): values for name, values in found.items()}}


def _dimension(benchmark: Benchmark, name: str) -> str:
    return own_name(canonical(name), benchmark.ratings)


def _ctc(benchmark: Benchmark, raw: RawFolder, path: str) -> Scores:
    by_id = {f"{row['doc_id']}/{row['system_id']}": row["ctc"] for row in raw.jsonl(path)}
    rows = [by_id[example.id] for example in benchmark.examples]
    pairs = dict.fromkeys((metric, dimension) for row in rows for dimension in row for metric in row[dimension])
    scores: dict[str, dict[str, Floats]] = {}
    for metric, dimension in pairs:
        values = [row.get(dimension, {}).get(metric, np.nan) for row in rows]
        scores.setdefault(metric, {})[canonical(dimension)] = np.array(values, dtype=float)
    return scores


def _usr(benchmark: Benchmark, raw: RawFolder, path: str) -> Scores:
    """The three models' scores and the regression over them; the ground truth was not scored."""
    by_id = {row["id"]: row for row in raw.jsonl(path)}
    scores = {}
    for metric in ("USR", "USR-MLM", "USR-DRc", "USR-DRf"):
        values = np.array([by_id.get(example.id, {}).get(metric, np.nan) for example in benchmark.examples])
        scores[metric] = dict.fromkeys(benchmark.dimensions, values)
    return scores


_READERS: Mapping[str, Callable[[Benchmark, RawFolder, str], Scores]] = {_UNIEVAL: _unieval, _CTC: _ctc, _USR: _usr}


def _check_order(benchmark: Benchmark, rows: Sequence[Any], output: Callable[[Any], str]) -> None:
    """Same items in the same order; spacing and case differ between the copies of one text."""
    if len(rows) != len(benchmark):
        raise ValueError(f"{len(rows)} rows for {len(benchmark)} examples")
    for number, (row, example) in enumerate(zip(rows, benchmark.examples, strict=True)):
        if _letters(output(row)) != _letters(example.output):
            raise ValueError(f"row {number} has another text than example {example.id}")


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


@dataclass(frozen=True)
class Figures:
    """Spearman by dimension, of one metric on one set."""

    set: str
    metric: str
    size: str
    kind: str
    """small: under a billion parameters; large: an LLM; labels: an LLM fitted to human labels of the same kind."""
    source: str
    values: Mapping[str, float]
    level: str = "pooled"
    rows: int | None = None
    about: str = ""


@cache
def every_figure() -> tuple[Figures, ...]:
    plain = tomllib.loads(files("quintet.data").joinpath("published.toml").read_text(encoding="utf-8"))
    return tuple(Figures(**row) for row in plain["figures"])


def published(set: str) -> tuple[Figures, ...]:
    """In the order of the file; none for a set that nobody reports on."""
    return tuple(figures for figures in every_figure() if figures.set == set)
