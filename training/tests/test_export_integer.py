"""8-bit arithmetic against float32 on a tiny random evaluator, and the same bits in any company."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "models"))
pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

from tiny_judges import QUESTIONS, PlainEvaluator
from tiny_models import TEXTS

from quintet.errors import ModelError
from quintet.models.open import open_model
from quintet_train.export_evaluator import export_evaluator

PAIRS = [(text, (other,)) for text in TEXTS[:8] for other in ("", *TEXTS[:4])]


@pytest.fixture(scope="module")
def judges(tmp_path_factory):
    plain, folder = PlainEvaluator(rounded=False), tmp_path_factory.mktemp("integer")
    exact = plain.export(folder / "fp32", "fp32")
    words = folder / "fp32" / "source.json"
    samples = [(text, grounds[0]) for text, grounds in PAIRS]
    settings = {"precision": "int8-arithmetic", "samples": samples}
    made = export_evaluator(plain.weights(), folder / "int8", words, QUESTIONS, **settings)
    return open_model(f"dir:{exact}", "judge"), open_model(f"dir:{made}", "judge"), made, plain


def test_heads_stay_what_they_were(judges):
    exact, ours, made, _ = judges
    assert 'precision = "int8-arithmetic"' in (made / "model.toml").read_text()
    heads = [np.array([list(j.logits.values()) for j in judge.score(PAIRS)]) for judge in (exact, ours)]
    for column in range(heads[0].shape[1]):
        assert np.corrcoef(heads[0][:, column], heads[1][:, column])[0, 1] > 0.98
    words = [np.concatenate([j.support for j in judge.score(PAIRS)]) for judge in (exact, ours)]
    assert np.corrcoef(*words)[0, 1] > 0.98


def test_company_changes_no_bit(judges):
    ours = judges[1]
    together = ours.score(PAIRS)
    ours.forget()
    for pair, judgement in zip(PAIRS, together, strict=True):
        (alone,) = ours.score([pair])
        ours.forget()
        assert alone.logits == judgement.logits
        assert np.array_equal(alone.support, judgement.support)


def test_without_samples_it_is_said(judges, tmp_path):
    plain = judges[3]
    with pytest.raises(ModelError, match="needs sample texts"):
        plain.export(tmp_path, "int8-arithmetic")
