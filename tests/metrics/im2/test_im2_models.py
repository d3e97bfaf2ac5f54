"""IM2's classifiers beside plain twins, one pair at a time through Hugging Face's own doors."""

from itertools import pairwise

import pytest
from tiny_models import build, hugging_face, torch

from quintet.core.example import Example
from quintet.metrics.im2.categories import Im2
from quintet.metrics.im2.classifiers import (
    DialogueMlm,
    FiveIes,
    FiveNuf,
    SelfConsistency,
    TopicCoherence,
    TrueResponse,
    ValidUtterance,
)

HISTORY = ("The dog looked at it. " * 3, "Is the cat there on the mat all day long? " * 2)
EXAMPLES = [
    Example("Yes, the cat sat on the mat.", history=HISTORY),
    Example("unbelievable; misunderstandings are seldom reasonable, " * 4, history=("No",)),
    Example("dog", history=("Yes",)),
    Example("A dog barked at the old house while the rain fell. " * 3, history=HISTORY),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {
        "two": ("bert", "BertForSequenceClassification", {"num_labels": 2}),
        "one": ("bert", "BertForSequenceClassification", {"num_labels": 1}),
        "five": ("bert", "BertForSequenceClassification", {"num_labels": 5}),
        "lm": ("roberta", "RobertaForMaskedLM", {}),
    }
    found = {}
    for name, (kind, family, settings) in made.items():
        settings["max_position_embeddings"] = 202 if kind == "roberta" else 200
        found[name] = (build(tmp_path_factory.mktemp(name), kind, family, **settings), family)
    return found


def spec(folders, name: str) -> str:
    return f"dir:{folders[name][0]}"


def bert_logits(folders, name: str, a: list[int], b: list[int] | None) -> torch.Tensor:
    model, _ = hugging_face(*folders[name])
    ids = [2, *a, 3] if b is None else [2, *a, 3, *b, 3]
    types = [0] * (len(a) + 2) + ([] if b is None else [1] * (len(b) + 1))
    with torch.no_grad():
        return model(torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits[0]


def pieces(folders, name: str, text: str) -> list[int]:
    _, tokenizer = hugging_face(*folders[name])
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def released_cut(a: list[int], b: list[int]) -> tuple[list[int], list[int]]:
    """25 and 25 only where both together (with three special tokens) exceed 50; then what still does not fit goes
    from the longer side."""
    if len(a) + len(b) <= 47:
        return a, b
    a, b = a[-25:], b[:25]
    while len(a) + len(b) > 47:
        if len(a) > len(b):
            a = a[1:]
        else:
            b = b[:-1]
    return a, b


@pytest.mark.parametrize("mode", ["released", "quintet"])
def test_pairs_equal_their_twin(folders, mode) -> None:
    rows = TrueResponse(spec(folders, "two"), mode).score(EXAMPLES)
    for example, row in zip(EXAMPLES, rows, strict=True):
        context = " ".join(example.history) if mode == "released" else example.history[-1]
        a, b = pieces(folders, "two", context), pieces(folders, "two", example.output)
        if mode == "released":
            a, b = released_cut(a, b)
        twin = torch.softmax(bert_logits(folders, "two", a, b), -1)[1].item()
        assert row["relevance"].value == pytest.approx(twin, abs=1e-5)
    if mode == "released":
        assert rows[3]["relevance"].cut.keys() == {"history", "output"}


def test_single_texts_equal_their_twin(folders) -> None:
    for example, row in zip(EXAMPLES, ValidUtterance(spec(folders, "two"), "released").score(EXAMPLES), strict=True):
        ids = pieces(folders, "two", example.output)[:25]
        twin = torch.softmax(bert_logits(folders, "two", ids, None), -1)[1].item()
        assert row["valid utterance"].value == pytest.approx(twin, abs=1e-5)


def test_self_consistency_is_the_mean_over_neighbours(folders) -> None:
    (row,) = SelfConsistency(spec(folders, "two")).score([Example("The cat sat, the dog looked; it was there!")])
    parts = ["The cat sat", "the dog looked", "it was there"]
    twin = [
        torch.softmax(bert_logits(folders, "two", pieces(folders, "two", a), pieces(folders, "two", b)), -1)[1].item()
        for a, b in pairwise(parts)
    ]
    assert row["self-consistency"].value == pytest.approx(sum(twin) / 2, abs=1e-5)


def test_five_classes_and_one_number(folders) -> None:
    for name in ("five", "one"):
        rows = FiveNuf(spec(folders, name)).score(EXAMPLES)
        for example, row in zip(EXAMPLES, rows, strict=True):
            logits = bert_logits(folders, name, pieces(folders, name, example.output), None)
            twin = (torch.softmax(logits, -1) * torch.arange(1, 6)).sum() if name == "five" else logits[0].clamp(1, 5)
            assert row["five points of fluency"].value == pytest.approx(twin.item(), abs=1e-4)


def test_one_output_is_the_log_odds_of_coherence(folders) -> None:
    for example, row in zip(EXAMPLES, TopicCoherence(spec(folders, "one")).score(EXAMPLES), strict=True):
        a, b = pieces(folders, "one", "\n".join(example.history)), pieces(folders, "one", example.output)
        twin = torch.sigmoid(bert_logits(folders, "one", a, b))[0].item()
        assert row["coherence"].value == pytest.approx(twin, abs=1e-5)


def test_masked_likelihood_of_the_response_alone(folders) -> None:
    model, tokenizer = hugging_face(*folders["lm"])
    for example, row in zip(EXAMPLES[:3], DialogueMlm(spec(folders, "lm")).score(EXAMPLES), strict=False):
        ids = tokenizer(example.output)["input_ids"]
        found = []
        for place in range(1, len(ids) - 1):
            copy = [*ids]
            copy[place] = tokenizer.convert_tokens_to_ids("<mask>")
            with torch.no_grad():
                found.append(torch.log_softmax(model(torch.tensor([copy])).logits[0, place], -1)[ids[place]].item())
        assert row["specificity"].value == pytest.approx(sum(found) / len(found), abs=1e-5)
        assert row["specificity"].parts["sum"] == pytest.approx(sum(found), abs=1e-3)


@pytest.mark.parametrize("mode", ["released", "quintet"])
def test_batched_equals_one_by_one(folders, mode) -> None:
    two, five = spec(folders, "two"), spec(folders, "five")
    metric = Im2(
        mode=mode, model_valid=two, model_order=two, model_nuf=five, model_coherence=spec(folders, "one"),
        model_response=two, model_lm=spec(folders, "lm"), model_ies=five,
    )  # fmt: skip
    together = [row["overall"] for row in metric.score(EXAMPLES)]
    backwards = [row["overall"] for row in metric.score(EXAMPLES[::-1])][::-1]
    alone = [metric.score([example])[0]["overall"] for example in EXAMPLES]
    for a, b, c in zip(together, backwards, alone, strict=True):
        assert a.parts == pytest.approx(c.parts, abs=1e-5)
        assert b.parts == pytest.approx(c.parts, abs=1e-5)
        assert len(c.parts) == 12


def test_history_is_seen_by_five_ies_and_by_released_five_nuf(folders) -> None:
    five = spec(folders, "five")
    assert FiveIes(five).dimensions[0].needs == ("history",)
    assert FiveNuf(five, "released").dimensions[0].needs == ("history",)
    assert FiveNuf(five, "paper").dimensions[0].needs == ()
