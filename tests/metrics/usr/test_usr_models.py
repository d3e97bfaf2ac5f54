"""USR's sub-metrics beside plain twins: one text, one masked word at a time, through Hugging Face's own doors."""

import math

import numpy as np
import pytest
from tiny_models import build, hugging_face, torch

from quintet.core.example import Example
from quintet.metrics.usr.inputs import context_pair, fact_pair, masked_line
from quintet.metrics.usr.likelihood import MaskedLikelihood
from quintet.metrics.usr.retrieval import DialogueRetrieval, FactRetrieval

EXAMPLES = [
    Example("The cat sat on it.", context="Cats sit on mats.", history=("Is it there?", "Don't you see the mat?")),
    Example("A dog barked!", context="_nofact", history=("Yes",)),
    Example("unbelievable misunderstandings", context="", history=()),
    Example("the old house " * 20, context="rain fell " * 60, history=("The dog looked at it. " * 6,)),
]


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    folder = build(tmp_path_factory.mktemp("mlm"), "roberta", "RobertaForMaskedLM", max_position_embeddings=402)
    return f"dir:{folder}", *hugging_face(folder, "RobertaForMaskedLM")


@pytest.fixture(scope="module", params=[("roberta", "RobertaForSequenceClassification"),
                                        ("bert", "BertForSequenceClassification")], ids=lambda p: p[0])  # fmt: skip
def classifier(request, tmp_path_factory):
    kind, family = request.param
    positions = 402 if kind == "roberta" else 400
    folder = build(tmp_path_factory.mktemp(kind), kind, family, num_labels=2, max_position_embeddings=positions)
    return f"dir:{folder}", kind, *hugging_face(folder, family)


def masked_log_prob(model, tokenizer, ids: list[int], position: int) -> float:
    copy = [*ids]
    copy[position] = tokenizer.convert_tokens_to_ids("<mask>")
    with torch.no_grad():
        logits = model(torch.tensor([copy])).logits[0, position]
    return float(torch.log_softmax(logits, -1)[ids[position]])


def test_released_mode_is_the_mean_over_the_last_ids_context_included(masked) -> None:
    spec, model, tokenizer = masked
    rows = MaskedLikelihood(spec, mode="released", window=30).score(EXAMPLES)
    for example, row in zip(EXAMPLES, rows, strict=True):
        line, _, _ = masked_line(example, "released")
        ids = tokenizer(line)["input_ids"][-30:]
        twin = [masked_log_prob(model, tokenizer, ids, at) for at in range(1, len(ids) - 1)]
        assert row["likelihood"].value == pytest.approx(sum(twin) / len(twin), abs=1e-5)


def test_released_mode_says_whose_sub_words_were_lost(masked) -> None:
    history = ("The cat sat on the mat, and the dog looked at it, and the cat sat on the mat again.",)
    short, long = (Example(text, history=history) for text in ("The cat sat.", "The cat sat on the mat. " * 4))
    rows = MaskedLikelihood(masked[0], mode="released", window=30).score([short, long])
    assert [list(row["likelihood"].cut) for row in rows] == [["history"], ["history and output"]]


@pytest.mark.parametrize("mode", ["paper", "quintet"])
def test_only_the_response_counts(masked, mode) -> None:
    spec, model, tokenizer = masked
    rows = MaskedLikelihood(spec, mode=mode).score(EXAMPLES)
    for example, row in zip(EXAMPLES, rows, strict=True):
        line, start, end = masked_line(example, mode)
        assert line[start:end] == (example.output if mode == "quintet" else line[start:end].lower())
        found = tokenizer(line, return_offsets_mapping=True)
        twin = [
            masked_log_prob(model, tokenizer, found["input_ids"], at)
            for at, (_, last) in enumerate(found["offset_mapping"])
            if start < last <= end and 0 < at < len(found["input_ids"]) - 1
        ]
        expected = sum(twin) if mode == "paper" else sum(twin) / len(twin)
        assert row["likelihood"].value == pytest.approx(expected, abs=1e-4)


