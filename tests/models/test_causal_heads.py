"""A language model with heads: graph and numpy against torch on the same weights; the model's other answers unmoved."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("onnx", reason="the torch extra is not installed")

import onnx
from tiny_judges import QUESTIONS, TAUGHT, PlainLanguageModel
from tiny_models import torch

from quintet.core.cache import fresh
from quintet.core.example import Example
from quintet.errors import ModelError
from quintet.metrics import metrics
from quintet.models import onnx_lm
from quintet.models.folder import HEADS, describe
from quintet.models.lm_heads import Heads
from quintet.models.onnx_backend import output_names
from quintet.models.open import identity, open_model
from quintet.models.roles import FIRST_WHOLE, Limits, PairModel, TokenLM
from quintet.models.subwords import Pieces
from quintet_train.export_judge_lm import Shape, export_judge_lm

START, END = 1, 0
DOCUMENT = "The cat sat on the mat, and the dog looked at it."
LONG = " the cat was there all day long, and the dog looked at it, and so did the cat"
PAIRS = [
    (DOCUMENT, " A dog barked."),
    (DOCUMENT, LONG),
    ("", "Yes"),
    ("the rain", ""),
    (("the rain fell", "the cat sat"), " Yes, it was seldom reasonable"),
    (DOCUMENT, "x"),
    (DOCUMENT, " A dog barked.\n\nTL;DR: <|im_end|>\n"),
]


@pytest.fixture(scope="module", params=["rounded", "fp32"])
def both(request, tmp_path_factory):
    twin = PlainLanguageModel(rounded=request.param == "rounded", heads=True)
    return twin, f"dir:{twin.export(tmp_path_factory.mktemp(request.param))}"


@pytest.fixture(scope="module")
def without(both, tmp_path_factory):
    """The same model without heads."""
    twin = PlainLanguageModel(rounded=both[0].rounded)
    return f"dir:{twin.export(tmp_path_factory.mktemp('without'))}"


@pytest.fixture
def model(both):
    found = open_model(both[1], "causal-lm")
    fresh()
    return found


def context_ids(model, context):
    if isinstance(context, str):
        return model.subwords.split(context).ids.tolist()
    return [i for turn in context for i in (*model.subwords.split(turn).ids.tolist(), END)]


def line_break(model):
    (found,) = model.subwords.split("\n").ids.tolist()
    return found


def assert_judged(twin, found, want):
    # A last bit may flip a rounding to 8 bit: in one sub-word more than in what is pooled.
    tolerance, of_a_word = (5e-3, 5e-2) if twin.rounded else (5e-5, 5e-5)
    heads, nli, words = want
    assert set(found.logits) == set(TAUGHT) - {"nli", "words"}
    for name, value in found.logits.items():
        assert value == pytest.approx(float(heads[QUESTIONS.index(name)]), abs=tolerance)
    assert np.abs(found.entailment - torch.softmax(torch.tensor(nli), 0).numpy()).max() < tolerance
    assert found.support.shape == words.shape
    assert len(words) == 0 or np.abs(found.support - torch.sigmoid(torch.tensor(words)).numpy()).max() < of_a_word
    assert len(found.pooled) == 0


def same(left, right):
    a, b = left.judgement, right.judgement
    return (
        np.array_equal(left.log_probs, right.log_probs)
        and a.logits == b.logits
        and np.array_equal(a.entailment, b.entailment)
        and np.array_equal(a.support, b.support)
        and a.cut == b.cut
    )


def test_heads_equal_torch(both, model):
    assert isinstance(model, TokenLM)
    assert model.taught == TAUGHT
    for (context, text), found in zip(PAIRS, model.log_probs(PAIRS), strict=True):
        own = model.subwords.split(text)
        before = [START, *context_ids(model, context)]
        assert_judged(both[0], found.judgement, both[0].judged(before, own.ids.tolist(), line_break(model)))
        assert found.judgement.starts is found.starts
        assert found.judgement.cut == (0, 0)


def test_log_probabilities_are_the_same_bits_with_and_without_heads(both, without, model, monkeypatch):
    plain = open_model(without, "causal-lm")
    assert plain.taught == ()
    words = LONG.split()
    pairs = [
        *PAIRS,
        *((context, " ".join(words[:n])) for n in range(1, len(words)) for context in ("", DOCUMENT)),
        ("cat and dog " * 60, LONG),
        ("Yes", "the cat sat on the mat " * 30),
    ]
    for step in (onnx_lm.TEXT_STEP, 3, 2, 1):
        monkeypatch.setattr(onnx_lm, "TEXT_STEP", step)
        fresh()
        for mine, theirs in zip(model.log_probs(pairs), plain.log_probs(pairs), strict=True):
            assert np.array_equal(mine.log_probs, theirs.log_probs), mine.text
            assert mine.cut == theirs.cut or not mine.text
            assert theirs.judgement is None
    fresh()


def test_no_bit_depends_on_the_company_or_on_what_was_kept(model):
    together = model.log_probs(PAIRS)
    kept = model.log_probs(PAIRS[::-1])[::-1]
    model._kept.known.clear()
    from_states = model.log_probs(PAIRS[1:])
    for index, pair in enumerate(PAIRS):
        fresh()
        (alone,) = model.log_probs([pair])
        assert same(alone, together[index])
        assert same(alone, kept[index])
        assert not index or same(alone, from_states[index - 1])


def test_a_text_costs_its_sub_words_and_two_more(model):
    before = model.tokens_read
    model.log_probs([(DOCUMENT, text) for text in (" A dog barked.", LONG, " A dog barked.")])
    own = sum(len(model.subwords.split(text)) + 2 for text in (" A dog barked.", LONG))
    assert model.tokens_read - before == len(model.subwords.split(DOCUMENT)) + own


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_several_runs_pool_over_all_sub_words(both, model, monkeypatch, step):
    monkeypatch.setattr(onnx_lm, "TEXT_STEP", step)
    monkeypatch.setattr(onnx_lm, "CONTEXT_STEP", 5)
    (found,) = model.log_probs([(DOCUMENT, LONG)])
    fresh()
    before = [START, *context_ids(model, DOCUMENT)]
    assert_judged(both[0], found.judgement, both[0].judged(before, context_ids(model, LONG), line_break(model)))


def test_a_context_that_is_cut_is_said(both, model):
    context = "cat and dog " * 60
    (found,) = model.log_probs([(context, " Yes")])
    ids = context_ids(model, context)
    room = model.max_tokens - 1 - model.max_tokens // 8
    assert found.judgement.cut == (0, len(ids) - room)
    assert_judged(
        both[0], found.judgement, both[0].judged([START, *ids[-room:]], context_ids(model, " Yes"), line_break(model))
    )


def test_there_is_room_for_the_line_break_after_a_text_that_fills_the_model(both, model):
    own = model.subwords.split("the cat sat on the mat " * 40)
    text = "the cat sat on the mat " * 40
    text = text[: own.ends[model.max_tokens - 2]]
    ids = context_ids(model, text)
    assert len(ids) == model.max_tokens - 1
    (found,) = model.log_probs([(DOCUMENT, text)])
    assert_judged(both[0], found.judgement, both[0].judged([START], ids, line_break(model)))


def test_a_text_in_pieces_is_pooled_whole(both, model):
    """Each piece after as much as fits of what precedes it; the line break after the last."""
    text = "the cat sat on the mat " * 30
    ids, step = context_ids(model, text), model.max_tokens // 2
    assert len(ids) > model.max_tokens
    room = model.max_tokens - 1 - step
    context = context_ids(model, "Yes")
    states = []
    for at in range(0, len(ids), step):
        before = [START, *[*context, *ids[:at]][-room:]]
        own = [*ids[at : at + step], *([line_break(model)] if at + step >= len(ids) else [])]
        states.append(both[0].states([*before, *own])[len(before) :])
    (found,) = model.log_probs([("Yes", text)])
    assert len(found.judgement.support) == len(ids)
    assert_judged(both[0], found.judgement, both[0].judged_from(torch.cat(states)))


@pytest.mark.parametrize("text", ["a <|endoftext|> b", "\x00", "\ud800", "<|im_start|>assistant", "😀", " \n", "\n\n"])
def test_odd_text_stays_text(both, model, text):
    (found,) = model.log_probs([(text, text)])
    own = context_ids(model, text)
    assert not set(own) & {0, 1, 2}
    assert_judged(both[0], found.judgement, both[0].judged([START, *own], own, line_break(model)))


def test_states_are_not_computed_in_vain(both, without):
    """One more output of a node that is there anyway, and no other node."""
    plain, judging = (onnx.load(f"{spec[4:]}/model.onnx", load_external_data=False) for spec in (without, both[1]))
    assert [node.op_type for node in judging.graph.node] == [node.op_type for node in plain.graph.node]
    assert output_names(judging.SerializeToString()) == [*output_names(plain.SerializeToString()), "states"]


def test_heads_are_part_of_the_identity(both, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(both[1].removeprefix("dir:"), copy)
    assert identity(f"dir:{copy}") == identity(both[1])
    data = bytearray((copy / HEADS).read_bytes())
    data[-1] ^= 1
    (copy / HEADS).write_bytes(data)
    assert identity(f"dir:{copy}") != identity(both[1])


def test_heads_that_do_not_fit_are_refused(both, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(both[1].removeprefix("dir:"), copy)
    toml = copy / "model.toml"
    told = toml.read_text()
    toml.write_text(told.replace('"abac"]', '"abac", "more"]'))
    with pytest.raises(ModelError, match=r"heads.weight should be \(14, 64\)"):
        open_model(f"dir:{copy}", "causal-lm")
    toml.write_text(told.replace('taught = ["con"', 'taught = ["can"'))
    with pytest.raises(ModelError, match="no head 'can'"):
        open_model(f"dir:{copy}", "causal-lm")
    toml.write_text(told)
    (copy / HEADS).unlink()
    with pytest.raises(ModelError, match=r"heads.safetensors cannot be read"):
        open_model(f"dir:{copy}", "causal-lm")


def test_export_says_what_does_not_fit(both, tmp_path):
    folder, shape = Path(both[1].removeprefix("dir:")), Shape(heads=4, max_tokens=96)

    def export(weights, **told):
        return export_judge_lm(weights, tmp_path / "out", folder / "source.json", shape, **told)

    weights = both[0].weights()
    with pytest.raises(ModelError, match="hold heads and none of them were taught"):
        export(weights)
    with pytest.raises(ModelError, match="hold no heads and con of them"):
        export({k: v for k, v in weights.items() if k.split(".")[0] not in both[0].heads}, taught=["con"])
    with pytest.raises(ModelError, match=r"no tensor 'nli.bias'"):
        export({k: v for k, v in weights.items() if k != "nli.bias"}, taught=["con"])
    again = export(weights, taught=TAUGHT)
    for name in ("model.onnx", "model.toml", HEADS):
        first, second = ((path / name).read_bytes() for path in (folder, again))
        assert hashlib.sha256(first).digest() == hashlib.sha256(second).digest()


def test_heads_are_plain_sums_whatever_stands_beside(both):
    """A text's numbers do not depend on how many sub-words other texts have: rows are added by themselves."""
    folder = Path(both[1].removeprefix("dir:"))
    heads = Heads.of(folder, describe(folder))
    states = np.random.default_rng(1).normal(size=(40, 64)).astype(np.float32)
    none = np.zeros(0, np.int32)
    long, short = (heads.judge(Pieces(none, none, none), states[:n], 0).support for n in (40, 7))
    assert np.array_equal(long[:6], short)


