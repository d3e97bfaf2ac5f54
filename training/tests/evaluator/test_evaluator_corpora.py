"""Rows of each corpus as records; what is held back; whose terms forbid it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from quintet.errors import InputError, UnknownName
from quintet_train import recipe
from quintet_train.corpora import corpora as known_corpora
from quintet_train.evaluator import cleaning, corpora, terms
from quintet_train.evaluator import tables as t
from quintet_train.recipe import Source

RECIPES = [name for name in recipe.names() if recipe.load(name).family == "evaluator"]
ROWS: dict[str, tuple[dict, list[t.Record]]] = {
    "messages": (
        {"turns": [["agent_1", "Hi .", "Happy", [], ""], ["agent_1", "do n't you agree ?"], ["agent_2", "Yes"]]},
        [t.Dialogue("x", ("Hi. don't you agree?", "Yes"))],
    ),
    "reply-choices": (
        {"context": "m : hello . f : it 's late .", "options": ["m : i know .", "f : a", "b", "c"], "answer": "A"},
        [t.Choice(("hello.", "it's late."), ("i know.", "a", "b", "c"), 0)],
    ),
    "profile-dialogues": (
        {"user_profile": ["i run."], "bot_profile": None,
         "turns": [["Human", "hi", 1], ["Bot", "yo", 1], ["Human", "ok", 2], ["Bot", "no", 2]]},
        [t.Dialogue("x", ("hi", "yo", "ok", "no"), ("i run.", "", "i run.", ""), (True, False, True, False))],
    ),
    "documents": (
        {"document": "It rained . He left .\nShe stayed .", "summary": "Rain .\nShe stayed ."},
        [t.Document("x", ("It rained.", "He left.", "She stayed."), ("Rain.", "She stayed."))],
    ),
    "headlines": ({"document": "it rained .", "summary": "UNK rain"}, []),
    "extracts": (
        {"document": "One two.\n\nThree.", "summary": "One two.Three four."},
        [t.Document("x", ("One two.", "Three."), ("One two.", "Three four."))],
    ),
    "story-endings": (
        {"context": ["a .", "b ."], "ending": "c .", "coherent": False},
        [t.Ending(("a.", "b.", "c."), False)],
    ),
    "similarity": ({"s1": "a b", "s2": "c", "score": 4.0}, [t.Similarity("x", "a b", "c", 0.8)]),
    "similarity-ratings": (
        {"reference": "r", "candidate": "c", "similarity": 80, "grammar": 1},
        [t.Similarity("parabank", "c", "r", 0.8, 0.5)],
    ),
    "translations": (
        {"mt": "It was", "pe": "It is .", "da_mean": 50.0, "hter": 0.5, "mt_tok": "It was",
         "word_tags": "OK OK OK BAD OK"},
        [t.Translation("It was", "It is.", 50.0, 0.5, "It was", "11101")],
    ),
    "changed-sentences": (
        {"t": "task428_senteval_inversion", "i": "He it saw .", "o": ["Inversion"]},
        [t.Acceptable("He it saw.", 0.1, thinned=True)],
    ),
    "described": (
        {"source": "e2e", "input": "name[The Mill], area[riverside]", "refs": ["a", "b", "c", "d"]},
        [t.Described("x", (t.Slot("inform", "name", "The Mill"), t.Slot("inform", "area", "riverside")),
                     ("a", "b", "c"))],
    ),
    "dialogue-acts": (
        {"turns": [["USER", "hi", [["GREET", "", []]]], ["SYSTEM", "At 5 ?", [["CONFIRM", "time", ["5"]]]]]},
        [t.Described("x", (t.Slot("confirm", "time", "5"),), ("At 5?",))],
    ),
    "yes-no-questions": (
        {"passage": "It rained .", "question": "did it rain", "answer": True, "perturbed": [["was it dry", "FALSE"]]},
        [t.Entailment("x", "It rained.", "did it rain? yes", "entailment"),
         t.Entailment("x", "It rained.", "did it rain? no", "contradiction"),
         t.Entailment("x", "It rained.", "was it dry? yes", "contradiction"),
         t.Entailment("x", "It rained.", "was it dry? no", "entailment")],
    ),
    "checked-answers": (
        {"text": "Paragraph- Sent 1: It rained .\nSent 2: He left . \nQuestion: Who left ? \nCorrect Answer: He.",
         "correct": False},
        [t.Entailment("x", "It rained. He left.", "Who left? He.", "not_entailment")],
    ),
    "checked-claims": (
        {"t": "task1366_healthfact", "i": 'Paragraph: "Tea is hot. Claim: Tea is cold.', "o": ["0"]},
        [t.Entailment("healthfact", "Tea is hot.", "Tea is cold.", "contradiction")],
    ),
    "explained-claims": (
        {"premise": "Cats have claws.", "hypothesis": "A cat can scratch.", "label": "true"},
        [t.Entailment("x", "Cats have claws.", "A cat can scratch.", "entailment")],
    ),
    "combined-facts": (
        {"t": "task038_qasc", "i": "Fact 1: a b. \nFact 2: b c.", "o": ["a c.", "c a."]},
        [t.Document("qasc", ("a b.", "b c."), ("a c.",))],
    ),
    "rewritten": (
        {"t": "task111_asset", "i": "A long b.", "o": ["A b."]},
        [t.Similarity("asset", "A b.", "A long b.", 0.9)],
    ),
    "instruction-dialogues": (
        {"t": "task565_circa", "i": "Are you in?", "o": ["I am."]},
        [t.Dialogue("ni:task565", ("Are you in?", "I am."))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ROWS)
def test_a_row_becomes_its_records(kind: str, tmp_path: Path) -> None:
    row, records = ROWS[kind]
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    assert list(corpora.read(Source("rows.jsonl", kind, "mine", name="x"), tmp_path, 0)) == records


def test_triples_become_slots() -> None:
    found = corpora.slots_of("[['Mars_Hill', 'CITY', 'Mars'], ['Mars_Hill', 'JOINED', '1986'], ['Joe', 'AGE', '4']]")
    assert [slot[1:] for slot in found] == [
        ("name", "Mars Hill"), ("city", "Mars"), ("joined", "1986"), ("subject", "Joe"), ("age", "4"),
    ]  # fmt: skip
    assert corpora.slots_of("no slots at all") == []


def test_shares_parts_and_limits(tmp_path: Path) -> None:
    lines = [json.dumps({"s1": f"a {n}", "s2": "b", "score": 1, "source": "xy"[n % 2]}) for n in range(400)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    source = Source("rows.jsonl", "similarity", "mine", keep_sources=("x",), share=0.25)
    found = list(corpora.read(source, tmp_path, 1))
    assert 30 < len(found) < 70
    assert {record.source for record in found} == {"x"}
    assert found == list(corpora.read(source, tmp_path, 1)) != list(corpora.read(source, tmp_path, 2))


def test_bad_rows_and_kinds_are_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"s1": "a"}\n')
    with pytest.raises(InputError, match=r"rows.jsonl:1: cannot read this row as similarity"):
        list(corpora.read(Source("rows.jsonl", "similarity", "mine"), tmp_path, 0))
    with pytest.raises(UnknownName, match="similarty"):
        list(corpora.read(Source("rows.jsonl", "similarty", "mine"), tmp_path, 0))


def test_several_cores_read_the_same(tmp_path: Path) -> None:
    lines = [json.dumps({"s1": f"a {n}", "s2": "b", "score": 1}) for n in range(30)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    sources = [Source("rows.jsonl", "similarity", "mine", limit=limit) for limit in (0, 7)]
    one, two = (list(corpora.read_all(sources, tmp_path, 0, processes)) for processes in (1, 2))
    assert one == two
    assert [len(own) for own in one] == [30, 7]
    with pytest.raises(InputError, match="no such file"):
        list(corpora.read_all([*sources, Source("gone.jsonl", "similarity", "mine")], tmp_path, 0, 2))
    with pytest.raises(UnknownName, match="similarty"):
        list(corpora.read_all([*sources, Source("rows.jsonl", "similarty", "mine")], tmp_path, 0, 2))


def sentence(n: int) -> str:
    return f"This is the long sentence with the number {n} in it."


def test_texts_of_benchmarks_and_repetitions_are_held_back() -> None:
    known = frozenset(cleaning._keys(sentence(n) for n in range(10)))
    cleaner = cleaning.Cleaner(known)
    same = t.Document("x", tuple(sentence(n) for n in range(5)), ("Short.",))
    tokenised = t.Dialogue("x", (sentence(3).replace(".", " ."), "Yes.", sentence(4).upper()))
    notice = t.Document("x", (sentence(1), sentence(2), *(sentence(n) for n in range(20, 40))), ("Short.",))
    fresh = t.Dialogue("x", ("Hello.", sentence(77)))
    kept = list(cleaner([same, tokenised, notice, fresh, fresh, t.Similarity("x", sentence(1), sentence(2), 1.0)]))
    assert kept == [notice, fresh, t.Similarity("x", sentence(1), sentence(2), 1.0)]
    assert (cleaner.in_benchmarks, cleaner.repeated) == (2, 1)


def test_documents_of_real_benchmarks_are_recognised(benchmarks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "benchmark_names", lambda: ("qags_xsum", "topical_chat"))
    keys, names = cleaning.benchmark_keys(str(benchmarks))
    assert names == ["qags_xsum", "topical_chat"]
    from quintet.data.benchmark import load

    cleaner = cleaning.Cleaner(keys)
    for example in load("qags_xsum", benchmarks).examples[:40]:
        assert not list(cleaner([t.Document("x", corpora.split(example.source or ""), ("A summary.",))]))


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_name_every_corpus_and_keep_its_terms(name: str) -> None:
    made = recipe.load(name)
    terms.check(made.data.sources, private=False)
    for source in made.data.sources:
        facts = known_corpora()[source.path.removesuffix(".jsonl.gz")]
        assert source.licence
        assert facts.release != "no"
    paths = [source.path for source in made.data.sources]
    forbidden = [name for name, facts in known_corpora().items() if facts.release == "no"]
    assert not set(paths) & {f"{name}.jsonl.gz" for name in forbidden}


def test_terms_are_refused_unless_private() -> None:
    sick = Source("sick/sick.jsonl.gz", "nli", "CC BY-NC-SA 3.0", "unclear")
    with pytest.raises(InputError, match=r"sick.jsonl.gz: may not be used .* --private"):
        terms.check([sick], private=False)
    terms.check([sick], private=True)
    mixed = Source("nli_from_ni/nli_pairs.jsonl.gz", "nli", "mixed", "yes")
    with pytest.raises(InputError, match="must name the parts"):
        terms.check([mixed], private=False)
    with pytest.raises(InputError, match="anli-r1 is not free"):
        terms.check([replace(mixed, keep_sources=("snli", "anli-r1"))], private=False)
    with pytest.raises(InputError, match="unclear terms"):
        terms.check([Source("cola/cola.jsonl.gz", "judged-sentences", "?", "yes")], private=False)
    with pytest.raises(InputError, match="may not be used"):
        terms.check([Source("home.jsonl", "nli", "mine alone", "no")], private=False)
