"""Weights are distributions of their own: found in the checkout or where they were installed, checked, or named."""

import tomllib
from pathlib import Path

import pytest

import quintet
from quintet.errors import ModelError
from quintet.models import catalog

ROOT = Path(__file__).parents[2]
PROJECTS = {
    "quintet-weights": ROOT / "weights",
    "quintet-weights-reader": ROOT / "weights" / "reader",
    "quintet-weights-lm": ROOT / "weights" / "lm",
}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """As in an installed wheel of the code: no models beside it, but a place for those of quintet-weights."""
    monkeypatch.delenv("QUINTET_BUNDLED", raising=False)
    monkeypatch.setattr(catalog, "_HERE", tmp_path / "quintet" / "models")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "site").mkdir()
    return tmp_path / "site" / "quintet_weights"


def test_the_distributions_hold_every_model_once() -> None:
    found = {}
    for name, folder in PROJECTS.items():
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        assert (project["project"]["name"], project["project"]["version"]) == (name, quintet.__version__)
        for source, target in project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].items():
            assert (folder / source).exists(), source
            if not target.endswith(".toml"):
                assert Path(target).parts == ("quintet_weights", Path(source).name)
                found[Path(source).name] = name
    assert found == {entry.name: entry.distribution for entry in catalog.bundled()}
    # Below what a package index takes, before compression; the language model's wheel is measured where it is built.
    assert sum(e.size for e in catalog.bundled() if e.distribution == "quintet-weights") < 100_000_000


def test_the_extra_and_the_wheel_know_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["optional-dependencies"]["weights"] == [f"{n}=={quintet.__version__}" for n in PROJECTS]
    assert "src/quintet/models/bundled" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]


def test_from_a_checkout_the_files_are_found_in_place() -> None:
    assert {entry.folder.parent for entry in catalog.bundled()} == {ROOT / "src" / "quintet" / "models" / "bundled"}


def test_installed_weights_are_found_and_checked(elsewhere) -> None:
    head, there = catalog.entry("dialogue-nuf"), elsewhere / "dialogue-nuf"
    there.mkdir(parents=True)
    for file in head.files:
        source = ROOT / "src" / "quintet" / "models" / "bundled" / head.name / file.name
        (there / file.name).write_bytes(source.read_bytes())
    assert catalog.verify(head) == there
    assert head.state() == "intact"
    (there / "model.toml").write_text("altered")
    with pytest.raises(ModelError, match=r"sha256 differs.*--force-reinstall"):
        catalog.verify(head)


@pytest.mark.parametrize(
    ("name", "folder"), [("gte-small", "weights"), ("reader", "weights/reader"), ("judge-lm", "weights/lm")]
)
def test_missing_weights_are_said_in_one_line(elsewhere, name: str, folder: str) -> None:
    with pytest.raises(ModelError) as caught:
        catalog.verify(catalog.entry(name))
    assert f"the model {name} is not installed; run: pip install '{ROOT / folder}'" in str(caught.value)
    assert ("fast=True" in str(caught.value)) == (name == "judge-lm")
    assert "\n" not in str(caught.value)
