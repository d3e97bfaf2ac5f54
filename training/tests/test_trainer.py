# ruff: noqa: E402 - what follows needs packages that may be absent
"""The trainer on small problems: it learns, it stops, and a run that was cut off ends with the very same weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn

from quintet.errors import InputError, ModelError
from quintet_train import curve
from quintet_train.recipe import Plan
from quintet_train.trainer import Trainer, item_order, load_weights, parameter_groups, plain_weights, rate_at

PLAN = Plan(max_steps=12, batch=4, accumulate=2, rate=0.01, warmup=0.25, decay=0.01, evaluate_every=3, save_every=3)


class Line:
    """Points on a line; the held-out figure is the negative error."""

    def __init__(self, size: int = 20) -> None:
        self.size = size
        self.x = torch.linspace(-1, 1, size).unsqueeze(1)
        self.y = 3 * self.x - 1
        self.scores: list[float] = []

    def loss(self, network: nn.Module, indexes: Sequence[int], seed: int) -> Tensor:
        x, y = self.x[list(indexes)], self.y[list(indexes)]
        return ((network(x) - y) ** 2).mean()

    def dev_scores(self, network: nn.Module) -> dict[str, float]:
        score = self.scores.pop(0) if self.scores else -float(self.loss(network, range(self.size), 0))
        return {"score": score}


def small(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(1, 8), nn.Dropout(0.3), nn.LayerNorm(8), nn.Linear(8, 1))


def weights(network: nn.Module) -> dict[str, Tensor]:
    return plain_weights(network)


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("stop", [1, 3, 5, 9, 11])
@pytest.mark.parametrize("keep", ["last", "score"])
def test_a_resumed_run_ends_with_identical_weights(tmp_path: Path, stop: int, keep: str) -> None:
    plan = replace(PLAN, keep=keep)
    whole = small()
    first = Trainer(whole, Line(), plan, tmp_path / "a").fit()
    cut = small()
    Trainer(cut, Line(), plan, tmp_path / "b").fit(stop_after=stop)
    again = small(seed=99)
    if stop < 3:
        again = small()  # no checkpoint was written yet: the run begins anew, from the same start
    second = Trainer(again, Line(), plan, tmp_path / "b").fit()
    assert same(weights(whole), weights(again))
    assert first == second
    logs = [(tmp_path / name / "log.jsonl").read_text() for name in "ab"]
    assert logs[0] == logs[1], "steps done twice are logged once"
    assert [json.loads(line)["step"] for line in logs[0].splitlines()] == list(range(1, 13))


def test_without_resume_a_run_begins_anew(tmp_path: Path) -> None:
    network = small()
    Trainer(network, Line(), PLAN, tmp_path).fit()
    fresh = small()
    outcome = Trainer(fresh, Line(), PLAN, tmp_path).fit(resume=False)
    assert outcome.steps == 12
    assert same(weights(network), weights(fresh))


def test_a_checkpoint_of_other_settings_is_not_resumed(tmp_path: Path) -> None:
    Trainer(small(), Line(), PLAN, tmp_path, key="a").fit()
    with pytest.raises(InputError, match="holds a run with other settings or data; choose another folder"):
        Trainer(small(), Line(), PLAN, tmp_path, key="b").fit()


def test_the_loss_goes_down(tmp_path: Path) -> None:
    plan = Plan(max_steps=150, batch=8, rate=0.05, keep="last")
    Trainer(small(), Line(), plan, tmp_path).fit()
    losses = [json.loads(line)["loss"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert sum(losses[-20:]) < 0.5 * sum(losses[:20])


def test_the_best_weights_are_kept_and_patience_ends_the_run(tmp_path: Path) -> None:
    lesson = Line()
    lesson.scores = [0.1, 0.9, 0.5, 0.4, 0.3]
    plan = replace(PLAN, max_steps=40, evaluate_every=2, patience=2)
    network = small()
    outcome = Trainer(network, lesson, plan, tmp_path).fit()
    assert (outcome.kept_step, outcome.kept_score, outcome.steps, outcome.stopped_early) == (4, 0.9, 8, True)
    best = small()
    load_weights(best, tmp_path / "checkpoints" / "best" / "model.safetensors")
    assert same(weights(best), weights(network))


def test_nothing_is_pickled(tmp_path: Path) -> None:
    Trainer(small(), Line(), PLAN, tmp_path).fit()
    kinds = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert kinds == {".safetensors", ".json", ".jsonl"}
    assert len(list((tmp_path / "checkpoints").glob("step-*"))) == 2, "old checkpoints go"


def test_rates_rise_and_fall_in_straight_lines() -> None:
    plan = Plan(rate=1.0, warmup=0.2)
    rates = [rate_at(plan, step, 10) for step in range(10)]
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])
    assert rate_at(Plan(rate=1.0), 0, 4) == 1.0


def test_vectors_are_not_decayed() -> None:
    network = small()
    decayed, spared = parameter_groups(network, 0.01)
    assert all(p.ndim == 2 for p in decayed["params"])
    assert {p.ndim for p in spared["params"]} == {1}
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.01, 0.0)


def test_every_item_comes_once_an_epoch() -> None:
    assert sorted(item_order(50, 3, 1)) == list(range(50))
    assert item_order(50, 3, 1) != item_order(50, 4, 1)
    trainer = Trainer(small(), Line(20), replace(PLAN, accumulate=1), Path("unused"))
    seen = [index for step in range(5) for index in trainer.batches[step]]
    assert sorted(seen) == list(range(20))


def test_weights_of_another_architecture_are_named(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file(weights(nn.Sequential(nn.Linear(1, 8))), tmp_path / "m.safetensors")
    with pytest.raises(ModelError, match=r"lacks 4 tensors, first 2.bias; it was made for another architecture"):
        load_weights(small(), tmp_path / "m.safetensors")
    wrong = weights(small())
    wrong["0.weight"] = torch.zeros(3, 1)
    save_file(wrong, tmp_path / "m.safetensors")
    with pytest.raises(ModelError, match=r"0.weight has shape \(3, 1\), not \(8, 1\)"):
        load_weights(small(), tmp_path / "m.safetensors")


def test_a_loss_that_is_no_number_stops_the_run(tmp_path: Path) -> None:
    class Broken(Line):
        def loss(self, network: nn.Module, indexes: Sequence[int], seed: int) -> Tensor:
            return super().loss(network, indexes, seed) * float("nan")

    with pytest.raises(InputError, match=r"the loss is not a number at step 1; lower train.rate"):
        Trainer(small(), Broken(), PLAN, tmp_path).fit()


def test_an_unknown_figure_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train\.keep is 'f1', but the figures are: score"):
        Trainer(small(), Line(), replace(PLAN, keep="f1"), tmp_path).fit()


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    Trainer(small(), Line(), PLAN, tmp_path).fit()
    assert curve.draw([tmp_path / "log.jsonl"], tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
