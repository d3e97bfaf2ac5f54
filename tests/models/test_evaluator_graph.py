"""The evaluator's graph against a plain torch twin, and the roles that its heads fill."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("onnx", reason="the torch extra is not installed")

from tiny_judges import QUESTIONS, TOGETHER, TOKENS, PlainEvaluator

from quintet.core.cache import fresh
from quintet.errors import ModelError
from quintet.models import adapters as pooled_head
from quintet.models.open import identity, open_model
from quintet.models.roles import FIRST_WHOLE, Limits, Masking, PairModel

PAIRS = [
    ("The cat sat on the mat.", ("A dog barked at the old house while the rain fell.",)),
    ("Yes", ()),
    ("", ("the cat",)),
    ("unbelievable misunderstandings", ("a dog", "the cat sat", "No")),
    ("the cat", ("the cat",)),
    ("the dog and the rain and the house", ("a cat looked at it.",)),
]


@pytest.fixture(scope="module", params=["int8", "fp32"])
def both(request, tmp_path_factory):
    """The twin, on the grid where the graph is, and the spec of its graph."""
    twin = PlainEvaluator(rounded=request.param == "int8")
    return twin, f"dir:{twin.export(tmp_path_factory.mktemp(request.param), request.param)}"


def framed(judge, output, grounds):
    parts = [judge.split(text).ids.tolist() for text in grounds]
    joined = [i for part in parts for i in (3, *part)][1:] if parts else []
    return judge.split(output).ids.tolist(), joined


def softmax(logits):
    raised = np.exp(np.asarray(logits) - np.max(np.asarray(logits)))
    return raised / raised.sum()


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


@pytest.mark.parametrize("as_one", [False, True])
def test_the_graph_equals_the_plain_twin(both, as_one):
    twin, spec = both
    judge = open_model(spec, "judge")
    assert isinstance(judge, PairModel)
    assert judge.labels == QUESTIONS
    assert judge.joint == set(TOGETHER)
    assert judge.identity == identity(spec)
    for pair, found in zip(PAIRS, judge.score(PAIRS, joint=as_one), strict=True):
        heads, nli, words, pooled = twin.judged(*framed(judge, *pair), as_one)
        assert np.abs(np.array(list(found.logits.values())) - heads.numpy()).max() < 3e-5
        assert np.abs(found.entailment - softmax(nli.numpy())).max() < 1e-5
        assert np.abs(found.support - sigmoid(words.numpy())).max(initial=0) < 1e-5
        assert np.abs(found.pooled - pooled.numpy()).max() < 1e-5
        assert found.cut == (0, 0)


@pytest.mark.parametrize("as_one", [False, True])
def test_no_bit_depends_on_the_company(both, as_one):
    judge = open_model(both[1], "judge")
    fresh()
    crowd = judge.score(PAIRS * 3, joint=as_one)
    fresh()
    backwards = judge.score(PAIRS[::-1], joint=as_one)[::-1]
    for pair, one, other in zip(PAIRS, crowd, backwards, strict=False):
        fresh()
        (alone,) = judge.score([pair], joint=as_one)
        for found in (one, other):
            assert found.logits == alone.logits
            assert np.array_equal(found.pooled, alone.pooled)
            assert np.array_equal(found.support, alone.support)
            assert np.array_equal(found.entailment, alone.entailment)


def test_equal_inputs_are_judged_once(both):
    judge = open_model(both[1], "judge")
    fresh()
    before = judge.passes
    judge.score(PAIRS + PAIRS)
    open_model(f"{both[1]}#con", "pair-classifier").score([(PAIRS[0][1][0], PAIRS[0][0])])
    open_model(both[1], "token-tagger").score([(PAIRS[0][0], PAIRS[0][1][0])], FIRST_WHOLE)
    assert judge.passes - before == len(PAIRS)
    for _ in range(2):
        judge.score(PAIRS[:2], joint=True)
        open_model(f"{both[1]}#sel", "pair-classifier").score([(PAIRS[0][1][0], PAIRS[0][0])])
    # Read as one, the first is another text; the second has no grounds and is the same.
    assert judge.passes - before == len(PAIRS) + 1


def test_grounds_are_read_once_for_all_outputs(both):
    judge = open_model(both[1], "judge")
    fresh()
    grounds, before = ("A dog barked at the old house.",), judge.contexts_read
    first = judge.score([("the cat", grounds), ("a dog and the rain", grounds), ("Yes", ()), ("the cat", ("a", "b"))])
    (later,) = judge.score([("the old house", grounds)])
    assert judge.contexts_read - before == 2
    fresh()
    (alone,) = judge.score([("the old house", grounds)])
    assert judge.contexts_read - before == 3
    assert alone.logits == later.logits
    fresh()
    assert judge.score([("the cat", grounds)])[0].logits == first[0].logits


def test_empty_grounds_are_none(both):
    judge = open_model(both[1], "judge")
    empty, none = judge.score([("the cat", ("",)), ("the cat", ())])
    assert empty.logits == none.logits


def test_what_is_foreseen_is_answered_with_the_next_question(both):
    judge = open_model(both[1], "judge")
    fresh()
    expected = judge.score(PAIRS)
    fresh()
    before = judge.passes, judge.contexts_read
    judge.prefetch(PAIRS)
    assert (judge.passes, judge.contexts_read) == before
    judge.score(PAIRS[:1])
    assert judge.passes - before[0] == len(PAIRS)
    for one, other in zip(judge.score(PAIRS), expected, strict=True):
        assert one.logits == other.logits
    assert judge.passes - before[0] == len(PAIRS)
    judge.prefetch([("a cat", ())])
    fresh()
    judge.score([("Yes", ())])
    assert judge.passes - before[0] == len(PAIRS) + 1


def test_a_graph_that_reads_both_together_is_refused(both, tmp_path):
    import shutil

    folder = shutil.copytree(both[1].removeprefix("dir:"), tmp_path / "old")
    text = (folder / "model.toml").read_text()
    (folder / "model.toml").write_text("".join(line for line in text.splitlines(True) if "states" not in line))
    with pytest.raises(ModelError, match="cannot read contexts apart from outputs") as caught:
        open_model(f"dir:{folder}", "judge")
    assert "\n" not in str(caught.value)


def test_special_tokens_stay_text_and_separators_cannot_be_forged(both):
    judge = open_model(both[1], "judge")
    forged, true = judge.score([("a", ("b [SEP] c",)), ("a", ("b", "c"))])
    assert forged.logits != true.logits
    forged, true = judge.score([("a [SEP] b", ("c",)), ("a", ("b [SEP] c",))], joint=True)
    assert forged.logits != true.logits
    assert 3 not in judge.split("b [SEP] [CLS] [MASK]").ids


def test_what_is_too_long_is_reported(both):
    judge = open_model(both[1], "judge")
    longest = TOKENS // 2
    out, one, many = judge.score(
        [("cat " * (longest + 5), ("dog",)), ("cat", ("dog " * 100,)), ("cat", ("dog " * 70, "rain"))]
    )
    assert out.cut == (5 * len(judge.split("cat")), 0)
    assert len(out.support) == longest
    assert one.cut[1] == 100 * judge.lengths(["dog"])[0] - (TOKENS - 2)
    (as_one,) = judge.score([("cat", ("dog " * 100,))], joint=True)
    assert as_one.cut[1] == one.cut[1] + judge.lengths(["cat"])[0] + 1
    # Of several grounds the last ones stay.
    (kept,) = judge.score([("cat", ("dog " * 70, "house"))])
    assert many.cut[1] > 0
    assert kept.logits != many.logits


def test_masked_words_equal_the_twin(both):
    twin, spec = both
    model = open_model(spec, "masked-lm")
    texts = ["The cat sat.", "Yes", "", "a dog barked at the old house"]
    each = model.log_probs([(None, text) for text in texts])
    plain = model.log_probs([(None, text) for text in texts], Masking("none", specials=True))
    subwords = open_model(spec, "judge").subwords
    for text, masked, shown in zip(texts, each, plain, strict=True):
        ids = [2, *subwords.split(text).ids.tolist(), 3]
        for place, value in enumerate(masked.log_probs, 1):
            hidden = [*ids[:place], 4, *ids[place + 1 :]]
            assert value == pytest.approx(twin.masked(hidden, place)[ids[place]], abs=5e-5)
        assert [float(v) for v in shown.log_probs] == pytest.approx(
            [float(twin.masked(ids, place)[own]) for place, own in enumerate(ids)], abs=5e-5
        )
        (alone,) = model.log_probs([(None, text)])
        assert np.array_equal(alone.log_probs, masked.log_probs)


def test_one_head_as_a_classifier_and_a_regressor(both):
    _, spec = both
    context, response = "A dog barked at the old house.", "Yes the dog"
    (judged,) = open_model(spec, "judge").score([(response, (context,))])
    (as_one,) = open_model(spec, "judge").score([(response, (context,))], joint=True)
    model = open_model(f"{spec}#sel", "pair-classifier")
    (found,) = model.score([(context, response)])
    assert model.labels == ("no", "yes")
    assert found.values.tolist() == [0.0, np.float32(as_one.logits["sel"])]
    (alone,) = open_model(f"{spec}#acc", "pair-classifier").score([(response, None)])
    assert alone.values[1] == np.float32(open_model(spec, "judge").score([(response, ())])[0].logits["acc"])
    three = open_model(f"{spec}#nli", "pair-classifier")
    assert three.labels == ("entailed", "neutral", "contradicted")
    assert np.allclose(np.exp(three.score([(context, response)])[0].values), judged.entailment, atol=1e-6)
    (value,) = open_model(f"{spec}#doc_to_summ", "regressor").score([(context, response)])
    assert value.value == pytest.approx(float(sigmoid(judged.logits["con"])), abs=1e-7)
    (value,) = open_model(f"{spec}#sent_to_sent", "regressor").score([(context, response)])
    assert value.value == pytest.approx(float(sigmoid(as_one.logits["adq"])), abs=1e-7)


def test_lines_of_a_context_are_turns(both):
    _, spec = both
    turns = ("A dog barked.", "the cat sat")
    (found,) = open_model(f"{spec}#sel", "pair-classifier").score([("\n".join(turns), "Yes")])
    (own,) = open_model(spec, "judge").score([("Yes", turns)], joint=True)
    assert found.values[1] == np.float32(own.logits["sel"])


def test_limits_say_which_end_stays(both):
    _, spec = both
    model = open_model(f"{spec}#sel", "pair-classifier")
    judge = open_model(spec, "judge")
    context, response = "the cat sat on the mat", "the dog and the rain"
    limits = Limits(total=3 + 4, first=2, second=2, keep_first="end")
    (found,) = model.score([(context, response)], limits)
    own, beside = judge.split(response), judge.split(context)
    assert found.cut == (len(beside) - 2, len(own) - 2)
    (same,) = model.score([(context[beside.starts[-2] :], response[: own.ends[1]])])
    assert found.values.tolist() == same.values.tolist()


def test_order_and_words(both):
    _, spec = both
    (found,) = open_model(spec, "sentence-order").score([("the cat sat.", "a dog barked.")])
    (judged,) = open_model(spec, "judge").score([("the cat sat.", ("a dog barked.",))])
    assert found.value == judged.logits["ord"]
    text = "unbelievable cat, sat"
    (tags,) = open_model(spec, "token-tagger").score([(text, "the cat sat")], FIRST_WHOLE)
    assert [text[a:b] for a, b in zip(tags.starts, tags.ends, strict=True)] == ["unbelievable", "cat,", "sat"]
    (judged,) = open_model(spec, "judge").score([(text, ("the cat sat",))])
    last = judged.support[judged.starts >= text.index("sat")]
    assert tags.support[2] == pytest.approx(last.mean(), abs=1e-6)


def test_questions_in_words_go_to_heads(both):
    _, spec = both
    model = open_model(spec, "yes-no")
    judge = open_model(spec, "judge")
    fluent, coherent, engaging = model.answers([
        ("question: Is this a fluent paragraph?", "paragraph: The cat sat."),
        ("question: Is this a coherent response given the dialogue history?", "response: Yes",
         "dialogue history: a \n the dog \n the cat \n the mat"),
        ("question: Is this an engaging and informative response according to the dialogue history and fact?",
         "response: Yes", "dialogue history: the mat", "fact: the house"),
    ])  # fmt: skip
    judged = judge.score(
        [
            ("The cat sat.", ()),
            ("Yes", ("the dog", "the cat", "the mat")),
            ("Yes", ("the mat",)),
            ("Yes", ("the house",)),
        ],
        joint=True,
    )
    assert fluent.value == pytest.approx(float(sigmoid(judged[0].logits["acc"])), abs=1e-7)
    assert coherent.value == pytest.approx(float(sigmoid(judged[1].logits["sel"])), abs=1e-7)
    both_heads = [sigmoid(judged[2].logits["sel"]), sigmoid(judged[3].logits["gro"])]
    assert engaging.value == pytest.approx(float(np.mean(both_heads)), abs=1e-7)
    with pytest.raises(ModelError, match=r"not trained on the question 'Is it fun\?'") as caught:
        model.answers([("question: Is it fun?", "text: Yes")])
    assert "\n" not in str(caught.value)
    (asked,) = open_model(f"{spec}#acc", "yes-no").answers([("question: Is it fun?", "text: The cat sat.")])
    assert asked.value == fluent.value


def test_every_question_of_unieval_is_known():
    import tomllib
    from importlib.resources import files

    from quintet.models.adapters import known_questions

    tables = tomllib.loads(files("quintet.metrics.unieval").joinpath("prompts.toml").read_text(encoding="utf-8"))
    prompts = [prompt for task in tables.values() for prompt in task.values()]
    for prompt in prompts:
        labels = {label for label, field in prompt["segments"] if field != "output"}
        for text in [prompt["question"], *([prompt["paper_question"]] if "paper_question" in prompt else [])]:
            question = known_questions()[text]
            assert {label for _, label in question.heads} - {""} <= labels
            assert {head for head, _ in question.heads} <= set(QUESTIONS)


@pytest.mark.parametrize(
    ("head", "role", "says"),
    [
        ("", "pair-classifier", r"name one as .*#HEAD \(its heads: sel, coh"),
        ("#sell", "pair-classifier", "no head 'sell' .*sel, coh"),
        ("#acc", "masked-lm", "one way to be a masked-lm"),
        ("#acc", "token-tagger", "one way to be a token-tagger"),
        ("", "embedder", "cannot fill the role embedder; it fills judge, pair-classifier"),
        ("#sel", "judge", "no heads to choose from"),
    ],
)
def test_errors_name_the_heads_there_are(both, head, role, says):
    with pytest.raises(ModelError, match=says) as caught:
        open_model(both[1] + head, role)
    assert "\n" not in str(caught.value)


def test_a_small_head_stands_on_the_judge(both, tmp_path):
    _, spec = both
    judge = open_model(spec, "judge")
    rng = np.random.default_rng(0)
    layers = [(rng.normal(size=(8, judge.width)), rng.normal(size=8)), (rng.normal(size=(5, 8)), rng.normal(size=5))]
    folder = pooled_head.write(tmp_path / "five", "five", layers, judge, "tanh", on=spec)
    model = open_model(f"dir:{folder}", "pair-classifier")
    assert (len(model.labels), model.identity) == (5, identity(f"dir:{folder}"))
    (found,) = model.score([("the cat", "a dog")])
    (judged,) = judge.score([("a dog", ("the cat",))], joint=True)
    want = layers[1][0] @ np.tanh(layers[0][0] @ judged.pooled + layers[0][1]) + layers[1][1]
    assert found.values == pytest.approx(want, abs=1e-4)
    text = (folder / "model.toml").read_text()
    (folder / "model.toml").write_text(text.replace(judge.identity, "evaluator@00000000/onnx/int8"))
    with pytest.raises(ModelError, match="was trained on evaluator@00000000"):
        open_model(f"dir:{tmp_path / 'five' / '..' / 'five'}", "pair-classifier")


def test_a_damaged_small_head_is_named(both, tmp_path):
    judge = open_model(both[1], "judge")
    folder = pooled_head.write(tmp_path / "five", "five", [(np.ones((5, judge.width)), np.ones(5))], judge)
    path = folder / "head.safetensors"
    whole = path.read_bytes()
    with pytest.raises(ModelError, match="do not fit an input of 7 numbers"):
        pooled_head.read(path, 7)
    for damaged in (whole[:-4], whole[:100], b"", whole.replace(b"bias_0", b"bias_1")):
        path.write_bytes(damaged)
        with pytest.raises(ModelError, match=r"head\.safetensors") as caught:
            pooled_head.read(path, judge.width)
        assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(ModelError, match="No such file"):
        pooled_head.read(path, judge.width)


def test_int8_stays_near_fp32(tmp_path):
    twin = PlainEvaluator(rounded=False)
    full, small = (
        open_model(f"dir:{twin.export(tmp_path / precision, precision)}", "judge").score(PAIRS)
        for precision in ("fp32", "int8")
    )
    gaps = [np.abs(a.pooled - b.pooled).max() for a, b in zip(full, small, strict=True)]
    assert 0 < max(gaps) < 0.05


def test_a_missing_tensor_is_named(tmp_path):
    from quintet_train.export_evaluator import export_evaluator

    twin = PlainEvaluator(rounded=False)
    weights = {name: value for name, value in twin.weights().items() if name != "mlm.bias"}
    twin.tokenizer.save(str(tmp_path / "t.json"))
    with pytest.raises(ModelError, match=r"no tensor 'mlm\.bias'"):
        export_evaluator(weights, tmp_path / "out", tmp_path / "t.json", QUESTIONS)
    with pytest.raises(ModelError, match="13 heads, and 2 questions"):
        export_evaluator(twin.weights(), tmp_path / "out", tmp_path / "t.json", ["sel", "coh"])
