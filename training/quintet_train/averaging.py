"""A running mean of the weights: steadier than the last step, kept beside them and saved with each checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from quintet_train.torch_parts import need

EVERY = 10
"""Steps between two updates."""


class RunningMean:
    """mean ← d · mean + (1 - d) · weights, where d rises from 0.1 to `decay`: early weights are soon forgotten."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._parameters = dict(network.named_parameters())
        self._decay = decay
        self._mean = {name: parameter.detach().clone() for name, parameter in self._parameters.items()}

    def update(self, step: int) -> None:
        if step % EVERY:
            return
        taken = step / EVERY
        decay = min(self._decay, (1 + taken) / (10 + taken))
        with torch.no_grad():
            torch._foreach_lerp_(list(self._mean.values()), self._weights(), 1 - decay)

    def _weights(self) -> list[Tensor]:
        return [parameter.detach() for parameter in self._parameters.values()]

    @contextmanager
    def in_network(self) -> Iterator[None]:
        """The network has the mean; afterwards its own weights again."""
        own = [weight.clone() for weight in self._weights()]
        self.put()
        try:
            yield
        finally:
            self._fill(dict(zip(self._parameters, own, strict=True)))

    def put(self) -> None:
        """The network has the mean from now on."""
        self._fill(self._mean)

    def _fill(self, values: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(values[name])

    def save(self, path: Path) -> None:
        tensors = {name: value.to("cpu", copy=True).contiguous() for name, value in self._mean.items()}
        need("safetensors.torch").save_file(tensors, path)

    def load(self, path: Path) -> None:
        for name, value in need("safetensors.torch").load_file(path).items():
            self._mean[name].copy_(value)
