"""MLflow and Inspect AI: the real libraries on local files, no network, no model but ours."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import quintet
from quintet.errors import InputError, MissingExtra

SOURCE = "A dog ran home after dark."
GOOD, BAD = "The dog ran home.", "A dragon ate the moon."


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINTET_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def direct() -> list[float]:
    return quintet.score([{"output": o, "source": SOURCE} for o in (GOOD, BAD)], "fact")["consistency"]


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    library = pytest.importorskip("mlflow", reason="mlflow is not installed")
    library.set_tracking_uri((tmp_path / "runs").as_uri())
    return library


def test_a_result_is_logged_to_a_run(mlflow: Any) -> None:
    from quintet.integrations.mlflow_scorer import log_result

    result = quintet.score([{"output": GOOD, "source": SOURCE}, {"output": BAD, "source": SOURCE}], "fact")
    with mlflow.start_run() as run:
        log_result(result)
    logged = mlflow.get_run(run.info.run_id).data.metrics
    assert logged["quintet/consistency"] == pytest.approx(result.means()["consistency"])
    assert logged["quintet/consistency.low"] <= logged["quintet/consistency"] <= logged["quintet/consistency.high"]
    assert logged["quintet/consistency.n"] == 2
    stored = json.loads(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/quintet/scores.json"))
    assert stored["signatures"] == dict(result.signatures)
    assert len(json.loads(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/quintet/rows.json"))["rows"]) == 2


@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning")  # MLflow's own, on import
@pytest.mark.filterwarnings("ignore:Starting with pandas version 4.0")  # pandas told by MLflow
def test_a_scorer_for_mlflow(mlflow: Any, direct: list[float]) -> None:
    from quintet.integrations.mlflow_scorer import scorer

    judge = scorer("fact")
    (feedback,) = judge.run(inputs={"document": SOURCE}, outputs=BAD)
    assert feedback.name == "consistency"
    assert feedback.value == direct[1]
    assert "dragon" in feedback.rationale
    assert feedback.metadata["signature"].partition("|")[0].endswith("-consistency")
    rows = [{"inputs": {"document": SOURCE}, "outputs": output} for output in (GOOD, BAD)]
    found = mlflow.genai.evaluate(data=rows, scorers=[judge])
    assert found.metrics["consistency/mean"] == pytest.approx(sum(direct) / 2)
    rouge = scorer(metrics="rouge-1", name="overlap")
    (feedback,) = rouge.run(inputs={}, outputs=GOOD, expectations={"expected_response": GOOD})
    assert feedback.value == 1.0


def test_a_scorer_for_inspect(tmp_path: Path, direct: list[float]) -> None:
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    from quintet.integrations.inspect_scorer import quintet_scorer

    @solver
    def say() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("none", state.metadata["say"])
            return state

        return solve

    samples = [Sample(input=SOURCE, target="", metadata={"say": output}) for output in (GOOD, BAD)]
    samples.append(Sample(input="Summarise it.", target="", metadata={"say": GOOD, "source": SOURCE}))
    task = inspect_ai.Task(dataset=samples, solver=say(), scorer=quintet_scorer("fact"))
    (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.status == "success"
    (scores,) = log.results.scores
    assert scores.name == "consistency"
    assert scores.metrics["mean"].value == pytest.approx((2 * direct[0] + direct[1]) / 3)
    values = [sample.scores["quintet"].value["consistency"] for sample in log.samples]
    assert values == pytest.approx([*direct, direct[0]])
    assert "dragon" in log.samples[1].scores["quintet"].explanation


def test_a_sample_without_a_source_is_an_error_not_a_blank() -> None:
    from quintet.integrations.chosen import choose, row_of

    with pytest.raises(InputError, match=r"nothing can be scored .*needs source"):
        choose("fact", skip_bad=True).score([row_of("The dog ran.", inputs={"mood": "x"})])


@pytest.mark.parametrize("library", ["mlflow", "inspect_ai.scorer", "evaluate"])
def test_an_absent_library_is_named_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from quintet.integrations import hf_evaluate, inspect_scorer, mlflow_scorer

    monkeypatch.setitem(sys.modules, library, None)
    makers = {
        "mlflow": mlflow_scorer.scorer,
        "inspect_ai.scorer": inspect_scorer.quintet_scorer,
        "evaluate": hf_evaluate.as_evaluation_module,
    }
    with pytest.raises(MissingExtra, match=r"pip install '.+\[(mlflow|inspect|evaluate)\]'"):
        makers[library]("fact")
