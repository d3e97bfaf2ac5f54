"""Claims that are retold and judged by a teacher: what may be copied, what is shown, labels, files, what is held."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models

from quintet.errors import InputError, ModelError
from quintet.text.content_words import content_words
from quintet_train import recipe, tiny
from quintet_train.evaluator import (
    building,
    language_network,
    retelling,
    starting,
    taught_groups,
    teaching,
    written_texts,
)
from quintet_train.evaluator.groups import (
    BETTER,
    ENTAILMENT_LABELS,
    HEADS,
    HELD,
    QUESTIONS,
    UNTOLD,
    WORSE,
    Group,
    Judged,
    Material,
    Times,
)
from quintet_train.evaluator.language_frame import LanguageFrame
from quintet_train.evaluator.language_judge import LanguageJudge
from quintet_train.evaluator.lesson import Held, JudgeLesson, Weights
from quintet_train.evaluator.network import Evaluator, Shape
from quintet_train.evaluator.packing import UNKNOWN, Frame, Packed, pack
from quintet_train.evaluator.plain_decoding import Decoder
from quintet_train.evaluator.tables import Answered, Document, Retold
from quintet_train.run import run_recipe

LONG = Document("cnndm", tuple(f"Sentence {n} says that {chr(97 + n % 26) * 5} met friends." for n in range(90)), ())
OPTIONS = retelling.Options(start="tiny:gpt2", about="", tellings=2, copied=3, new_tokens=12, batch=4)


def plain_ban(read: list[int], told: list[int], most: int, opens: list[bool]) -> set[int]:
    """Every run of the text by hand."""
    end = told[len(told) - most + 1 :] if len(told) >= most - 1 else None
    banned: set[int] = set()
    for place in range(len(read) - most + 1):
        word = read[place + most - 1]
        if end is not None and read[place : place + most - 1] == end and opens[word]:
            banned |= {word, *(number for number, opening in enumerate(opens) if not opening)}
    return banned


@pytest.mark.parametrize("seed", range(6))
def test_a_run_of_words_is_not_copied_further(seed: int) -> None:
    rng = np.random.default_rng(seed)
    read, told = rng.integers(0, 4, (5, 30)), rng.integers(0, 4, (5, seed))
    opens = [True, False, True, True, False, True]
    found = retelling.copying(torch.tensor(read), torch.tensor(told), 3, torch.tensor(opens))
    for row in range(5):
        wanted = plain_ban(read[row].tolist(), told[row].tolist(), 3, opens)
        assert set(found[row].nonzero()[:, 0].tolist()) == wanted


def test_openings_of_words_are_known_by_their_blank() -> None:
    words = tiny.tokenizer("gpt2", ["the tower and the garden, the tower"] * 5)
    opens = retelling.word_openings(words)
    names = [words.id_to_token(number) for number in range(words.get_vocab_size())]
    assert opens[words.token_to_id("\u0120the")]
    assert not any(bool(opens[n]) for n, name in enumerate(names) if not name.startswith("\u0120"))


@pytest.mark.parametrize(
    ("telling", "kept"),
    [
        (" The mayor opened two schools. They were not", ["The mayor opened two schools."]),
        (" The mayor opened two schools\n- Next", ["The mayor opened two schools"]),
        (" The mayor opened two schools in Ot", []),
        (" It rained. The mayor opened two schools.<|im_end|>", ["The mayor opened two schools."]),
        ("\nnothing at all was said here", []),
    ],
)
def test_only_whole_sentences_are_claims(telling: str, kept: list[str]) -> None:
    assert list(retelling.whole_sentences(telling)) == kept


def test_tellings_are_the_same_every_time_and_their_claims_come_once(tables) -> None:
    texts = [text for document in tables.documents for text in document.sentences]
    times = Times({"retold": {"other": 2}})

    def made() -> retelling.Tellings:
        return retelling.retellings(OPTIONS, tables, times, 3, torch.device("cpu"), texts)

    start = starting.open_language_model(OPTIONS.start, texts)
    found = retelling.stretches(tables, times, OPTIONS, Random(0))
    told = list(retelling.tellings(start, found, OPTIONS, torch.device("cpu"), 1))
    assert len(told) == len(found)
    assert {len(own) for own in told} == {2}
    assert made() == made()
    document = tables.documents[found[0].document]
    copied = document.sentences[0]
    fresh = "The old town had nothing to say of it."
    claims = list(retelling.claims(tables, found[:1], [[f" {fresh} {copied}", f" {fresh}"]], Random(0)))
    assert Counter(one.claim for one in claims)[fresh] == 1
    assert not any(one.claim == copied for one in claims), "with this seed no copy is kept"


def test_windows_hold_all_sentences_and_the_nearest_has_the_claims_words() -> None:
    found = teaching.windows(LONG)
    assert len(found) > 2
    assert all(any(text in window for window in found) for text in LONG.sentences)
    assert all(len(window.split()) <= teaching.WINDOW_WORDS for window in found)
    shown = teaching.Shown.of(LONG)
    claim = "Sentence 88 says that kkkkk met friends."
    assert claim in shown.windows[teaching.nearest(claim, shown.words)]
    assert shown.words[0] == frozenset(content_words(found[0]))
    assert len(shown.beginning.split()) <= teaching.BEGINNING_WORDS
    one = Document("x", (" ".join(["word"] * 700),), ())
    assert teaching.windows(one) == [one.text]
    assert teaching.beginning(one) == one.text


@pytest.fixture(scope="module")
def judge(tables) -> tuple[LanguageJudge, LanguageFrame]:
    texts = [text for document in tables.documents for text in document.sentences]
    torch.manual_seed(0)
    start = starting.open_language_model("tiny:gpt2", texts)
    start.network.unrounded()
    network = LanguageJudge(start.network)
    return network, LanguageFrame(start.tokenizer, start.first, 256)


def test_verdicts_on_shared_rows_equal_those_of_single_texts(tables, judge) -> None:
    network, frame = judge
    documents = tables.documents[:3]
    pairs = [(text, teaching.beginning(one)) for one in documents for text in (*one.sentences[:2], *one.summary)]
    found = teaching.verdicts(network, teaching.packed_pairs(pairs, frame), torch.device("cpu"))
    con = list(QUESTIONS).index("con")
    for number, pair in enumerate(pairs):
        framed = next(frame.texts([Group("con", [Judged(*pair, 0.0)])]))
        ids = torch.tensor([list(framed.ids)])
        inside = torch.arange(ids.shape[1])[None] >= ids.shape[1] - framed.size
        with torch.no_grad():
            answers = network(ids, None, torch.ones_like(ids), inside)
        assert found.asked[number] == pytest.approx(float(answers.questions[0, con]), abs=1e-4)
        assert found.nli[number] == pytest.approx(answers.entailment[0].softmax(-1).tolist(), abs=1e-4)
        words = answers.words[0, ids.shape[1] - framed.size : -1].sigmoid()
        assert found.words[number] == pytest.approx(words.tolist(), abs=1e-4)


def test_judged_claims_go_to_a_file_and_back(tables, judge, tmp_path: Path) -> None:
    network, frame = judge
    claims = [teaching.Claim(0, "The old bridge is closed."), teaching.Claim(1, "Nobody came to see it.")]
    told = teaching.judged(tables, claims, network, frame, torch.device("cpu"))
    assert all(0 <= (one.supported or 0) <= 1 for one in told)
    path = tmp_path / "taught.jsonl.gz"
    teaching.save(tables, told, path)
    assert teaching.load(tables, path) == told
    turned = replace(tables, documents=tables.documents[::-1])
    last = len(tables.documents) - 1
    assert [one.document for one in teaching.load(turned, path)] == [last, last - 1]
    with pytest.raises(InputError, match="there are no judged claims"):
        teaching.load(tables, tmp_path / "no.jsonl.gz")
    with pytest.raises(InputError, match="none of the judged claims"):
        teaching.load(replace(tables, documents=[LONG]), path)


def test_words_are_wrong_right_or_nobody_knows() -> None:
    words = np.array([0.9, 0.1, 0.2, 0.5], np.float32)
    places = [(0, 4), (4, 8), (8, 12), (12, 15)]
    found = teaching._told(teaching.Claim(0, "The old cat ran"), 0.25, words, places)
    assert (found.wrong, found.unsure) == (((3, 11),), ((11, 14),))
    frame = Frame(tiny.tokenizer("bert", ["The old cat ran"]), 40)
    spans = Judged("The old cat ran", "x", 0.2, ((4, 11),), ((12, 15),))
    marks = pack([Group("con", [spans])], frame).marks[1:5]
    assert marks.tolist() == [1, 0, 0, UNKNOWN]


def test_names_and_figures_that_the_document_lacks_halve_the_chance(tables) -> None:
    text = "Helen Brand opened two schools in Otterton."
    known = replace(tables, documents=[Document("x", (text,), ())])
    words = tiny.tokenizer("gpt2", [text])
    claims = [
        teaching.Claim(0, one)
        for one in ("In Otterton Helen Brand opened a school.", "In Lower Marsh nobody opened 12 schools.")
    ]
    sizes = [len(words.encode(f" {one.text}", add_special_tokens=False).ids) for one in claims]
    said = [np.full(size, 0.9, np.float32) for size in (sizes[0], sizes[0], sizes[1])]
    found = teaching.Verdicts(np.float32([50, -50, 50]), np.float32([[1, 0, 0], [1, 0, 0], [1, 0, 0]]), said)
    plain, strange = teaching.told_by(known, claims, [2, 1], found, words)
    assert plain.supported == 0.75, "the mean of what is said beside each of its grounds"
    assert plain.wrong == ()
    assert strange.supported == 0.25
    assert strange.wrong == ((3, 14), (29, 31))


def test_every_claim_is_asked_once(tables) -> None:
    told = [Retold(0, "A bridge fell."), Retold(0, "a bridge fell."), Retold(1, "A bridge fell.")]
    times = Times({"taught.plain": {"other": 2}})
    found = list(teaching.every_claim(replace(tables, retold=told), times, Random(0)))
    assert len({(one.document, one.text.lower()) for one in found}) == len(found)
    assert {(one.document, one.text) for one in found} >= {(0, "A bridge fell."), (1, "A bridge fell.")}
    assert all(one.text for one in found)


def test_taught_claims_are_ranked_by_the_teacher_and_entailed_where_it_is_sure(tables, neighbours) -> None:
    told = [
        Retold(0, "One.", 0.95, ()),
        Retold(0, "Two.", 0.05, ((0, 3),)),
        Retold(0, "Three.", 0.5, (), ((0, 5),)),
        Retold(1, "Four."),
    ]
    once = {"other": 1}
    times = Times(
        {"taught.windows": once, "taught.whole": once, "taught.joined": {"other": 0}, "nli.taught": {"all": 1}}
    )
    material = Material(replace(tables, retold=told), neighbours, times, Random(0))
    found = list(taught_groups.taught_claims(material, 0, 1))
    con = [group for group in found if group.head == "con"]
    assert len(con) == 2
    assert all(group.ranked for group in con)
    assert sorted(text.label for text in con[0].texts) == [0.05, 0.5, 0.95]
    assert all(text.output.lower() != "four." for group in found for text in group.texts)
    labels = {text.output.lower(): text.label for group in found if group.head == "nli" for text in group.texts}
    assert labels == {"one.": ENTAILMENT_LABELS["entailment"], "two.": ENTAILMENT_LABELS["not_entailment"]}


def test_several_claims_make_one_text() -> None:
    first, second = Retold(0, "A cat ran", 0.9, ((2, 5),)), Retold(0, "It fell.", 0.1, ((0, 2),), ((3, 7),))
    found = taught_groups._joined([first, second])
    assert found.claim == "A cat ran. It fell."
    assert [found.claim[start:end] for start, end in (*found.wrong, *found.unsure)] == ["cat", "It", "fell"]
    assert found.supported == pytest.approx((0.1 + 0.5) / 2)


def test_groups_that_are_held_teach_nothing() -> None:
    group = Group("sel", [Judged("i like tea", "do you?", 1), Judged("no", "do you?", 0)])
    times = Times({"held": {"sel": 1}, "kept": {}})
    (found,) = building.kept([group], times, Random(0))
    assert [text.label for text in found.texts] == [HELD, HELD]
    assert not found.ranked
    assert list(building.kept([group], Times({}), Random(0))) == [group]


def test_held_answers_pull_back_to_the_start() -> None:
    groups = [building.held(Group("sel", [Judged("i like tea", "do you", 1), Judged("no cars", "do you", 0)]))]
    frame = Frame(tiny.tokenizer("bert", ["i like tea no cars do you"]), 40)
    torch.manual_seed(0)
    network = Evaluator(Shape(frame.tokenizer.get_vocab_size(), 32, 2, 64, 64)).eval()
    held = Held.of(network, ["con"], 2.0, torch.device("cpu"))
    assert held is not None
    assert Held.of(network, (), 0.0, torch.device("cpu")) is None
    weights = Weights({}, masked_share=0.0)
    lesson = JudgeLesson(pack(groups, frame), weights, 0.0, 0, 0, 100, held=held)
    assert lesson.loss(network, [0], 0).item() == pytest.approx(0.0, abs=1e-6)
    place = list(QUESTIONS).index("con")
    with torch.no_grad():
        network.heads.bias[place] += 5
    assert lesson.loss(network, [0], 0).item() == pytest.approx(0.0, abs=1e-6), "what is learnt is free"
    with torch.no_grad():
        network.heads.bias[0] += 3
    assert lesson.loss(network, [0], 0).item() == pytest.approx(2.0 * 9 / (len(QUESTIONS) - 1), rel=1e-4)


def test_an_output_table_of_its_own_is_used_and_not_shipped(tmp_path: Path) -> None:
    from quintet_train.evaluator.shipping import ship_language_model

    shape = language_network.Shape(50, 32, 2, 4, 2, 64, tied=False)
    network = language_network.LanguageModel(shape).unrounded()
    states = torch.randn(3, 32)
    assert network.out is not None
    assert torch.allclose(network.logits(states), states @ network.out.weight.T)
    written = Decoder(network, torch.device("cpu")).logits(states)
    assert torch.allclose(written, network.logits(states), atol=1e-5)
    start = starting.LanguageStart(network, None, "<s>")
    with pytest.raises(InputError, match="output table of its own"):
        ship_language_model(start, tmp_path, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("last", ["none", "the word table", "its own"])
def test_a_llama_from_the_hub_keeps_its_output_table(last: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    small = language_network.LanguageModel(language_network.Shape(50, 32, 2, 4, 2, 64, tied=last != "its own"))
    names = {"emb": "model.embed_tokens", "norm": "model.norm", "out": "lm_head"}
    stored = {}
    for name, value in small.state_dict().items():
        kind, _, rest = name.removesuffix(".weight").partition(".")
        number, _, short = rest.partition(".")
        whole = names.get(kind) or f"model.layers.{number}.{starting._LLAMA_BLOCK[short]}"
        stored[f"{whole}.weight"] = value.clone()
    if last == "the word table":
        stored["lm_head.weight"] = stored["model.embed_tokens.weight"].clone()
    save_file(stored, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"num_attention_heads": 4}', encoding="utf-8")
    tiny.tokenizer("gpt2", ["a b c"]).save(str(tmp_path / "tokenizer.json"))
    found = starting.open_language_model(f"dir:{tmp_path}", ())
    assert found.network.shape.tied == (last != "its own")
    for name, value in small.state_dict().items():
        assert torch.equal(found.network.state_dict()[name], value)


def test_a_tokenizer_without_a_first_token_is_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    small = language_network.LanguageModel(language_network.Shape(50, 32, 2, 4, 2, 64))
    save_file({name: value.clone() for name, value in small.state_dict().items()}, tmp_path / "weights.safetensors")
    (tmp_path / "config.json").write_text('{"num_attention_heads": 4}', encoding="utf-8")
    with pytest.raises(ModelError, match="no token that begins a text"):
        starting.open_language_model(f"dir:{tmp_path}", ())


def test_a_kind_of_tensor_that_only_the_library_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("gguf")
    from quintet_train.evaluator import gguf as reader

    kind = library.GGMLQuantizationType.Q2_K
    packed = np.random.default_rng(0).integers(0, 60, (2, 84), dtype=np.uint8)
    (tmp_path / "x").write_bytes(packed.tobytes())
    with (tmp_path / "x").open("rb") as file:
        found = reader._tensor(file, tmp_path / "x", 0, "w", (2, 256), int(kind))
    assert np.array_equal(found, library.quants.dequantize(packed, kind))
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with (tmp_path / "x").open("rb") as file, pytest.raises(ModelError, match="pip install gguf"):
        reader._tensor(file, tmp_path / "x", 0, "w", (2, 256), int(kind))


def test_the_bundled_evaluator_is_read_back_as_it_answers() -> None:
    """Weights out of the graph in float32 against the graph with its 8-bit arithmetic."""
    from quintet.models.open import open_model

    start = starting.open_encoder("bundled:evaluator", ())
    network = start.network.eval()
    frame = Frame(start.tokenizer, 448)
    output, grounds = "The council will repair the bridge.", "The council voted to repair the old bridge in May."
    packed = pack([Group("con", [Judged(output, grounds, 0)])], frame)
    lesson = JudgeLesson(packed, Weights({}), 0.0, 0, 0, 100)
    with torch.no_grad():
        found = lesson.answers(network, lesson.batch([0], torch.device("cpu"))).questions[0]
    (wanted,) = open_model("bundled:evaluator", "judge").score([(output, (grounds,))])
    assert found.tolist() == pytest.approx([wanted.logits[name] for name in QUESTIONS], abs=0.25)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    run_recipe("judge-teacher", out=folder, smoke=True, device="cpu")
    return folder


@pytest.mark.parametrize("name", ["evaluator-taught", "judge-lm-taught"])
def test_a_student_learns_from_what_the_teacher_left(name: str, teacher: Path, tmp_path: Path) -> None:
    told = teacher / "taught.jsonl.gz"
    assert told.stat().st_size > 100
    own = changed(name, tmp_path, ('taught = ""', f'taught = "{told}"'))
    without = run_recipe(name, out=tmp_path / "without", smoke=True, device="cpu")
    with_claims = run_recipe(own, out=tmp_path / "with", smoke=True, device="cpu")
    assert with_claims.items > without.items
    assert (with_claims.folder / "model.onnx").exists()


def test_a_wide_teacher_judges_all_that_its_student_reads(tables, tmp_path: Path) -> None:
    """A tiny model hardly ever ends a sentence: tellings are ours."""
    teacher = tmp_path / "teacher"
    run_recipe("judge-teacher-wide", out=teacher, smoke=True, device="cpu")
    assert (teacher / "written.jsonl.gz").exists()
    kept = load_file(teacher / "weights.safetensors")
    assert {name.split(".")[1] for name in kept if name.startswith("blocks.")} == {"0"}, "its first layer judges"
    written_texts.save(tables, teacher / "written.jsonl.gz")
    plain, taught = tmp_path / "plain", tmp_path / "taught"
    files = [(f'{name} = ""', f'{name} = "{teacher / name}.jsonl.gz"') for name in ("taught", "written")]
    name = "judge-lm-taught-wide"
    run_recipe(changed(name, tmp_path, *files), out=plain, smoke=True, device="cpu")
    whole = [*files, ('folder = ""', f'folder = "{teacher}"')]
    made = run_recipe(changed(name, tmp_path, *whole), out=taught, smoke=True, device="cpu")
    before, after = (Packed.load(folder / "prepared" / "examples.npz") for folder in (plain, taught))
    assert (made.folder / "model.onnx").exists()
    assert Counter(before.heads.tolist()) == Counter(after.heads.tolist()), "the same examples, labelled anew"
    heads = recipe.load(name).data.options["teacher"]["heads"]
    for head in heads:
        labels = [found.labels[found.heads == HEADS.index(head)] for found in (before, after)]
        assert (labels[1] >= 0).all(), f"{head}: nothing is left untold"
        assert len(np.unique(labels[1])) > len(np.unique(labels[0]))
    untold = {HEADS[head] for head in before.heads[before.labels == UNTOLD]}
    assert untold
    assert untold <= {*heads} - {"sel"}
    con = [np.sort(found.labels[found.heads == HEADS.index("con")]) for found in (before, after)]
    assert np.array_equal(*con), "claims were judged before"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('folder = ""', 'folder = "{start}"'), "has not learnt to judge"),
        (('folder = ""', 'folder = "{start}"\nwarmth = 2'), "warmth"),
        (('written = ""', 'written = "nowhere.jsonl.gz"'), r"there are no written texts.*nowhere\.jsonl\.gz|nowhere"),
    ],
)
def test_a_teacher_that_cannot_teach_is_named(change, message: str, tmp_path: Path) -> None:
    """A folder with weights alone; an option that there is not; a file that is missing."""
    start = tmp_path / "start"
    start.mkdir()
    torch.manual_seed(0)
    words = tiny.tokenizer("gpt2", ["a b c"])
    shape = language_network.Shape(words.get_vocab_size(), 32, 2, 2, 1, 64)
    weights = LanguageJudge(language_network.LanguageModel(shape)).state_dict()
    plain = {name.removeprefix("model."): value.clone() for name, value in weights.items()}
    if "judge" in message:
        plain = {name: value for name, value in plain.items() if name.startswith(("emb", "blocks", "norm"))}
    save_file(plain, start / "weights.safetensors")
    (start / "config.json").write_text('{"num_attention_heads": 2}', encoding="utf-8")
    words.save(str(start / "tokenizer.json"))
    own = changed("judge-lm-taught-wide", tmp_path, (change[0], change[1].replace("{start}", str(start))))
    with pytest.raises(InputError, match=message):
        run_recipe(own, out=tmp_path / "out", smoke=True, device="cpu")


def test_a_missing_file_of_taught_claims_is_named(tmp_path: Path) -> None:
    own = changed("evaluator-taught", tmp_path, ('taught = ""', 'taught = "nowhere.jsonl.gz"'))
    with pytest.raises(InputError, match=r"nowhere\.jsonl\.gz"):
        run_recipe(own, out=tmp_path / "out", smoke=True, device="cpu")


def changed(name: str, folder: Path, *changes: tuple[str, str]) -> str:
    """A recipe of quintet's with other words in some places of its smoke part."""
    text = (Path(recipe.__file__).parent / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
    for before, after in changes:
        assert text.count(before) == 1
        text = text.replace(before, after)
    own = folder / f"{name}-{len(list(folder.iterdir()))}.toml"
    own.write_text(text, encoding="utf-8")
    return str(own)


def test_labels_are_shared_between_builder_and_teacher() -> None:
    frame = Frame(tiny.tokenizer("bert", ["a b c d e f"]), 40)
    labels = [1.0, 0.0, BETTER, WORSE, UNTOLD, HELD]
    texts = [Judged(text, "x", label) for text, label in zip("abcdef", labels, strict=True)]
    own = pack([Group("sel", texts, False), Group("acc", texts[:2], False)], frame)
    told = np.array([0.5, 0.5, 0.7, 0.2, 0.9, 0.4, 0.3, 0.3])
    found = teaching.relabelled(own, told, ["sel"], 0.25)
    assert found.labels.tolist() == pytest.approx([0.875, 0.125, 0.7, 0.2, 0.9, HELD, 1.0, 0.0])
    assert own.labels.tolist() == [*labels, 1.0, 0.0], "the builder's stay"


def test_untold_texts_teach_nothing() -> None:
    texts = [Judged("i like tea", "do you", UNTOLD), Judged("no cars", "do you", UNTOLD)]
    frame = Frame(tiny.tokenizer("bert", ["i like tea no cars do you"]), 40)
    torch.manual_seed(0)
    network = Evaluator(Shape(frame.tokenizer.get_vocab_size(), 32, 2, 64, 64)).eval()
    for ranked in (True, False):
        packed = pack([Group("sel", texts, ranked)], frame)
        lesson = JudgeLesson(packed, Weights({}, masked_share=0.0), 0.0, 0, 0, 100)
        assert lesson.loss(network, [0], 0).item() == 0.0


def test_several_networks_read_the_same_texts_in_the_same_order(tables, neighbours, times) -> None:
    words = [tiny.tokenizer("gpt2", texts) for texts in (["the tower and a garden"], tables.sentences)]
    frames = [LanguageFrame(one, "<|endoftext|>", 120) for one in words]
    first, second = building.build_for(frames, tables, neighbours, times, 3, 2, 1, ("sel", "acc"))
    alone = building.build(tables, neighbours, times, frames[0], 3, 2, 1, ("sel", "acc"))
    assert np.array_equal(alone.ids, first.ids)
    assert np.array_equal(first.heads, second.heads)
    assert np.array_equal(first.labels, second.labels)
    assert len(first.ids) > len(second.ids), "one has learnt the words of the texts"


def test_replies_of_models_stand_between_the_persons_and_others(tables, neighbours, times) -> None:
    said = [Answered(0, 2, "A model that read it.", True), Answered(0, 2, "A model that did not.", False)]
    found = list(building.groups("selection", replace(tables, answered=said), neighbours, times, 0))
    (group,) = [one for one in found if any("model that" in text.output.lower() for text in one.texts)]
    right = tables.dialogues[0].turns[2].lower()
    assert group.texts[0].output.lower() == right
    labels = [text.label for text in group.texts]
    assert labels[:3] == [1, 0.6, 0.1]
    assert all(label == 0 for label in labels[3:])
    assert len(labels) == 4


def test_told_texts_come_with_the_summary_the_beginning_and_a_broken_one(tables, neighbours) -> None:
    once = {f"told.{head}": {"other": 1} for head in ("cohd", "rel", "coh", "acc")}
    found = list(building.groups("told texts", tables, neighbours, Times(once), 0))
    assert Counter(group.head for group in found) == dict.fromkeys(("cohd", "rel", "coh", "acc"), len(tables.told))
    assert {text.label for group in found for text in group.texts} == {UNTOLD}
    document, own = tables.documents[0], next(group for group in found if group.head == "rel")
    outputs = {text.output.lower() for text in own.texts}
    assert {tables.told[0].text.lower(), " ".join(document.summary).lower()} <= outputs
    assert " ".join(document.read[:3]).lower() in outputs
    assert {text.grounds for text in own.texts} == {" ".join(document.read)}
    assert {text.grounds for group in found if group.head in ("coh", "acc") for text in group.texts} == {""}
    assert not list(building.groups("told texts", replace(tables, told=[]), neighbours, Times(once), 0))
