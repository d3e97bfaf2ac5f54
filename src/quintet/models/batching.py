"""Which texts go through a model together: similar lengths, under a token budget, order given back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

SLACK = 8
"""So many tokens of padding are never worth a batch of its own."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def batches(lengths: Sequence[int], budget: int, least: float = 0.0) -> list[list[int]]:
    """Indices in batches, longest first, so that the longest item times the size of a batch stays within `budget`.

    An item longer than the budget gets a batch of its own. One clearly shorter than `least` times the longest begins a
    new one: where a small batch is as fast as a large one, padding is the dearer of the two. Equal lengths keep their
    order: the plan is deterministic.
    """
    plan: list[list[int]] = []
    widest = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if plan and widest * (len(plan[-1]) + 1) <= budget and lengths[index] + SLACK >= least * widest:
            plan[-1].append(index)
        else:
            plan.append([index])
            widest = max(1, lengths[index])
    return plan


def equal_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """As `batches`, but only items of one length go together: nothing is filled up, so that no bit of an item's result
    can depend on the others."""
    alike: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        alike.setdefault(length, []).append(index)
    return [
        same[at : at + size]
        for length, same in sorted(alike.items(), reverse=True)
        for size in [max(1, budget // max(1, length))]
        for at in range(0, len(same), size)
    ]


def in_batches(
    items: Sequence[Item],
    lengths: Sequence[int],
    budget: int,
    run: Callable[[list[Item]], Sequence[Result]],
) -> list[Result]:
    """What `run` gives for each item, in the order of `items`."""
    results: dict[int, Result] = {}
    for batch in batches(lengths, budget):
        results.update(zip(batch, run([items[i] for i in batch]), strict=True))
    return [results[i] for i in range(len(items))]


def once_each(items: Sequence[Item], run: Callable[[list[Item]], Sequence[Result]]) -> list[Result]:
    """What `run` gives for each item, equal (hashable) items being run once."""
    distinct = list(dict.fromkeys(items))
    found = dict(zip(distinct, run(distinct), strict=True)) if distinct else {}
    return [found[item] for item in items]
