"""Fabricated checkpoints in the shapes the authors released, converted and opened in their roles."""

import json

import pytest
from tiny_models import build, hugging_face, torch, transformers

from quintet.errors import ModelError
from quintet.models.convert import convert
from quintet.models.open import open_model
from quintet.models.roles import FIRST_WHOLE

PAIR = ("The cat sat on the mat.", "A dog barked at the old house.")


def states(folder, family):
    return dict(hugging_face(folder, family)[0].state_dict())


def write_vocabulary(folder, out):
    """vocab.json and merges.txt, as USR's folders have them, in place of tokenizer.json."""
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    (out / "vocab.json").write_text(json.dumps(model["vocab"]))
    merges = [" ".join(m) if isinstance(m, list) else m for m in model["merges"]]
    (out / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")


@pytest.mark.parametrize(
    ("kind", "prefix", "inner"), [("roberta", "_roberta.", "roberta."), ("albert", "_model.", "albert.")]
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_ctc_d(tmp_path, kind, prefix, inner, wrapped):
    family = {"roberta": "RobertaForTokenClassification", "albert": "AlbertForTokenClassification"}[kind]
    base = build(tmp_path / "base", kind, family, num_labels=2)
    original = {
        ("_" + name if name.startswith("classifier.") else prefix + name.removeprefix(inner)): tensor
        for name, tensor in states(base, family).items()
    }
    original[f"{prefix}pooler.dense.weight" if kind == "roberta" else f"{prefix}pooler.weight"] = torch.zeros(32, 32)
    original[f"{prefix}embeddings.position_ids"] = torch.arange(42)[None]
    file = tmp_path / "fact_to_response.ckpt"
    torch.save({"state_dict": original, "epoch": 3} if wrapped else original, file)
    done = convert(str(file), tmp_path / "out", base)
    assert done.architecture == family
    ours, expected = open_model(f"dir:{tmp_path / 'out'}", "token-tagger"), open_model(f"dir:{base}", "token-tagger")
    assert ours.score([PAIR], FIRST_WHOLE)[0].support == pytest.approx(
        expected.score([PAIR], FIRST_WHOLE)[0].support, abs=1e-6
    )


def test_ctc_r(tmp_path):
    base = build(tmp_path / "base", "bert", "BertForSequenceClassification", num_labels=1)
    original = {n.replace("classifier.", "dense."): t for n, t in states(base, "BertForSequenceClassification").items()}
    original = {n.replace("LayerNorm.weight", "LayerNorm.gamma"): t for n, t in original.items()}
    file = tmp_path / "doc_to_summ.ckpt"
    torch.save(original, file)
    convert(str(file), tmp_path / "out", base)
    ours, expected = open_model(f"dir:{tmp_path / 'out'}", "regressor"), open_model(f"dir:{base}", "regressor")
    assert ours.score([PAIR])[0].value == pytest.approx(expected.score([PAIR])[0].value, abs=1e-6)


@pytest.mark.parametrize(
    ("family", "role"), [("RobertaForMaskedLM", "masked-lm"), ("RobertaForSequenceClassification", "pair-classifier")]
)
def test_usr_folders_with_old_settings_and_vocabulary_files(tmp_path, family, role):
    base = build(tmp_path / "base", "roberta", family)
    old = tmp_path / "ctx"
    old.mkdir()
    torch.save(states(base, family), old / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    torch.save({"lr": 1e-5}, old / "training_args.bin")
    settings = json.loads((base / "config.json").read_text())
    for late in ("model_type", "architectures", "transformers_version", "dtype"):
        settings.pop(late, None)
    (old / "config.json").write_text(
        json.dumps({**settings, "finetuning_task": "qqp", "pruned_heads": {}, "num_labels": 2})
    )
    write_vocabulary(base, old)
    done = convert(str(old), tmp_path / "out")
    assert done.architecture == family
    ours, expected = open_model(f"dir:{tmp_path / 'out'}", role), open_model(f"dir:{base}", role)
    if role == "masked-lm":
        found, wanted = (model.log_probs([(None, PAIR[0])])[0].log_probs for model in (ours, expected))
        assert found == pytest.approx(wanted, abs=1e-6)
    else:
        assert ours.score([PAIR])[0].values == pytest.approx(expected.score([PAIR])[0].values, abs=1e-6)


def test_gruen_cola_folder_with_vocab_txt(tmp_path):
    base = build(tmp_path / "base", "bert", "BertForSequenceClassification", num_labels=2)
    old = tmp_path / "cola"
    old.mkdir()
    torch.save(states(base, "BertForSequenceClassification"), old / "pytorch_model.bin")
    (old / "config.json").write_text((base / "config.json").read_text())
    vocabulary = json.loads((base / "tokenizer.json").read_text())["model"]["vocab"]
    (old / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)) + "\n")
    convert(str(old), tmp_path / "out")
    ours, expected = (open_model(f"dir:{f}", "pair-classifier") for f in (tmp_path / "out", base))
    one, two = ours.score([(PAIR[0], None)])[0], expected.score([(PAIR[0], None)])[0]
    assert one.values == pytest.approx(two.values, abs=1e-6)


def test_unieval_t5(tmp_path):
    base = build(tmp_path / "base", "t5", "T5ForConditionalGeneration")
    old = tmp_path / "unieval"
    old.mkdir()
    torch.save(states(base, "T5ForConditionalGeneration"), old / "pytorch_model.bin")
    for name in ("config.json", "tokenizer.json"):
        (old / name).write_text((base / name).read_text())
    convert(str(old), tmp_path / "out")
    ours, expected = (open_model(f"dir:{f}", "yes-no") for f in (tmp_path / "out", base))
    prompt = ("question: Is this claim consistent?", "claim: the cat sat")
    assert ours.answers([prompt])[0].value == pytest.approx(expected.answers([prompt])[0].value, abs=1e-6)


@pytest.fixture
def tagger(tmp_path):
    base = build(tmp_path / "base", "roberta", "RobertaForTokenClassification", num_labels=2)
    return base, {f"_{n}": t for n, t in states(base, "RobertaForTokenClassification").items()}


def test_missing_tensors_are_named(tmp_path, tagger):
    base, original = tagger
    del original["_roberta.encoder.layer.1.output.dense.weight"]
    torch.save(original, tmp_path / "x.ckpt")
    with pytest.raises(
        ModelError, match=r"lacks roberta\.encoder\.layer\.1\.output\.dense\.weight \(1 tensors missing\)"
    ):
        convert(str(tmp_path / "x.ckpt"), tmp_path / "out", base)
    assert not (tmp_path / "out").exists()


def test_wrong_base_is_named(tmp_path, tagger):
    _, original = tagger
    torch.save(original, tmp_path / "x.ckpt")
    wide = build(tmp_path / "wide", "roberta", "RobertaModel", hidden_size=64)
    with pytest.raises(ModelError, match=r"has shape .* give another --base"):
        convert(str(tmp_path / "x.ckpt"), tmp_path / "out", wide)
    other = build(tmp_path / "bert", "bert", "BertModel")
    with pytest.raises(ModelError, match="holds a roberta model but"):
        convert(str(tmp_path / "x.ckpt"), tmp_path / "out", other)
    alone = tmp_path / "alone"
    alone.mkdir()
    torch.save(original, alone / "x.ckpt")
    with pytest.raises(ModelError, match="--base"):
        convert(str(alone / "x.ckpt"), tmp_path / "out")


class Harmful:
    def __reduce__(self):
        import os

        return os.system, ("touch harmed",)


def test_a_pickle_that_would_run_code_is_not_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"weights": torch.zeros(2), "extra": Harmful()}, tmp_path / "bad.ckpt")
    with pytest.raises(ModelError, match="more than tensors"):
        convert(str(tmp_path / "bad.ckpt"), tmp_path / "out")
    assert not (tmp_path / "harmed").exists()


def test_other_mistakes(tmp_path):
    with pytest.raises(ModelError, match="does not exist"):
        convert(str(tmp_path / "nothing"), tmp_path / "out")
    (tmp_path / "junk.ckpt").write_bytes(b"junk")
    with pytest.raises(ModelError, match="damaged"):
        convert(str(tmp_path / "junk.ckpt"), tmp_path / "out")
    torch.save({"a": torch.zeros(1)}, tmp_path / "other.ckpt")
    with pytest.raises(ModelError, match="no known architecture"):
        convert(str(tmp_path / "other.ckpt"), tmp_path / "out")
    full = tmp_path / "full"
    full.mkdir()
    (full / "x").write_text("x")
    with pytest.raises(ModelError, match="not empty"):
        convert(str(tmp_path / "other.ckpt"), full)
    assert transformers.__name__ == "transformers"
