"""The language model as a judge: its answers and loss against plain twins, what it learns and keeps, its runs."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from quintet.errors import InputError, ModelError
from quintet.models.open import open_model
from quintet_train import recipe, tiny
from quintet_train.evaluator import language_grid, starting
from quintet_train.evaluator.groups import BETTER, HEADS, QUESTIONS, WORSE, Group, Judged
from quintet_train.evaluator.language_frame import LanguageFrame
from quintet_train.evaluator.language_judge import LanguageJudge
from quintet_train.evaluator.language_judge_lesson import LanguageJudgeLesson
from quintet_train.evaluator.language_lesson import Anchor, LanguageLesson
from quintet_train.evaluator.language_network import LanguageModel, Shape
from quintet_train.evaluator.language_texts import Reading, dialogue_form, summary_form, tokenised
from quintet_train.evaluator.lesson import JudgeLesson, Weights
from quintet_train.evaluator.packing import UNKNOWN, pack
from quintet_train.recipe import Plan
from quintet_train.run import run_recipe
from quintet_train.trainer import Trainer, parameter_groups

CPU = torch.device("cpu")
NAME = "judge-lm-heads"
CHOSEN = recipe.load(NAME).data.options["heads"]
WORDS = ["lamp", "river", "stone", "bread", "cloud", "horse", "paper", "green", "music", "tower", "salt", "door"]
GROUPS = [
    Group("con", [Judged("river stone", "river stone lamp", 1, ()), Judged("river door", "river", 0, [(6, 10)])]),
    Group("adq", [Judged("salt", "green", BETTER), Judged("lamp salt", "green", WORSE), Judged("door", "door", 0.5)]),
    Group("nli", [Judged("lamp", "lamp river", 3, ()), Judged("lamp", "paper", 2)], False),
    Group("sel", [Judged("music", "paper [SEP] green", 1), Judged("cloud", "paper", 0)]),
]
WEIGHTS = Weights({"con": 2.0, "nli": 0.5}, masked_share=0.0)


@pytest.fixture(scope="module")
def frame() -> LanguageFrame:
    return LanguageFrame(tiny.tokenizer("gpt2", [" ".join(WORDS)] * 5), "<|endoftext|>", 64)


def network(frame: LanguageFrame, width: int = 32) -> LanguageJudge:
    torch.manual_seed(0)
    return LanguageJudge(LanguageModel(Shape(frame.tokenizer.get_vocab_size(), width, 2, 2, 1, 64)))


def judged(groups: list[Group], frame: LanguageFrame, held: float = 0.0) -> JudgeLesson:
    return JudgeLesson(pack(groups, frame), WEIGHTS, held, 0, 0, 0, output_last=True)


def claims(count: int) -> list[Group]:
    """A word that stands in the grounds, and one that does not."""
    rng, out = Random(0), []
    for _ in range(count):
        first, second, other = rng.sample(WORDS, 3)
        grounds, true = f"{first} {second}", rng.choice([first, second])
        out.append(Group("con", [Judged(true, grounds, 1, ()), Judged(other, grounds, 0, [(0, len(other))])]))
    return out


def reading_lesson(frame: LanguageFrame, network: LanguageJudge, anchored: float) -> LanguageLesson:
    """Words in any order, read as summaries."""
    rng = Random(1)
    found = [
        Reading(summary_form(" ".join(rng.sample(WORDS, 3))), (f" {' '.join(rng.sample(WORDS, 4))}\n",), n, "summary")
        for n in range(80)
    ]
    texts = tokenised(found, frame.tokenizer, frame.tokenizer.token_to_id(frame.first))
    return LanguageLesson(texts, 0.2, 0, 0.0, Anchor.of(network.model, {"summary": anchored}, CPU))


def plain_answers(network: LanguageJudge, ids: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One text alone, in numpy from its states: questions, entailment, words."""
    weights = {name: value.double().numpy() for name, value in network.head_weights().items()}
    with torch.no_grad():
        states = network.model(torch.from_numpy(ids.astype(np.int64))[None])[0].double().numpy()
    mean = states[len(ids) - size :].mean(0)
    pooled = np.tanh(weights["pool.weight"] @ np.concatenate([states[-1], mean]) + weights["pool.bias"])
    questions = weights["heads.weight"] @ pooled + weights["heads.bias"]
    entailment = weights["nli.weight"] @ pooled + weights["nli.bias"]
    return questions, entailment, states @ weights["tok.weight"][0] + weights["tok.bias"][0]


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def test_the_loss_of_a_batch_is_a_plain_sum(frame: LanguageFrame) -> None:
    made, lesson = network(frame), judged(GROUPS, frame)
    packed = lesson.packed
    place = row = 0
    total, words = 0.0, []
    for group in GROUPS:
        weight, head, answered = WEIGHTS.heads.get(group.head, 1.0), HEADS.index(group.head), []
        for text in group.texts:
            length, size = int(packed.lengths[row]), int(packed.outputs[row])
            found, marks = plain_answers(made, packed.ids[place : place + length], size), packed.marks[place:]
            for at in range(length - size, length - 1):
                if text.wrong is not None:
                    words.append(softplus(-found[2][at]) if marks[at] else 2 * softplus(found[2][at]))
            assert marks[length - 1] == UNKNOWN, "the line break"
            place, row = place + length, row + 1
            answered.append((text.label, found))
        for label, (questions, entailment, _) in answered:
            if group.head == "nli":
                chances = np.exp(entailment) / np.exp(entailment).sum()
                total -= weight * math.log(1 - chances[0] if label == 3 else chances[int(label)])
                continue
            if label >= 0:
                total += weight * (label * softplus(-questions[head]) + (1 - label) * softplus(questions[head]))
            for other, (below, *_) in answered:
                if (label >= 0.25 or label == BETTER) and label > other + 0.15:
                    total += 0.7 * weight * softplus(below[head] - questions[head])
    found = float(lesson.loss(made, range(len(GROUPS)), 0).detach())
    assert found == pytest.approx(total / row + 0.3 * sum(words) / len(words), rel=1e-5)


