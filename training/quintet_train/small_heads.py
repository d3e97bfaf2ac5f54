"""Small heads on frozen features: IM2's 5-NUF and 5-IES for the bundled evaluator.

A head is one hidden layer and five classes, `tanh(x w1 + b1) w2 + b2`, taught by cross-entropy. A mean rating between
two classes is shared between them (3.25 is a quarter of class 4), so that the expected class is the rating itself.
`scripts/build_im2.py` trains and writes them; `bundled:dialogue-nuf` and `-ies` are them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quintet.errors import InputError
from quintet_train.torch_parts import need

Floats = NDArray[np.float64]
Head = dict[str, NDArray[np.float32]]
"""w1 (width, hidden), b1, w2 (hidden, 5), b2."""
CLASSES = 5


@dataclass(frozen=True)
class HeadPlan:
    hidden: int = 16
    steps: int = 300
    rate: float = 3e-3
    decay: float = 0.03
    dropout: float = 0.2
    seed: int = 0


def soft_classes(points: Floats) -> Floats:
    """(n, 5): each rating in 1..5 as shares of the two classes it lies between."""
    points = np.asarray(points, np.float64)
    if len(points) == 0 or not np.isfinite(points).all() or points.min() < 1 or points.max() > CLASSES:
        raise InputError("ratings must be numbers from 1 to 5", todo="rescale them first")
    below = np.minimum(np.floor(points).astype(int), CLASSES - 1)
    shares = np.zeros((len(points), CLASSES))
    rows = np.arange(len(points))
    shares[rows, below - 1] = 1 - (points - below)
    shares[rows, below] = points - below
    return shares


def fit_head(features: NDArray[np.float32], points: Floats, plan: HeadPlan | None = None) -> Head:
    """Full-batch AdamW; the same bytes for the same seed."""
    need("torch")
    import torch

    plan = plan or HeadPlan()
    x = torch.tensor(np.asarray(features, np.float32))
    wanted = torch.tensor(soft_classes(points), dtype=torch.float32)
    generator = torch.Generator().manual_seed(plan.seed)
    w1 = torch.randn(x.shape[1], plan.hidden, generator=generator) / x.shape[1] ** 0.5
    w2 = torch.randn(plan.hidden, CLASSES, generator=generator) * 0.01
    b2 = torch.log(wanted.mean(0).clamp(min=1e-3))  # starts from how often each class occurs
    weights = [w1, torch.zeros(plan.hidden), w2, b2]
    for weight in weights:
        weight.requires_grad_()
    groups = [
        {"params": [weights[0], weights[2]], "weight_decay": plan.decay},
        {"params": [weights[1], weights[3]], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=plan.rate)
    for step in range(plan.steps):
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * (1 - step / plan.steps)
        kept = (torch.rand(len(x), plan.hidden, generator=generator) >= plan.dropout).float() / (1 - plan.dropout)
        logits = (torch.tanh(x @ weights[0] + weights[1]) * kept) @ weights[2] + weights[3]
        loss = -(wanted * logits.log_softmax(-1)).sum(-1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    names = ("w1", "b1", "w2", "b2")
    return {name: weight.detach().numpy().astype(np.float32) for name, weight in zip(names, weights, strict=True)}


def head_points(features: NDArray[np.float32], head: Head) -> Floats:
    """Expected class of each row, 1 to 5."""
    logits = np.tanh(np.asarray(features, np.float32) @ head["w1"] + head["b1"]) @ head["w2"] + head["b2"]
    shares = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return np.asarray((shares * np.arange(1, CLASSES + 1)).sum(1) / shares.sum(1), np.float64)


def layers(head: Head) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """(weight (out, in), bias) from the features up, as `quintet.models.adapters` stores them (activation tanh)."""
    return [(np.ascontiguousarray(head["w1"].T), head["b1"]), (np.ascontiguousarray(head["w2"].T), head["b2"])]
