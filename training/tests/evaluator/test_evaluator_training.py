"""Both recipes of the bundled models end to end on made-up rows; what they leave opens in the product's roles."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from quintet.errors import InputError, ModelError
from quintet.models.open import open_model
from quintet_train import recipe
from quintet_train.evaluator import building, starting
from quintet_train.evaluator import run as evaluator_run
from quintet_train.evaluator.groups import QUESTIONS
from quintet_train.evaluator.language_texts import Reading, dialogue_form, readings, summary_form, tokenised
from quintet_train.evaluator.packing import Frame
from quintet_train.run import run_recipe

NAMES = ("evaluator", "judge-lm")
ROLES = {"evaluator": "judge", "judge-lm": "causal-lm"}
LONGER = "max_steps = 120\ntokens = 1024\nrate = 0.003\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_run_leaves_what_is_bundled(name: str, trained) -> None:
    made = trained(name)
    folder = made.folder
    table = tomllib.loads((folder / "model.toml").read_text(encoding="utf-8"))
    assert table["role"] == ROLES[name]
    assert table["recipe_sha256"] == recipe.load(name, smoke=True).digest
    assert table["release"] == "yes"
    packed = {"packed.safetensors"} if name == "judge-lm" else set[str]()
    assert set(table["sha256"]) == {"model.onnx", "tokenizer.json"} | packed
    assert {one["licence"] for one in table["data"]} == {"made up for quintet"}
    card = (folder / "CARD.md").read_text(encoding="utf-8")
    assert "Not checked against benchmarks" in card
    assert "| dialogues.jsonl | 12 | made up for quintet | yes |" in card
    log = [json.loads(line) for line in (folder.parent / "run" / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in log] == [1, 2, 3, 4]
    assert made.figures["score"] == log[-1]["dev_score"]
    if find_spec("matplotlib"):
        assert (folder.parent / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def reading_together(tmp_path_factory):
    """A run of the recipe in which one head reads output and grounds as one text."""
    folder = tmp_path_factory.mktemp("together")
    text = (Path(recipe.__file__).parent / "recipes" / "evaluator.toml").read_text(encoding="utf-8")
    changed = text.replace('precision = "int8"', 'precision = "int8"\ntogether = ["sel"]')
    (folder / "changed.toml").write_text(changed, encoding="utf-8")
    return run_recipe(folder / "changed.toml", out=folder / "out", smoke=True, device="cpu")


@pytest.mark.parametrize("head", ["con", "sel"])
def test_the_judge_says_what_the_network_says(head: str, reading_together) -> None:
    """The folder's graph holds int8 weights, so it is compared with the same weights in float32."""
    made = reading_together
    judge = open_model(f"dir:{made.folder}", "judge")
    assert judge.labels == tuple(QUESTIONS)
    output, grounds = "Arlow opened a new library.", "The town of Arlow opened a new library on Monday."
    assert (head in judge.joint) == (head == "sel")
    found = judge.score([(output, (grounds,))], joint=head in judge.joint)[0]
    start = starting.open_encoder(f"dir:{made.folder.parent}", ())
    frame = Frame(start.tokenizer, 128, judge.joint)
    ids, size = frame.framed(frame.encoded([output])[0].ids, frame.encoded([grounds])[0].ids, head)
    row = torch.tensor([ids])
    places = torch.arange(len(ids))[None]
    with torch.no_grad():
        answers = start.network.eval()(
            row, (places >= size + 2).long(), torch.ones_like(row).bool(), (places >= 1) & (places <= size),
            torch.tensor([head in judge.joint]),
        )  # fmt: skip
    assert list(found.logits.values()) == pytest.approx(answers.questions[0].tolist(), abs=0.03)
    assert list(found.entailment) == pytest.approx(torch.softmax(answers.entailment[0], 0).tolist(), abs=0.03)
    assert list(found.support) == pytest.approx(torch.sigmoid(answers.words[0, 1 : size + 1]).tolist(), abs=0.03)