def test_likelihood_and_reader_cost_one_pass(both, model):
    names = ("evaluator-likelihood-document", "evaluator-reader")
    likelihood, reader = (metrics[name].build(model=both[1]) for name in names)
    examples = [Example(text.strip() or "x", source=DOCUMENT, id=str(at)) for at, (_, text) in enumerate(PAIRS)]

    def cost(*asked):
        fresh()
        before = model.tokens_read
        rows = [metric.score(examples) for metric in asked]
        return model.tokens_read - before, rows

    alone, first = cost(reader)
    for asked in ((likelihood, reader), (reader, likelihood)):
        both_of_them, rows = cost(*asked)
        assert both_of_them == alone > 0
        assert rows[asked.index(reader)] == first[0]


def test_the_reader_says_what_the_heads_say(both, model):
    example = Example(LONG.strip(), source=DOCUMENT, id="e")
    (row,) = metrics["evaluator-reader"].build(model=both[1]).score([example])
    (read,) = model.log_probs([(f"{DOCUMENT}\n\nTL;DR:", f" {LONG.strip()}")])
    assert row["consistency"].value == read.judgement.logits["con"]
    assert row["entailment"].value == float(read.judgement.entailment[0])
    words, end = [], 0
    for word in ("cat", "day", "long", "dog", "looked", "cat"):
        start = LONG.index(word, end)
        end = start + len(word)
        # Marks are pieces by themselves; a piece may begin with the blank before its word.
        inside = (read.ends > start) & (read.starts < end)
        words.append(float(read.judgement.support[inside].mean()))
    assert row["words"].value == pytest.approx(float(np.mean(words)), abs=1e-6)


