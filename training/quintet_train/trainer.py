"""Steps, rates, checkpoints and a log; knows no metric, no head and no model family.

Everything random in a step comes from the plan's seed and the number of the step, and the order of items from the seed
and the number of the epoch. So a run that was cut off goes on from its last checkpoint to the very same weights (on a
CPU with the same number of threads; a GPU's sums may differ in the last bits). Nothing is pickled: weights and
optimiser are safetensors, the rest is JSON.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from quintet.errors import InputError, ModelError
from quintet_train.averaging import RunningMean
from quintet_train.recipe import Plan
from quintet_train.torch_parts import need

Progress = Callable[[int, int, Mapping[str, float]], None]
"""Called after each step: number of the step (from 1), number of all steps, figures."""


@runtime_checkable
class Packed(Protocol):
    """A lesson that makes its own batches, say by tokens: item numbers of every batch of an epoch."""

    def batches(self, epoch: int, seed: int, tokens: int) -> list[list[int]]: ...


class Lesson(Protocol):
    """What is learnt: how many items there are, the loss of some of them, figures on held-out ones."""

    size: int

    def loss(self, network: nn.Module, indexes: Sequence[int], seed: int) -> Tensor: ...

    def dev_scores(self, network: nn.Module) -> dict[str, float]: ...


@dataclass(frozen=True)
class Outcome:
    """What a run gave: steps done, the figure that was kept by, the step whose weights the network now has."""

    steps: int
    kept_step: int
    kept_score: float | None
    scores: Mapping[str, float]
    stopped_early: bool = False


@dataclass
class _State:
    step: int = 0
    seconds: float = 0.0
    best_step: int = 0
    best_score: float | None = None
    best_scores: dict[str, float] | None = None
    worse_in_a_row: int = 0


def total_steps(plan: Plan, size: int) -> int:
    if plan.max_steps:
        return plan.max_steps
    return max(1, math.ceil(plan.epochs * size / (plan.batch * plan.accumulate)))


def rate_at(plan: Plan, step: int, total: int) -> float:
    """Linear warm-up, then a straight line down to 0 (or the floor) after the last step; `step` counts from 0."""
    warm = math.ceil(plan.warmup * total)
    if step < warm:
        return plan.rate * (step + 1) / warm
    return plan.rate * max(plan.floor, (total - step) / max(1, total - warm))


def rate_by_time(plan: Plan, share: float) -> float:
    """The same line over the share of the time that is over."""
    if share < plan.warmup:
        return plan.rate * share / plan.warmup
    return plan.rate * max(plan.floor, (1 - share) / max(1e-9, 1 - plan.warmup))


def item_order(size: int, epoch: int, seed: int) -> list[int]:
    order = list(range(size))
    Random(f"{seed}:{epoch}").shuffle(order)
    return order


def parameter_groups(network: nn.Module, decay: float, head_rate: float = 1.0) -> list[dict[str, Any]]:
    """Vectors (biases, norms) are never decayed; what lies outside `network.body` learns `head_rate` times as fast."""
    body = getattr(network, "body", "") if head_rate != 1 else ""
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            groups.setdefault((not name.startswith(body), parameter.ndim < 2), []).append(parameter)
    return [
        {"params": own, "weight_decay": 0.0 if vector else decay, "scale": head_rate if head else 1.0}
        for (head, vector), own in sorted(groups.items(), key=lambda pair: pair[0])
    ]


def pick_device(name: str = "auto") -> torch.device:
    if name != "auto":
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Trainer:
    def __init__(self, network: nn.Module, lesson: Lesson, plan: Plan, folder: Path, key: str = "") -> None:
        """`key` names what is trained on what; a checkpoint with another key is not resumed."""
        if lesson.size < 1:
            raise InputError("nothing to learn from: no training item")
        self.network, self.lesson, self.plan, self.folder, self.key = network, lesson, plan, folder, key
        self.device = next(network.parameters()).device
        if plan.tokens and not isinstance(lesson, Packed):
            raise InputError("train.tokens is set, but this lesson does not pack its items")
        self.batches = _Batches(lesson, plan)
        self.total = 0 if plan.seconds else self.batches.total()
        groups = parameter_groups(network, plan.decay, plan.head_rate)
        self.optimizer = torch.optim.AdamW(groups, lr=plan.rate, eps=plan.epsilon, betas=(plan.betas[0], plan.betas[1]))
        self.mean = RunningMean(network, plan.average) if plan.average else None
        self.evaluate_every = plan.evaluate_every or max(1, math.ceil(self.total / 4) if self.total else 1000)
        self.save_every = plan.save_every or self.evaluate_every
        self.state = _State()

    def fit(self, resume: bool = True, progress: Progress | None = None, stop_after: int = 0) -> Outcome:
        """Runs to the end (or, to be resumed later, `stop_after` steps) and leaves the kept weights in the network."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if resume:
            self._resume()
        else:
            shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)
        self._trim_log()
        done = False
        while self._over() < 1 and not done:
            started = time.monotonic()
            loss, rate = self._step()
            self.state.seconds += time.monotonic() - started
            figures: dict[str, float] = {"loss": loss, "rate": rate}
            last = self._over() >= 1
            if last or self.state.step % self.evaluate_every == 0:
                figures.update({f"dev_{name}": value for name, value in self._evaluate().items()})
                done = bool(self.plan.patience) and self.state.worse_in_a_row >= self.plan.patience
            self._log(figures)
            if last or done or self.state.step % self.save_every == 0:
                self._save(f"step-{self.state.step:08d}")
            if progress is not None:
                progress(self.state.step, self.total or round(self.state.step / min(1.0, self._over())), figures)
            if stop_after and self.state.step >= stop_after:
                break
        if self.mean is not None:
            self.mean.put()
        if self.plan.keep != "last" and self.state.best_step and (self.folder / "checkpoints" / "best").is_dir():
            load_weights(self.network, self.folder / "checkpoints" / "best" / "model.safetensors")
        kept = self.state.best_step if self.plan.keep != "last" else self.state.step
        return Outcome(self.state.step, kept, self.state.best_score, self.state.best_scores or {}, done)

    def _over(self) -> float:
        """Which share of the steps, or of the time, is over."""
        return self.state.seconds / self.plan.seconds if self.plan.seconds else self.state.step / self.total

    def _step(self) -> tuple[float, float]:
        step, plan = self.state.step, self.plan
        rate = rate_by_time(plan, self._over()) if plan.seconds else rate_at(plan, step, self.total)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["scale"]
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for part in range(plan.accumulate):
            seed = (plan.seed * 1_000_003 + step) * 64 + part
            torch.manual_seed(seed)
            indexes = self.batches[step * plan.accumulate + part]
            with autocast(self.device, plan.precision):
                loss = self.lesson.loss(self.network, indexes, seed) / plan.accumulate
            if not torch.isfinite(loss):
                raise InputError(f"the loss is not a number at step {step + 1}", todo="lower train.rate")
            loss.backward()
            total += float(loss.detach())
        if plan.clip:
            nn.utils.clip_grad_norm_(self.network.parameters(), plan.clip)
        self.optimizer.step()
        self.state.step += 1
        if self.mean is not None:
            self.mean.update(self.state.step)
        return total, rate

    def _evaluate(self) -> dict[str, float]:
        """The mean of the weights is what is kept, so it is what is judged."""
        self.network.eval()
        with self._kept_weights(), torch.no_grad(), autocast(self.device, self.plan.precision):
            scores = self.lesson.dev_scores(self.network)
        if self.plan.keep == "last" or not scores:
            self.state.best_scores = scores
            return scores
        if self.plan.keep not in scores:
            raise InputError(f"train.keep is {self.plan.keep!r}, but the figures are: {', '.join(scores)}")
        score = scores[self.plan.keep]
        if self.state.best_score is None or score > self.state.best_score:
            self.state.best_score, self.state.best_step, self.state.worse_in_a_row = score, self.state.step, 0
            self.state.best_scores = scores
            with self._kept_weights():
                self._save("best", weights_only=True)
        else:
            self.state.worse_in_a_row += 1
        return scores

    def _kept_weights(self) -> AbstractContextManager[None]:
        return nullcontext() if self.mean is None else self.mean.in_network()

    def _log(self, figures: Mapping[str, float]) -> None:
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps({"step": self.state.step, **figures}) + "\n")

    def _trim_log(self) -> None:
        """Steps after the checkpoint are done again; their old lines go."""
        path = self.folder / "log.jsonl"
        if path.is_file():
            lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
            kept = [line for line in lines if json.loads(line)["step"] <= self.state.step]
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")

    def _save(self, name: str, weights_only: bool = False) -> None:
        """Written beside and renamed, so that a half-written checkpoint is never taken for a whole one."""
        save_file = need("safetensors.torch").save_file
        root = self.folder / "checkpoints"
        fresh = root / f".{name}.part"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        save_file(plain_weights(self.network), fresh / "model.safetensors")
        if not weights_only:
            save_file(self._optimizer_tensors(), fresh / "optimizer.safetensors")
            if self.mean is not None:
                self.mean.save(fresh / "mean.safetensors")
            plain = {"key": self.key, "total": self.total, **vars(self.state)}
            (fresh / "state.json").write_text(json.dumps(plain, indent=1), encoding="utf-8")
        shutil.rmtree(root / name, ignore_errors=True)
        os.replace(fresh, root / name)
        if not weights_only and not self.plan.keep_all:
            for old in _checkpoints(root)[:-2]:
                shutil.rmtree(old)

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        for name, parameter in self.network.named_parameters():
            for part, value in self.optimizer.state.get(parameter, {}).items():
                out[f"{part}.{name}"] = torch.as_tensor(value).detach().clone().contiguous()
        return out

    def _resume(self) -> None:
        found = _checkpoints(self.folder / "checkpoints")
        if not found:
            return
        plain = json.loads((found[-1] / "state.json").read_text(encoding="utf-8"))
        if plain.pop("key") != self.key or plain.pop("total") != self.total:
            todo = "choose another folder or start anew with resume off"
            raise InputError("holds a run with other settings or data", where=str(self.folder), todo=todo)
        load_weights(self.network, found[-1] / "model.safetensors")
        tensors = need("safetensors.torch").load_file(found[-1] / "optimizer.safetensors")
        for name, parameter in self.network.named_parameters():
            parts = {
                key: tensors[f"{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq") if f"{key}.{name}" in tensors
            }
            if parts:
                self.optimizer.state[parameter] = {
                    key: value if key == "step" else value.to(parameter.device) for key, value in parts.items()
                }
        if self.mean is not None:
            self.mean.load(found[-1] / "mean.safetensors")
        self.state = _State(**plain)


