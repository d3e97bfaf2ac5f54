"""GRUEN's models beside plain twins, one sentence at a time through Hugging Face's own doors."""

import math

import numpy as np
import pytest
from tiny_models import build, hugging_face, torch

from quintet.core.example import Example
from quintet.metrics.gruen.focus import Cloud, Focus, distance
from quintet.metrics.gruen.grammaticality import Grammaticality
from quintet.metrics.gruen.overall import Gruen
from quintet.metrics.gruen.sentences import placed_sentences
from quintet.metrics.gruen.structure import Structure
from quintet.text.sentences import sentences

TEXTS = [
    "The cat sat on the mat. A dog barked at the old house.",
    "Unbelievable misunderstandings are seldom reasonable. The rain fell. The cat was there all day long.",
    "dog",
    "The dog looked at it " * 12 + ". Yes it was.",
]
EXAMPLES = [Example(text) for text in TEXTS]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    made = {
        "model_lm": ("bert", "BertForMaskedLM"),
        "model_acceptability": ("bert", "BertForSequenceClassification"),
        "model_words": ("bert", "BertModel"),
        "model_order": ("albert", "AlbertForPreTraining"),
    }
    return {
        key: (build(tmp_path_factory.mktemp(key), kind, family, max_position_embeddings=200), family)
        for key, (kind, family) in made.items()
    }


@pytest.fixture(scope="module")
def specs(models):
    return {key: f"dir:{folder}" for key, (folder, _) in models.items()}


def plain_loss(model, tokenizer, sentence: str, masked: bool) -> float:
    ids = tokenizer(sentence)["input_ids"]
    places = range(1, len(ids) - 1) if masked else range(len(ids))
    losses = []
    for place in places:
        copy = [*ids]
        if masked:
            copy[place] = tokenizer.convert_tokens_to_ids("[MASK]")
        with torch.no_grad():
            logits = model(torch.tensor([copy])).logits[0, place]
        losses.append(-float(torch.log_softmax(logits, -1)[ids[place]]))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("mode", ["released", "paper"])
def test_grammaticality_equals_its_twin(models, specs, mode) -> None:
    lm, words = hugging_face(*models["model_lm"])
    judge, judged_words = hugging_face(*models["model_acceptability"])
    metric = Grammaticality(specs["model_lm"], specs["model_acceptability"], mode)
    for example, row in zip(EXAMPLES, metric.score(EXAMPLES), strict=True):
        kept = placed_sentences(example.output, cleaned=True) if mode == "released" else sentences(example.output)
        x = [math.exp(plain_loss(lm, words, piece.text, mode == "paper")) for piece in kept]
        with torch.no_grad():
            y = [judge(**judged_words(piece.text, return_tensors="pt")).logits[0, 1].item() for piece in kept]
        mean_x, mean_y = (sum(x) / len(x), sum(y) / len(y)) if kept else (0.0, 0.0)
        expected = max(0.0, (math.exp(-0.5 * mean_x) + mean_y) / 8 + 0.5)
        assert row["grammaticality"].value == pytest.approx(expected, abs=1e-5)
        if kept:
            assert row["grammaticality"].parts["perplexity"] == pytest.approx(mean_x, rel=1e-3)


def test_half_the_log_odds_do_not_move_with_both_logits(models, specs) -> None:
    judge, words = hugging_face(*models["model_acceptability"])
    metric = Grammaticality(specs["model_lm"], specs["model_acceptability"])
    (row,) = metric.score([Example("The cat sat on the mat.")])
    with torch.no_grad():
        logits = judge(**words("The cat sat on the mat.", return_tensors="pt")).logits[0]
    assert row["grammaticality"].parts["acceptability"] == pytest.approx(float(logits[1] - logits[0]) / 2, abs=1e-5)


