"""Models from the hub's cache, in a process that is told to stay offline."""

import os
import shutil
import subprocess
import sys

import pytest
from tiny_models import build

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PROGRAM = """
import sys
from quintet.errors import UserError
from quintet.models.open import open_model
try:
    model = open_model(sys.argv[1])
    print(model.identity, len(model.embed(["the cat sat"], 1)[0]))
except UserError as error:
    print("refused:", error)
"""


@pytest.fixture
def home(tmp_path):
    snapshots = tmp_path / "hub" / "models--org--tiny" / "snapshots"
    build(snapshots / COMMIT, "bert", "BertModel")
    pickled = snapshots.parents[1] / "models--org--pickled" / "snapshots" / COMMIT
    shutil.copytree(snapshots / COMMIT, pickled)
    (pickled / "model.safetensors").unlink()
    return tmp_path


def run(home, spec):
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_CACHE": str(home / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, spec], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_cached_revision_opens_offline(home):
    assert run(home, f"hf:org/tiny@{COMMIT}").startswith("org/tiny@01234567/torch-2/fp32 ")


def test_what_is_not_cached_is_one_line(home):
    said = run(home, f"hf:org/other@{COMMIT}")
    assert said.startswith(f"refused: hf:org/other@{COMMIT} cannot be fetched")
    assert "\n" not in said


def test_a_repository_of_pickles_names_the_command(home):
    said = run(home, f"hf:org/pickled@{COMMIT}")
    assert f"quintet models convert hf:org/pickled@{COMMIT} OUT" in said
