"""The signals against plain twins: loops that do what the page says, one pair at a time."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.core.example import Example
from quintet.errors import ModelError
from quintet.metrics import metrics
from quintet.metrics.evaluator.likelihood import grounds_of
from quintet.metrics.evaluator.matching import content_pieces
from quintet.metrics.evaluator.rarity import word_table
from quintet.metrics.evaluator.reading import read_output
from quintet.metrics.evaluator.windows import Size, choose, document_windows, output_pieces
from quintet.models.fake import FakeJudge
from quintet.models.open import open_model
from quintet.models.roles import WHOLE, Limits
from quintet.text.content_words import content_words, plain_words
from quintet.text.runs import overlapping_runs
from quintet.text.sentences import sentences

SOURCE = " ".join(f"The council of town {n} met on day {n} and voted for bridge {n % 7}." for n in range(60))
OUTPUT = "The council of town 12 met on day 12. It voted for bridge 5. Purple elephants juggle."
HISTORY = ("Did you hear of the bridge?", "No.", "The council of town 12 voted.")
E = Example(OUTPUT, source=SOURCE, context="Town 12 has a council.", references=("The council met.", "Town 12 voted."),
            history=HISTORY, id="e")  # fmt: skip


def build(name: str, **parameters: object):
    metric = metrics[f"evaluator-{name}"].build(**parameters)
    role = getattr(metric, "model_role", None)
    return metric if role is None else dataclasses.replace(metric, model=f"fake:{role}")


def values(name: str, example: Example = E, **parameters: object) -> dict[str, float]:
    return {key: score.value for key, score in build(name, **parameters).score([example])[0].items()}


def heads(output: str, *grounds: str):
    return open_model("fake:judge", "judge").score([(output, grounds)])[0]


@pytest.mark.parametrize("together", [frozenset(), frozenset({"sel"})])
def test_a_pair_is_read_as_its_head_wants(together: frozenset[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    plain = FakeJudge.score

    def score(self: FakeJudge, pairs: list, limits: Limits = WHOLE, joint: bool = False):
        asked.append(joint)
        return plain(self, pairs)

    monkeypatch.setattr(FakeJudge, "joint", together)
    monkeypatch.setattr(FakeJudge, "score", score)
    values("response")
    values("document")
    assert asked == ["sel" in together, False]


def test_heads_of_one_signal_are_read_in_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeJudge, "joint", frozenset({"rel"}))
    with pytest.raises(ModelError, match="cohd, rel, cov in two ways") as caught:
        values("document")
    assert "\n" not in str(caught.value)


def test_sentences_alone() -> None:
    each = [heads(s.text).logits["acc"] for s in sentences(OUTPUT)]
    expected = {"whole": heads(OUTPUT).logits["acc"], "mean": sum(each) / 3, "lowest": min(each)}
    assert values("acceptability") == pytest.approx(expected)
    assert values("flow") == pytest.approx({"coherence": heads(OUTPUT).logits["coh"]})
    first, second, third = (s.text for s in sentences(OUTPUT))
    splits = [heads(first, second), heads(second, third)]
    assert values("order") == pytest.approx({"order": sum(s.logits["ord"] for s in splits) / 2})


def test_beside_the_document_the_best_window_counts() -> None:
    judge = open_model("fake:judge", "judge")
    big = document_windows(judge, SOURCE, "big")
    assert len(big) > 2
    found = [heads(OUTPUT, window.text).logits for window in big]
    expected = {"coherence": "cohd", "relevance": "rel", "coverage": "cov"}
    assert values("document", best=0, window="big") == pytest.approx(
        {k: max(f[h] for f in found) for k, h in expected.items()}
    )


@pytest.mark.parametrize("window", ["small", "big"])
@pytest.mark.parametrize("best", [0, 1, 2])
def test_support_sentence_by_sentence(window: Size, best: int) -> None:
    judge = open_model("fake:judge", "judge")
    windows = document_windows(judge, SOURCE, window)
    units = [s.text for s in sentences(OUTPUT)]
    consistency, entailment, words = [], [], []
    for unit in units:
        judged = [heads(unit, w.text) for w in choose(unit, windows, best)]
        consistency.append(max(j.logits["con"] for j in judged))
        entailment.append(max(j.entailment[0] for j in judged))
        supported = np.max([j.support for j in judged], axis=0)
        for at, word in enumerate(unit.rstrip(".").split()):
            if content_words(word):
                words.append(round(float(supported[at]), 4))
    lengths = judge.lengths(units)
    expected = {
        "consistency": float(np.average(consistency, weights=lengths)),
        "entailment": float(np.mean(entailment)),
        "words": float(np.mean(words)),
    }
    assert values("support", window=window, best=best) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("best", [0, 1])
def test_support_beside_windows_of_both_sizes_is_the_mean(best: int) -> None:
    far = dataclasses.replace(E, output="Town 30 met town 38 on day 30.")  # 30 and 38 share a big window only
    big, small, both = (values("support", far, window=size, best=best) for size in ("big", "small", "both"))
    assert best == 0 or all(big[name] > small[name] for name in big)
    assert both == pytest.approx({name: (big[name] + small[name]) / 2 for name in big}, abs=1e-4)


def test_evidence_points_at_what_is_not_backed() -> None:
    score = build("support").score([E])[0]["entailment"]
    weak = [OUTPUT[s.start : s.end] for s in score.spans if s.kind == "sentence"]
    assert weak == ["Purple elephants juggle."]
    low = {OUTPUT[s.start : s.end] for s in score.spans if s.kind == "word" and s.value < 0.5}
    assert {"Purple", "elephants", "juggle."} <= low
    assert "council" not in low


def test_evidence_is_said_of_the_users_characters() -> None:
    text = "  The council of -LRB- town 12 -RRB- did n't   juggle ."
    score = build("support").score([dataclasses.replace(E, output=text)])[0]["words"]
    found = [text[s.start : s.end] for s in score.spans if s.kind == "word"]
    assert found == ["The", "council", "of", "-LRB- town", "12 -RRB-", "did n't", "juggle ."]


def test_windows_chosen_by_rare_shared_words() -> None:
    judge = open_model("fake:judge", "judge")
    windows = document_windows(judge, SOURCE, "small")
    (best,) = choose("The town 33 spoke.", windows, 1)
    assert "town 33" in best.text
    table = word_table()
    shared = [sum(table.idf(w) for w in {"town", "33", "spoke"} if w in window.words) for window in windows]
    assert windows.index(best) == int(np.argmax(shared))
    assert choose("x", windows, 0) == list(windows)


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(50, 120), st.integers(0, 60))
def test_windows_cover_everything_and_fit(lengths: list[int], size: int, shared: int) -> None:
    runs = overlapping_runs(lengths, size, shared)
    assert {i for a, b in runs for i in range(a, b)} == set(range(len(lengths)))
    for (a, b), (c, d) in itertools.pairwise(runs):
        assert a < c <= b < d
        assert sum(lengths[c:b]) <= shared
    assert all(sum(lengths[a:b]) <= size for a, b in runs)


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["word ", "Sentence. ", "!" * 300, "x" * 500 + " ", "\n", "é "]), min_size=1, max_size=400)
)
def test_long_outputs_are_read_in_pieces_and_nothing_is_lost(parts: list[str]) -> None:
    judge = open_model("fake:judge", "judge")
    output = read_output("".join(parts))
    pieces, lengths = output_pieces(judge, output)
    assert max(lengths) <= judge.longest_output or len(pieces) == 1
    assert "".join("".join(p.text.split()) for p in pieces) == "".join(output.text.split())
    assert all(output.text[p.start : p.end] == p.text for p in pieces)


def test_dialogue_input_record_fact_reference() -> None:
    assert values("response", turns=2)["selection"] == pytest.approx(heads(OUTPUT, *HISTORY[-2:]).logits["sel"])
    assert values("grounding")["grounding"] == pytest.approx(heads(OUTPUT, E.context).logits["gro"])
    short = dataclasses.replace(E, source="The  council met .")
    assert values("input", short) == pytest.approx({"adequacy": heads(OUTPUT, "The council met.").logits["adq"]})
    assert values("record", short)["content"] == pytest.approx(heads(OUTPUT, "The  council met .").logits["d2t"])
    each = [heads(OUTPUT, reference).logits["adq"] for reference in E.references]
    assert values("reference")["adequacy"] == pytest.approx(sum(each) / 2)


def test_matching_is_greedy_cosine() -> None:
    a, b = open_model("fake:embedder").embed(["The council met twice.", "A council met."], 9)
    unit = [v.inner.vectors / np.linalg.norm(v.inner.vectors, axis=1, keepdims=True) for v in (a, b)]
    cosines = unit[0] @ unit[1].T
    forth, back = cosines.max(axis=1), cosines.max(axis=0)
    # council, met, twice / council, met; F over all pieces
    p, r = forth.mean(), back.mean()
    means = [v.vectors.mean(axis=0) for v in (a, b)]
    expected = {
        "precision": forth[1:4].mean(),
        "recall": back[1:3].mean(),
        "f-score": 2 * p * r / (p + r),
        "cosine": means[0] @ means[1] / np.linalg.norm(means[0]) / np.linalg.norm(means[1]),
    }
    example = Example("The council met twice.", source="A council met.")
    assert values("matching-input", example, layer=9) == pytest.approx(
        {k: float(v) for k, v in expected.items()}, abs=1e-5
    )


def test_what_goes_on_inside_a_word_is_content() -> None:
    (vectors,) = open_model("bundled:gte-small").embed(["The xylophonists don't re-s it, s!"], 9)
    pieces = [(vectors.token(i), bool(c)) for i, c in enumerate(content_pieces(vectors.inner), 1)]
    assert (pieces[0][0].lower(), pieces[0][1]) == ("the", False)
    assert all(counts for piece, counts in pieces[1:4])
    assert dict(pieces[-2:]) == {"s": False, "!": False}


def test_likelihood_and_what_the_grounds_add() -> None:
    lm = open_model("fake:causal-lm", "causal-lm")

    def total(context: str, text: str = OUTPUT) -> float:
        return float(lm.log_probs([(context, " " + text)])[0].log_probs.sum())

    count = len(lm.log_probs([("", " " + OUTPUT)])[0])
    short = dataclasses.replace(E, source="Town 12 met.\nIt voted.")
    document = total("Town 12 met. It voted.\n\nTL;DR:")
    assert values("likelihood-document", short)["likelihood"] == pytest.approx(document / count)
    gain = document - total("TL;DR:")
    flattened = math.copysign(math.log1p(abs(gain) / 5.0), gain)
    assert values("gain-document", short) == pytest.approx({"mean": gain / count, "sum": gain, "log": flattened})
    turns = "".join(f"- {turn}\n" for turn in HISTORY) + "-"
    with_fact = total(f"{E.context}\n\n{turns}")
    assert values("likelihood-document", short)["chance"] == pytest.approx(math.exp(document / count))
    assert values("likelihood-dialogue")["likelihood"] == pytest.approx(with_fact / count)
    assert values("likelihood-history")["likelihood"] == pytest.approx(total(turns) / count)
    assert values("gain-fact")["sum"] == pytest.approx(with_fact - total(turns))
    assert values("likelihood-record", short)["likelihood"] == pytest.approx(
        total("Town 12 met.\nIt voted.\n=>") / count
    )
    assert values("likelihood-nothing")["likelihood"] == pytest.approx(total("TL;DR:") / count)
    assert grounds_of(dataclasses.replace(E, history=tuple("abcdefghijklmnop")), "history").after.startswith("- e\n")


def test_grounds_too_long_for_the_language_model_are_read_in_windows() -> None:
    lm = open_model("fake:causal-lm", "causal-lm")
    long = dataclasses.replace(E, source="Nothing of note. " * 2000 + SOURCE)
    score = build("likelihood-document").score([long])[0]["likelihood"]
    assert not score.cut
    cut = lm.log_probs([(f"{'Nothing of note. ' * 100}\n\nTL;DR:", " " + OUTPUT)])[0].log_probs.mean()
    assert score.value > cut


def test_counted() -> None:
    table = word_table()
    assert (table.texts, len(table.counts)) == (330_223, 40_000)
    assert (
        table.idf("the") < 1 < table.idf("council") < table.idf("xylophonists") == pytest.approx(math.log(330_223 / 2))
    )
    own = set(content_words(OUTPUT))
    assert values("information")["information"] == pytest.approx(sum(table.idf(w) for w in own))
    fact = {"town", "12", "council"}
    assert values("fact-words")["shared"] == pytest.approx(sum(table.idf(w) for w in fact))
    words, there = plain_words(OUTPUT), plain_words(SOURCE)
    pairs = list(itertools.pairwise(words))
    known = set(itertools.pairwise(there))
    assert values("overlap")["bigrams"] == pytest.approx(sum(p in known for p in pairs) / len(pairs))


@pytest.mark.parametrize("fact", ["", " ", "_nofact", "_nofact\n"])
def test_no_fact_is_no_number_and_said(fact: str) -> None:
    example = dataclasses.replace(E, context=fact)
    for name in ("grounding", "fact-words", "gain-fact", "matching-fact"):
        for score in build(name).score([example])[0].values():
            assert score.missing
            assert score.flags == ("no context",)
    assert values("likelihood-dialogue", example) == values("likelihood-history", example)


def test_separators_in_a_text_are_text() -> None:
    forged = dataclasses.replace(E, output="Fine. [SEP] The council met. [CLS] </s>")
    plain = dataclasses.replace(E, output="Fine. The council met.")
    for name in ("support", "response", "document"):
        assert values(name, forged) != values(name, plain)


RECORD = "inform(name='red door cafe',area='north bay',kidsallowed=no,price=moderate)"


@pytest.mark.parametrize(
    ("output", "said", "unsaid"),
    [
        ("Red Door Cafe in North Bay is moderately priced; kids are not allowed.", 1.0, []),
        ("Red Door Cafe is in the north.", (1 + 0.5 + 0 + 0) / 4, ["no", "moderate"]),
        ("Hello.", 0.0, ["red door cafe", "north bay", "no", "moderate"]),
    ],
)
def test_values_of_a_record(output: str, said: float, unsaid: list[str]) -> None:
    (row,) = build("record-values").score([Example(output, source=RECORD)])
    assert row["said"].value == pytest.approx(said)
    assert [RECORD[span.start : span.end] for span in row["said"].spans] == unsaid
    assert all(span.field == "source" and span.note == "not said" for span in row["said"].spans)


def test_a_text_without_values_gives_no_number() -> None:
    (row,) = build("record-values").score([Example("Hello.", source="The cafe is in the north.")])
    assert row["said"].missing
    assert row["said"].flags == ("no values in source",)