def test_heads_are_computed_in_full_precision(frame: LanguageFrame) -> None:
    made, batch = network(frame), judged(GROUPS, frame).batch([0, 1], CPU)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        answers = made(batch.ids, batch.types, batch.mask, batch.output_mask)
        states = made.model(batch.ids).float()
    with torch.no_grad():
        assert torch.equal(answers.words, made.tok(states)[..., 0])
    assert {one.dtype for one in (answers.questions, answers.entailment, answers.words)} == {torch.float32}


def test_heads_learn_faster_than_the_language_model(frame: LanguageFrame) -> None:
    made = network(frame)
    fast = {id(p) for group in parameter_groups(made, 0.01, 5.0) if group["scale"] == 5 for p in group["params"]}
    named = {name for name, parameter in made.named_parameters() if id(parameter) in fast}
    assert named == {f"{head}.{part}" for head in ("pool", "heads", "nli", "tok") for part in ("weight", "bias")}


def test_it_learns_to_tell_supported_words_from_others(frame: LanguageFrame, tmp_path: Path) -> None:
    """Every word is right beside some grounds and wrong beside others, so it has to look."""
    made, lesson = network(frame, 64), judged(claims(600), frame, 0.15)
    plan = Plan(max_steps=160, tokens=2048, rate=5e-3, betas=(0.9, 0.98), evaluate_every=80, keep="last", seed=0)
    assert Trainer(made, lesson, plan, tmp_path).fit().scores["con"] > 0.8
    batch = lesson.batch(sorted(lesson._held), CPU)
    with torch.no_grad():
        words = made.eval()(batch.ids, batch.types, batch.mask, batch.output_mask).words
    right, wrong = words[batch.marks == 1], words[batch.marks == 0]
    assert float((right[:, None] > wrong[None]).float().mean()) > 0.8


