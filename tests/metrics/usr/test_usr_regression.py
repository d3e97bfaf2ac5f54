"""USR's combination: the closed form of the released weights, and weights of one's own."""

import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.core.blend import Blend, read_table
from quintet.core.example import Example
from quintet.core.score import Score
from quintet.errors import InputError, MissingField, UnknownName
from quintet.metrics.fitting import blend_of_qualities, constants_of, fit_blend, fit_by_annotator
from quintet.metrics.usr.overall import FOREIGN, Usr

FAKES = {
    "model_mlm": "fake:masked-lm",
    "model_context": "fake:pair-classifier",
    "model_fact": "fake:pair-classifier",
}
EXAMPLE = Example("I like cats.", context="Cats purr.", history=("Do you have a pet?",), id="a")
MEANS = {"usr-mlm": -1.012293440649907, "usr-dr-context": 0.8604811806918587, "usr-dr-fact": 0.8472124995904354}
SPREADS = {"usr-mlm": 0.39053753419230813, "usr-dr-context": 0.30259338627812254, "usr-dr-fact": 0.27987823011851076}


def z(name: str, value: float) -> float:
    return (value - MEANS[name]) / SPREADS[name]


@given(st.floats(-5, 0), st.floats(0, 1), st.floats(0, 1))
def test_closed_form_of_the_released_regression(mlm: float, context: float, fact: float) -> None:
    expected = (
        1.0636448671 * z("usr-mlm", mlm)
        + 1.4738121789 * z("usr-dr-context", context)
        + 0.3564255382 * z("usr-dr-fact", fact)
        + 3.5974754476
    )
    found = Usr(weights="usr/topical-chat").regress({"usr-mlm": mlm, "usr-dr-context": context, "usr-dr-fact": fact})
    assert found == pytest.approx(expected, abs=1e-8)


def test_an_average_response_gets_the_intercept() -> None:
    assert Usr(weights="usr/topical-chat").regress(MEANS) == pytest.approx(3.5974754476)


def test_personachat_feeds_the_context_into_four_of_five() -> None:
    found = Usr(weights="usr/personachat").regress({"usr-mlm": -2.0, "usr-dr-context": 0.5})
    four = 0.4035348605 + 0.5132785702 + 0.9605336087 + 0.3564255382
    expected = 3.5974754476 + 0.6601100065 * z("usr-mlm", -2.0) + four * z("usr-dr-context", 0.5)
    assert found == pytest.approx(expected, abs=1e-8)
    names = [metric.name for metric in Usr(weights="usr/personachat").ingredients]
    assert names == ["usr-mlm", "usr-dr-context"]


def test_the_composite_is_the_regression_of_its_parts() -> None:
    metric = Usr(**FAKES)
    score = metric.score([EXAMPLE])[0]["overall"]
    assert score.value == pytest.approx(metric.regress(score.parts))
    assert set(score.parts) == {"usr-mlm", "usr-dr-context", "usr-dr-fact"}
    assert score.spans


def test_personachat_needs_no_fact() -> None:
    lacking = Example("I like cats.", history=("Do you have a pet?",), id="a")
    assert Usr(**FAKES, weights="usr/personachat").score([lacking])[0]["overall"].value < 5
    with pytest.raises(MissingField, match="context"):
        Usr(**FAKES).score([lacking])


def test_fit_finds_the_weights_again_and_the_file_works_in_both_doors(tmp_path) -> None:
    rng = np.random.default_rng(1)
    scores = {"usr-mlm": rng.normal(-3, 1, 60), "usr-dr-context": rng.uniform(0, 1, 60)}
    ratings = 2.0 + 0.5 * scores["usr-mlm"] + 3.0 * scores["usr-dr-context"]
    file = tmp_path / "mine.toml"
    file.write_text(fit_blend(scores, ratings), encoding="utf-8")
    metric = Usr(**FAKES, weights=f"{file}#usr")
    assert metric.regress({"usr-mlm": -1.0, "usr-dr-context": 0.25}) == pytest.approx(2.0 - 0.5 + 0.75)
    fakes = {name: {"model": f"fake:{role}"} for name, role in
             (("usr-mlm", "masked-lm"), ("usr-dr-context", "pair-classifier"))}  # fmt: skip
    file2 = tmp_path / "blend.toml"
    file2.write_text(fit_blend(scores, ratings, parameters=fakes), encoding="utf-8")
    as_blend = Blend(f"{file2}#usr").score([EXAMPLE])[0]["usr"]
    assert as_blend.value == pytest.approx(metric.score([EXAMPLE])[0]["overall"].value)


