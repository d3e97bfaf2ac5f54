"""Which object plays a role for a folder with a graph: `model.toml` says what the graph was made for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from quintet.errors import ModelError
from quintet.models.folder import Description, describe

Opener = Callable[[str, str], Any]
"""Opens another spec in a role, once per process."""


def open_graph(spec: str, path: Path, role: str, head: str, identity: str, opener: Opener) -> Any:
    found = describe(path)
    if found.role == "judge" and role != "judge":
        from quintet.models.judge_roles import adapt

        return adapt(opener(spec, "judge"), role, head, identity, spec)
    if found.role == "causal-lm" and role == "yes-no" and not head:
        from quintet.models.lm_questions import ChatYesNo

        return ChatYesNo(opener(spec, "causal-lm"), identity)
    if found.role == "causal-lm" and found.taught and role not in ("causal-lm", "yes-no"):
        from quintet.models.lm_roles import ROLES, adapt_language_model

        if role in ROLES:
            return adapt_language_model(opener(spec, "causal-lm"), role, head, identity, spec)
    if found.role != role:
        raise ModelError(f"{spec} is a model for the role {found.role}, not {role}; name another model")
    if head:
        raise ModelError(f"{spec} has no heads to choose from in the role {role} (write {spec})")
    if found.on:
        from quintet.models.pooled_head import PooledHead

        return PooledHead(opener(found.on, "judge"), path, found, identity)
    return _OPENERS[role](path, found, identity) if role in _OPENERS else _unknown(spec, role)


def _embedder(path: Path, found: Description, identity: str) -> Any:
    from quintet.models.memo import Memo
    from quintet.models.onnx_backend import OnnxEmbedder

    return Memo(OnnxEmbedder(path, found, identity))


def _judge(path: Path, found: Description, identity: str) -> Any:
    from quintet.models.onnx_judge import OnnxJudge

    return OnnxJudge(path, found, identity)


def _causal(path: Path, found: Description, identity: str) -> Any:
    from quintet.models.onnx_lm import OnnxCausalLM

    return OnnxCausalLM(path, found, identity)


def _reader(path: Path, found: Description, identity: str) -> Any:
    from quintet.models.reader import OnnxReader

    return OnnxReader(path, found, identity)


def _unknown(spec: str, role: str) -> Any:
    raise ModelError(f"{spec} says it is for the role {role}, which no graph has here; the file is newer than quintet")


_OPENERS: dict[str, Callable[[Path, Description, str], Any]] = {
    "embedder": _embedder,
    "judge": _judge,
    "reader": _reader,
    "causal-lm": _causal,
}