def test_the_language_model_says_what_the_network_says(trained) -> None:
    made = trained("judge-lm")
    scores = open_model(f"dir:{made.folder}", "causal-lm").log_probs([(dialogue_form(["Hello."]), " Hi there")])[0]
    start = starting.open_language_model(f"dir:{made.folder.parent}", ())
    before, own = (one.ids for one in start.tokenizer.encode_batch([dialogue_form(["Hello."]), " Hi there"]))
    ids = torch.tensor([[start.tokenizer.token_to_id("<|endoftext|>"), *before, *own]])
    with torch.no_grad():
        logp = torch.log_softmax(start.network.logits(start.network(ids))[0], -1)
    wanted = [float(logp[len(before) + place, token]) for place, token in enumerate(own)]
    assert list(scores.log_probs) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_was_cut_off_ends_with_the_same_bytes(name: str, tmp_path: Path, trained) -> None:
    whole = trained(name).folder.parent
    shutil.copytree(whole, tmp_path / "cut")
    shutil.rmtree(tmp_path / "cut" / "model")
    (tmp_path / "cut" / "weights.safetensors").unlink()
    shutil.rmtree(max((tmp_path / "cut" / "run" / "checkpoints").glob("step-*")))
    steps: list[int] = []
    run_recipe(name, out=tmp_path / "cut", smoke=True, device="cpu", progress=lambda *a: steps.append(a[1]))
    assert steps == [3, 4]
    for file in ("weights.safetensors", "model/model.onnx", "model/model.toml"):
        assert (tmp_path / "cut" / file).read_bytes() == (whole / file).read_bytes(), file


def test_a_mean_with_the_start(tmp_path: Path) -> None:
    text = (Path(recipe.__file__).parent / "recipes" / "judge-lm.toml").read_text(encoding="utf-8")
    (tmp_path / "mean.toml").write_text(text.replace("fuse = true", "start_share = 0.5"), encoding="utf-8")
    made = run_recipe(tmp_path / "mean.toml", out=tmp_path / "out", smoke=True, device="cpu")
    log = [json.loads(line) for line in (tmp_path / "out" / "run" / "log.jsonl").read_text().splitlines()]
    # The figures are of the mean, not of the last step.
    assert made.figures["token_loss"] != log[-1]["dev_token_loss"]
    assert "The weights are a mean: 0.5 of the start's" in (made.folder / "CARD.md").read_text(encoding="utf-8")


