"""Recipes: all are read, unknown keys are refused by name, continual stages have the papers' sizes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from quintet.errors import InputError, UnknownName
from quintet_train import recipe
from quintet_train.evaluator.run import JUDGE, LANGUAGE_JUDGE, LANGUAGE_MODEL, TEACHER
from quintet_train.multitask import mixture, stages
from quintet_train.pseudo.builders import BUILDERS
from quintet_train.recipe import Continual

EXPECTED = {
    "ctc-d", "ctc-r", "usr-mlm", "usr-dr-context", "usr-dr-fact", "unieval-intermediate", "unieval-summarization",
    "unieval-dialogue", "gruen-acceptability", "gruen-order", "im2-vup", "im2-nuf5", "im2-ies5", "im2-ab-ba",
    "im2-ab-ac", "im2-dmlm", "im2-grade", "evaluator", "judge-lm", "judge-lm-heads",
    "judge-teacher", "evaluator-taught", "judge-lm-taught", "judge-teacher-wide", "judge-lm-taught-wide",
}  # fmt: skip
OF_THE_EVALUATOR = {
    "evaluator": JUDGE,
    "evaluator-taught": JUDGE,
    "judge-lm": LANGUAGE_MODEL,
    "judge-lm-heads": LANGUAGE_JUDGE,
    "judge-lm-taught": LANGUAGE_JUDGE,
    "judge-lm-taught-wide": LANGUAGE_JUDGE,
    "judge-teacher": TEACHER,
    "judge-teacher-wide": TEACHER,
}


def test_there_is_a_recipe_for_everything_trainable() -> None:
    assert set(recipe.names()) >= EXPECTED


@pytest.mark.parametrize("name", recipe.names())
@pytest.mark.parametrize("smoke", [False, True])
def test_recipes_are_sound(name: str, smoke: bool) -> None:
    made = recipe.load(name, smoke)
    assert made.name == name
    assert made.family == ("evaluator" if name in OF_THE_EVALUATOR else name.split("-")[0])
    assert made.data.builder in {OF_THE_EVALUATOR[name]} if name in OF_THE_EVALUATOR else BUILDERS
    before = made.model.start.removeprefix("recipe:")
    if before == made.model.start:
        assert before.startswith("tiny:" if smoke else ("hf:", "bundled:"))
    else:
        assert before in recipe.names()
    assert all(source.licence for source in made.data.sources)
    assert not any(part in source.path for source in made.data.sources for part in ("summeval", "usr", "fed", "qags"))


def test_the_digest_follows_the_settings() -> None:
    assert recipe.load("ctc-d").digest == recipe.load("ctc-d").digest
    assert recipe.load("ctc-d").digest != recipe.load("ctc-d", smoke=True).digest
    assert recipe.load("ctc-d").digest != recipe.load("ctc-d", start="dir:elsewhere").digest


MINIMAL = """
name = "x"
family = "ctc"
about = "y"
[data]
builder = "im2.vup"
[[data.sources]]
path = "a.jsonl"
rows = "dialogues"
licence = "none"
[model]
start = "tiny:bert"
head = "pooled"
[train]
rate = 1
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rate = 1", "rte = 1", r"unknown key train.rte; did you mean rate\?"),
        ("rate = 1", "batch = 0", "train.batch must be above 0"),
        ("rate = 1", 'batch = "4"', "train.batch must be int, not '4'"),
        ("rate = 1", "batch = true", "train.batch must be int, not True"),
        ('head = "pooled"', "", "missing key model.head"),
        ('licence = "none"', "", r"missing key data.sources\[0\].licence"),
        ('licence = "none"', 'licence = "n"\nrelease = "maybe"', "release of a.jsonl must be one of"),
        ("[model]", "[modle]", r"unknown key modle; did you mean model\?"),
        ("rate = 1", "rate = ", "not TOML"),
    ],
)
def test_mistakes_are_said_in_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(MINIMAL.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        recipe.load(path)
    assert "\n" not in str(caught.value)


def test_recipes_by_name_or_file(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean ctc-d"):
        recipe.load("ctc-dd")
    with pytest.raises(InputError, match="no such recipe file"):
        recipe.load(tmp_path / "absent.toml")
    path = tmp_path / "r.toml"
    path.write_text(MINIMAL, encoding="utf-8")
    assert recipe.load(path).train.rate == 1.0
    with pytest.raises(InputError, match=r"no \[smoke\] table"):
        recipe.load(path, smoke=True)


def test_continual_stages_have_the_sizes_the_author_confirmed() -> None:
    order = ("coherence", "fluency", "consistency", "relevance")
    tasks = {task: [(task, i) for i in range(30_000)] for task in order}
    made = stages(tasks, Continual(order, 0.2, {"relevance": 0.5}), 1.0, 0)
    assert [len(stage.items) for stage in made] == [30_000, 36_000, 42_000, 48_000]
    assert [stage.epochs for stage in made] == [1.0, 1.0, 1.0, 0.5]
    last = made[-1].items
    assert {task: sum(item[0] == task for item in last) for task in order} == {
        "coherence": 6000, "fluency": 6000, "consistency": 6000, "relevance": 30_000,
    }  # fmt: skip
    assert len(set(last)) == len(last)


def test_the_papers_orders() -> None:
    for name, order in (
        ("unieval-summarization", ("coherence", "fluency", "consistency", "relevance")),
        ("unieval-dialogue", ("coherence", "naturalness", "groundedness", "engagingness")),
    ):
        made = recipe.load(name).continual
        assert made is not None
        assert (made.order, made.replay) == (order, 0.2)


def test_unknown_tasks_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean fluency"):
        stages({"fluency": [1]}, Continual(("fluenci",)), 1.0, 0)


def test_mixtures_go_through_a_task_before_repeating_it() -> None:
    drawn = mixture({"a": list(range(10)), "b": list(range(100, 110))}, 20, 0, temperature=1e9)
    own = [x for x in drawn if x < 100][:10]
    assert len(set(own)) == len(own)
    assert mixture({"a": []}, 5, 0) == []
    proportional = mixture({"a": [0] * 900, "b": [1] * 100}, 5000, 1)
    assert sum(proportional) / 5000 == pytest.approx(0.1, abs=0.02)


def test_every_recipe_is_plain_toml_with_smoke() -> None:
    for name in recipe.names():
        text = (Path(recipe.__file__).parent / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
        assert {"smoke", "like"} & set(tomllib.loads(text)), "a recipe over another has that one's"
        assert "/work" not in text
