"""From recipe to score: tiny networks trained by the recipes answer through the metrics as they did in training."""

import shutil
from pathlib import Path

import pytest
import torch

from quintet.core.example import Example
from quintet.metrics.im2.classifiers import FiveIes, RightOrder, TopicCoherence, TrueResponse, ValidUtterance
from quintet.models.open import open_model
from quintet.models.roles import Limits
from quintet.models.torch_open import open_torch
from quintet_train.export import open_trained
from quintet_train.items import PairItem, RankItem
from quintet_train.run import run_recipe

EXAMPLES = [
    Example("I like the rain.", history=("Hello there.", "Do you like the weather?")),
    Example("No", history=("Is it late?",)),
    Example("We can go to the park and look at the dogs.", history=("What do you want to do today?",)),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    def run(name: str) -> Path:
        return run_recipe(name, out=tmp_path_factory.mktemp(name), smoke=True, device="cpu").folder

    return run


def plain_logits(folder: Path, first: str, second: str | None) -> list[float]:
    made = open_trained(folder)
    with torch.no_grad():
        return made.network(made.head.collate([PairItem(first, second, 0)], 0))[0].tolist()


@pytest.mark.parametrize(
    ("recipe", "metric"), [("im2-ab-ba", RightOrder), ("im2-ab-ac", TrueResponse), ("im2-ies5", FiveIes)]
)
def test_pairs_score_as_they_were_trained(trained, recipe: str, metric: type) -> None:
    """AB-BA is a GPT-2 here, as in the paper."""
    folder = trained(recipe)
    made = metric(f"dir:{folder}")
    name = made.dimensions[0].name
    together = [row[name].value for row in made.score(EXAMPLES)]
    for example, found in zip(EXAMPLES, together, strict=True):
        shares = torch.softmax(torch.tensor(plain_logits(folder, example.history[-1], example.output)), -1)
        twin = shares[1] if len(shares) == 2 else (shares * torch.arange(1, 6)).sum()
        assert found == pytest.approx(float(twin), abs=1e-5)
        assert made.score([example])[0][name].value == pytest.approx(found, abs=1e-5)


def test_single_texts_score_as_they_were_trained(trained) -> None:
    folder = trained("im2-vup")
    for example, row in zip(EXAMPLES, ValidUtterance(f"dir:{folder}").score(EXAMPLES), strict=True):
        shares = torch.softmax(torch.tensor(plain_logits(folder, example.output, None)), -1)
        assert row["valid utterance"].value == pytest.approx(float(shares[1]), abs=1e-5)


def test_grade_sees_its_keyword_graph(trained) -> None:
    folder = trained("im2-grade")
    made = open_trained(folder)
    rows = TopicCoherence(f"dir:{folder}").score(EXAMPLES)
    for example, row in zip(EXAMPLES, rows, strict=True):
        item = RankItem("\n".join(example.history), example.output, example.output)
        with torch.no_grad():
            batch = made.head.collate([item], 0)
            twin = torch.sigmoid(made.network(batch))[0]
        assert row["coherence"].value == pytest.approx(float(twin), abs=1e-5)


def test_a_folder_may_leave_out_segment_numbers(trained, tmp_path) -> None:
    """IM2's released inference of 5-NUF and 5-IES passes none; `input.types = false` does the same."""
    folder = tmp_path / "copy"
    shutil.copytree(trained("im2-ab-ac"), folder)
    pair = [("so how are you ?", "i am fine")]
    typed = open_model(f"dir:{folder}", "pair-classifier")
    text = (folder / "model.toml").read_text(encoding="utf-8")
    (folder / "model.toml").write_text(text.replace("[input]", "[input]\ntypes = false"), encoding="utf-8")
    untyped = open_torch(folder, "pair-classifier", "untyped")
    assert "token_type_ids" in typed._inputs([typed._framed(pair[0], Limits())])
    assert "token_type_ids" not in untyped._inputs([untyped._framed(pair[0], Limits())])
    assert typed.score(pair)[0].values.tolist() != untyped.score(pair)[0].values.tolist()
