"""Other roles from a judge's heads: what the papers' single models do, done by one shared pass."""

from __future__ import annotations

from typing import Any

from quintet.errors import ModelError
from quintet.models.onnx_judge import OnnxJudge


def adapt(judge: OnnxJudge, role: str, head: str, identity: str, spec: str) -> Any:
    raise ModelError(f"{spec} is a model for the role judge, not {role}; name another model")
