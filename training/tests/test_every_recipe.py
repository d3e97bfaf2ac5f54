# ruff: noqa: E402 - what follows needs packages that may be absent
"""Every recipe end to end on made-up rows and tiny random models; the folder it leaves can be opened and used."""

from __future__ import annotations

import json
import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from quintet.errors import InputError, ModelError
from quintet_train import recipe
from quintet_train.export import open_trained, release_of
from quintet_train.heads import _moved
from quintet_train.onnx_export import export_onnx
from quintet_train.opening import open_base
from quintet_train.run import _data_folder, _items, run_recipe

NAMES = [name for name in recipe.names() if recipe.load(name).family != "evaluator"]
"""The bundled models' recipes have tests of their own, training/tests/evaluator."""


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_runs_and_its_folder_opens(name: str, trained) -> None:
    result = trained(name)
    folder = result.folder
    table = tomllib.loads((folder / "model.toml").read_text(encoding="utf-8"))
    assert table["recipe_sha256"] == recipe.load(name, smoke=True).digest
    assert table["release"] == "yes"
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(table["sha256"])
    assert table["data"][0]["licence"] == "made up for quintet"
    logs = list(folder.parent.rglob("log.jsonl"))
    assert logs
    assert all("loss" in json.loads(line) for log in logs for line in log.read_text().splitlines())
    if find_spec("matplotlib"):
        assert (folder.parent / "curve.png").read_bytes().startswith(b"\x89PNG")
    made = open_trained(folder)
    items = made.head.prepare(_items(result.recipe, _data_folder(None, True))[0][:4])
    batch = _moved(made.head.collate(items, 0), made.network)
    with torch.no_grad():
        truth, guess = made.head.guess(made.network, batch)
    assert len(truth) == len(guess) > 0
    assert np.isfinite(np.asarray(guess)).all()