def test_least_squares_equals_scipy() -> None:
    from scipy.stats import linregress

    rng = np.random.default_rng(2)
    x, y = rng.normal(size=40), rng.normal(size=40)
    row = tomllib.loads(fit_blend({"usr-mlm": x}, y))["usr"]
    line = linregress((x - x.mean()) / x.std(), y)
    assert row["signals"][0]["weight"] == pytest.approx(line.slope)
    assert row["intercept"] == pytest.approx(line.intercept)


def test_missing_values_and_constant_scores() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, 9.0])
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, np.nan])
    row = tomllib.loads(fit_blend({"usr-mlm": x, "usr-dr-fact": np.ones(6)}, y))["usr"]
    weights = [signal["weight"] / signal["scale"] for signal in row["signals"]]
    assert weights == pytest.approx([1.0, 0.0])
    with pytest.raises(InputError, match="too few"):
        fit_blend({"usr-mlm": x[:2]}, y[:2])
    with pytest.raises(InputError, match="one length"):
        fit_blend({"usr-mlm": x}, y[:3])


def test_each_annotator_has_weights_of_their_own(tmp_path) -> None:
    rng = np.random.default_rng(3)
    scores = {"usr-mlm": rng.normal(size=20), "usr-dr-context": rng.normal(size=20)}
    ratings = {"A1": scores["usr-mlm"], "A 2": 2 * scores["usr-dr-context"]}
    file = tmp_path / "people.toml"
    file.write_text(fit_by_annotator(scores, ratings), encoding="utf-8")
    point = {"usr-mlm": 0.3, "usr-dr-context": 0.7}
    assert Usr(weights=f"{file}#A1").regress(point) == pytest.approx(0.3)
    assert Usr(weights=f"{file}#A 2").regress(point) == pytest.approx(1.4)


def test_weights_of_human_qualities_carry_over_as_in_the_paper(tmp_path) -> None:
    qualities = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge")
    released = (0.6601100065, 0.4035348605, 0.5132785702, 0.9605336087, 0.3564255382)
    constants = {name: (MEANS[name], SPREADS[name]) for name in MEANS}
    file = tmp_path / "q.toml"
    text = blend_of_qualities(dict(zip(qualities, released, strict=True)), 3.5974754476, constants)
    file.write_text(text, encoding="utf-8")
    point = {"usr-mlm": -0.4, "usr-dr-context": 0.2, "usr-dr-fact": 0.9}
    assert Usr(weights=f"{file}#usr").regress(point) == pytest.approx(Usr(weights="usr/topical-chat").regress(point))
    assert constants_of({"usr-mlm": [1.0, 3.0]}) == {"usr-mlm": (2.0, 1.0)}
    with pytest.raises(InputError, match="Witty"):
        blend_of_qualities({"Witty": 1.0}, 0.0, constants)


def test_unknown_weights_are_named() -> None:
    with pytest.raises(UnknownName, match="topical-chat"):
        Usr(**FAKES, weights="usr/topical-chart").score([EXAMPLE])


def test_constants_follow_the_models() -> None:
    """Published means belong to the authors' models, the stored ones to the bundled models; neither to the batch."""
    assert Usr().weights == "usr/bundled"
    assert Usr(mode="released").weights == "usr/topical-chat"
    assert Usr(model_fact="dir:mine").weights == "usr/topical-chat"
    bundled, released = (read_table(name)["signals"] for name in ("usr/bundled", "usr/topical-chat"))
    assert [row["weight"] for row in bundled] == [row["weight"] for row in released]
    assert all(row["scale"] > 0 for row in bundled)
    empty = Usr(weights="usr/topical-chat")._score_empty(Example(""))["overall"].value
    lowest = {"usr-mlm": -2.35, "usr-dr-context": 0.0, "usr-dr-fact": 0.0}
    assert empty == pytest.approx(Usr(weights="usr/topical-chat").regress(lowest), abs=1e-3)


@pytest.mark.parametrize(
    ("parameters", "foreign"),
    [({}, False), ({"mode": "released"}, True), ({"weights": "usr/personachat"}, True), ({**FAKES}, False)],
)
def test_constants_of_other_models_are_said(parameters, foreign) -> None:
    metric = Usr(**parameters)
    rows = {one: {one.dimensions[0].name: Score(0.5)} for one in metric.ingredients}
    assert (FOREIGN in metric.combine(EXAMPLE, rows)["overall"].flags) == foreign