def test_two_runs_give_the_same_bytes(tmp_path: Path, trained) -> None:
    again = run_recipe("judge-lm", out=tmp_path, smoke=True, device="cpu").folder
    for file in ("model.onnx", "packed.safetensors"):
        assert (again / file).read_bytes() == (trained("judge-lm").folder / file).read_bytes(), file


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_falls_and_a_run_can_start_from_another(name: str, tmp_path: Path, trained) -> None:
    text = (Path(recipe.__file__).parent / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
    text = text.replace("masked_share = 0.25", "masked_share = 0.0")
    changed = text[: text.index("[smoke.train]")] + f"[smoke.train]\n{LONGER}evaluate_every = 120\n"
    (tmp_path / "longer.toml").write_text(changed, encoding="utf-8")
    start = f"dir:{trained(name).folder.parent}"
    made = run_recipe(tmp_path / "longer.toml", out=tmp_path / "out", smoke=True, start=start, device="cpu")
    log = [json.loads(line) for line in (tmp_path / "out" / "run" / "log.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in log]
    # Batches hold different questions, so that one loss says little.
    assert np.mean(losses[-40:]) < np.mean(losses[:40]) - 0.04
    assert made.recipe.digest != recipe.load(name, smoke=True).digest


def test_other_settings_in_the_same_folder_are_refused(tmp_path: Path, trained) -> None:
    shutil.copytree(trained("judge-lm").folder.parent, tmp_path / "run")
    text = (Path(recipe.__file__).parent / "recipes" / "judge-lm.toml").read_text(encoding="utf-8")
    (tmp_path / "other.toml").write_text(text.replace("rate = 0.001", "rate = 0.002"), encoding="utf-8")
    with pytest.raises(InputError, match="holds a run with other settings or data"):
        run_recipe(tmp_path / "other.toml", out=tmp_path / "run", smoke=True, device="cpu")


def test_processes_do_not_change_the_examples(tables, neighbours, times) -> None:
    start = starting.open_encoder("tiny:bert", [*tables.turns, *tables.sentences])
    frame = Frame(start.tokenizer, 64)
    one, two = (building.build(tables, neighbours, times, frame, 3, 2, processes) for processes in (1, 2))
    for name in vars(one):
        assert (getattr(one, name) == getattr(two, name)).all(), name


def test_the_bundled_encoder_comes_back_from_its_graph() -> None:
    """Vectors of the encoder that training starts from are those of the bundled model."""
    start = starting.open_encoder("bundled:gte-small", ())
    ids = torch.tensor([start.tokenizer.encode("The cat sat on the mat.").ids])
    with torch.no_grad():
        states = start.network.enc.eval()(ids, torch.zeros_like(ids), torch.ones_like(ids).bool())[0]
    told = open_model("bundled:gte-small", "embedder").embed(["The cat sat on the mat."], 12)[0]
    inner = torch.from_numpy(np.asarray(told.vectors, np.float32))
    assert float(torch.nn.functional.cosine_similarity(states, inner).min()) > 0.9999


def test_the_language_model_reads_the_forms_that_are_asked(tables) -> None:
    from random import Random

    from quintet_train.evaluator.groups import Times

    found = list(readings(tables, Times({}), Random(0)))
    assert all(piece.startswith(" ") and piece.endswith("\n") for one in found for piece in one.pieces)
    assert {one.before[-6:] for one in found if "TL;DR" in one.before} == {"TL;DR:"}
    assert summary_form("A.") == "A.\n\nTL;DR:"
    assert dialogue_form(["a", "b"], "f") == "f\n\n- a\n- b\n-"
    start = starting.open_language_model("tiny:gpt2", [*tables.turns])
    reading = Reading("-", (" hello\n", " you\n"))
    tokens = tokenised([reading], start.tokenizer, 0)[0]
    counted = start.tokenizer.decode(list(tokens.ids[tokens.counted]))
    assert counted.split() == ["hello", "you"]
    assert not tokens.counted[:2].any()


def test_what_cannot_be_started_from_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="bundled:NAME, dir:FOLDER"):
        starting.open_encoder("roberta-base", ())
    made = recipe.load("evaluator", smoke=True)
    wrong = replace(made, data=replace(made.data, builder="evaluator.jury"))
    with pytest.raises(InputError, match="unknown builder"):
        evaluator_run.carry_out(wrong, tmp_path, tmp_path, True, "cpu", None, False)


def test_a_packed_word_table_is_read(trained, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    before = trained("evaluator").folder.parent
    weights = load_file(before / "weights.safetensors")
    table = weights.pop("enc.word.weight")
    scale = table.abs().amax(1, keepdim=True) / 127
    packed = {"enc.word.weight.q": (table / scale).round().to(torch.int8), "enc.word.weight.s": scale}
    save_file({**{name: value.half() for name, value in weights.items()}, **packed}, tmp_path / "weights.safetensors")
    shutil.copy(before / "tokenizer.json", tmp_path)
    found = starting.open_encoder(f"dir:{tmp_path}", ()).network.enc.word.weight.detach()
    assert float((found - table).abs().max()) <= float(scale.max())


def test_weights_keep_their_names(trained) -> None:
    names = set(load_file(trained("evaluator").folder.parent / "weights.safetensors"))
    assert {"enc.word.weight", "enc.layers.0.qkv.weight", "pool.weight", "heads.bias", "mlm.norm.weight"} <= names


def test_a_gguf_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Against the format's own library: 4-bit and 8-bit blocks, and the order of rotated rows."""
    gguf = pytest.importorskip("gguf")
    from quintet_train.evaluator import gguf as reader

    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(tmp_path / "tiny.gguf", "llama")
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(1e4)
    writer.add_token_list([b"a", b"b"])
    plain = {"token_embd.weight": (6, 32), "blk.0.attn_q.weight": (32, 32), "blk.0.attn_k.weight": (16, 32)}
    kinds = {"token_embd.weight": "Q8_0", "blk.0.attn_q.weight": "Q4_1", "blk.0.attn_k.weight": "F16"}
    wanted = {}
    for name, shape in plain.items():
        kind = getattr(gguf.GGMLQuantizationType, kinds[name])
        packed = gguf.quants.quantize(rng.standard_normal(shape).astype(np.float32), kind)
        writer.add_tensor(name, packed, raw_dtype=kind)
        wanted[name] = gguf.quants.dequantize(packed, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = reader.read(tmp_path / "tiny.gguf")
    for name, values in wanted.items():
        assert np.allclose(found.tensors[name], values, atol=1e-6), name
    weights, told = reader.language_weights(found, tmp_path / "tiny.gguf")
    assert told == pytest.approx({"num_attention_heads": 2, "rope_theta": 1e4, "rms_norm_eps": 1e-5})
    # Rows 0 and 1 of a head turn together: here they stand at 0 and at half of the head's 16 rows.
    assert np.array_equal(weights["blocks.0.q.weight"][[0, 8]], found.tensors["blk.0.attn_q.weight"][[0, 1]])
    (tmp_path / "no.gguf").write_bytes(b"PK")
    with pytest.raises(ModelError, match="is not a GGUF file"):
        reader.read(tmp_path / "no.gguf")
