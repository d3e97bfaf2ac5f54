"""deepeval, ragas and lm-evaluation-harness with our scores in them: the real libraries, no network, no key."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

import quintet
from quintet.errors import InputError, MissingExtra, UnknownName, UserError
from quintet.integrations.chosen import choose_one

pytestmark = pytest.mark.filterwarnings("ignore")  # other libraries warn of their own plans
QUESTION, CONTEXT = "When does the bridge open?", "The bridge opens in May."
GOOD, BAD, DECLINED = "It opens in May.", "Bananas are yellow.", "The document does not say when it opens."
SHOES = (Path(__file__).parents[3] / "examples" / "chat.jsonl").read_text(encoding="utf-8").splitlines()[1]
TALK = [(said["role"], said["content"]) for said in json.loads(SHOES)["messages"][1:]]
"""The second reply asks again what the user has told."""
RAG: dict[str, Any] = {"task": "rag", "fast": True, "cache": False}


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "RAGAS_DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)  # deepeval keeps its own files where it runs


@pytest.fixture(scope="module")
def direct() -> dict[str, float]:
    rows = [{"question": QUESTION, "contexts": [CONTEXT], "answer": text} for text in (GOOD, BAD)]
    result = quintet.score(rows, "rag", dims=["faithfulness"], fast=True, cache=False)
    return dict(zip((GOOD, BAD), result["faithfulness"], strict=True))


def deepeval_case(output: str, **more: Any) -> Any:
    from deepeval.test_case import LLMTestCase

    return LLMTestCase(input=QUESTION, actual_output=output, retrieval_context=[CONTEXT], **more)


def test_deepeval_passes_and_fails_by_our_score(direct: dict[str, float]) -> None:
    pytest.importorskip("deepeval", reason="deepeval is not installed")
    from deepeval import assert_test
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.test_case import LLMTestCase

    from quintet.integrations.deepeval_metric import metric

    faithful = metric("faithfulness", **RAG)
    assert_test(deepeval_case(GOOD), [faithful], run_async=False)
    with pytest.raises(AssertionError, match="quintet faithfulness"):
        assert_test(deepeval_case(BAD), [faithful], run_async=True)
    assert faithful.measure(deepeval_case(GOOD)) == direct[GOOD] > 0.5 > direct[BAD]
    assert faithful.score_breakdown["signature"].startswith("evaluator-summarization-consistency|")
    assert faithful.measure(deepeval_case(DECLINED)) is None
    assert (faithful.skipped, faithful.success) == (True, True)
    with pytest.raises(MissingTestCaseParamsError, match=r"source.*which consistency needs|needs source"):
        faithful.measure(LLMTestCase(input=QUESTION, actual_output=GOOD))
    errors = metric("ter", threshold=10, cache=False)
    assert errors.measure(deepeval_case(GOOD, expected_output=GOOD)) == 0.0
    assert errors.is_successful(), "of errors, less is better"
    errors.measure(deepeval_case(BAD, expected_output=GOOD))
    assert not errors.is_successful()


def test_deepeval_evaluates_conversations() -> None:
    pytest.importorskip("deepeval", reason="deepeval is not installed")
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, DisplayConfig
    from deepeval.test_case import ConversationalTestCase, Turn

    from quintet.integrations.deepeval_metric import conversation_metric

    case = ConversationalTestCase(turns=[Turn(role=who, content=text) for who, text in TALK])  # type: ignore[arg-type]
    metrics = [conversation_metric("retention", cache=False), conversation_metric("retention", turns="worst")]
    shown = DisplayConfig(show_indicator=False, print_results=False)
    found = evaluate([case], metrics, display_config=shown, async_config=AsyncConfig(run_async=False))
    mean, worst = found.test_results[0].metrics_data
    assert worst.score < mean.score
    assert not worst.success
    assert worst.reason.startswith("turn 2: ")


def test_ragas_evaluates_with_our_scores(direct: dict[str, float]) -> None:
    pytest.importorskip("ragas", reason="ragas is not installed")
    from ragas import EvaluationDataset, evaluate
    from ragas.dataset_schema import MultiTurnSample
    from ragas.messages import AIMessage, HumanMessage

    from quintet.integrations.ragas_metric import conversation_metric, metric

    rows = [
        {"user_input": QUESTION, "retrieved_contexts": [CONTEXT], "response": text, "reference": GOOD}
        for text in (GOOD, BAD)
    ]
    metrics = [metric("faithfulness", **RAG), metric("rouge-l", cache=False)]
    found = evaluate(EvaluationDataset.from_list(rows), metrics=metrics, show_progress=False, raise_exceptions=True)
    assert found["faithfulness"] == pytest.approx([direct[GOOD], direct[BAD]])
    assert found["rouge-l"] == [1.0, 0.0]
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    sample = MultiTurnSample(user_input=[kinds[who](content=text) for who, text in TALK])
    kept = conversation_metric("retention", turns="worst", cache=False).multi_turn_score(sample)
    assert kept < conversation_metric("retention", turns="mean", cache=False).multi_turn_score(sample)


def test_lm_evaluation_harness_takes_our_scores(tmp_path: Path) -> None:
    lm_eval = pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    pytest.importorskip("datasets", reason="datasets is not installed")
    from lm_eval.tasks import TaskManager

    docs = [{"question": QUESTION, "summary": "lol"}, {"question": QUESTION, "summary": "It opens in May."}]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
    (tmp_path / "scores.py").write_text(
        "from quintet.integrations.lm_eval_results import results\n"
        "process = results(metrics=['rouge-l', 'length'], columns={'references': 'summary'}, cache=False)\n"
    )
    (tmp_path / "bridges.yaml").write_text(
        "task: bridges\n"
        "dataset_path: json\n"
        f"dataset_kwargs: {{data_files: {{test: '{tmp_path / 'docs.jsonl'}'}}}}\n"
        "test_split: test\n"
        "output_type: generate_until\n"
        "doc_to_text: '{{question}}'\n"
        "doc_to_target: '{{summary}}'\n"
        "process_results: !function scores.process\n"
        "metric_list:\n"
        "  - {metric: rouge-l, aggregation: mean, higher_is_better: true}\n"
        "  - {metric: length, aggregation: mean, higher_is_better: true}\n"
    )
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = lm_eval.simple_evaluate(model="dummy", tasks=["bridges"], task_manager=manager, bootstrap_iters=0)
    scores = found["results"]["bridges"]
    assert scores["rouge-l,none"] == 0.5, "the model says lol, which is one of the two"
    assert scores["length,none"] == 1.0


def test_one_score_of_a_row_and_of_a_conversation() -> None:
    row = {"question": QUESTION, "contexts": [CONTEXT], "answer": GOOD}
    with pytest.raises(UserError, match="references"):
        choose_one("answer_correctness", "rag", cache=False)(row)
    with pytest.raises(InputError, match=r"unieval-dialogue gives \d+ scores; name one: unieval-dialogue/naturalness"):
        choose_one("unieval-dialogue", model="fake:yes-no", cache=False)(
            {"output": GOOD, "history": [QUESTION], "context": CONTEXT}
        )
    with pytest.raises(UnknownName, match=r"choice of turns 'last'.*end, mean, worst"):
        choose_one("retention", "conversation", turns="last")  # type: ignore[arg-type]
    declined = choose_one("faithfulness", **RAG)({**row, "answer": DECLINED})
    assert math.isnan(declined.value)
    assert declined.reason.startswith("abstained")


@pytest.mark.parametrize("library", ["deepeval", "ragas"])
def test_an_absent_library_is_named_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from quintet.integrations import deepeval_metric, ragas_metric

    module = {"deepeval": deepeval_metric, "ragas": ragas_metric}[library]
    module._classes.cache_clear()
    for name in (library, "deepeval.errors", "ragas.metrics.base"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=rf"pip install '.+\[{library}\]'"):
        module.metric("rouge-l")
