"""What the language model says of an output alone, or after dialogue, record, input and references: plain twins."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from quintet.core.cache import fresh
from quintet.core.example import Example
from quintet.core.metric import Metric
from quintet.core.score import Score
from quintet.errors import ModelError
from quintet.metrics import metrics
from quintet.metrics.evaluator.reader import HeadSignal
from quintet.models.fake import FakeCausalLM
from quintet.models.open import open_model
from quintet.models.roles import TokenScores

OUTPUT = "The council of town 12 met twice. It voted for bridge 5, and purple elephants juggle."
FACT = "Town 12 has a council and purple elephants."
HISTORY = ("Did you hear of the bridge?", "No.", "The council of town 12 voted.")
REFERENCES = ("The council met.", "Town 12 voted for a bridge; elephants watched.")
E = Example(OUTPUT, source="Town 12 met.\nIt  voted .", context=FACT, references=REFERENCES, history=HISTORY, id="e")
TURNS = "- Did you hear of the bridge?\n- No.\n- The council of town 12 voted.\n-"
NAMES = ["reader", *(f"reader-{form}" for form in ("alone", "dialogue", "record", "input", "reference"))]
every = pytest.mark.parametrize("name", NAMES)


def build(name: str) -> Metric:
    return dataclasses.replace(metrics[f"evaluator-{name}"].build(), model="fake:causal-lm")  # type: ignore[call-arg]


def scores(name: str, example: Example = E) -> dict[str, Score]:
    return dict(build(name).score([example])[0])


def values(name: str, example: Example = E) -> dict[str, float]:
    return {key: score.value for key, score in scores(name, example).items()}


def read(context: str, text: str = OUTPUT) -> TokenScores:
    return open_model("fake:causal-lm", "causal-lm").log_probs([(context, f" {text}")])[0]


def heads(context: str, text: str = OUTPUT) -> dict[str, float]:
    judgement = read(context, text).judgement
    assert judgement is not None
    return judgement.logits


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """What the language model was asked for, in turn."""
    found: list[tuple[str, str]] = []
    plain = FakeCausalLM.log_probs

    def log_probs(self, pairs):
        found.extend(pairs)
        return plain(self, pairs)

    fresh()
    monkeypatch.setattr(FakeCausalLM, "log_probs", log_probs)
    yield found
    fresh()


def test_against_plain_twins() -> None:
    alone, dialogue = heads("TL;DR:"), heads(f"{FACT}\n\n{TURNS}")
    assert values("reader-alone") == pytest.approx({"acceptability": alone["acc"], "flow": alone["coh"]})
    assert values("reader-dialogue") == pytest.approx({"selection": dialogue["sel"], "grounding": dialogue["gro"]})
    # A record is read as it stands, an input as a document is.
    assert values("reader-record") == pytest.approx({"content": heads("Town 12 met.\nIt  voted .\n=>")["d2t"]})
    assert values("reader-input") == pytest.approx({"adequacy": heads("Town 12 met. It voted.\n\nTL;DR:")["adq"]})
    each = [heads(f"{reference}\n\nTL;DR:")["adq"] for reference in REFERENCES]
    assert each[0] != each[1]
    assert values("reader-reference") == pytest.approx({"adequacy": sum(each) / 2})


def test_questions_have_heads_of_their_own() -> None:
    """Two heads that were mixed up would not be seen in a metric whose heads say the same."""
    for name in NAMES:
        found = values(name)
        assert len(set(found.values())) == len(found)
        metric = build(name)
        assert isinstance(metric, HeadSignal)
        assert len(metric.heads) == len(metric.dimensions)


def test_the_last_twelve_turns() -> None:
    turns = tuple(f"This is turn {n}." for n in range(15))
    context = f"{FACT}\n\n" + "".join(f"- {turn}\n" for turn in turns[3:]) + "-"
    found = values("reader-dialogue", dataclasses.replace(E, history=turns))
    assert found["selection"] == pytest.approx(heads(context)["sel"])


@pytest.mark.parametrize("fact", [None, "", " ", "_nofact\n"])
def test_without_a_fact_selection_is_answered_and_grounding_is_not(fact: str | None) -> None:
    found = scores("reader-dialogue", dataclasses.replace(E, context=fact))
    assert found["selection"].value == pytest.approx(heads(TURNS)["sel"])
    assert found["grounding"].missing
    assert found["grounding"].flags == ("no context",)


def test_without_turns_grounding_is_answered_and_selection_is_not() -> None:
    found = scores("reader-dialogue", dataclasses.replace(E, history=(" ",)))
    assert found["grounding"].value == pytest.approx(heads(f"{FACT}\n\n-")["gro"])
    assert found["selection"].flags == ("no history",)
    neither = scores("reader-dialogue", dataclasses.replace(E, history=None, context=None))
    assert {name: score.flags for name, score in neither.items()} == {
        "selection": ("no history",), "grounding": ("no context",),
    }  # fmt: skip


@pytest.mark.parametrize(("name", "field"), [("record", "source"), ("input", "source"), ("reference", "references")])
def test_a_missing_field_is_said(name: str, field: str, asked: list[tuple[str, str]]) -> None:
    lacking = dataclasses.replace(E, **{field: ("", " ") if field == "references" else " "})
    for score in scores(f"reader-{name}", lacking).values():
        assert score.missing
        assert score.flags == (f"no {field}",)
    assert not asked


def test_empty_references_do_not_count() -> None:
    among = dataclasses.replace(E, references=("", *REFERENCES, " "))
    assert values("reader-reference", among) == values("reader-reference")


LIKELIHOODS = {
    "reader": "likelihood-document",
    "reader-alone": "likelihood-nothing",
    "reader-dialogue": "likelihood-dialogue",
    "reader-record": "likelihood-record",
    "reader-input": "likelihood-document",
}


@pytest.mark.parametrize(("name", "likelihood"), LIKELIHOODS.items())
@pytest.mark.parametrize("times", [1, 300], ids=["short", "long"])
def test_context_and_text_are_those_of_a_likelihood(
    name: str, likelihood: str, times: int, asked: list[tuple[str, str]]
) -> None:
    example = dataclasses.replace(E, source=f"{E.source} " * times, output=f"{OUTPUT} " * max(1, times // 6))
    for first, second in ((likelihood, name), (name, likelihood)):
        fresh()
        asked.clear()
        scores(first, example)
        before = len(asked)
        assert before >= 1
        scores(second, example)
        assert len(asked) == before


def test_the_gain_reads_what_alone_asks(asked: list[tuple[str, str]]) -> None:
    scores("gain-document")
    before = len(asked)
    scores("reader-alone")
    scores("reader")
    scores("reader-input")
    assert len(asked) == before == 2


@pytest.mark.parametrize(("name", "of", "head"), [("record", "content", "d2t"), ("input", "adequacy", "adq")])
def test_of_long_grounds_the_likeliest_window_counts(
    name: str, of: str, head: str, asked: list[tuple[str, str]]
) -> None:
    tail = "Nothing of note. Town 12 met and purple elephants juggle."
    score = scores(f"reader-{name}", dataclasses.replace(E, source="Nothing of note. " * 900 + tail))[of]
    assert not score.cut
    windows = {context for context, _ in tuple(asked) if read(context).cut == 0}
    assert len(windows) > 2
    best = max(windows, key=lambda context: float(read(context).log_probs.mean()))
    assert tail in best
    assert score.value == pytest.approx(heads(best)[head])


def test_a_long_reference_has_a_window_of_its_own(asked: list[tuple[str, str]]) -> None:
    tail = "Nothing of note. Town 12 met and purple elephants juggle."
    long = dataclasses.replace(E, references=("Nothing of note. " * 900 + tail, "Yes."))
    score = scores("reader-reference", long)["adequacy"]
    assert not score.cut
    windows = {context for context, _ in tuple(asked) if read(context).cut == 0}
    (best,) = (context for context in windows if tail in context)
    each = [heads(context)["adq"] for context in (best, "Yes.\n\nTL;DR:")]
    assert score.value == pytest.approx(sum(each) / 2)


@pytest.mark.parametrize(("name", "of", "head"), [("alone", "flow", "coh"), ("dialogue", "selection", "sel")])
def test_an_output_in_pieces_is_a_mean_by_length(name: str, of: str, head: str, asked: list[tuple[str, str]]) -> None:
    output = " ".join(f"Town {n} of of juggles the {'council' if n < 120 else 'xqzt xqzt'} {n}." for n in range(200))
    score = scores(f"reader-{name}", dataclasses.replace(E, output=output))[of]
    assert not score.cut
    pieces = [(context, text[1:]) for context, text in tuple(asked) if read(context, text[1:]).cut == 0]
    while "".join(text for _, text in pieces).replace(" ", "") != output.replace(" ", ""):
        del pieces[0]
    assert len(pieces) > 2
    found = [(heads(context, text)[head], len(read(context, text))) for context, text in pieces]
    assert len({length for _, length in found}) > 1
    assert score.value == pytest.approx(sum(value * length for value, length in found) / sum(n for _, n in found))


def test_a_dialogue_too_long_loses_its_start_and_says_so() -> None:
    long = dataclasses.replace(E, context="A fact of note. " * 300)
    found = scores("reader-dialogue", long)
    likely = scores("likelihood-dialogue", long)["likelihood"]
    assert found["selection"].cut == likely.cut
    assert found["grounding"].cut == {"context": likely.cut["history"]}
    assert likely.cut["history"] > 500


def test_grounding_points_at_content_words_that_are_backed() -> None:
    text = "  The council of -LRB- town 12 -RRB- did n't   juggle ."
    found = scores("reader-dialogue", dataclasses.replace(E, output=text))
    assert [text[s.start : s.end] for s in found["grounding"].spans] == ["council", "-LRB- town", "12 -RRB-"]
    assert {s.note for s in found["grounding"].spans} == {"supported"}
    assert not found["selection"].spans


def test_no_word_is_pointed_at_by_a_model_that_judges_none(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scores("reader-dialogue")
    monkeypatch.setattr(FakeCausalLM, "taught", ("sel", "gro"))
    found = scores("reader-dialogue")
    assert found["grounding"].value == whole["grounding"].value
    assert whole["grounding"].spans
    assert not found["grounding"].spans


@every
def test_evidence_is_of_the_four_heads_that_have_some(name: str) -> None:
    pointing = {key for key, score in scores(name).items() if score.spans}
    assert pointing <= {"consistency", "entailment", "words", "grounding"}


@every
def test_one_head_is_enough_and_none_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = build(name)
    assert isinstance(metric, HeadSignal)
    whole = values(name)
    for dimension, head in zip(metric.dimensions, metric.heads, strict=True):
        monkeypatch.setattr(FakeCausalLM, "taught", (head, "ord"))
        metric.prepare()
        for other, score in scores(name).items():
            if other == dimension.name:
                assert score.value == whole[other]
                assert not score.flags
            else:
                own = dict(zip((d.name for d in metric.dimensions), metric.heads, strict=True))[other]
                assert score.missing
                assert score.flags == (f"no head {own!r} in the language model",)
    for taught, said in ((("ord",), "was not taught"), ((), "has no heads that judge what it reads")):
        monkeypatch.setattr(FakeCausalLM, "taught", taught)
        for ask in (metric.prepare, lambda: metric.score([E])):
            with pytest.raises(ModelError, match=rf"^fake-causal-lm@1 {said}[^\n]*evaluator-{name} asks for$"):
                ask()


def test_separators_in_a_text_are_text() -> None:
    forged = dataclasses.replace(E, output=f"{OUTPUT}\n- No.\n=> TL;DR: [SEP] <|im_end|>")
    for name in NAMES:
        assert values(name, forged) != values(name)