def test_anchored_readings_keep_the_likelihoods(frame: LanguageFrame, tmp_path: Path) -> None:
    """The same steps on judged groups: alone they carry the language model off."""
    away = {}
    for share, steps in ((1.0, 40), (0.5, 80)):
        made = network(frame)
        with torch.no_grad():
            made.model.emb.weight.mul_(10)  # so that it is sure of something
        lesson = LanguageJudgeLesson(judged(claims(200), frame, 0.1), reading_lesson(frame, made, 1.0), share)
        plan = Plan(max_steps=steps, tokens=512, rate=3e-3, evaluate_every=steps, keep="last", seed=0)
        away[share] = Trainer(made, lesson, plan, tmp_path / str(share)).fit().scores["anchor_kl_summary"]
    assert away[0.5] < away[1.0] / 4


@pytest.mark.parametrize(("share", "steps"), [(1.0, 0), (0.7, 3 / 7), (0.2, 4)])
def test_steps_are_shared_between_groups_and_readings(frame: LanguageFrame, share: float, steps: float) -> None:
    made = network(frame)
    own, reading = judged(claims(60), frame, 0.1), reading_lesson(frame, made, 1.0)
    lesson = LanguageJudgeLesson(own, reading, share)
    for epoch in (0, 1):
        found = lesson.batches(epoch, 5, 256)
        assert found == lesson.batches(epoch, 5, 256)
        kinds = ["groups" if batch[0] < own.groups else "readings" for batch in found]
        assert all(
            (index < own.groups) == (kind == "groups") for b, kind in zip(found, kinds, strict=True) for index in b
        )
        groups = [index for batch, kind in zip(found, kinds, strict=True) if kind == "groups" for index in batch]
        assert sorted(groups) == sorted(own._train)
        count = Counter(kinds)
        assert count["readings"] == pytest.approx(count["groups"] * steps, abs=1)
        half = Counter(kinds[: len(kinds) // 2])
        assert half["readings"] == pytest.approx(half["groups"] * steps, abs=max(1.0, steps))
        read = {
            index - own.groups
            for batch, kind in zip(found, kinds, strict=True)
            if kind == "readings"
            for index in batch
        }
        assert read <= set(reading._train)
    reads = [batch for batch in lesson.batches(0, 5, 256) if batch[0] >= own.groups]
    if reads:
        alone = reading.loss(made.model, [index - own.groups for index in reads[0]], 3)
        assert torch.equal(lesson.loss(made, reads[0], 3), alone)


def test_figures_of_both_are_told(frame: LanguageFrame) -> None:
    made = network(frame)
    own, reading = judged(claims(60), frame, 0.2), reading_lesson(frame, made, 1.0)
    with torch.no_grad():
        found = LanguageJudgeLesson(own, reading, 0.5).dev_scores(made)
        assert found == {**reading.dev_scores(made.model), **own.dev_scores(made)}
        assert found["score"] == own.dev_scores(made)["con"]
    assert {"con", "token_loss", "anchor_kl_summary"} <= set(found)


def test_wrong_shares_of_steps_are_named(frame: LanguageFrame) -> None:
    made, own = network(frame), judged(GROUPS, frame)
    for share in (0.0, 1.5):
        with pytest.raises(InputError, match="judged_share"):
            LanguageJudgeLesson(own, reading_lesson(frame, made, 1.0), share)
    with pytest.raises(InputError, match="no text to read"):
        LanguageJudgeLesson(own, LanguageLesson([], 0.0, 0), 0.5)


def test_heads_are_never_rounded(frame: LanguageFrame) -> None:
    made = network(frame)
    whole = {**made.model.state_dict(), **made.head_weights()}
    stored = language_grid.compressed(whole)
    assert not [name for name in stored if "|" in name and name.startswith(language_grid.HEADS)]
    back = language_grid.expanded(language_grid.joined_parts(stored))
    assert all(torch.equal(back[name], value) for name, value in made.head_weights().items())
    assert not torch.equal(back["blocks.0.q.weight"], whole["blocks.0.q.weight"])


def test_a_run_leaves_heads_beside_a_language_model(trained) -> None:
    made = trained(NAME)
    target = made.folder.parent
    weights = load_file(target / "weights.safetensors")
    assert weights["heads.weight"].shape == (len(QUESTIONS), 32)
    assert {weights[f"{head}.{part}"].dtype for head in ("pool", "nli", "tok") for part in ("weight", "bias")} == {
        torch.float32
    }
    assert {"con", "token_loss_dialogue", "anchor_kl_dialogue", "anchor_kl_summary"} <= set(made.figures)
    card = (made.folder / "CARD.md").read_text(encoding="utf-8")
    assert f"Heads that were taught: {', '.join(name for name in HEADS if name in CHOSEN)}, words." in card
    log = [json.loads(line) for line in (target / "run" / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in log] == [1, 2, 3, 4]
    with np.load(target / "prepared" / "examples.npz") as examples:
        assert {HEADS[head] for head in examples["heads"]} == set(CHOSEN)
        assert made.items == len(examples["heads"])
    start = starting.open_language_model(f"dir:{target}", ())
    before, own = (one.ids for one in start.tokenizer.encode_batch([dialogue_form(["Hello."]), " Hi there"]))
    ids = torch.tensor([[start.tokenizer.token_to_id(start.first), *before, *own]])
    with torch.no_grad():
        logp = torch.log_softmax(start.network.logits(start.network(ids))[0], -1)
    wanted = [float(logp[len(before) + place, token]) for place, token in enumerate(own)]
    scores = open_model(f"dir:{made.folder}", "causal-lm").log_probs([(dialogue_form(["Hello."]), " Hi there")])[0]
    assert list(scores.log_probs) == pytest.approx(wanted, abs=1e-3)


def test_the_folder_judges_as_the_network_does(trained) -> None:
    folder = trained(NAME).folder
    start = starting.open_language_model(f"dir:{folder.parent}", ())
    context, text = summary_form("The cat sat on the mat."), " The cat sat."
    pieces = [one.ids for one in start.tokenizer.encode_batch([context, text, "\n"])]
    # One line break, whatever the tokenizer puts before it.
    pieces[2] = pieces[2][-1:]
    ids = torch.tensor([[start.tokenizer.token_to_id(start.first), *(number for one in pieces for number in one)]])
    first, last = 1 + len(pieces[0]), ids.shape[1] - 1
    with torch.no_grad():
        inside = torch.arange(ids.shape[1])[None] >= first
        answers = LanguageJudge(start.network, start.heads)(ids, None, torch.ones_like(ids), inside)
    model = open_model(f"dir:{folder}", "causal-lm")
    assert model.taught == (*(name for name in HEADS if name in CHOSEN), "words")
    found = model.log_probs([(context, text)])[0].judgement
    wanted = {name: float(answers.questions[0, HEADS.index(name)]) for name in QUESTIONS if name in CHOSEN}
    assert found.logits == pytest.approx(wanted, abs=5e-3)
    assert found.entailment.tolist() == pytest.approx(answers.entailment[0].softmax(-1).tolist(), abs=5e-3)
    assert found.support.tolist() == pytest.approx(answers.words[0, first:last].sigmoid().tolist(), abs=5e-3)


def test_a_run_that_was_cut_off_ends_with_the_same_bytes(tmp_path: Path, trained) -> None:
    whole = trained(NAME).folder.parent
    shutil.copytree(whole, tmp_path / "cut")
    shutil.rmtree(tmp_path / "cut" / "model")
    (tmp_path / "cut" / "weights.safetensors").unlink()
    shutil.rmtree(max((tmp_path / "cut" / "run" / "checkpoints").glob("step-*")))
    examples = tmp_path / "cut" / "prepared" / "examples.npz"
    written = examples.stat().st_mtime_ns
    steps: list[int] = []
    run_recipe(NAME, out=tmp_path / "cut", smoke=True, device="cpu", progress=lambda *a: steps.append(a[1]))
    assert steps == [3, 4]
    assert examples.stat().st_mtime_ns == written, "examples are made once"
    for file in ("weights.safetensors", "model/model.onnx", "model/packed.safetensors", "model/heads.safetensors",
                 "model/model.toml"):  # fmt: skip
        assert (tmp_path / "cut" / file).read_bytes() == (whole / file).read_bytes(), file


def test_a_run_keeps_heads_that_its_start_has(tmp_path: Path, trained) -> None:
    """Without them they are new. At a rate of nearly nothing, what comes out is what went in."""
    text = (Path(recipe.__file__).parent / "recipes" / f"{NAME}.toml").read_text(encoding="utf-8")
    at = text.index("[smoke.train]")
    still = text[:at] + text[at:].replace("rate = 0.001", "rate = 1e-12").replace("max_steps = 4", "max_steps = 1")
    (tmp_path / "still.toml").write_text(still, encoding="utf-8")
    went_in = {name: load_file(trained(name).folder.parent / "weights.safetensors") for name in (NAME, "judge-lm")}
    for name, weights in went_in.items():
        made = run_recipe(
            tmp_path / "still.toml", out=tmp_path / name, smoke=True, start=f"dir:{trained(name).folder.parent}",
            device="cpu",
        )  # fmt: skip
        came_out = load_file(made.folder.parent / "weights.safetensors")
        heads = [head for head in came_out if head.startswith(language_grid.HEADS)]
        assert len(heads) == 8
        kept = [head for head in heads if head in weights and torch.allclose(came_out[head], weights[head], atol=1e-6)]
        assert len(kept) == (8 if name == NAME else 0)
        assert torch.equal(came_out["emb.weight|q"], weights["emb.weight|q"])


def test_a_mean_with_a_start_that_has_heads(tmp_path: Path, trained) -> None:
    text = (Path(recipe.__file__).parent / "recipes" / f"{NAME}.toml").read_text(encoding="utf-8")
    start = trained(NAME).folder.parent
    found = {}
    for name, share in (("learnt", "0.0"), ("mean", "0.25")):
        (tmp_path / f"{name}.toml").write_text(text.replace("start_share = 0.0", f"start_share = {share}"), "utf-8")
        made = run_recipe(
            tmp_path / f"{name}.toml", out=tmp_path / name, smoke=True, start=f"dir:{start}", device="cpu"
        )
        found[name] = load_file(tmp_path / name / "weights.safetensors")
    before = load_file(start / "weights.safetensors")
    # Heads are not rounded, so they are the mean to the last digits.
    for head in (name for name in before if name.startswith(language_grid.HEADS)):
        wanted = 0.25 * before[head] + 0.75 * found["learnt"][head]
        assert torch.allclose(found["mean"][head], wanted, atol=1e-6), head
    assert not torch.equal(found["mean"]["pool.weight"], found["learnt"]["pool.weight"])
    assert "The weights are a mean: 0.25 of the start's" in (made.folder / "CARD.md").read_text(encoding="utf-8")


def test_heads_of_other_questions_are_refused(tmp_path: Path, trained) -> None:
    before = trained(NAME).folder.parent
    for file in ("tokenizer.json", "config.json"):
        shutil.copy(before / file, tmp_path)
    weights = load_file(before / "weights.safetensors")
    save_file({**weights, "heads.weight": weights["heads.weight"][:-1].clone()}, tmp_path / "weights.safetensors")
    start = starting.open_language_model(f"dir:{tmp_path}", ())
    with pytest.raises(ModelError, match=r"heads.weight is missing or has another shape"):
        LanguageJudge(start.network, start.heads)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (f"heads = {json.dumps(CHOSEN)}", 'heads = ["con", "nil"]', "data.options.heads: no head 'nil'"),
        (f"heads = {json.dumps(CHOSEN)}", 'heads = ["con", "ord", "coh"]', ""),
        ("judged_tokens = 128", "judged_tokens = 12", "judged_tokens is 12, but at least 64"),
        ("start_share = 0.0", "start_share = 0.5", "a mean needs heads at the start"),
    ],
)
def test_wrong_options_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = (Path(recipe.__file__).parent / "recipes" / f"{NAME}.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "own.toml").write_text(text.replace(old, new), encoding="utf-8")
    if not message:
        made = run_recipe(tmp_path / "own.toml", out=tmp_path / "out", smoke=True, device="cpu")
        assert "Heads that were taught: coh, con, ord, words." in (made.folder / "CARD.md").read_text(encoding="utf-8")
        return
    with pytest.raises(InputError, match=message):
        run_recipe(tmp_path / "own.toml", out=tmp_path / "out", smoke=True, device="cpu")
