"""The eleven prompts as the released scorer types them, the paper's other question, and the user's own."""

import pytest

from quintet.core.example import Example
from quintet.errors import InputError, UnknownName
from quintet.metrics import metrics
from quintet.metrics.places import read_places
from quintet.metrics.unieval.asking import prompts_of

FAKE = {"model": "fake:yes-no"}
EXAMPLE = Example("{out}", source="{src}", context="{ctx}", references=("{ref}",), history=("{one}", "{two}"))
RELEASED = {
    "unieval-summarization": {
        "coherence": "question: Is this a coherent summary to the document? </s> summary: {out} </s> document: {src}",
        "consistency": "question: Is this claim consistent with the document? </s> claim: {out} </s> document: {src}",
        "fluency": "question: Is this a fluent paragraph? </s> paragraph: {out}",
        "relevance": "question: Is this summary relevant to the reference? </s> summary: {out} </s> reference: {ref}",
    },
    "unieval-dialogue": {
        "naturalness": "question: Is this a natural response in the dialogue? </s> response: {out}",
        "coherence": "question: Is this a coherent response given the dialogue history? </s> response: {out} "
        "</s> dialogue history: {one} \n {two}\n\n",
        "engagingness": "question: Is this an engaging and informative response according to the dialogue history and "
        "fact? </s> response: {out} </s> dialogue history: {one} \n {two}\n\n </s> fact: {ctx}\n",
        "groundedness": "question: Is this response consistent with knowledge in the fact? </s> response: {out} "
        "</s> fact: {ctx}\n",
        "understandability": "question: Is this an understandable response in the dialogue? </s> response: {out}",
    },
    "unieval-data2text": {
        "naturalness": "question: Is this a fluent utterance? </s> utterance: {out}",
        "informativeness": "question: Is this sentence informative according to the reference? </s> sentence: {out} "
        "</s> reference: {ref}",
    },
    "unieval-fact": {
        "consistency": "question: Is this claim consistent with the document? </s> claim: {out} </s> document: {src}",
    },
}


@pytest.mark.parametrize("name", RELEASED)
def test_prompts_of_the_released_scorer(name, told):
    metrics[name].build(**FAKE, mode="released").score([EXAMPLE])
    assert [" </s> ".join(prompt) for prompt in told.asked] == list(RELEASED[name].values())
    names = [d.name for d in metrics[name].build(**FAKE).dimensions if d.name != "overall"]
    assert names == list(RELEASED[name])


def test_the_default_differs_in_white_space_alone(told):
    for name in RELEASED:
        metrics[name].build(**FAKE).score([EXAMPLE])
        metrics[name].build(**FAKE, mode="released").score([EXAMPLE])
    ours, theirs = [], []
    at = 0
    for name in RELEASED:
        count = len(RELEASED[name])
        ours += told.asked[at : at + count]
        theirs += told.asked[at + count : at + 2 * count]
        at += 2 * count
    assert [" ".join(" | ".join(p).split()) for p in ours] == [" ".join(" | ".join(p).split()) for p in theirs]


@pytest.mark.parametrize("settings", [{"wording": "paper"}, {"mode": "paper"}])
def test_the_papers_question_about_the_fact(told, settings):
    metrics["unieval-dialogue"].build(**FAKE, dims="groundedness", **settings).score([EXAMPLE])
    assert told.asked[0][0] == "question: Does this response use knowledge from the fact?"


def test_twelve_entries_make_eleven_prompts():
    asked = {(p.question, p.places) for task in ("summarization", "dialogue", "data2text", "fact")
             for p in prompts_of(task).values()}  # fmt: skip
    assert len(asked) == 11


def test_dims_are_chosen_by_name():
    metric = metrics["unieval-summarization"].build(**FAKE, dims="fluency+coherence")
    assert [d.name for d in metric.dimensions] == ["coherence", "fluency", "overall"]
    assert [d.name for d in metrics["unieval-summarization"].build(**FAKE, dims="fluency").dimensions] == ["fluency"]
    with pytest.raises(UnknownName, match="fluency"):
        _ = metrics["unieval-summarization"].build(**FAKE, dims="fluancy").dimensions


def test_a_question_of_ones_own(told):
    metric = metrics["unieval-question"].build(
        **FAKE, question="Is the joke funny?", segments="setting: context; joke:output", called="humour"
    )
    told.told["joke: {out}"] = 0.75
    assert metric.score([EXAMPLE])[0]["humour"].value == 0.75
    assert told.asked == [("question: Is the joke funny?", "joke: {out}", "setting: {ctx}")]
    assert metric.dimensions[0].needs == ("context",)


def test_a_label_may_hold_a_colon_and_mistakes_are_named():
    assert read_places("a: b:output", "here") == (("a: b", "output"),)
    for text, problem in (("output", "cannot read"), (":output", "cannot read"), ("a:source", "output once")):
        with pytest.raises(InputError, match=problem):
            read_places(text, "here")
    with pytest.raises(UnknownName, match="source"):
        read_places("a:output;b:sorce", "here")
    with pytest.raises(InputError, match="question is empty"):
        _ = metrics["unieval-question"].build(**FAKE, question=" ").dimensions


def test_a_question_in_a_task_file(told, tmp_path):
    import quintet

    file = tmp_path / "tasks.toml"
    file.write_text(
        '[jokes]\nabout = "Jokes"\n[jokes.dimensions]\n'
        'humour = { question = "Is the joke funny?", needs = ["context"], metric = "unieval-question", parameters = '
        '{ question = "Is the joke funny, or is it?", segments = "joke:output;setting:context" } }\n'
    )
    told.told["joke: Knock."] = 0.25
    rows = [{"output": "Knock.", "context": "a door"}]
    result = quintet.score(rows, "jokes", task_file=file, model="fake:yes-no", cache=False)
    assert told.asked == [("question: Is the joke funny, or is it?", "joke: Knock.", "setting: a door")]
    assert [row.scores["humour"].value for row in result.rows] == [0.25]


def test_training_asks_what_is_asked_in_scoring():
    """Training may not import metrics, so it has its own copy of the prompts; the two must not drift apart."""
    from quintet_train.pseudo import unieval

    fields = {"source": "source", "history": "source", "references": "reference", "context": "context"}
    for name, parts in unieval.PROMPTS.items():
        task = "dialogue" if name.startswith("dialogue-") else "summarization"
        prompt = prompts_of(task)[name.removeprefix("dialogue-")]
        texts = ["{output}", *(f"{{{fields[field]}}}" for field in prompt.grounds)]
        assert prompt.segments(texts) == parts
    assert f"question: {prompts_of('dialogue')['groundedness'].paper_question}" == unieval.GROUNDEDNESS_IN_PAPER
