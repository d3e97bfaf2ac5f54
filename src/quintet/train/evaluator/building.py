"""All groups of all heads, tokenised, in shards: several processes where there are several cores."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import NamedTuple

from quintet.train.evaluator import (
    claim_groups,
    data_groups,
    dialogue_groups,
    template_groups,
    text_groups,
    written_groups,
)
from quintet.train.evaluator.groups import Group, Material, Neighbours, Times
from quintet.train.evaluator.packing import Frame, Packed, joined, pack
from quintet.train.evaluator.surface import same_surface
from quintet.train.evaluator.tables import Tables

Builder = Callable[[Material, int, int], Iterable[Group]]

BUILDERS: dict[str, Builder] = {
    "selection": dialogue_groups.selection,
    "order of turns": dialogue_groups.order_of_turns,
    "order": text_groups.order,
    "grounding": dialogue_groups.grounding,
    "coherence": text_groups.coherence,
    "document coherence": text_groups.document_coherence,
    "relevance": text_groups.relevance,
    "coverage": text_groups.coverage,
    "acceptability": text_groups.acceptability,
    "templates": template_groups.templates,
    "data to text": data_groups.data_to_text,
    "entailment": claim_groups.entailment,
    "support": claim_groups.support,
    "written claims": written_groups.written_claims,
    "paraphrases": claim_groups.paraphrases,
    "adequacy": claim_groups.adequacy,
}


class _Shared(NamedTuple):
    """What every process sees, inherited when it is forked; nothing is pickled but the results."""

    tables: Tables
    neighbours: Neighbours
    times: Times
    frame: Frame
    seed: int
    shards: int


_shared: list[_Shared] = []


def build(
    tables: Tables, neighbours: Neighbours, times: Times, frame: Frame, seed: int, shards: int, processes: int
) -> Packed:
    """The result depends on the seed and the number of shards, not on the number of processes."""
    jobs = [(name, shard) for name in BUILDERS for shard in range(shards)]
    # Elsewhere a fork does not get along with the libraries that are loaded.
    processes = min(processes, len(jobs)) if sys.platform == "linux" else 1
    _shared.append(_Shared(tables, neighbours, times, frame, seed, shards))
    try:
        if processes == 1:
            return joined([_shard(job) for job in jobs])
        with multiprocessing.get_context("fork").Pool(processes, _one_thread) as pool:
            return joined(pool.map(_shard, jobs, chunksize=1))
    finally:
        _shared.pop()


def _one_thread() -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _shard(job: tuple[str, int]) -> Packed:
    name, shard = job
    seen = _shared[-1]
    return pack(groups(name, seen.tables, seen.neighbours, seen.times, seen.seed, shard, seen.shards), seen.frame)


def groups(
    name: str, tables: Tables, neighbours: Neighbours, times: Times, seed: int, shard: int = 0, shards: int = 1
) -> Iterator[Group]:
    """Groups of one builder and one shard, by a generator of their own."""
    material = Material(tables, neighbours, times, Random(f"{seed}:{name}:{shard}"))
    surface = Random(f"{seed}:{name}:{shard}:surface")
    for group in BUILDERS[name](material, shard, shards):
        yield same_surface(group, surface)