class _Batches:
    """Item numbers of every batch, whatever step a run goes on from: they follow from the seed and the epoch."""

    def __init__(self, lesson: Lesson, plan: Plan) -> None:
        self._lesson, self._plan = lesson, plan
        self._order: tuple[int, list[int]] = (-1, [])
        self._packed: dict[int, list[list[int]]] = {}

    def total(self) -> int:
        plan = self._plan
        if plan.max_steps or not plan.tokens:
            return total_steps(plan, self._lesson.size)
        return max(1, math.ceil(plan.epochs * len(self._epoch(0)) / plan.accumulate))

    def __getitem__(self, batch: int) -> list[int]:
        if not self._plan.tokens:
            return self._of_items(batch)
        epoch = 0
        while batch >= len(self._epoch(epoch)):
            batch -= len(self._epoch(epoch))
            epoch += 1
        return self._epoch(epoch)[batch]

    def _epoch(self, number: int) -> list[list[int]]:
        if number not in self._packed:
            lesson: Any = self._lesson
            self._packed[number] = lesson.batches(number, self._plan.seed, self._plan.tokens)
        return self._packed[number]

    def _of_items(self, batch: int) -> list[int]:
        size, out = self._lesson.size, []
        for place in range(batch * self._plan.batch, (batch + 1) * self._plan.batch):
            epoch = place // size
            if self._order[0] != epoch:
                self._order = (epoch, item_order(size, epoch, self._plan.seed))
            out.append(self._order[1][place % size])
        return out


