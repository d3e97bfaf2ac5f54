"""Rows as the libraries themselves write them, where they are installed, are read as their golden rows are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import quintet
from quintet.core.example import Example
from quintet.io.items import Items
from quintet.io.sources import rows_from_python
from quintet.io.tables import open_table

pytestmark = pytest.mark.filterwarnings("ignore")  # other libraries warn of their own plans
QUESTION, CONTEXTS = "When does the bridge open?", ["The bridge opens in May 2027.", "It was built by Arup."]
ANSWER, REFERENCE = "It opens in May 2027.", "In May 2027."


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "RAGAS_DO_NOT_TRACK": "true"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)


def read(data: Any, task: str = "rag") -> list[Example]:
    table = open_table(data) if isinstance(data, Path) else rows_from_python(data)
    with Items(table, task, None) as items:
        return [item.example for item in items if item.example]


def as_expected(example: Example, reference: str | None = REFERENCE) -> None:
    assert (example.output, example.question) == (ANSWER, QUESTION)
    assert list(example.contexts or ()) == CONTEXTS
    assert example.source == "\n".join(CONTEXTS), "never the question"
    assert list(example.references) == ([reference] if reference else [])


def test_ragas(tmp_path: Path) -> None:
    pytest.importorskip("ragas", reason="ragas is not installed")
    from ragas import EvaluationDataset
    from ragas.dataset_schema import MultiTurnSample
    from ragas.messages import AIMessage, HumanMessage

    row = {"user_input": QUESTION, "retrieved_contexts": CONTEXTS, "response": ANSWER, "reference": REFERENCE}
    dataset = EvaluationDataset.from_list([row])
    dataset.to_jsonl(str(tmp_path / "ragas.jsonl"))
    dataset.to_csv(str(tmp_path / "ragas.csv"))
    for data in (
        dataset.samples,
        dataset.to_list(),
        dataset.to_pandas(),
        tmp_path / "ragas.jsonl",
        tmp_path / "ragas.csv",
    ):
        (example,) = read(data)
        as_expected(example)
    talk = MultiTurnSample(user_input=[HumanMessage(content=QUESTION), AIMessage(content=ANSWER)])
    (example,) = read([talk.to_dict()], "conversation")
    assert (example.output, example.history) == (ANSWER, (QUESTION,))


def test_deepeval(tmp_path: Path) -> None:
    pytest.importorskip("deepeval", reason="deepeval is not installed")
    from deepeval.dataset import EvaluationDataset
    from deepeval.test_case import ConversationalTestCase, LLMTestCase, Turn

    case = LLMTestCase(input=QUESTION, actual_output=ANSWER, expected_output=REFERENCE, retrieval_context=CONTEXTS)
    for by_alias in (False, True):
        (example,) = read([case.model_dump(by_alias=by_alias, exclude_none=True)])
        as_expected(example)
        (example,) = read([json.loads(case.model_dump_json(by_alias=by_alias))])
        as_expected(example)
    (example,) = read([case])
    as_expected(example)
    dataset = EvaluationDataset()
    dataset.add_test_case(case)
    dataset.save_as(file_type="json", directory=str(tmp_path), file_name="cases", include_test_cases=True)
    (example,) = read(tmp_path / "cases.json")
    as_expected(example)
    talk = ConversationalTestCase(turns=[Turn(role="user", content=QUESTION), Turn(role="assistant", content=ANSWER)])
    for row in (talk.model_dump(exclude_none=True), json.loads(talk.model_dump_json())):
        (example,) = read([row], "conversation")
        assert (example.output, example.history) == (ANSWER, (QUESTION,))


def test_langchain() -> None:
    pytest.importorskip("langchain_core", reason="langchain is not installed")
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict

    documents = [Document(page_content=text, metadata={"source": "a.pdf"}) for text in CONTEXTS]
    for dumped in ([d.model_dump() for d in documents], documents):
        (example,) = read([{"input": QUESTION, "context": dumped, "answer": ANSWER}])
        as_expected(example, None)
        (example,) = read([{"query": QUESTION, "result": ANSWER, "source_documents": dumped}])
        as_expected(example, None)
    said = [HumanMessage(content=QUESTION), AIMessage(content=ANSWER)]
    for messages in (said, [m.model_dump() for m in said], messages_to_dict(said)):
        (example,) = read([{"messages": messages}], "conversation")
        assert (example.output, example.history) == (ANSWER, (QUESTION,))


def test_openai() -> None:
    pytest.importorskip("openai", reason="openai is not installed")
    from openai.types.chat import ChatCompletion

    message = {"role": "assistant", "content": ANSWER}
    answered = ChatCompletion.model_validate(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m",
         "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    )  # fmt: skip
    row = {**answered.model_dump(), "messages": [{"role": "user", "content": QUESTION}]}
    (example,) = read([row], "dialogue")
    assert (example.output, example.history, example.system) == (ANSWER, (QUESTION,), "m")
    for data in (row, {**row, "choices": answered.choices}):
        (example,) = read([data], "conversation")
        assert (example.output, example.history) == (ANSWER, (QUESTION,))


def test_datasets() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    rows = datasets.Dataset.from_dict({"question": [QUESTION], "contexts": [CONTEXTS], "answer": [ANSWER]})
    result = quintet.score(rows, metrics="response-length", cache=False)
    assert "contexts=contexts (ragas before 0.2)" in result.read_as


def test_llamaindex() -> None:
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    from llama_index.core.base.response.schema import Response
    from llama_index.core.evaluation import EvaluationResult
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [NodeWithScore(node=TextNode(text=text, metadata={"file": "a.pdf"}), score=0.5) for text in CONTEXTS]
    answered = Response(response=ANSWER, source_nodes=nodes)
    dumped = ([node.to_dict() for node in nodes], [json.loads(node.model_dump_json()) for node in nodes])
    rows = [
        {"query": QUESTION, **vars(answered)},
        *({"query": QUESTION, "response": str(answered), "source_nodes": found} for found in dumped),
        EvaluationResult(query=QUESTION, contexts=CONTEXTS, response=ANSWER, passing=True, score=1.0).model_dump(),
    ]
    for row in rows:
        (example,) = read([row])
        as_expected(example, None)


def test_langsmith(tmp_path: Path) -> None:
    pytest.importorskip("langsmith", reason="langsmith is not installed")
    from datetime import UTC, datetime
    from uuid import uuid4

    from langchain_core.documents import Document
    from langsmith.schemas import Run

    outputs = {"answer": ANSWER, "documents": [Document(page_content=text) for text in CONTEXTS]}
    run = Run(
        id=uuid4(), name="chain", run_type="chain", start_time=datetime.now(tz=UTC), trace_id=uuid4(),
        inputs={"question": QUESTION}, outputs=outputs,
    )  # fmt: skip
    for row in (run.model_dump(), json.loads(run.model_dump_json())):
        (example,) = read([row])
        as_expected(example, None)
    file = tmp_path / "runs.jsonl"
    file.write_text(run.model_dump_json() + "\n", encoding="utf-8")
    (example,) = read(file)
    as_expected(example, None)


def test_trulens() -> None:
    pytest.importorskip("trulens.core", reason="trulens is not installed")
    from trulens.core.schema.record import Record

    record = Record(app_id="app", main_input=QUESTION, main_output=ANSWER, calls=[])
    for row in (record.model_dump(), json.loads(record.model_dump_json())):
        (example,) = read([row])
        assert (example.output, example.question, example.source) == (ANSWER, QUESTION, None)
        assert example.id == record.record_id


def test_mlflow_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `search_traces` gives them; their contexts are what a span of a retriever returned."""
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    from mlflow.entities import Document, SpanType

    monkeypatch.setenv("MLFLOW_ENABLE_ASYNC_TRACE_LOGGING", "false")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.set_experiment("e")

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def retrieved(question: str) -> list[Any]:
        return [Document(page_content=text) for text in CONTEXTS]

    @mlflow.trace
    def answer(question: str) -> dict[str, str]:
        retrieved(question)
        return {"answer": ANSWER}

    answer(QUESTION)
    mlflow.flush_trace_async_logging()
    found = mlflow.search_traces()
    (example,) = read(found)
    as_expected(example, None)
    assert example.id == found["trace_id"][0]
