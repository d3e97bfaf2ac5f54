"""The evaluator itself: one blend per task and dimension, full or fast (without the language model)."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from quintet.core.blend import Blend, Signal
from quintet.errors import UnknownName, UserError
from quintet.models.open import identity

_MODELS = {"judge": "model", "causal-lm": "model_lm", "embedder": "model_words", "reader": "model_reader"}
"""The parameter that names the model of a role."""


@dataclass(frozen=True)
class Evaluator(Blend):
    recipe: str = "summarization/coherence"
    """TASK/DIMENSION of a bundled blend, or FILE.toml#DIMENSION of one's own with tables `full` and `fast`."""
    fast: bool = False
    """Without the language model."""
    model: str = "bundled:evaluator"
    model_lm: str = "bundled:judge-lm"
    model_words: str = "bundled:gte-small"
    model_reader: str = "bundled:reader"

    paper: ClassVar[str] = "quintet"
    model_roles: ClassVar[Mapping[str, str]] = {parameter: role for role, parameter in _MODELS.items()}

    @property
    def name(self) -> str:  # type: ignore[override]
        return "evaluator-" + self.recipe.replace("#", "/").replace("/", "-")

    @property
    def source(self) -> str:
        return f"{self.recipe}/{'fast' if self.fast else 'full'}"

    @property
    def signals(self) -> tuple[Signal, ...]:
        return _with_models(super().signals, tuple(getattr(self, parameter) for parameter in _MODELS.values()))

    @property
    def parameters(self) -> dict[str, Any]:
        models = {parameter: getattr(self, parameter) for parameter in self._used_models()}
        return {"recipe": self.recipe, "fast": self.fast, **models, "constants": self._constants()}

    def _constants(self) -> str:
        try:
            return str(super().parameters["constants"])
        except UserError:
            return "unread"

    def model_identities(self) -> Mapping[str, str]:
        """The models, and the signals that stand on them: their definitions have versions too."""
        models = {parameter: identity(getattr(self, parameter)) for parameter in self._used_models()}
        try:
            lines = "\n".join(metric.signature for metric in self.ingredients)
        except UserError:
            lines = ""
        return {**models, "signals": hashlib.sha256(lines.encode("utf-8")).hexdigest()[:8]}

    def _used_models(self) -> list[str]:
        try:
            roles = {getattr(metric, "model_role", "") for metric in self.ingredients}
        except UserError:
            return list(_MODELS.values())
        return [parameter for role, parameter in _MODELS.items() if role in roles]


@lru_cache(maxsize=256)
def _with_models(signals: tuple[Signal, ...], models: tuple[str, ...]) -> tuple[Signal, ...]:
    """The signals on the models that were named."""
    by_role = dict(zip(_MODELS, models, strict=True))
    found = []
    for signal in signals:
        role = getattr(signal.metric, "model_role", None)
        if role is not None and role not in by_role:
            raise UnknownName("role of a signal's model", role, by_role)
        metric = signal.metric if role is None else dataclasses.replace(signal.metric, model=by_role[role])  # type: ignore[call-arg]
        found.append(dataclasses.replace(signal, metric=metric))
    return tuple(found)