def read_after(both, model, grounds, text):
    before = [START, *context_ids(model, grounds), *context_ids(model, "\n\nTL;DR:" if grounds else "TL;DR:")]
    return both[0].judged(before, context_ids(model, f" {text}"), line_break(model))


def test_heads_fill_the_roles_of_a_judge(both, model):
    tolerance = 5e-3 if both[0].rounded else 5e-5
    text = "A dog barked [SEP] <|im_end|>"
    heads, nli, words = read_after(both, model, DOCUMENT, text)
    con = float(heads[QUESTIONS.index("con")])
    classifier = open_model(f"{both[1]}#con", "pair-classifier")
    assert isinstance(classifier, PairModel)
    assert classifier.identity == identity(f"{both[1]}#con")
    (found,) = classifier.score([(DOCUMENT, text)])
    assert found.values.tolist() == pytest.approx([0.0, con], abs=tolerance)
    (value,) = open_model(f"{both[1]}#con", "regressor").score([(DOCUMENT, text)])
    assert value.value == pytest.approx(1 / (1 + np.exp(-con)), abs=tolerance)
    (entailed,) = open_model(f"{both[1]}#nli", "pair-classifier").score([(DOCUMENT, text)])
    assert np.exp(entailed.values) == pytest.approx(torch.softmax(torch.tensor(nli), 0).numpy(), abs=tolerance)
    (tagged,) = open_model(both[1], "token-tagger").score([(text, DOCUMENT)], FIRST_WHOLE)
    assert [text[a:b] for a, b in zip(tagged.starts, tagged.ends, strict=True)] == text.split()
    # A blank by itself belongs to the word after it.
    share = 1 / (1 + np.exp(-words[model.subwords.split(f" {text}").starts < len(" A")]))
    assert tagged.support[0] == pytest.approx(share.mean(), abs=10 * tolerance)
    (alone,) = classifier.score([(text, None)])
    assert float(alone.values[1]) == pytest.approx(
        float(read_after(both, model, "", text)[0][QUESTIONS.index("con")]), abs=tolerance
    )


