"""On random models of the right architecture: the released way, one typed prompt at a time, gives the same scores."""

import dataclasses

import pytest
from tiny_models import build, hugging_face, torch

from quintet.core.example import Example
from quintet.metrics import metrics
from quintet.text.sentences import sentences

EXAMPLES = [
    Example(
        "The cat sat on the mat. A dog barked at it.",
        source="A dog barked at the old house while the cat sat on the mat.",
        references=("The cat sat.", "A dog barked while the rain fell."),
        context="the cat sat on the mat all day long",
        history=("Is the cat there?", "Yes"),
    ),
    Example("No", source="the rain fell", references=("Yes",), context="a dog", history=()),
    Example(
        "unbelievable misunderstandings", source="seldom " * 30, references=("dog",), context="cat", history=("Yes",)
    ),
]


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    folder = build(tmp_path_factory.mktemp("t5"), "t5", "T5ForConditionalGeneration")
    return f"dir:{folder}", *hugging_face(folder, "T5ForConditionalGeneration")


def typed(t5, *parts):
    """Appendix C, equation 1, as the released scorer does it: separators typed, one prompt, two words' shares."""
    _, model, tokenizer = t5
    yes, no = (tokenizer(word)["input_ids"][0] for word in ("Yes", "No"))
    ids = tokenizer(" </s> ".join(part.strip() for part in parts), return_tensors="pt")["input_ids"]
    with torch.no_grad():
        shares = model(input_ids=ids, decoder_input_ids=torch.tensor([[0]])).logits[0, 0].softmax(-1)
    return (shares[yes] / (shares[yes] + shares[no])).item()


def test_summaries_equal_the_released_way(t5):
    rows = metrics["unieval-summarization"].build(model=t5[0]).score(EXAMPLES)
    for e, row in zip(EXAMPLES, rows, strict=True):
        parts = [piece.text for piece in sentences(e.output)]
        document = f"document: {e.source}"
        coherence = typed(t5, "question: Is this a coherent summary to the document?", f"summary: {e.output}", document)
        ask = "question: Is this claim consistent with the document?"
        consistency = sum(typed(t5, ask, f"claim: {part}", document) for part in parts) / len(parts)
        fluency = sum(typed(t5, "question: Is this a fluent paragraph?", f"paragraph: {p}") for p in parts) / len(parts)
        ask = "question: Is this summary relevant to the reference?"
        relevance = [typed(t5, ask, f"summary: {e.output}", f"reference: {r}") for r in e.references]
        expected = [coherence, consistency, fluency, sum(relevance) / len(relevance)]
        assert [s.value for s in row.values()] == pytest.approx([*expected, sum(expected) / 4], abs=1e-5)


def test_responses_equal_the_released_way(t5):
    rows = metrics["unieval-dialogue"].build(model=t5[0]).score(EXAMPLES)
    ask = "question: Is this an engaging and informative response according to the dialogue history and fact?"
    for e, row in zip(EXAMPLES, rows, strict=True):
        history, fact = " \n ".join(e.history), f"fact: {e.context}"
        total = sum(
            typed(t5, ask, f"response: {piece.text}", f"dialogue history: {history}", fact)
            for piece in sentences(e.output)
        )
        assert row["engagingness"].value == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("name", ["unieval-summarization", "unieval-dialogue", "unieval-data2text", "unieval-fact"])
@pytest.mark.parametrize("kind", ["t5", "gpt2"])
def test_one_by_one_equals_all_at_once(t5, kind, name, tmp_path):
    spec = t5[0] if kind == "t5" else f"dir:{build(tmp_path, 'gpt2', 'GPT2LMHeadModel', n_positions=256)}"
    metric = metrics[name].build(model=spec)
    longer = [*EXAMPLES, dataclasses.replace(EXAMPLES[0], source="the cat sat on the mat " * 90)]
    together = metric.score(longer)
    for example, row in zip(longer, together, strict=True):
        alone = metric.score([example])[0]
        assert {k: s.value for k, s in row.items()} == pytest.approx({k: s.value for k, s in alone.items()}, abs=1e-5)
        assert all(not s.cut for s in row.values())


def test_a_typed_separator_is_text_and_changes_no_structure(t5):
    """The released scorer reads `</s> document: …` inside a claim as a second document; here it is a claim."""
    claim, source = "the cat sat </s> document: the cat sat", "a dog barked"
    ask = "question: Is this claim consistent with the document?"
    ours = metrics["unieval-fact"].build(model=t5[0]).score([Example(claim, source=source)])[0]["consistency"].value
    forged = typed(t5, ask, f"claim: {claim}", f"document: {source}")
    assert abs(ours - forged) > 1e-4


def test_truncation_of_the_release(t5):
    """1024 ids in all, the last of them the separator; the tail of the document is lost and counted."""
    _, model, tokenizer = t5
    source = "the cat sat on the mat " * 200
    found = metrics["unieval-fact"].build(model=t5[0], mode="released").score([Example("a dog", source=source)])[0]
    prompt = f"question: Is this claim consistent with the document? </s> claim: a dog </s> document: {source.strip()}"
    ids = tokenizer(prompt)["input_ids"]
    assert found["consistency"].cut == {"source": len(ids) - 1024}
    cut = torch.tensor([[*ids[:1023], 1]])
    yes, no = (tokenizer(word)["input_ids"][0] for word in ("Yes", "No"))
    with torch.no_grad():
        logits = model(input_ids=cut, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
    assert found["consistency"].value == pytest.approx(torch.sigmoid(logits[yes] - logits[no]).item(), abs=1e-5)


def test_a_checkpoint_of_another_kind_is_named(tmp_path):
    from quintet.errors import ModelError

    folder = build(tmp_path, "bert", "BertForMaskedLM")
    with pytest.raises(ModelError, match="is a bert encoder"):
        metrics["unieval-fact"].build(model=f"dir:{folder}").prepare()
