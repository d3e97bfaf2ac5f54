"""Likelihoods equal plain twins that go through Hugging Face one text and one masked word at a time."""

import numpy as np
import pytest
from tiny_models import POSITIONS, build, hugging_face, torch

from quintet.models.open import open_model
from quintet.models.roles import Masking, TokenLM


def alone(texts):
    return [(None, text) for text in texts]


TEXTS = ["The cat sat on the mat.", "", "A dog barked at the old house.", "unbelievable", "The cat sat on the mat."]
MASKED = {"bert": "BertForMaskedLM", "roberta": "RobertaForMaskedLM", "albert": "AlbertForMaskedLM"}
LONG = "The cat sat on the mat and the dog looked at it all day. " * 4


@pytest.fixture(scope="module", params=list(MASKED))
def masked(request, tmp_path_factory):
    folder = build(tmp_path_factory.mktemp(request.param), request.param, MASKED[request.param])
    return open_model(f"dir:{folder}", "masked-lm"), *hugging_face(folder, MASKED[request.param]), request.param


def ids_of(tokenizer, text):
    """Without a blank before the text, RoBERTa's too: so did the authors of USR."""
    return tokenizer(text)["input_ids"]


def plain_masked(model, ids, mask, positions):
    """From the papers: one copy per position with that word masked."""
    values = []
    for position in positions:
        copy = list(ids)
        copy[position] = mask
        with torch.no_grad():
            logits = model(torch.tensor([copy])).logits[0, position]
        values.append(torch.log_softmax(logits, -1)[ids[position]].item())
    return values


def mask_id(tokenizer, kind):
    return tokenizer.convert_tokens_to_ids("<mask>" if kind == "roberta" else "[MASK]")


def test_each_word_masked_in_turn(masked):
    ours, model, tokenizer, kind = masked
    assert isinstance(ours, TokenLM)
    found = ours.log_probs(alone(TEXTS))
    for text, scores in zip(TEXTS, found, strict=True):
        ids = ids_of(tokenizer, text)
        expected = plain_masked(model, ids, mask_id(tokenizer, kind), range(1, len(ids) - 1))
        assert scores.log_probs == pytest.approx(expected, abs=1e-5)
        assert len(scores.starts) == len(scores.ends) == len(expected)
        assert [t.strip() for t in map(scores.token, range(len(scores)))] == [
            text[a:b].strip() for a, b in zip(scores.starts, scores.ends, strict=True)
        ]


def test_only_the_end_of_a_text_is_scored_where_asked(masked):
    ours = masked[0]
    text = "A dog barked. The cat sat."
    start = text.index("The")
    whole, part = ours.log_probs([(None, text)])[0], ours.log_probs([(text[:start], text[start:]), (None, "Yes")])[0]
    own = whole.ends > start
    assert 0 < own.sum() < len(whole)
    assert part.log_probs == pytest.approx(whole.log_probs[own], abs=1e-5)
    assert part.ends.tolist() == whole.ends[own].tolist()


def test_one_unmasked_pass_with_the_frame_is_what_gruen_computes(masked):
    """GRUEN's code: labels = inputs, mean cross-entropy over all ids, special tokens included."""
    ours, model, tokenizer, _ = masked
    for text, scores in zip(TEXTS, ours.log_probs(alone(TEXTS), Masking("none", specials=True)), strict=True):
        ids = torch.tensor([ids_of(tokenizer, text)])
        with torch.no_grad():
            loss = model(ids, labels=ids).loss.item()
        assert -float(scores.log_probs.mean()) == pytest.approx(loss, abs=1e-5)
        assert scores.starts[0] == scores.ends[0] == 0
        assert scores.starts[-1] == scores.ends[-1] == len(text)
    framed, plain = (ours.log_probs(alone(TEXTS), Masking("none", specials=own)) for own in (True, False))
    for whole, inner in zip(framed, plain, strict=True):
        assert inner.log_probs == pytest.approx(whole.log_probs[1:-1], abs=1e-6)


@pytest.mark.parametrize("last", [12, 30])
def test_the_last_ids_as_in_usr(masked, last):
    """The last so many ids of the framed line; the first and last of them are never masked; the frame may be cut."""
    ours, model, tokenizer, kind = masked
    for text in (LONG[:100], TEXTS[0]):
        ids = ids_of(tokenizer, text.strip())
        window = ids[-last:]
        expected = plain_masked(model, window, mask_id(tokenizer, kind), range(1, len(window) - 1))
        (scores,) = ours.log_probs([(None, text.strip())], Masking(last=last))
        assert scores.log_probs == pytest.approx(expected, abs=1e-5)
        assert scores.cut == max(0, len(ids) - last - 1)