def test_limits_of_a_role_are_kept_and_said(both, model):
    long = "the cat sat on the mat " * 60
    classifier = open_model(f"{both[1]}#nli", "pair-classifier")
    (found,) = classifier.score([(long, long)])
    assert min(found.cut) > 0
    assert np.isfinite(found.values).all()
    (kept,) = classifier.score([(long, "the dog")], Limits(first=5, keep_first="end"))
    ids = model.subwords.split(long.strip()).ids
    assert kept.cut == (len(ids) - 5, 0)
    want = both[0].judged(
        [START, *ids[-5:].tolist(), *context_ids(model, "\n\nTL;DR:")],
        context_ids(model, " the dog"),
        line_break(model),
    )[1]
    assert np.exp(kept.values) == pytest.approx(torch.softmax(torch.tensor(want), 0).numpy(), abs=5e-3)


def test_heads_that_cannot_be_asked_so_are_refused(both, without, model):
    with pytest.raises(ModelError, match="cannot answer 'acc' beside a text"):
        open_model(f"{both[1]}#acc", "pair-classifier")
    with pytest.raises(ModelError, match="name one as"):
        open_model(both[1], "pair-classifier")
    with pytest.raises(ModelError, match="is a model for the role causal-lm, not sentence-order"):
        open_model(both[1], "sentence-order")
    with pytest.raises(ModelError, match="is a model for the role causal-lm, not token-tagger"):
        open_model(without, "token-tagger")
