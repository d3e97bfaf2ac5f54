import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from quintet.errors import InputError, ModelError, UnknownName, UserError
from quintet.models import catalog
from quintet.models.open import identity, open_model


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A private copy of a bundled model."""
    home = tmp_path / "bundled"
    shutil.copytree(catalog.entry("gte-small").folder, home / "gte-small")
    monkeypatch.setenv("QUINTET_BUNDLED", str(home))
    return home


def test_one_object_per_spec():
    assert open_model("fake:embedder") is open_model("fake:embedder")


def test_every_bundled_model_is_whole():
    for entry in catalog.bundled():
        assert catalog.verify(entry) == entry.folder
        # A file above 95 MB does not travel through the usual doors of a repository.
        assert entry.size <= (95_000_000 if entry.role in ("causal-lm", "reader") else 40_000_000)
        assert (entry.folder / "CARD.md").exists()
        assert (entry.folder / "LICENSE").exists()


@pytest.mark.parametrize("name", [file.name for file in catalog.entry("gte-small").files])
def test_an_altered_file_is_refused_in_one_line(copied, name):
    path = copied / "gte-small" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match="sha256 differs") as caught:
        catalog.verify(catalog.entry("gte-small"))
    assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(ModelError, match="missing"):
        catalog.verify(catalog.entry("gte-small"))


def test_a_folder_with_model_toml_needs_no_torch(copied):
    model = open_model(f"dir:{copied / 'gte-small'}")
    bundled = open_model("bundled:gte-small")
    assert model.identity == identity(f"dir:{copied / 'gte-small'}")
    assert model.identity.startswith("gte-small@")
    assert np.array_equal(model.embed(["same"], 5)[0].vectors, bundled.embed(["same"], 5)[0].vectors)


def test_identity_of_a_folder_changes_with_its_weights(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"one")
    before = identity(f"dir:{tmp_path}")
    assert before.endswith("/torch-2/fp32")
    (tmp_path / "model.safetensors").write_bytes(b"other")
    assert identity(f"dir:{tmp_path}") != before


def test_identity_of_the_hub_is_cheap():
    assert identity("hf:org/name@" + "a" * 40) == "org/name@aaaaaaaa/torch-2/fp32"
    assert identity("hf:org/name@v1") == "org/name@v1/torch-2/fp32"
    assert identity("hf:org/name@v1#bf16") == "org/name@v1/torch-2/bf16"


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        ("gte-small", InputError, "bundled:NAME"),
        ("bundled:", InputError, "bundled:NAME"),
        ("http:x", InputError, "bundled:NAME"),
        ("bundled:gte-smal", UnknownName, "did you mean gte-small"),
        ("dir:/nowhere/at/all", ModelError, "not a folder"),
        ("hf:org/name", InputError, "revision"),
        ("hf:org/name@", InputError, "revision"),
    ],
)
def test_bad_specs_say_what_to_write(spec, error, says):
    with pytest.raises(error, match=says) as caught:
        open_model(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["pytorch_model.bin", "weights.ckpt", "model.pt"])
def test_pickles_are_refused_with_the_command_that_converts_them(tmp_path, file):
    (tmp_path / file).write_bytes(b"x")
    (tmp_path / "config.json").write_text("{}")
    for named in (tmp_path, tmp_path / file):
        with pytest.raises(ModelError, match=f"quintet models convert {named} OUT"):
            open_model(f"dir:{named}")


def test_without_torch_the_extra_is_named(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"x")
    (tmp_path / "config.json").write_text("{}")
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from quintet.errors import MissingExtra\n"
        "from quintet.models.open import open_model\n"
        f"try: open_model('dir:{tmp_path}')\n"
        "except MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert re.search(r"pip install '.+\[torch\]'", done.stdout)


def test_broken_folders_are_named(tmp_path):
    with pytest.raises(ModelError, match=r"no model\.safetensors"):
        open_model(f"dir:{tmp_path}")
    (tmp_path / "model.toml").write_text("role = 'embedder'\n")
    with pytest.raises(ModelError, match="name is missing"):
        open_model(f"dir:{tmp_path}")
    (tmp_path / "model.toml").write_text("role = \n")
    with pytest.raises(ModelError, match="not TOML"):
        open_model(f"dir:{tmp_path}")


def test_not_an_onnx_file(copied):
    (copied / "gte-small" / "model.onnx").write_bytes(b"this is not a model at all" * 10)
    with pytest.raises(UserError, match="not an ONNX model"):
        open_model(f"dir:{copied / 'gte-small'}")