def test_two_runs_give_the_same_bytes(tmp_path: Path, trained) -> None:
    first = trained("im2-vup").folder / "model.safetensors"
    second = run_recipe("im2-vup", out=tmp_path, smoke=True, device="cpu").folder / "model.safetensors"
    assert first.read_bytes() == second.read_bytes()


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    calls: list[int] = []
    run_recipe("im2-vup", out=tmp_path, smoke=True, device="cpu", progress=lambda *a: calls.append(a[1]))
    before = (tmp_path / "model" / "model.safetensors").read_bytes()
    assert calls == [1, 2, 3, 4]
    run_recipe("im2-vup", out=tmp_path, smoke=True, device="cpu", progress=lambda *a: calls.append(a[1]))
    assert calls == [1, 2, 3, 4]
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_was_cut_off_goes_on_from_its_checkpoint(name: str, tmp_path: Path, trained) -> None:
    """The last checkpoint and the model are lost; what comes out is the same to the byte."""
    whole = trained(name).folder
    shutil.copytree(whole.parent, tmp_path / "cut")
    shutil.rmtree(tmp_path / "cut" / "model")
    last = max((tmp_path / "cut" / "run").rglob("log.jsonl")).parent
    found = sorted((last / "checkpoints").glob("step-*"))
    assert len(found) == 2, "steps 2 and 4"
    shutil.rmtree(found[-1])
    steps: list[int] = []
    again = run_recipe(name, out=tmp_path / "cut", smoke=True, device="cpu", progress=lambda *a: steps.append(a[1]))
    assert steps == [3, 4]
    assert (again.folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_all_dimensions_at_once_without_stages(tmp_path: Path) -> None:
    """Multi-task learning is a recipe without [continual]."""
    plain = (Path(recipe.__file__).parent / "recipes" / "unieval-summarization.toml").read_text(encoding="utf-8")
    start, end = plain.index("[continual]"), plain.index("[smoke.data]")
    (tmp_path / "mixed.toml").write_text(plain[:start] + plain[end:], encoding="utf-8")
    made = run_recipe(tmp_path / "mixed.toml", out=tmp_path / "out", smoke=True, device="cpu")
    assert (tmp_path / "out" / "run" / "log.jsonl").exists()
    assert made.steps == 4


def test_continual_learning_goes_stage_by_stage(trained) -> None:
    folder = trained("unieval-summarization").folder.parent / "run"
    assert sorted(path.name for path in folder.iterdir()) == [
        "1-coherence",
        "2-fluency",
        "3-consistency",
        "4-relevance",
    ]


def test_retrieval_starts_from_the_fine_tuned_language_model(tmp_path: Path, trained) -> None:
    start = f"dir:{trained('usr-mlm').folder}"
    result = run_recipe("usr-dr-context", out=tmp_path, smoke=True, device="cpu", start=start)
    assert result.steps == 4


def test_an_encoder_can_be_taken_from_under_a_head(trained) -> None:
    folder = trained("im2-vup").folder
    base = open_base(f"dir:{folder}", "encoder")
    made = open_trained(folder)
    for name, value in made.network.encoder.state_dict().items():
        if "pooler" not in name:
            assert torch.equal(value, base.network.state_dict()[name]), name


@pytest.mark.parametrize("name", ["ctc-d", "ctc-r", "im2-vup", "gruen-order", "usr-dr-fact", "usr-mlm", "im2-ab-ba"])
def test_the_graph_equals_the_network(name: str, tmp_path: Path, trained) -> None:
    runtime = pytest.importorskip("onnxruntime")
    result = trained(name)
    made = open_trained(result.folder)
    names = export_onnx(made, tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    items = made.head.prepare(_items(result.recipe, _data_folder(None, True))[0][:3])
    batch = made.head.collate(items, 0)
    with torch.no_grad():
        given = {key: batch[key] for key in names}
        own = made.head.model.head in ("sequence", "regressor", "mlm")
        expected = made.network(**given).logits if own else made.network(batch)
    found = session.run(None, {key: batch[key].numpy() for key in names})[0]
    assert np.abs(found - expected.numpy()).max() < 1e-4


def test_a_word_is_the_sum_of_its_subwords(trained) -> None:
    """The tagger beside a plain twin: one text alone, sub-words grouped by their leading Ġ, added up."""
    made = open_trained(trained("ctc-d").folder)
    items = made.head.prepare(_items(recipe.load("ctc-d", smoke=True), _data_folder(None, True))[0][:3])
    batch = made.head.collate(items, 0)
    with torch.no_grad():
        fast = made.network(batch)
        for number, item in enumerate(items):
            alone = made.head.collate([item], 0)
            hidden = made.network.tokens.base_model(input_ids=alone["input_ids"]).last_hidden_state[0]
            row = made.base.encoder.pair(" ".join(item.words), item.context, made.head.limits)
            names = [made.base.encoder.tokenizer.id_to_token(piece) for piece in row.ids]
            groups: list[list[int]] = []
            for place in range(*row.first):
                if names[place].startswith("Ġ") or not groups:
                    groups.append([])
                groups[-1].append(place)
            for index, places in enumerate(groups):
                slow = made.network.tokens.classifier(sum(hidden[place] for place in places))
                assert torch.allclose(slow, fast[number, index], atol=1e-5), item.words[index]


def test_changed_folders_are_refused(tmp_path: Path) -> None:
    folder = run_recipe("gruen-acceptability", out=tmp_path, smoke=True, device="cpu").folder
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match=r"tokenizer.json is missing or not the file that model.toml names"):
        open_trained(folder)
    (folder / "model.toml").unlink()
    with pytest.raises(ModelError, match=r"has no model.toml"):
        open_trained(folder)


def test_wrong_models_are_named_in_one_line(tmp_path: Path, trained) -> None:
    bert = trained("gruen-acceptability").folder
    with pytest.raises(ModelError, match="is a bert model; this recipe needs one of: t5, mt5, bart") as caught:
        run_recipe("unieval-dialogue", out=tmp_path / "a", smoke=True, start=f"dir:{bert}")
    assert "\n" not in str(caught.value)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match=r"has no config.json"):
        open_base(f"dir:{empty}", "encoder")
    (empty / "config.json").write_text("{}", encoding="utf-8")
    (empty / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(ModelError, match="is a pickle, which can run code; run: quintet models convert"):
        open_base(f"dir:{empty}", "encoder")
    with pytest.raises(ModelError, match="is not a folder"):
        open_base(f"dir:{tmp_path}/absent", "encoder")
    with pytest.raises(InputError, match="give tiny:KIND, dir:FOLDER or hf:NAME"):
        open_base("roberta-base", "encoder")


@pytest.mark.parametrize(
    ("name", "start", "positions"),
    [("usr-mlm", "tiny:roberta", 130), ("im2-ab-ba", "tiny:gpt2", 130), ("evaluator", "tiny:bert", 130)],
)
def test_more_tokens_than_positions_are_refused(tmp_path: Path, name: str, start: str, positions: int) -> None:
    """The full recipe's length on the tiny model; T5 has no such limit."""
    text = (Path(recipe.__file__).parent / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    before, tiny = text.split("[smoke.model]")
    lines = [line for line in tiny.splitlines() if not line.startswith("max_tokens")]
    own.write_text("\n".join([f"{before}[smoke.model]\nmax_tokens = 448", *lines]), encoding="utf-8")
    with pytest.raises(InputError, match=f"max_tokens is 448, but {start} has {positions} positions; set it to"):
        run_recipe(own, out=tmp_path / "out", smoke=True, device="cpu")


def test_missing_tensors_are_named(tmp_path: Path, trained) -> None:
    from safetensors.torch import load_file, save_file

    for name, kind in (("gruen-acceptability", "sequence"), ("im2-vup", "encoder")):
        folder = tmp_path / name
        shutil.copytree(trained(name).folder, folder)
        tensors = load_file(folder / "model.safetensors")
        gone = next(key for key in tensors if "layer.1.attention.self.query.weight" in key)
        del tensors[gone]
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
        if kind == "sequence":
            (folder / "model.toml").unlink()
        with pytest.raises(ModelError, match=r"lacks 1 tensors that a \w+ model needs, first .*query.weight") as caught:
            open_base(f"dir:{folder}", kind)
        assert "\n" not in str(caught.value)


def test_data_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pass --data FOLDER, or --smoke"):
        run_recipe("ctc-d", out=tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        run_recipe("ctc-d", data=tmp_path / "absent", out=tmp_path)
    with pytest.raises(InputError, match="no such file"):
        run_recipe("ctc-d", data=tmp_path, out=tmp_path)


def test_the_narrowest_terms_decide() -> None:
    from quintet_train.export import UsedData

    def used(release: str) -> UsedData:
        return UsedData("x", 1, "", "", release)

    assert release_of([used("yes"), used("unclear"), used("no")]) == "no"
    assert release_of([used("yes"), used("per source")]) == "per source"
    assert release_of([used("yes")]) == "yes"


@pytest.mark.parametrize("name", ["ctc-d", "ctc-r", "usr-dr-context", "gruen-order", "unieval-dialogue", "usr-mlm"])
def test_a_trained_folder_scores_as_it_was_trained(name: str, trained) -> None:
    """The models room opens the folder by itself; what it says must be what the trainer's own head says."""
    open_model = pytest.importorskip("quintet.models.open").open_model
    pytest.importorskip("quintet.models.torch_backend")
    from quintet.models.roles import Limits

    result = trained(name)
    made = open_trained(result.folder)
    items = made.head.prepare(_items(result.recipe, _data_folder(None, True))[0][:4])
    role = tomllib.loads((result.folder / "model.toml").read_text(encoding="utf-8"))["role"]
    model = open_model(f"dir:{result.folder}", role)
    batch = made.head.collate(items, 0)
    with torch.no_grad():
        if role == "masked-lm":
            assert model.log_probs([(None, "the sun is warm")])[0].log_probs.max() <= 0
            return
        _, ours = made.head.guess(made.network, batch)
        logits = made.head.forward(made.network, batch) if role != "yes-no" else None
    limits = Limits(made.head.limits.total)
    if role == "yes-no":
        theirs = [value.value for value in model.answers([item.parts for item in items], max_tokens=96)]
        assert theirs == pytest.approx(ours, abs=1e-5)
    elif role == "regressor":
        theirs = [value.value for value in model.score([(item.first, item.second) for item in items], limits)]
        assert theirs == pytest.approx(ours, abs=1e-5)
    elif role == "sentence-order":
        theirs = [value.value for value in model.score([(item.first, item.second) for item in items], limits)]
        assert logits is not None
        assert theirs == pytest.approx((logits[:, 0] - logits[:, 1]).tolist(), abs=1e-5)
    elif role == "pair-classifier":
        rows = model.score([(item.first, item.second) for item in items], limits)
        assert logits is not None
        assert np.abs(np.stack([row.values for row in rows]) - logits.numpy()).max() < 1e-5
    else:
        limits = Limits(made.head.limits.total, "only_second", made.head.limits.first)
        assert logits is not None
        for item, row, found in zip(
            items, logits, model.score([(" ".join(i.words), i.context) for i in items], limits), strict=True
        ):
            shares = row.softmax(-1)[: len(found.support), 0].numpy()
            assert len(found.support) <= len(item.words)
            assert np.abs(shares - found.support)[:-1].max() < 1e-5


@pytest.mark.parametrize("name", ["im2-vup", "im2-ab-ba", "im2-ab-ac", "im2-ies5", "im2-nuf5", "im2-grade"])
def test_heads_of_im2_score_as_they_were_trained(name: str, trained) -> None:
    from quintet.models.open import open_model
    from quintet.models.roles import Limits

    result = trained(name)
    made = open_trained(result.folder)
    items = made.head.prepare(_items(result.recipe, _data_folder(None, True))[0][:5])
    model = open_model(f"dir:{result.folder}", "pair-classifier")
    with torch.no_grad():
        ours = made.head.forward(made.network, made.head.collate(items, 0)).numpy()
    if name == "im2-grade":
        pairs = [(i.context, i.better) for i in items] + [(i.context, i.worse) for i in items]
        limits = Limits(made.head.limits.total)
    else:
        pairs = [(item.first, item.second) for item in items]
        limits = Limits(made.head.limits.total, first=made.head.limits.first, keep_first="end")
        if name == "im2-vup":
            limits = Limits(made.head.limits.total, first=25)
    found = model.score(pairs, limits)
    same = [n for n, row in enumerate(found) if not any(row.cut)] if name != "im2-vup" else range(len(found))
    assert len(same) > 1
    assert np.abs(np.stack([found[n].values for n in same]) - ours[list(same)]).max() < 1e-5
