"""Several tasks for one network: all at once, or one after another with a little of the earlier ones (UniEval §3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from quintet.errors import InputError, UnknownName
from quintet_train.recipe import Continual

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Stage:
    """One step of continual learning: all of `task` and a share of each earlier task."""

    task: str
    items: tuple[object, ...]
    epochs: float


def stages(by_task: Mapping[str, Sequence[object]], plan: Continual, epochs: float, seed: int) -> list[Stage]:
    """In the paper's order; stage k holds 100 % of task k and `replay` of each of tasks 1..k-1, drawn anew per stage:
    30k, 36k, 42k, 48k items for four tasks of 30k and a replay of 20 %."""
    for task in plan.order:
        if task not in by_task:
            raise UnknownName("task in continual.order", task, by_task)
    for task in plan.epochs:
        if task not in plan.order:
            raise UnknownName("task in continual.epochs", task, plan.order)
    if not 0 <= plan.replay <= 1:
        raise InputError(f"continual.replay must be between 0 and 1, not {plan.replay}")
    out = []
    for number, task in enumerate(plan.order):
        rng = Random(f"{seed}:{task}")
        items = list(by_task[task])
        for earlier in plan.order[:number]:
            share = by_task[earlier]
            items += rng.sample(list(share), round(plan.replay * len(share)))
        rng.shuffle(items)
        out.append(Stage(task, tuple(items), plan.epochs.get(task, epochs)))
    return out


def mixture(by_task: Mapping[str, Sequence[Thing]], count: int, seed: int, temperature: float = 1.0) -> list[Thing]:
    """`count` items, tasks drawn by size ** (1 / temperature): 1 is proportional, large values even them out.

    Within a task every item comes once before any comes twice.
    """
    if temperature <= 0:
        raise InputError(f"temperature must be above 0, not {temperature}")
    rng = Random(seed)
    tasks = sorted(task for task, items in by_task.items() if items)
    if not tasks:
        return []
    weights = [len(by_task[task]) ** (1 / temperature) for task in tasks]
    queues: dict[str, list[Thing]] = {task: [] for task in tasks}
    out = []
    for task in rng.choices(tasks, weights, k=count):
        if not queues[task]:
            queues[task] = rng.sample(list(by_task[task]), len(by_task[task]))
        out.append(queues[task].pop())
    return out


def group_by_task(items: Sequence[Thing]) -> dict[str, list[Thing]]:
    """By the items' own `task`."""
    out: dict[str, list[Thing]] = {}
    for item in items:
        out.setdefault(getattr(item, "task", ""), []).append(item)
    return out