def test_words_are_the_evidence(masked) -> None:
    score = MaskedLikelihood(masked[0]).score([EXAMPLES[0]])[0]["likelihood"]
    assert [EXAMPLES[0].output[s.start : s.end] for s in score.spans] == ["The", "cat", "sat", "on", "it."]
    assert sum(span.value for span in score.spans) == pytest.approx(score.parts["sum"], abs=1e-3)


def plain_probability(model, tokenizer, kind: str, first: str, second: str, total: int) -> float:
    """One pair, cut one id at a time from the longer text."""
    a, b = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (first, second))
    frame = 4 if kind == "roberta" else 3
    while len(a) + len(b) > total - frame:
        if len(a) > len(b):
            a.pop()
        else:
            b.pop()
    if kind == "roberta":
        ids, types = [0, *a, 2, 2, *b, 2], None
    else:
        ids, types = [2, *a, 3, *b, 3], torch.tensor([[0] * (len(a) + 2) + [1] * (len(b) + 1)])
    with torch.no_grad():
        logits = model(torch.tensor([ids]), token_type_ids=types).logits[0]
    return float(torch.softmax(logits, -1)[1])


def test_retrieval_equals_its_twin(classifier) -> None:
    spec, kind, model, tokenizer = classifier
    by_context = DialogueRetrieval(spec, mode="released").score(EXAMPLES)
    by_fact = FactRetrieval(spec, mode="released").score(EXAMPLES)
    for example, context, fact in zip(EXAMPLES, by_context, by_fact, strict=True):
        twin = plain_probability(model, tokenizer, kind, *context_pair(example, "released", 1), 128)
        assert context["context"].value == pytest.approx(twin, abs=1e-5)
        twin = plain_probability(model, tokenizer, kind, *fact_pair(example, "released"), 128)
        assert fact["fact"].value == pytest.approx(twin, abs=1e-5)
    assert by_context[3]["context"].cut


@pytest.mark.parametrize("mode", ["quintet", "released", "dialeval"])
def test_batched_equals_one_by_one(masked, classifier, mode) -> None:
    for metric in (
        MaskedLikelihood(masked[0], mode),
        DialogueRetrieval(classifier[0], mode),
        FactRetrieval(classifier[0], mode),
    ):
        name = metric.dimensions[0].name
        together = [row[name].value for row in metric.score(EXAMPLES)]
        alone = [metric.score([example])[0][name].value for example in EXAMPLES]
        assert together == pytest.approx(alone, abs=1e-5)
        assert np.isfinite(together).all()


def test_strings_are_those_of_the_released_files() -> None:
    example = EXAMPLES[0]
    line, start, end = masked_line(example, "released")
    assert line == "do n't you see the mat ? _eos _go the cat sat on it . _eos"
    assert line[start:end] == "the cat sat on it ."
    assert masked_line(example, "paper")[0].startswith("is it there ? _eos do n't you see the mat ? _eos _go ")
    assert context_pair(example, "released", 1) == (
        "do n't you see the mat ? _eos cats sit on mats . _eos",
        "_go the cat sat on it . _eos",
    )
    assert fact_pair(example, "released")[0] == "cats sit on mats . _eos"
    for without in EXAMPLES[1:3]:
        assert fact_pair(without, "released")[0] == "_nofact _eos"
    assert context_pair(EXAMPLES[1], "quintet", 1) == ("Yes", "A dog barked!")


def test_dialeval_keeps_52_words_and_lets_the_history_stand_in_for_a_fact() -> None:
    long = Example(
        "Yes.", context=None, history=(" ".join(f"w{i}" for i in range(40)), " ".join("abc" for _ in range(20)))
    )
    first, _ = fact_pair(long, "dialeval")
    assert len(first.split()) == 53
    assert first.startswith("w8 ")
    assert FactRetrieval("fake:pair-classifier", "dialeval").score([long])[0]["fact"].flags == ("no fact",)


def test_turns_of_the_history() -> None:
    example = Example("c", context="f", history=("a", "b"))
    assert context_pair(example, "quintet", 2)[0] == "f\na\nb"
    assert context_pair(example, "quintet", 5)[0] == "f\na\nb"


def test_an_empty_response_is_the_blind_guess() -> None:
    score = MaskedLikelihood("fake:masked-lm").score([Example(" ", history=("a",))])[0]["likelihood"]
    assert score.value == pytest.approx(-math.log(50265))