def test_structure_equals_its_twin(models, specs) -> None:
    """ALBERT's label 0 means that the segments stand in their order."""
    model, words = hugging_face(*models["model_order"])
    rows = Structure(specs["model_order"], "paper").score(EXAMPLES)
    for example, row in zip(EXAMPLES[:2], rows, strict=False):
        parts = [piece.text for piece in sentences(example.output)]
        losses = []
        for split in range(1, len(parts)):
            halves = " ".join(parts[:split]), " ".join(parts[split:])
            for (a, b), label in ((halves, 0), (halves[::-1], 1)):
                ids = [words(text, add_special_tokens=False)["input_ids"] for text in (a, b)]
                flat = torch.tensor([[2, *ids[0], 3, *ids[1], 3]])
                types = torch.tensor([[0] * (len(ids[0]) + 2) + [1] * (len(ids[1]) + 1)])
                with torch.no_grad():
                    logits = model(flat, token_type_ids=types).sop_logits[0]
                losses.append(-float(torch.log_softmax(logits, -1)[label]))
        assert row["structure"].value == pytest.approx(-sum(losses) / len(losses), abs=1e-5)


def test_mover_distance_equals_pot() -> None:
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(5)
    for _ in range(20):
        a, b = rng.integers(1, 9, 2)
        first = Cloud(rng.normal(size=(a, 5)), rng.uniform(0.1, 2, a))
        second = Cloud(rng.normal(size=(b, 5)), rng.uniform(0.1, 2, b))
        cost = ot.dist(first.vectors, second.vectors, "euclidean")
        expected = ot.emd2(first.weights / first.weights.sum(), second.weights / second.weights.sum(), cost)
        assert distance(first, second) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mode", ["paper", "code2020"])
def test_focus_equals_a_twin_by_linear_programming(models, specs, mode) -> None:
    """Content words by their written form, log(1 + count), Euclidean distance of rows of the embedding table.

    `across` is a stop word of spaCy's, which the released code left out, and none of NLTK's.
    """
    from collections import Counter

    from scipy.optimize import linprog
    from scipy.spatial.distance import cdist

    model, words = hugging_face(*models["model_words"])

    def points(text: str) -> tuple[np.ndarray, np.ndarray]:
        found = words(text, return_offsets_mapping=True, return_tensors="pt")
        with torch.no_grad():
            rows = model.get_input_embeddings()(found["input_ids"])[0].numpy()
        stop = {"The", "the", "on", "at", "A", "from", *(["across"] if mode == "code2020" else [])}
        kept = [w.strip(".") for w in text.split() if w.strip(".") not in stop]
        vectors, weights = [], []
        for word, count in Counter(kept).items():
            start = text.index(word)
            inside = [i for i, (s, e) in enumerate(found["offset_mapping"][0].tolist()) if s >= start
                      and e <= start + len(word) and e > s]  # fmt: skip
            vectors.append(rows[inside].mean(axis=0))
            weights.append(math.log(1 + count))
        return np.array(vectors), np.array(weights) / sum(weights)

    text = "The cat sat across from the mat on the cat. A dog barked at the old house."
    first, second = (piece.text for piece in sentences(text))
    (a, p), (b, q) = points(first), points(second)
    rows = np.kron(np.eye(len(p)), np.ones(len(q)))
    columns = np.kron(np.ones(len(p)), np.eye(len(q)))
    cost = cdist(a, b).ravel()
    moved = linprog(cost, A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q])).fun
    half = {"paper": 2 * moved, "code2020": moved}[mode]  # puts the similarity of the two sentences at one half
    score = Focus(specs["model_words"], mode=mode, unrelated=half).score([Example(text)])[0]["focus"]
    assert score.parts["least similarity"] == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("mode", ["quintet", "paper", "released-2020", "released-2022"])
def test_batched_equals_one_by_one(specs, mode) -> None:
    metric = Gruen(**specs, mode=mode)
    for ingredient in (metric, *metric.ingredients):
        name = ingredient.dimensions[0].name
        together = [row[name].value for row in ingredient.score(EXAMPLES)]
        backwards = [row[name].value for row in ingredient.score(EXAMPLES[::-1])][::-1]
        alone = [ingredient.score([example])[0][name].value for example in EXAMPLES]
        assert together == pytest.approx(alone, abs=1e-5)
        assert backwards == pytest.approx(alone, abs=1e-5)
