"""A cluster of two nodes on this machine: same rows, also when a node is killed half way; Ray Data takes the scorer."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from killing import command, stored, write_rows

from quintet import _api as api
from quintet.core.item import Scored
from quintet.core.options import Options
from quintet.errors import InputError, MissingExtra, ModelError, UnknownName
from quintet.io.items import open_items
from quintet.runner import on_ray
from quintet.runner.plan import Plan

METRICS = ["gruen-redundancy", "bertscore-f:model=fake:embedder"]


def test_without_ray_it_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"engine ray needs ray.*\[ray\]"):
        on_ray.OnRay()
    with pytest.raises(UnknownName, match="unknown engine 'spark'"):
        api.open_executor(1, "spark")


def test_a_cluster_that_is_not_there_is_said_in_one_line() -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    with pytest.raises(InputError, match="cannot reach the cluster"):
        api.open_executor(1, "ray:auto").start(on_ray.Job(()))


@pytest.mark.parametrize(
    ("address", "says"),
    [("127.0.0.1:9", "cannot reach"), ("nobody.invalid:6379", "cannot reach"), ("here", "HOST:PORT")],
)
def test_an_address_where_nobody_answers_is_said_soon_and_in_one_line(address: str, says: str) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    with pytest.raises(InputError, match=says) as caught:
        api.open_executor(1, f"ray:{address}").start(on_ray.Job(()))
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    from ray.cluster_utils import Cluster

    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.second = made.add_node(num_cpus=1)  # type: ignore[attr-defined]
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan, list[Scored]]:
    file = write_rows(tmp_path_factory.mktemp("ray") / "in.jsonl", 2600)
    plan = api.make_plan(Options(metrics=METRICS))
    return file, plan, list(scored(file, plan))


def scored(file: Path, plan: Plan, engine: str | None = None, cache: bool | Path = False) -> Iterator[Scored]:
    with open_items(str(file)) as items:
        yield from api.stream(plan, items, api.open_store(cache), executor=api.open_executor(1, engine))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray's own, of options that nobody here sets
def test_ray_data_takes_the_scorer(cluster: Any, work: tuple[Path, Plan, list[Scored]]) -> None:
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    alone = work[2]
    rows = [dict(row.item.carried) for row in alone[:300]]
    for how in ("pandas", "numpy"):
        data = ray.data.from_items(rows, override_num_blocks=2)
        out = data.map_batches(api.batch_scorer(metrics=METRICS), batch_size=64, batch_format=how).take_all()
        found = {row["id"]: row["gruen-redundancy"] for row in out}
        assert found == {row.item.carried["id"]: row.scores["gruen-redundancy"].value for row in alone[:300]}


def test_errors_come_back_from_the_cluster(cluster: Any) -> None:
    from quintet.core.example import Example
    from quintet.core.item import Item

    plan = api.make_plan(Options(metrics="bertscore-f:model=fake:masked-lm"))
    items = [Item(Example("a", references=("b",)))]
    with pytest.raises(ModelError, match="is a model for the role masked-lm"):
        list(api.stream(plan, items, api.open_store(False), executor=api.open_executor(1, "ray")))


def test_a_node_killed_half_way_costs_no_row(
    cluster: Any, work: tuple[Path, Plan, list[Scored]], tmp_path: Path
) -> None:
    file, plan, alone = work
    rows = scored(file, plan, "ray", tmp_path / "s.sqlite")
    found = list(islice(rows, 600))
    cluster.remove_node(cluster.second, allow_graceful=False)
    found += rows
    assert found == alone
    assert len(cluster.list_all_nodes()) == 1


def test_the_command_writes_the_same_file_when_a_node_is_killed(
    cluster: Any, work: tuple[Path, Plan, list[Scored]], tmp_path: Path
) -> None:
    second, file, store = cluster.add_node(num_cpus=1), work[0], tmp_path / "s.sqlite"
    run = subprocess.Popen(
        command(file, store, tmp_path / "ray.jsonl", "--engine", f"ray:{cluster.address}"), stdout=-3, stderr=-1
    )
    while not stored(store) and run.poll() is None:
        time.sleep(0.05)
    before = stored(store)
    cluster.remove_node(second, allow_graceful=False)
    told = run.communicate(timeout=600)[1]
    assert run.returncode == 0, told
    assert 0 < before < stored(store) == 2 * 2600
    subprocess.run(command(file, tmp_path / "one.sqlite", tmp_path / "one.jsonl"), check=True, capture_output=True)
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()


def test_parts_outlive_a_node_and_the_driver(
    cluster: Any, work: tuple[Path, Plan, list[Scored]], tmp_path: Path
) -> None:
    second, file, place = cluster.add_node(num_cpus=1), work[0], tmp_path / "out"
    asked = ["score", str(file), "--metric", METRICS[0], "--metric", METRICS[1]]
    on_cluster = [*asked, "--ray", "--engine", f"ray:{cluster.address}", "--out", str(place)]
    first = subprocess.Popen([sys.executable, "-m", "quintet", *on_cluster], stdout=-3, stderr=-3)
    while not list(place.glob("part-*")) and first.poll() is None:
        time.sleep(0.05)
    cluster.remove_node(second, allow_graceful=False)
    first.kill()
    first.wait()
    assert not (place / "manifest.json").exists()
    again = subprocess.run([sys.executable, "-m", "quintet", *on_cluster], capture_output=True, text=True, timeout=600)
    assert again.returncode == 0, again.stderr
    assert "2600 rows" in again.stdout
    alone = tmp_path / "one.jsonl"
    command = [sys.executable, "-m", "quintet", *asked, "--no-cache", "--out", str(alone)]
    subprocess.run(command, check=True, capture_output=True)
    told = json.loads((place / "manifest.json").read_text())
    assert b"".join((place / part["name"]).read_bytes() for part in told["parts"]) == alone.read_bytes()