def test_long_text_windowed_and_cut(masked):
    ours, model, tokenizer, kind = masked
    (whole,) = ours.log_probs([(None, LONG)])
    (cut,) = ours.log_probs([(None, LONG)], Masking(long="cut"))
    ids = ids_of(tokenizer, LONG)
    assert len(whole) == len(ids) - 2
    assert len(cut) == POSITIONS - 2
    assert cut.cut == len(whole) - len(cut)
    assert cut.log_probs[:20] == pytest.approx(whole.log_probs[:20], abs=1e-5)
    first = ids[: POSITIONS - 1] + ids[-1:]
    expected = plain_masked(model, first, mask_id(tokenizer, kind), range(1, POSITIONS - 1))
    assert cut.log_probs == pytest.approx(expected, abs=1e-5)
    (unmasked,) = ours.log_probs([(None, LONG)], Masking("none", specials=True))
    assert len(unmasked) == len(ids)
    assert (unmasked.log_probs < 0).all()


def test_company_does_not_matter(masked):
    ours = masked[0]
    for mode in ("each", "none"):
        for text, scores in zip([*TEXTS, LONG], ours.log_probs(alone([*TEXTS, LONG]), Masking(mode)), strict=True):
            assert ours.log_probs([(None, text)], Masking(mode))[0].log_probs == pytest.approx(
                scores.log_probs, abs=1e-5
            )


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    folder = build(tmp_path_factory.mktemp("gpt2"), "gpt2", "GPT2LMHeadModel")
    return open_model(f"dir:{folder}", "causal-lm"), *hugging_face(folder, "GPT2LMHeadModel")


def plain_causal(model, before, own):
    """One id at a time, each after all that precede it."""
    values, ids = [], list(before)
    for one in own:
        with torch.no_grad():
            values.append(torch.log_softmax(model(torch.tensor([ids])).logits[0, -1], -1)[one].item())
        ids.append(one)
    return values


PAIRS = [
    ("The cat sat", " on the mat."),
    ("", "The cat sat."),
    ("A dog", ""),
    ("A dog barked at the old house while", " the rain fell"),
    ("The cat sat", " on the mat."),
]


def test_causal_equals_one_word_at_a_time(causal):
    ours, model, tokenizer = causal
    assert isinstance(ours, TokenLM)
    for (context, text), scores in zip(PAIRS, ours.log_probs(PAIRS), strict=True):
        before, own = tokenizer(context)["input_ids"], tokenizer(text)["input_ids"]
        assert scores.log_probs == pytest.approx(plain_causal(model, [0, *before], own), abs=1e-5)
        assert "".join(map(scores.token, range(len(scores)))).strip() == text.strip()
        assert scores.cut == 0
        (alone,) = ours.log_probs([(context, text)])
        assert alone.log_probs == pytest.approx(scores.log_probs, abs=1e-5)


def test_turns_are_joined_by_the_end_of_text(causal):
    ours, model, tokenizer = causal
    turns = ("The cat sat", "A dog barked")
    before = [0, *tokenizer(turns[0])["input_ids"], 0, *tokenizer(turns[1])["input_ids"], 0]
    (scores,) = ours.log_probs([(turns, "Yes")])
    assert scores.log_probs == pytest.approx(plain_causal(model, before, tokenizer("Yes")["input_ids"]), abs=1e-5)
    (forged,) = ours.log_probs([("The cat sat<|endoftext|>A dog barked<|endoftext|>", "Yes")])
    assert np.abs(forged.log_probs - scores.log_probs).max() > 1e-3


def test_a_context_that_is_too_long_loses_its_start(causal):
    ours, model, tokenizer = causal
    before, own = tokenizer(LONG)["input_ids"], tokenizer(" the rain fell")["input_ids"]
    kept = before[len(before) - (POSITIONS - 1 - len(own)) :]
    (scores,) = ours.log_probs([(LONG, " the rain fell")])
    assert scores.cut == len(before) - len(kept) > 0
    assert scores.log_probs == pytest.approx(plain_causal(model, [0, *kept], own), abs=1e-5)


def test_a_text_that_is_too_long_goes_piece_by_piece(causal):
    ours, model, tokenizer = causal
    own = tokenizer(LONG)["input_ids"]
    (scores,) = ours.log_probs([("Yes", LONG)])
    assert len(scores) == len(own) > POSITIONS
    assert scores.cut == 0
    half = POSITIONS // 2
    before = tokenizer("Yes")["input_ids"]
    assert scores.log_probs[:half] == pytest.approx(plain_causal(model, [0, *before], own[:half]), abs=1e-5)
    context = [*before, *own[:half]][-(POSITIONS - 1 - half) :]
    expected = plain_causal(model, [0, *context], own[half : 2 * half])
    assert scores.log_probs[half : 2 * half] == pytest.approx(expected, abs=1e-5)
