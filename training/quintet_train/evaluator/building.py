"""All groups of all heads, tokenised, in shards: several processes where there are several cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import NamedTuple

from quintet_train.evaluator import (
    claim_groups,
    data_groups,
    dialogue_groups,
    summary_groups,
    taught_groups,
    template_groups,
    text_groups,
    told_groups,
    written_groups,
)
from quintet_train.evaluator.groups import ENTAILMENT, HEADS, HELD, Group, Material, Neighbours, Times
from quintet_train.evaluator.packing import Framing, Packed, joined, pack
from quintet_train.evaluator.surface import same_surface
from quintet_train.evaluator.tables import Tables


class Builder(NamedTuple):
    groups: Callable[[Material, int, int], Iterable[Group]]
    heads: tuple[str, ...]
    """Which its groups are for."""


BUILDERS: dict[str, Builder] = {
    "selection": Builder(dialogue_groups.selection, ("sel",)),
    "order of turns": Builder(dialogue_groups.order_of_turns, ("abac", "abba")),
    "order": Builder(text_groups.order, ("ord",)),
    "grounding": Builder(dialogue_groups.grounding, ("gro",)),
    "coherence": Builder(text_groups.coherence, ("coh",)),
    "document coherence": Builder(text_groups.document_coherence, ("cohd",)),
    "relevance": Builder(text_groups.relevance, ("rel",)),
    "coverage": Builder(text_groups.coverage, ("cov",)),
    "acceptability": Builder(text_groups.acceptability, ("acc",)),
    "templates": Builder(template_groups.templates, ("acc",)),
    "data to text": Builder(data_groups.data_to_text, ("d2t",)),
    "entailment": Builder(claim_groups.entailment, (ENTAILMENT, "con")),
    "support": Builder(claim_groups.support, ("con",)),
    "written claims": Builder(written_groups.written_claims, ("con", ENTAILMENT)),
    "paraphrases": Builder(claim_groups.paraphrases, ("con",)),
    "adequacy": Builder(claim_groups.adequacy, ("adq",)),
    "written summaries": Builder(summary_groups.written_summaries, ("con", ENTAILMENT)),
    "taught claims": Builder(taught_groups.taught_claims, ("con", ENTAILMENT)),
    "told texts": Builder(told_groups.told_texts, told_groups.HEADS),
}


class _Shared(NamedTuple):
    """What every process sees, inherited when it is forked; nothing is pickled but the results."""

    tables: Tables
    neighbours: Neighbours
    times: Times
    frames: Sequence[Framing]
    seed: int
    shards: int
    heads: Collection[str]


_shared: list[_Shared] = []


def build(
    tables: Tables, neighbours: Neighbours, times: Times, frame: Framing, seed: int, shards: int, processes: int,
    heads: Collection[str] = HEADS,
) -> Packed:  # fmt: skip
    """Groups of these heads, the same whichever others are built. They depend on the seed and the number of shards, not
    on the number of processes."""
    return build_for([frame], tables, neighbours, times, seed, shards, processes, heads)[0]


def build_for(
    frames: Sequence[Framing], tables: Tables, neighbours: Neighbours, times: Times, seed: int, shards: int,
    processes: int, heads: Collection[str] = HEADS,
) -> list[Packed]:  # fmt: skip
    """The same groups as each of several networks reads them, text by text in the same order."""
    asked = [name for name, builder in BUILDERS.items() if not set(heads).isdisjoint(builder.heads)]
    jobs = [(name, shard) for name in asked for shard in range(shards)]
    processes = min(processes, len(jobs))
    shared = _Shared(tables, neighbours, times, frames, seed, shards, heads)
    if processes == 1:
        made = [_shard(shared, job) for job in jobs]
    else:
        # A fork would inherit the locks of libraries whose threads it does not inherit, and may wait for ever.
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, spawn, _share, (shared,)) as pool:
            made = list(pool.map(_shared_shard, jobs))
    return [joined([parts[place] for parts in made]) for place in range(len(frames))]


def _share(shared: _Shared) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _shared[:] = [shared]


def _shared_shard(job: tuple[str, int]) -> list[Packed]:
    return _shard(_shared[0], job)


def _shard(seen: _Shared, job: tuple[str, int]) -> list[Packed]:
    name, shard = job
    made = groups(name, seen.tables, seen.neighbours, seen.times, seen.seed, shard, seen.shards)
    wanted = (group for group in made if group.head in seen.heads)
    own = list(kept(wanted, seen.times, Random(f"{seen.seed}:{name}:{shard}:kept")))
    return [pack(own, frame) for frame in seen.frames]


def kept(made: Iterable[Group], times: Times, rng: Random) -> Iterator[Group]:
    """Of heads that have more groups than they need, the share that the recipe's table `kept` says; those of heads in
    its table `held` are not learnt from, only held."""
    for group in made:
        share = times.of("kept", group.head)
        if share >= 1 or rng.random() < share:
            yield held(group) if times.names("held", group.head) else group


def held(group: Group) -> Group:
    return group._replace(texts=[text._replace(label=HELD, wrong=None) for text in group.texts], ranked=False)


def groups(
    name: str, tables: Tables, neighbours: Neighbours, times: Times, seed: int, shard: int = 0, shards: int = 1
) -> Iterator[Group]:
    """Groups of one builder and one shard, by a generator of their own."""
    material = Material(tables, neighbours, times, Random(f"{seed}:{name}:{shard}"))
    surface = Random(f"{seed}:{name}:{shard}:surface")
    for group in BUILDERS[name].groups(material, shard, shards):
        yield same_surface(group, surface)
