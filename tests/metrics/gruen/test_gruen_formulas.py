"""GRUEN's formulas: goldens from the released code's constants, and what each mode does with odd texts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet import load
from quintet.core.example import Example
from quintet.errors import UnknownName
from quintet.metrics.gruen.focus import Focus, relative_similarity, released_similarity
from quintet.metrics.gruen.grammaticality import Grammaticality, grammaticality, scaling_of
from quintet.metrics.gruen.overall import Gruen
from quintet.metrics.gruen.structure import CHANCE, Structure, order_loss

FAKES = {
    "model_lm": "fake:masked-lm",
    "model_acceptability": "fake:pair-classifier",
    "model_words": "fake:embedder",
    "model_order": "fake:sentence-order",
}
TWO = {key: FAKES[key] for key in ("model_lm", "model_acceptability")}
TEXT = "The council voted on Monday. They will repair the bridge. They will repair the old bridge."
MODES = ("quintet", "paper", "released-2020", "released-2022")


def value(metric, text: str) -> float:
    return metric.score([Example(text)])[0][metric.dimensions[0].name].value


def test_an_empty_text_scores_five_eighths_in_the_released_code() -> None:
    assert grammaticality(0.0, 0.0) == 0.625
    for text in ("", "  ", "word", "Word!"):
        assert value(Grammaticality(**TWO, mode="released"), text) == 0.625
        assert value(Gruen(**FAKES, mode="released-2022"), text) == 0.625
        assert value(Gruen(**FAKES, mode="released-2020"), text) == 0.625
    assert value(Grammaticality(**TWO), "") == 0.0


@given(st.floats(1, 100), st.floats(-10, 10))
def test_scaling_of_grammaticality(x: float, y: float) -> None:
    assert grammaticality(x, y) == pytest.approx(max(0.0, (math.exp(-0.5 * x) + y) / 8 + 0.5))
    assert grammaticality(x, y) <= grammaticality(x, y + 1)


def test_the_released_similarity_turns_at_its_golden_distance() -> None:
    turn = 7 - math.log(19)
    assert turn == pytest.approx(4.0556, abs=5e-5)
    assert released_similarity(turn) == pytest.approx(0.05)
    assert released_similarity(turn - 0.001) < 0.05 < released_similarity(turn + 0.001)
    assert released_similarity(7.0) == 0.5
    assert released_similarity(1e9) == 1.0


def test_the_modes_of_focus_penalise_opposite_things() -> None:
    near = "The old bridge needs repair. The old bridge needs repair again."
    far = "The old bridge needs repair. Purple elephants juggle sandwiches."
    paper, code = (Focus("fake:embedder", mode=mode, unrelated=6.0) for mode in ("paper", "code2020"))
    assert (value(paper, near), value(paper, far)) == (0.0, -0.1)
    assert (value(code, near), value(code, far)) == (-0.1, 0.0)
    assert value(Focus("fake:embedder", mode="off"), far) == 0.0
    assert relative_similarity(0.0, 6.0) == 1.0
    assert relative_similarity(12.0, 6.0) == 0.0


def test_focus_points_at_the_pair() -> None:
    text = "The bridge is old. Elephants juggle sandwiches. Elephants juggle."
    score = Focus("fake:embedder", unrelated=6.0).score([Example(text)])[0]["focus"]
    (span,) = score.spans
    assert text[span.start : span.end] == "Elephants juggle sandwiches."
    assert span.other == ("output", 0, len("The bridge is old."))
    assert score.parts["offending"] == 1.0


@pytest.mark.parametrize("text", ["One sentence only.", "It is so. That was it. 12 and 13.", "a b", "one"])
def test_texts_without_pairs_of_content_words_have_focus(text: str) -> None:
    for mode in ("paper", "code2020"):
        assert value(Focus("fake:embedder", mode=mode), text) == 0.0


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_order_loss_is_the_mean_logistic_loss(forward: float, swapped: float) -> None:
    plain = (math.log(1 + math.exp(-forward)) + math.log(1 + math.exp(swapped))) / 2
    assert order_loss(forward, swapped) == pytest.approx(plain, abs=1e-9)
    assert order_loss(0.0, 0.0) == pytest.approx(math.log(2))


def test_scales_of_structure() -> None:
    """The fake finds that a text which opens with a pronoun comes second: log-odds 2.5 and -1.5."""
    loss = order_loss(2.5, -1.5)
    text = "The council voted. They will repair it."
    assert value(Structure("fake:sentence-order", mode="paper"), text) == pytest.approx(-loss)
    assert value(Structure("fake:sentence-order"), text) == pytest.approx(-0.1 * loss / CHANCE)
    assert value(Structure("fake:sentence-order", mode="penalty"), text) == 0.0
    swapped = "They will repair it. The council voted."
    assert value(Structure("fake:sentence-order"), swapped) == pytest.approx(-0.1)
    assert value(Structure("fake:sentence-order", mode="penalty"), swapped) == -0.1
    score = Structure("fake:sentence-order").score([Example(swapped)])[0]["structure"]
    assert [swapped[s.start : s.end] for s in score.spans] == ["The council voted."]
    assert value(Structure("fake:sentence-order"), "Only one.") == 0.0


def test_every_split_in_both_orders() -> None:
    from quintet.text.sentences import sentences

    pieces = sentences("Aa one. Bb two. Cc three.")
    both = [("Aa one.", "Bb two. Cc three."), ("Bb two. Cc three.", "Aa one."),
            ("Aa one. Bb two.", "Cc three."), ("Cc three.", "Aa one. Bb two.")]  # fmt: skip
    assert Structure(mode="paper")._pairs(pieces) == both
    assert Structure(reach=1)._pairs(pieces)[0] == ("Aa one.", "Bb two.")


@pytest.mark.parametrize("mode", MODES)
def test_gruen_is_the_clipped_sum_of_its_parts(mode: str) -> None:
    score = Gruen(**FAKES, mode=mode).score([Example(TEXT)])[0]["linguistic quality"]
    assert score.value == pytest.approx(min(1.0, max(0.0, sum(score.parts.values()))))
    expected = ["grammaticality", "non-redundancy", "focus", "structure"]
    count = {"released-2022": 2, "released-2020": 3}.get(mode, 4)
    assert list(score.parts) == expected[:count]


def test_offending_pairs_are_the_evidence() -> None:
    score = Gruen(**FAKES).score([Example(TEXT)])[0]["linguistic quality"]
    repeated = [span for span in score.spans if span.note and set(span.note) <= set("ABCD")]
    assert [TEXT[span.start : span.end] for span in repeated] == ["They will repair the old bridge."]


def test_the_sum_is_clipped_below() -> None:
    again = "The monkey took a bunch of bananas on the desk. " * 6
    assert value(Gruen(**FAKES), again) == 0.0


def test_constants_of_grammaticality_follow_the_models() -> None:
    """Stored constants for the bundled models, none for others; never from the batch."""
    assert Grammaticality().scaling == "bundled"
    assert Grammaticality(mode="released").scaling == "plain"
    assert Grammaticality(model_lm="dir:mine").scaling == "plain"
    plain, own = scaling_of("plain"), scaling_of("bundled")
    assert plain.likely(-2.0) == pytest.approx(math.exp(-2.0))
    assert plain.acceptability == 1.0
    assert own.likelihood is not None
    low, high = own.likelihood
    assert low < high <= 0.0
    assert (own.likely(low - 1), own.likely((low + high) / 2), own.likely(high + 1)) == pytest.approx((0.0, 0.5, 1.0))
    with pytest.raises(UnknownName, match="did you mean bundled"):
        scaling_of("bundle")


@pytest.mark.parametrize(("modules", "names"), [
    ("G", ["grammaticality"]),
    ("GU", ["grammaticality", "focus"]),
    ("GRU", ["grammaticality", "non-redundancy", "focus"]),
    ("GRUC", ["grammaticality", "non-redundancy", "focus", "structure"]),
])  # fmt: skip
def test_modules_add_up_to_the_parts_of_the_whole(modules: str, names: list[str]) -> None:
    """The ablation of Figure 1."""
    text = "A dog barked. A dog barked. The rain fell on the old house all day long. Cats sleep."
    models = "model_lm=fake:masked-lm,model_acceptability=fake:pair-classifier,model_words=fake:embedder,"
    models += "model_order=fake:sentence-order"
    whole = load(f"gruen:{models}").score([Example(text)])[0]["linguistic quality"]
    some = load(f"gruen:{models},modules={modules}").score([Example(text)])[0]["linguistic quality"]
    assert set(some.parts) == set(names)
    assert some.value == min(1.0, max(0.0, sum(whole.parts[name] for name in names)))
