"""Lessons of each family: strings as the papers have them, balance, and no negative that equals its positive."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from random import Random

import pytest

from quintet.errors import InputError, UnknownName
from quintet_train import rows, run
from quintet_train.items import PairItem, RankItem, TargetItem, WordItem, YesNoItem
from quintet_train.pseudo import builders, ctc, gruen, im2, unieval, unieval_tasks, usr
from quintet_train.pseudo.rewrite import dull_responder, rule_paraphraser
from quintet_train.rows import Dialogue, Document, Judged, Rated

ROWS = Path(str(run.__file__)).parent / "recipes" / "smoke_rows"


def read(name: str, kind: str = "") -> list[rows.Record]:
    return list(rows.read(ROWS / f"{name}.jsonl", kind or name))


@pytest.mark.parametrize("name", sorted(builders.BUILDERS))
def test_every_builder_gives_the_same_items_for_the_same_seed(name: str) -> None:
    everything = [r for file in ("documents", "dialogues", "sentences", "nli", "marked", "ratings") for r in read(file)]
    first = builders.build(name, everything, 20, 3, {})
    assert first == builders.build(name, everything, 20, 3, {})
    assert first != builders.build(name, everything, 20, 4, {}) or name == "usr.mlm"


def test_words_that_most_people_marked() -> None:
    items = {" ".join(item.words): item.labels for item in ctc.human_words(read("marked"), 0, Random(0))}
    assert items["the town opened a bakery on monday"] == (0, 0, 0, 0, 1, 0, 0)
    assert items["a ferry sank and two sailors died"] == (0, 0, 0, 0, 1, 1, 1)
    assert sum(items["rain closed the road"]) == 0


def test_unknown_builders_and_options_are_named() -> None:
    with pytest.raises(UnknownName, match=r"did you mean ctc.words"):
        builders.build("ctc.word", [], 1, 0, {})
    with pytest.raises(InputError, match=r"usr.retrieval has no option negative; did you mean negatives\?"):
        builders.build("usr.retrieval", read("dialogues"), 1, 0, {"negative": 2})
    with pytest.raises(InputError, match="made no training item from 0 rows"):
        builders.build("im2.vup", [], 1, 0, {})


def test_usr_strings_are_those_of_the_released_files() -> None:
    assert usr.spaced("Don't you think it's OK?") == "do n't you think it 's ok ?"
    assert usr.mlm_line("Hi there!", "Hello.") == "hi there ! _eos _go hello . _eos"
    assert usr.context_text("Hi!", "Cats purr.") == "hi ! _eos cats purr . _eos"
    assert usr.fact_text("") == "_nofact _eos"
    assert usr.response_text("Yes.") == "_go yes . _eos"


def test_retrieval_is_balanced_and_negatives_come_from_elsewhere() -> None:
    dialogues = read("dialogues")
    items = usr.retrieval(dialogues, 0, Random(0), sees="fact")
    assert sum(item.label for item in items) * 2 == len(items)
    own = {(usr.fact_text(d.fact(0)), usr.response_text(t)) for d in dialogues for t in d.turns}  # type: ignore[union-attr]
    assert all(((item.first, item.second) in own) == bool(item.label) for item in items)


def test_prompts_of_table_8() -> None:
    item = unieval_tasks.ask("nli", "The two victims were teenagers.", "Two men {claim} were hurt.", False)
    assert " </s> ".join(item.parts) == (
        "question: Is this a claim consistent with the premise? </s> claim: The two victims were teenagers. </s> "
        "premise: Two men {claim} were hurt."
    )
    assert unieval_tasks.ask("qa", "is it true?", "Yes it is.", True).parts == (
        "question: is it true?",
        "context: Yes it is.",
    )


def test_intermediate_tasks_share_a_limit() -> None:
    kinds = ("nli", "paraphrases", "sentences", "questions", "strategies", "documents")
    records = [r for name in kinds for r in read(name)]
    items = unieval_tasks.intermediate(records, 24, Random(0))
    assert len(items) == 24
    assert {item.task for item in items} == set(unieval_tasks.TABLE8)
    opening = [item for item in unieval_tasks.intermediate(records, 0, Random(0)) if item.task == "opening"]
    for item in opening:
        sentence, document = item.parts[1].removeprefix("sentence: "), item.parts[2]
        assert sentence not in document, "the document is shown without its first sentence"


@pytest.mark.parametrize("mode", ["paper", "released"])
def test_summaries_of_both_modes(mode: unieval.Mode) -> None:
    documents = read("documents")
    items = unieval.summarization(documents, 0, Random(1), mode=mode)
    by_task: dict[str, list[YesNoItem]] = {}
    for item in items:
        by_task.setdefault(item.task, []).append(item)
    assert set(by_task) == {"coherence", "fluency", "consistency", "relevance"}
    for task, own in by_task.items():
        assert sum(item.yes for item in own) * 2 == len(own), task
    first = documents[0]
    assert isinstance(first, Document)
    lead = "paragraph: The town of Arlow opened a new library on Monday. Mayor Helen Brand cut the ribbon"
    positives = [item.parts[1] for item in by_task["fluency"] if item.yes]
    assert any(part.startswith(lead) for part in positives) == (mode == "released")
    assert (f"paragraph: {first.summary}" in positives) == (mode == "paper")
    shown = [[part.partition(": ")[2] for part in item.parts[1:]] for item in by_task["relevance"] if item.yes]
    assert shown
    assert not [1 for summary, reference in shown if summary == reference], "the classifier would learn equality"


def test_coherence_replaces_one_sentence_and_relevance_several() -> None:
    corpus = unieval.Summaries([r for r in read("documents") if isinstance(r, Document)], Random(0), "paper")
    for own, good in enumerate(corpus.good):
        bad = corpus.coherence(own)
        assert bad is not None
        assert sum(sentence in bad for sentence in good) == len(good) - 1
        worse = corpus.relevance(own)
        assert worse is not None
        assert sum(sentence in worse for sentence in corpus.lead[own]) <= len(corpus.lead[own]) - min(
            2, len(corpus.lead[own])
        )


def test_groundedness_asks_two_questions() -> None:
    dialogues = read("dialogues")
    for mode, question in (
        ("paper", "question: Does this response use knowledge from the fact?"),
        ("released", "question: Is this response consistent with knowledge in the fact?"),
    ):
        items = unieval.dialogue(dialogues, 4, Random(0), mode=mode, dimensions=["groundedness"])  # type: ignore[arg-type]
        assert {item.parts[0] for item in items} == {question}
        assert [item.yes for item in items] == [True, False] * 2


def test_history_ends_with_an_empty_line() -> None:
    assert unieval.history_text(["a", "b"]) == "a \n b\n\n"


def test_training_prompts_are_those_that_are_scored() -> None:
    """Two rooms hold the prompts, since neither may import the other; they must not drift apart."""
    path = files("quintet.metrics") / "unieval" / "prompts.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    for name, parts in unieval.PROMPTS.items():
        task, _, dimension = name.rpartition("-")
        scored = table[task or "summarization"][dimension]
        assert parts[0] == f"question: {scored['question']}"
        assert [part.partition(": ")[0] for part in parts[1:]] == [label for label, _ in scored["segments"]]
    assert f"question: {table['dialogue']['groundedness']['paper_question']}" == unieval.GROUNDEDNESS_IN_PAPER


def test_dull_replies_are_the_common_ones() -> None:
    reply = dull_responder(["i do not know", "i do not know", "quantum zebras juggle", "i do"], pool=2)
    assert {reply("x", Random(seed)) for seed in range(20)} == {"i do", "i do not know"}


def test_paraphrases_keep_the_numbers() -> None:
    text = "The museum did not open in 1990."
    outcomes = {rule_paraphraser(text, Random(seed)) for seed in range(40)}
    assert len(outcomes) > 1
    assert all("1990" in outcome and "museum" in outcome for outcome in outcomes)


@pytest.mark.parametrize("relation", sorted(ctc.RELATIONS))
def test_every_relation_of_ctc(relation: str) -> None:
    records = read("documents") + read("dialogues")
    words = ctc.words(records, 8, Random(0), relation=relation)
    assert 0 < len(words) <= 8
    for item in words:
        assert isinstance(item, WordItem)
        assert len(item.words) == len(item.labels)
        assert all(word == word.casefold() and " " not in word for word in item.words)
    targets = ctc.targets(records, 8, Random(0), relation=relation)
    assert all(isinstance(item, TargetItem) for item in targets)
    if ctc.RELATIONS[relation][1] == "mean":
        assert all(0 <= item.target <= 1 for item in targets)


def test_slots_of_r_are_turned_round_for_references() -> None:
    documents = read("documents")
    for item in ctc.targets(documents, 0, Random(0), relation="summ_to_ref"):
        assert item.second in {d.summary for d in documents}  # type: ignore[union-attr]
    for item in ctc.targets(documents, 0, Random(0), relation="doc_to_summ"):
        assert item.first in {d.text for d in documents}  # type: ignore[union-attr]


def test_facts_have_the_form_of_topical_chat() -> None:
    dialogue = Dialogue(("Hi.", "The old cat sat on the red mat in the sun."), ("", ""))
    items = ctc.words([dialogue], 0, Random(2), relation="fact_history_to_response")
    assert items[0].context == "nofact\n\n\nhi."


FACT = "Cats sleep sixteen hours a day. They purr.\nLions are big cats that live in Africa."


def test_facts_of_topical_chat_are_one_line_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(ctc, "construct", lambda y1, *_: seen.append(y1))
    for seed in range(6):
        ctc.words([Dialogue(("Hi.", "Yes."), (FACT, FACT))], 0, Random(seed), relation="fact_to_response")
    assert set(seen) == set(FACT.splitlines())


def test_facts_of_personachat_are_sentences_in_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(ctc, "construct", lambda y1, *_: seen.append(y1))
    options = {"relation": "fact_to_response", "facts": "persona", "paraphraser": lambda text, rng: f"<{text}>"}
    for seed in range(12):
        ctc.words([Dialogue(("Hi.", "Yes."), (FACT, FACT))], 0, Random(seed), **options)
    assert {y1.count("<") for y1 in seen} == {1, 2, 3}
    assert ctc._fact_lines(FACT, "persona").splitlines()[1] == "your persona: Lions are big cats that live in Africa."


def test_references_may_be_y1(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(ctc, "construct", lambda y1, *_: seen.append(y1))
    ctc.words([Document("A. B. C.", "The old cat sat.")], 0, Random(0), y1="reference", paraphraser="none")
    assert seen == ["The old cat sat."]


def test_unknown_choices_of_ctc_are_named() -> None:
    with pytest.raises(UnknownName, match="did you mean reference"):
        ctc.words(read("documents"), 1, Random(0), y1="referenc")
    with pytest.raises(UnknownName, match="did you mean persona"):
        ctc.words(read("documents"), 1, Random(0), facts="personas")
    with pytest.raises(InputError, match="paraphraser must be rules, none or seq2seq:MODEL"):
        ctc.words(read("documents"), 1, Random(0), paraphraser="magic")


def test_order_pairs_are_two_sides_of_one_split() -> None:
    right, swapped = gruen.order_pairs(["A.", "B.", "C."], 1)
    assert (right, swapped) == (PairItem("A.", "B. C.", 0), PairItem("B. C.", "A.", 1))
    items = gruen.order(read("documents"), 0, Random(0))
    assert sum(item.label for item in items) * 2 == len(items)


def test_acceptability_keeps_labels_and_adds_noise() -> None:
    rows_ = [Judged("He sleeps well.", True), Judged("Sleeps he he.", False)]
    assert {(i.first, i.label) for i in gruen.acceptability(rows_, 0, Random(0))} == {
        ("He sleeps well.", 1),
        ("Sleeps he he.", 0),
    }
    noisy = gruen.acceptability(rows_, 0, Random(0), noise=1.0)
    assert len(noisy) == 3


def test_ab_ba_turns_every_pair_round() -> None:
    items = im2.swapped([Dialogue(("a?", "b.", "c."))], 0, Random(0))
    assert {(i.first, i.second, i.label) for i in items} == {
        ("a?", "b.", 1), ("b.", "a?", 0), ("b.", "c.", 1), ("c.", "b.", 0),
    }  # fmt: skip


def test_ab_ac_takes_the_nearest_of_another_dialogue() -> None:
    dialogues = [
        Dialogue(("q", "the cat likes warm milk", "the cat likes warm milk a lot")),
        Dialogue(("q2", "my cat hates warm milk")),
        Dialogue(("q3", "trains are late")),
    ]
    wrong = {i.first: i.second for i in im2.nearest(dialogues, 0, Random(0)) if not i.label}
    assert wrong["q"] == "my cat hates warm milk"


def plain_nearest(texts: list[str], owners: list[int], index: int) -> float:
    import math
    from collections import Counter

    counts = [Counter(text.split()) for text in texts]
    df = Counter(word for count in counts for word in count)

    def vector(count: Counter[str]) -> dict[str, float]:
        return {w: n * (1 + math.log((1 + len(texts)) / (1 + df[w]))) for w, n in count.items()}

    def cosine(a: dict[str, float], b: dict[str, float]) -> float:
        dot = sum(a[w] * b.get(w, 0) for w in a)
        return dot / math.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))

    own = vector(counts[index])
    return max(cosine(own, vector(c)) for i, c in enumerate(counts) if owners[i] != owners[index])


def test_nearest_equals_its_twin() -> None:
    rng = Random(5)
    texts = [
        " ".join(rng.sample(["red", "blue", "green", "fish", "bird", "tree", "house", "lamp"], 4)) for _ in range(12)
    ]
    texts = list(dict.fromkeys(texts))
    owners = [i // 2 for i in range(len(texts))]
    table = im2.Nearest(texts, owners)
    for index in range(len(texts)):
        found = table.of(index)
        assert found is not None
        other = texts.index(found)
        score = sum(table.vectors[index].get(w, 0) * v for w, v in table.vectors[other].items())
        assert score == pytest.approx(plain_nearest(texts, owners, index))


def test_five_classes_from_other_scales() -> None:
    assert im2.scale_of([0, 1]) == (0, 1)
    assert im2.scale_of([0, 2]) == (0, 2)
    assert im2.scale_of([1, 3]) == (1, 3)
    assert im2.scale_of([2, 4.5]) == (1, 5)
    with pytest.raises(InputError, match="fit no known scale"):
        im2.scale_of([-3, 4])
    assert [im2.five_point(v, (0, 2)) for v in (0, 1, 2)] == [1, 3, 5]
    rated = [Rated("c", "r", {"grammar": (1, 3)}, "x"), Rated("c", "s", {"grammar": (3, 3)}, "x")]
    assert {(i.second, i.label) for i in im2.five_classes(rated, 0, Random(0))} == {("r", 2), ("s", 4)}
    alone = im2.five_classes(rated, 0, Random(0), sees="response")
    assert {(i.first, i.second) for i in alone} == {("r", None), ("s", None)}
    assert {(i.second, i.target) for i in im2.five_classes(rated, 0, Random(0), mode="paper")} == {
        ("r", 3.0),
        ("s", 5.0),
    }


def test_grade_ranks_true_above_wrong() -> None:
    items = im2.ranking(read("dialogues"), 0, Random(0))
    assert all(isinstance(item, RankItem) and item.better != item.worse for item in items)


def test_bad_rows_are_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"document": "x"}\n{"text": "y"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"rows.jsonl:2: cannot read this row as documents: KeyError\('document'\)"):
        list(rows.read(path, "documents"))
    path.write_text("{\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"rows.jsonl:1: not JSON"):
        list(rows.read(path, "documents"))
    with pytest.raises(InputError, match="no such file"):
        list(rows.read(tmp_path / "absent.jsonl", "documents"))
    with pytest.raises(UnknownName, match="did you mean documents"):
        list(rows.read(path, "document"))


def test_held_out_blocks_keep_pairs_together() -> None:
    items = [PairItem(f"t{i // 2}", None, i % 2) for i in range(400)]
    train, dev = run.split(items, 0.1, 0)
    assert len(dev) == 40
    assert not {item.first for item in train} & {item.first for item in dev}
    assert sorted(map(str, train + dev)) == sorted(map(str, items))
