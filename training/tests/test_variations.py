"""Recipes laid over others, chains, and UniEval's ablations as switches."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from quintet.errors import InputError, UnknownName
from quintet_train import recipe
from quintet_train.pseudo import ctc, unieval_tasks
from quintet_train.recipe import Variation
from quintet_train.rows import READERS, Claim

RELATIONS = tuple(ctc.RELATIONS)


@pytest.mark.parametrize("kind", ["d", "r"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_has_a_recipe(kind: str, relation: str) -> None:
    name = f"ctc-{kind}" + ("" if relation == "doc_to_summ" else f"-{relation.replace('_', '-')}")
    found = recipe.load(name)
    assert found.data.options["relation"] == relation
    assert found.data.builder == ("ctc.words" if kind == "d" else "ctc.targets")
    assert found.data.limit == (100_000 if relation == "fact_history_to_response" else 10_000)
    assert found.model.start == recipe.load(f"ctc-{kind}").model.start


def test_a_recipe_over_a_recipe_over_a_recipe() -> None:
    mean = recipe.load("ctc-r-mean")
    assert mean.data.options["total"] == "mean"
    assert mean.data.options["relation"] == "fact_history_to_response"
    assert mean.train == recipe.load("ctc-r").train
    assert recipe.load("usr-paper-context").model.start == "recipe:usr-mlm"


@pytest.mark.parametrize(
    ("strategy", "dimensions", "continual"),
    [("multi", None, False), ("single:fluency", ["fluency"], False), ("continual", None, True), ("", None, True)],
)
def test_strategies(strategy: str, dimensions: list[str] | None, continual: bool) -> None:
    found = recipe.load("unieval-summarization", variation=Variation(strategy))
    assert found.data.options.get("dimensions") == dimensions
    assert (found.continual is not None) == continual
    changed = bool(dimensions) or not continual
    assert (found.digest != recipe.load("unieval-summarization").digest) == changed, "model.toml tells them apart"


def test_order_and_replay() -> None:
    by = Variation(order=("relevance", "coherence"), replay=0.1)
    found = recipe.load("unieval-summarization", variation=by).continual
    assert found is not None
    assert (found.order, found.replay) == (("relevance", "coherence"), 0.1)


@pytest.mark.parametrize("kind", recipe.DROPPED)
def test_an_intermediate_stage_without_one_kind_of_task(kind: str) -> None:
    found = recipe.load("unieval-intermediate", variation=Variation(drop=kind))
    assert not set(found.data.options["tasks"]) & set(recipe.DROPPED[kind])
    assert len(found.data.options["tasks"]) == sum(map(len, recipe.DROPPED.values())) - len(recipe.DROPPED[kind])


def test_the_first_stage_is_learnt_first_or_left_out() -> None:
    """Table 3's last row, and Table 6's in one command: the stages before the dimensions."""
    whole = recipe.load("unieval-summarization")
    assert whole.model.start == "recipe:unieval-intermediate"
    plain = recipe.load("unieval-summarization", variation=Variation(no_intermediate=True))
    assert plain.model.start == recipe.load("unieval-intermediate").model.start == "hf:google/t5-v1_1-large"
    one = recipe.load("unieval-summarization", variation=Variation("single:fluency", drop="ling"))
    assert one.model.start == "recipe:unieval-intermediate without ling"
    assert len({found.digest for found in (whole, plain, one)}) == 3
    for wrong in (Variation(drop="ling", no_intermediate=True), Variation(no_intermediate=True)):
        with pytest.raises(InputError, match=r"exclude each other|no intermediate tasks"):
            recipe.load("unieval-summarization", start="dir:mine", variation=wrong)


def test_a_first_stage_without_one_kind_lies_beside_the_second(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    import tomllib

    from quintet_train.run import run_recipe

    begin, by = "recipe:unieval-intermediate", Variation("single:fluency", drop="nli")
    done = run_recipe("unieval-summarization", out=tmp_path, smoke=True, device="cpu", start=begin, variation=by)
    made = tomllib.loads((done.folder / "model.toml").read_text(encoding="utf-8"))
    assert made["started_from"] == "recipe:unieval-intermediate without nli"
    first = tmp_path / "unieval-intermediate-without-nli" / "model" / "model.toml"
    wanted = recipe.load("unieval-intermediate", smoke=True, variation=Variation(drop="nli")).digest
    assert tomllib.loads(first.read_text(encoding="utf-8"))["recipe_sha256"] == wanted


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="write continual, multi or single:DIMENSION"):
        recipe.load("unieval-summarization", variation=Variation("single"))
    with pytest.raises(InputError, match="strategies are UniEval's"):
        recipe.load("ctc-d", variation=Variation("multi"))
    with pytest.raises(UnknownName, match="kind of intermediate task"):
        recipe.load("unieval-intermediate", variation=Variation(drop="cola"))


def test_yes_and_no_of_multirc() -> None:
    text = "Paragraph- Sent 1: A cat slept .\nSent 2: It woke . \nQuestion: Did the cat sleep? \nCorrect Answer: {}."
    rows = [({"text": text.format(answer), "correct": correct}) for answer, correct in
            (("yes", True), ("no", True), ("no", False), ("a cat", True))]  # fmt: skip
    found = [claim for row in rows for claim in READERS["answers"](row)]
    assert [claim.yes for claim in found if isinstance(claim, Claim)] == [True, False, True]
    assert isinstance(found[0], Claim)
    assert (found[0].claim, found[0].basis) == ("Did the cat sleep?", "Sent 1: A cat slept . Sent 2: It woke .")


def test_strategyqa_in_the_words_of_table_8() -> None:
    row = {"question": "Can a {claim} fly", "term": "Cat", "description": "small  animal", "answer": False,
           "facts": ["Cats walk.", "Wings fly."]}  # fmt: skip
    (item,) = unieval_tasks.intermediate(list(READERS["strategies"](row)), 0, Random(0))
    assert item.parts == (
        "question: Can a {claim} fly?", "term: Cat", "description of term: small animal", "facts: Cats walk. Wings fly."
    )  # fmt: skip
    assert not item.yes


def test_the_mean_of_a_dialogue_leaves_stop_words_out_as_the_sum_does() -> None:
    from quintet_train.rows import Dialogue

    talk = [Dialogue(("Do you like rain?", "I like the heavy rain in autumn."), ("Rain falls in autumn.",) * 2)] * 4
    sums, means = (
        ctc.targets(talk, 8, Random(1), relation="fact_history_to_response", total=total) for total in ("sum", "mean")
    )
    assert sums
    assert all(0 <= item.target <= 1 for item in means)
    assert max(item.target for item in sums) > 1


def test_every_checkpoint_is_a_model(tmp_path: Path) -> None:
    """CTC's Figure 7 follows an aligner through its training."""
    pytest.importorskip("torch")
    from quintet.models.open import open_model
    from quintet.models.roles import FIRST_WHOLE
    from quintet_train.run import run_recipe

    done = run_recipe("ctc-d", out=tmp_path, smoke=True, device="cpu", variation=Variation(keep_all=True))
    steps = sorted((tmp_path / "steps").iterdir())
    assert len(steps) >= 2
    pair = [("the cat sat", "the cat")]
    answers = [open_model(f"dir:{folder}", "token-tagger").score(pair, FIRST_WHOLE)[0].support for folder in steps]
    assert answers[0].tolist() != answers[-1].tolist()
    assert done.folder == tmp_path / "model"
