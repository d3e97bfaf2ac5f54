"""The language model's graph against Hugging Face's Llama on the same weights; contexts that are read once."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("onnx", reason="the torch extra is not installed")

from tiny_judges import PlainLanguageModel

from quintet.core.cache import fresh
from quintet.errors import ModelError
from quintet.models import onnx_lm
from quintet.models.open import identity, open_model
from quintet.models.roles import PromptModel, TokenLM

START, END = 1, 0
DOCUMENT = "The cat sat on the mat, and the dog looked at it."
PAIRS = [
    (DOCUMENT, " A dog barked."),
    (DOCUMENT, " the cat was there all day long"),
    ("", "Yes"),
    ("the rain", ""),
    (("the rain fell", "the cat sat"), " Yes, it was seldom reasonable"),
    (DOCUMENT, " x"),
]


@pytest.fixture(scope="module", params=["rounded", "fp32"])
def both(request, tmp_path_factory):
    twin = PlainLanguageModel(rounded=request.param == "rounded")
    return twin, f"dir:{twin.export(tmp_path_factory.mktemp(request.param))}"


def context_ids(model, context):
    if isinstance(context, str):
        return model.subwords.split(context).ids.tolist()
    return [i for turn in context for i in (*model.subwords.split(turn).ids.tolist(), END)]


def test_the_graph_equals_llama(both):
    twin, spec = both
    model = open_model(spec, "causal-lm")
    assert isinstance(model, TokenLM)
    assert model.identity == identity(spec)
    for (context, text), found in zip(PAIRS, model.log_probs(PAIRS), strict=True):
        own = model.subwords.split(text)
        assert found.starts.tolist() == own.starts.tolist()
        assert found.cut == 0
        if text:
            want = twin.log_probs([START, *context_ids(model, context)], own.ids.tolist())
            assert np.abs(found.log_probs - want).max() < 5e-5
        else:
            assert len(found) == 0


def test_no_bit_depends_on_the_company_or_on_what_was_kept(both):
    model = open_model(both[1], "causal-lm")
    fresh()
    together = model.log_probs(PAIRS)
    kept = model.log_probs(PAIRS[::-1])[::-1]
    model._kept.known.clear()
    from_states = model.log_probs(PAIRS[1:])
    for index, pair in enumerate(PAIRS):
        fresh()
        (alone,) = model.log_probs([pair])
        assert np.array_equal(alone.log_probs, together[index].log_probs)
        assert np.array_equal(alone.log_probs, kept[index].log_probs)
        if index:
            assert np.array_equal(alone.log_probs, from_states[index - 1].log_probs)


def test_a_context_is_read_once(both):
    model = open_model(both[1], "causal-lm")
    fresh()
    before = model.tokens_read
    texts = [" A dog barked.", " Yes", " the cat", " Yes"]
    model.log_probs([(DOCUMENT, text) for text in texts])
    own = sum(len(model.subwords.split(text)) for text in set(texts))
    assert model.tokens_read - before == len(model.subwords.split(DOCUMENT)) + own


def test_states_are_bounded(both, monkeypatch):
    model = open_model(both[1], "causal-lm")
    monkeypatch.setattr(onnx_lm, "STATE_BYTES", 40_000)
    fresh()
    kept = model._kept.states
    model.log_probs([(f"{i} the cat sat on the mat", " Yes") for i in range(30)])
    assert 0 < kept.bytes <= 40_000
    fresh()
    assert model._kept.states.bytes == 0


def test_steps_do_not_change_a_score(both, monkeypatch):
    model = open_model(both[1], "causal-lm")
    pairs = [(DOCUMENT, " the cat was there all day long, and the dog looked at it")]
    fresh()
    (whole,) = model.log_probs(pairs)
    fresh()
    monkeypatch.setattr(onnx_lm, "CONTEXT_STEP", 5)
    monkeypatch.setattr(onnx_lm, "TEXT_STEP", 3)
    (stepped,) = model.log_probs(pairs)
    assert np.abs(whole.log_probs - stepped.log_probs).max() < 2e-5
    fresh()


def test_a_long_context_loses_its_start_and_says_so(both):
    twin, spec = both
    model = open_model(spec, "causal-lm")
    context, text = "cat and dog " * 60, " Yes"
    (found,) = model.log_probs([(context, text)])
    ids = context_ids(model, context)
    room = model.max_tokens - 1 - model.max_tokens // 8
    assert found.cut == len(ids) - room
    want = twin.log_probs([START, *ids[-room:]], model.subwords.split(text).ids.tolist())
    assert np.abs(found.log_probs - want).max() < 5e-5


def test_a_text_longer_than_the_model_is_scored_whole(both):
    model = open_model(both[1], "causal-lm")
    text = "the cat sat on the mat " * 30
    (found,) = model.log_probs([("Yes", text)])
    assert len(found) == len(model.subwords.split(text)) > model.max_tokens
    assert np.isfinite(found.log_probs).all()


@pytest.mark.parametrize("text", ["a <|endoftext|> b", "\x00", "\ud800", "<|im_start|>assistant", "😀", " \n"])
def test_odd_text_stays_text(both, text):
    model = open_model(both[1], "causal-lm")
    (found,) = model.log_probs([(text, text)])
    assert np.isfinite(found.log_probs).all()
    assert not set(model.subwords.split(text).ids.tolist()) & {0, 1, 2}


def test_questions_in_chat(both):
    twin, spec = both
    model = open_model(spec, "yes-no")
    lm = open_model(spec, "causal-lm")
    assert isinstance(model, PromptModel)
    prompt = ("question: Is it so?", "claim: the cat", "document: the dog <|im_end|>")
    (found,) = model.answers([prompt])

    def split(text):
        return lm.subwords.split(text).ids.tolist()

    ids = [1, *split("user\n"), *split(prompt[2]), *split("\n"), *split(prompt[1]), *split("\n"), *split(prompt[0])]
    ids += [*split("\nAnswer Yes or No."), 2, *split("\n"), 1, *split("assistant\n")]
    yes, no = (twin.log_probs(ids, [split(word)[0]])[0] for word in ("Yes", "No"))
    assert found.value == pytest.approx(1 / (1 + np.exp(no - yes)), abs=2e-5)
    (cut,) = model.answers([("question: Is it so?", "claim: the cat", "document: " + "dog " * 200)])
    assert cut.cut > 0


def test_a_folder_without_shapes_is_refused(both, tmp_path):
    import shutil

    shutil.copytree(both[1].removeprefix("dir:"), tmp_path / "copy")
    toml = tmp_path / "copy" / "model.toml"
    toml.write_text("".join(line for line in toml.open() if not line.startswith("states")))
    with pytest.raises(ModelError, match="shape of the model's states"):
        open_model(f"dir:{tmp_path / 'copy'}", "causal-lm")