def checkpoints(folder: Path) -> list[Path]:
    """Every checkpoint below a run's folder, in order."""
    return sorted(path.parent for path in folder.rglob("state.json"))


def _checkpoints(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("step-*") if (path / "state.json").is_file())


def autocast(device: torch.device, precision: str) -> Any:
    """bf16 where the GPU has it and the plan does not forbid it."""
    wanted = precision == "bf16" or (precision == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported())
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=wanted)


def plain_weights(network: nn.Module) -> dict[str, Tensor]:
    """Copies, since safetensors takes no two names for one memory (tied embeddings)."""
    return {name: value.detach().to("cpu", copy=True).contiguous() for name, value in network.state_dict().items()}


def load_weights(network: nn.Module, path: Path) -> None:
    """All tensors, no more and no fewer; what is missing is named."""
    tensors = need("safetensors.torch").load_file(path)
    wanted = network.state_dict()
    missing = sorted(set(wanted) - set(tensors))
    strange = sorted(set(tensors) - set(wanted))
    if missing or strange:
        what = f"lacks {len(missing)} tensors, first {missing[0]}" if missing else f"holds unknown {strange[0]}"
        raise ModelError(f"{path} {what}; it was made for another architecture")
    wrong = [name for name in wanted if wanted[name].shape != tensors[name].shape]
    if wrong:
        shapes = f"{tuple(tensors[wrong[0]].shape)}, not {tuple(wanted[wrong[0]].shape)}"
        raise ModelError(f"{path}: {wrong[0]} has shape {shapes}; it was made for another architecture")
    network.load_state_dict(tensors)
