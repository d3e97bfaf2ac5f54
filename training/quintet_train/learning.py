"""The part of a run that needs torch: networks, stages, the trainer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from quintet_train.assemble import Assembled, assemble
from quintet_train.heads import HeadLesson
from quintet_train.items import Item
from quintet_train.recipe import Recipe
from quintet_train.run import plan_stages
from quintet_train.trainer import Outcome, Progress, Trainer, pick_device

StageProgress = Callable[[str, int, int, Mapping[str, float]], None]


def learn(
    recipe: Recipe,
    train: Sequence[Item],
    dev: Sequence[Item],
    target: Path,
    resume: bool,
    progress: StageProgress | None,
    device: str,
    key: str,
) -> tuple[int, Assembled, dict[str, float]]:
    """Steps done, the network with its kept weights, held-out figures of the last stage."""
    torch.manual_seed(recipe.train.seed)
    made = assemble(recipe.model, [*train, *dev])
    made.network.to(pick_device(device))
    steps = 0
    outcome: Outcome | None = None
    for name, stage, items in plan_stages(recipe, train):
        lesson = HeadLesson(made.head, items, _held_out(dev, name), recipe.train.batch)
        trainer = Trainer(made.network, lesson, stage.train, target / "run" / name, f"{key}:{name}")
        outcome = trainer.fit(resume, _named(progress, name))
        steps += outcome.steps
    made.network.eval().to("cpu")
    return steps, made, dict(outcome.scores) if outcome is not None else {}


def _held_out(dev: Sequence[Item], stage: str) -> list[Item]:
    """A stage is judged by the task that it adds."""
    task = stage.partition("-")[2]
    own = [item for item in dev if not task or getattr(item, "task", "") == task]
    return own or list(dev)


def _named(progress: StageProgress | None, name: str) -> Progress | None:
    if progress is None:
        return None

    def step(number: int, total: int, figures: Mapping[str, float]) -> None:
        progress(name, number, total, figures)

    return step
