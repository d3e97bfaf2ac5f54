"""A model by its spec: `bundled:NAME[#HEAD]`, `dir:PATH[#HEAD]`, `hf:NAME@REVISION`, `openai:MODEL@URL`, `fake:NAME`.

`dir:PATH#bf16` and `hf:NAME@REVISION#bf16` are a T5 in bfloat16.

One object per spec and role in a process, so that metrics share passes and memory. A backend is imported when it is
first needed.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, overload

from quintet.errors import InputError, MissingExtra, ModelError
from quintet.models import catalog, folder, packed_weights
from quintet.models.folder import Description, describe
from quintet.models.roles import Embedder, Model, PairModel, PromptModel, Reader, TokenLM

# Snapshots from the Hugging Face hub: a revision is required, tensors only, offline variables are honoured.

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
WANTED = ("*.safetensors", "*.json", "*.txt", "*.model", "model.toml", "*.onnx")


def snapshot(repository: str, revision: str, pickles: bool = False) -> Path:
    """The local folder of a repository at a revision: from the cache, else downloaded unless offline.

    Files that can run code are only fetched to be converted (`pickles`).
    """
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra("huggingface_hub", "torch", f"hf:{repository}") from None

    def fetch(local_only: bool) -> Path:
        return Path(
            huggingface_hub.snapshot_download(
                repository,
                revision=revision,
                allow_patterns=[*WANTED, *PICKLES] if pickles else list(WANTED),
                local_files_only=local_only,
            )
        )

    try:
        kept = fetch(local_only=True)
    except Exception:  # not in the cache: the hub's errors have changed their base class between releases
        kept = None
    # What was fetched for another purpose, or broken off, is no whole model.
    if kept is not None and not pickles and _is_whole(kept):
        return kept
    try:
        return fetch(local_only=bool(huggingface_hub.constants.HF_HUB_OFFLINE))
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"hf:{repository}@{revision} cannot be fetched ({reason[:200]})") from None


def _is_whole(folder: Path) -> bool:
    shards = folder / "model.safetensors.index.json"
    if shards.exists():
        names = set(json.loads(shards.read_text(encoding="utf-8"))["weight_map"].values())
        return all((folder / name).exists() for name in names)
    return any(folder.glob("*.safetensors")) or any(folder.glob("*.onnx"))


# Which object plays a role for a folder with a graph: `model.toml` says what the graph was made for.

Opener = Callable[[str, str], Any]
"""Opens another spec in a role, once per process; which class that is, the description of its folder has said."""


def open_graph(spec: str, path: Path, role: str, head: str, identity: str, opener: Opener) -> Model:
    found = describe(path)
    if found.role == "judge" and role != "judge":
        from quintet.models.adapters import adapt

        return adapt(opener(spec, "judge"), role, head, identity, spec)
    if found.role == "causal-lm" and role == "yes-no" and not head:
        from quintet.models.onnx_lm import ChatYesNo

        return ChatYesNo(opener(spec, "causal-lm"), identity)
    if found.role == "causal-lm" and found.taught and role not in ("causal-lm", "yes-no"):
        from quintet.models.adapters import ROLES, adapt_language_model

        if role in ROLES:
            return adapt_language_model(opener(spec, "causal-lm"), role, head, identity, spec)
    if found.role != role:
        raise ModelError(f"{spec} is a model for the role {found.role}, not {role}; name another model")
    if head:
        raise ModelError(f"{spec} has no heads to choose from in the role {role} (write {spec})")
    if found.on:
        from quintet.models.adapters import PooledHead

        return PooledHead(opener(found.on, "judge"), path, found, identity)
    return _OPENERS[role](path, found, identity) if role in _OPENERS else _unknown(spec, role)


def _embedder(path: Path, found: Description, identity: str) -> Model:
    from quintet.models.memo import Memo
    from quintet.models.onnx_backend import OnnxEmbedder

    return Memo(OnnxEmbedder(path, found, identity))


def _judge(path: Path, found: Description, identity: str) -> Model:
    from quintet.models.onnx_judge import OnnxJudge

    return OnnxJudge(path, found, identity)


def _causal(path: Path, found: Description, identity: str) -> Model:
    from quintet.models.onnx_lm import OnnxCausalLM

    return OnnxCausalLM(path, found, identity)


def _reader(path: Path, found: Description, identity: str) -> Model:
    from quintet.models.reader import OnnxReader

    return OnnxReader(path, found, identity)


def _unknown(spec: str, role: str) -> Model:
    raise ModelError(f"{spec} says it is for the role {role}, which no graph has here; the file is newer than quintet")


_OPENERS: dict[str, Callable[[Path, Description, str], Model]] = {
    "embedder": _embedder,
    "judge": _judge,
    "reader": _reader,
    "causal-lm": _causal,
}


FORMS = "bundled:NAME, dir:PATH, hf:NAME@REVISION, vectors:FILE, openai:MODEL@URL or fake:NAME"
HALF = "bf16"
TORCH = "torch-2"
"""The number moves when the same checkpoint gives other numbers. 2: RoBERTa reads a text with a blank in front only as
an embedder, T5 the blanks around separators, layer 0 is the table of words."""
WEIGHTS = ("*.safetensors", "config.json", "tokenizer.json", "*.npy")

_opened: dict[tuple[str, str], Model] = {}
_opening: dict[tuple[str, str], threading.RLock] = {}
_lock = threading.Lock()


@overload
def open_model(spec: str, role: Literal["embedder"] = "embedder") -> Embedder: ...
@overload
def open_model(spec: str, role: Literal["masked-lm", "causal-lm", "seq2seq-lm"]) -> TokenLM: ...
@overload
def open_model(
    spec: str, role: Literal["judge", "pair-classifier", "token-tagger", "regressor", "sentence-order"]
) -> PairModel: ...
@overload
def open_model(spec: str, role: Literal["yes-no", "grader"]) -> PromptModel: ...
@overload
def open_model(spec: str, role: Literal["reader"]) -> Reader: ...
@overload
def open_model(spec: str, role: str) -> Any: ...
def open_model(spec: str, role: str = "embedder") -> Model:
    """The model behind `spec` in the given role (see `roles`); opened once per process."""
    with _lock:
        own = _opening.setdefault((spec, role), threading.RLock())
    with own:  # others may open other models meanwhile
        if (spec, role) not in _opened:
            _opened[spec, role] = _open(spec, role)
        return _opened[spec, role]


def soon(model: object) -> None:
    """It will be asked: one whose graph is opened late begins with it now, beside the others."""
    begin = getattr(model, "soon", None)
    if begin is not None:
        begin()


def identity(spec: str) -> str:
    """What the model is (name, digest, backend, precision), without loading it: for signatures."""
    kind, name = split(spec)
    return _IDENTITIES[kind](name)


def split(spec: str) -> tuple[str, str]:
    kind, colon, name = spec.partition(":")
    if not colon or not name or kind not in _IDENTITIES:
        raise InputError(f"cannot read the model {spec!r}", todo=f"write {FORMS}")
    return kind, name


def _open(spec: str, role: str) -> Model:
    kind, name = split(spec)
    if kind == "fake":
        from quintet.models.fake import fake

        return fake(name, role)
    if kind == "openai":
        from quintet.models.openai_backend import open_openai

        return open_openai(name, role)
    if kind == "vectors":
        from quintet.models.word_table import open_vectors

        return open_vectors(name, role)
    if kind == "bundled":
        base, head = apart(kind, name)
        found = catalog.entry(base)
        return _open_graph(f"bundled:{base}", catalog.verify(found), role, head)
    if kind == "hf" and find_spec("torch") is None:
        raise MissingExtra("torch", "torch", f"the model {spec}")
    name, head = apart(kind, name)
    path = _local_folder(name) if kind == "dir" else snapshot(*revision_of(name))
    if _holds_graph(path):
        return _open_graph(f"{kind}:{name}", path, role, head)
    if head and head != HALF:
        raise ModelError(f"{spec} names a head; only a judge has named heads (write {kind}:{name})")
    refuse_pickles(path, name if kind == "dir" else f"hf:{name}")
    try:
        from quintet.models.torch_open import open_torch
    except ModuleNotFoundError as error:
        raise MissingExtra("torch", "torch", f"the model {spec}") from error
    return open_torch(path, role, identity(spec), half=head == HALF)


def _open_graph(spec: str, path: Path, role: str, head: str) -> Model:
    """A folder with a graph. A judge fills many roles, and all of them share its passes."""
    from quintet.models import open as graphs

    named = identity(f"{spec}#{head}" if head else spec)
    return graphs.open_graph(spec, path, role, head, named, open_model)


def apart(kind: str, name: str) -> tuple[str, str]:
    """`evaluator#sel` is the model and the one of its heads that is meant; a folder may have the sign in its name."""
    if kind not in ("bundled", "dir", "hf") or "#" not in name or (kind == "dir" and Path(name).expanduser().is_dir()):
        return name, ""
    base, _, head = name.rpartition("#")
    return base, head


def _holds_graph(path: Path) -> bool:
    """A folder that training wrote has a model.toml as well, but keeps its weights as tensors alone."""
    tensors = {file.name for file in path.glob("*.safetensors")} - {packed_weights.FILE, folder.HEAD, folder.HEADS}
    return (path / folder.NAME).exists() and not tensors


def refuse_pickles(path: Path, source: str) -> None:
    """Loading a pickle runs whatever code it holds; only tensors are read here."""
    if any(path.glob("*.safetensors")):
        return
    pickles = sorted(file.name for pattern in PICKLES for file in path.glob(pattern))
    if pickles or source.startswith("hf:"):
        what = f"{pickles[0]} but " if pickles else ""
        raise ModelError(
            f"{source} holds {what}no safetensors; convert it once with: quintet models convert {source} OUT"
        )
    raise ModelError(
        f"{path} holds no model.safetensors; a model folder needs config.json, tokenizer.json and safetensors"
    )


def _local_folder(name: str) -> Path:
    path = Path(name).expanduser()
    if path.is_file() and any(path.match(pattern) for pattern in PICKLES):
        raise ModelError(f"{path} is a pickle and not loaded; convert it once with: quintet models convert {path} OUT")
    if not path.is_dir():
        raise ModelError(f"{path} is not a folder; dir: takes the folder of a model")
    return path


def revision_of(name: str) -> tuple[str, str]:
    repository, _, revision = name.partition("@")
    if not repository or not revision:
        raise InputError(f"hf:{name} names no revision", todo="write hf:NAME@REVISION, best with a commit hash")
    return repository, revision


def _bundled_identity(name: str) -> str:
    base, head = apart("bundled", name)
    return _with_head(catalog.entry(base).identity, head)


def _dir_identity(name: str) -> str:
    base, head = apart("dir", name)
    path = _local_folder(base)
    if _holds_graph(path):
        description = folder.describe(path)
        files = [path / folder.NAME, path / description.file, *sorted(path.glob("tokenizer.json"))]
        beside = ("*.npy", packed_weights.FILE, folder.HEADS)
        digest = _digest([*files, *(file for pattern in beside for file in sorted(path.glob(pattern)))])
        return _with_head(f"{description.name}@{digest}/{description.backend}", head)
    digest = _digest([f for pattern in WEIGHTS for f in sorted(path.glob(pattern))])
    return f"{path.resolve().name}@{digest}/{TORCH}/{head or 'fp32'}"


def _with_head(identity: str, head: str) -> str:
    return f"{identity}#{head}" if head else identity


def _digest(files: list[Path]) -> str:
    try:
        return hashlib.sha256("".join(catalog.sha256(file) for file in files).encode()).hexdigest()[:8]
    except OSError as error:
        raise ModelError(f"{error.filename} cannot be read ({error.strerror})") from None


def _hub_identity(name: str) -> str:
    base, precision = apart("hf", name)
    repository, revision = revision_of(base)
    short = revision[:8] if re.fullmatch("[0-9a-f]{40}", revision) else revision
    return f"{repository}@{short}/{TORCH}/{precision or 'fp32'}"


def _fake_identity(name: str) -> str:
    from quintet.models.fake import VERSION

    return f"fake-{name}@{VERSION}"


def _vectors_identity(name: str) -> str:
    from quintet.models.word_table import vectors_identity

    return vectors_identity(name)


def _openai_identity(name: str) -> str:
    from quintet.models.openai_backend import openai_identity

    return openai_identity(name)


_IDENTITIES: dict[str, Callable[[str], str]] = {
    "bundled": _bundled_identity,
    "dir": _dir_identity,
    "hf": _hub_identity,
    "openai": _openai_identity,
    "fake": _fake_identity,
    "vectors": _vectors_identity,
}
