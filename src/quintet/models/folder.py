"""What a model folder says about itself: `model.toml` beside an ONNX file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from quintet._checked import checked
from quintet.errors import InputError, ModelError

NAME = "model.toml"
HEAD = "head.safetensors"
"""Of a small head, which has no graph."""
HEADS = "heads.safetensors"
"""Of the heads of a language model, beside its graph."""

_SIZES = {"layers": (0, 1000), "width": (1, 1_000_000), "max_tokens": (1, 100_000_000), "pad": (0, 100_000_000)}
"""A file that says more is damaged or made to do harm: layers are counted and named one by one."""


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    role: str
    layers: int
    width: int
    max_tokens: int
    """Longest input, special tokens included."""
    precision: str = "fp32"
    file: str = "model.onnx"
    pad: int = 0
    prefix_space: bool = False
    questions: tuple[str, ...] = ()
    """The heads of a judge, in the order of its output, or of a language model, in the order of their tensor."""
    taught: tuple[str, ...] = ()
    """Of a language model with heads: those that were trained; `nli` and `words` may be among them."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names for heads: CTC's relations."""
    together: tuple[str, ...] = ()
    """Questions for which a judge reads output and context as one text."""
    longest_output: int = 190
    """Tokens of an output that a judge looks at."""
    states: tuple[int, ...] = ()
    """Of a causal model or a judge: layers, 2 (keys and values), heads, width of a head."""
    start: str = "<|endoftext|>"
    """The token before everything, of a causal model, and the one between turns."""
    end: str = "<|endoftext|>"
    on: str = ""
    """Of a small head: the spec of the judge it stands on, the identity of the one it was trained on, and what comes
    between its layers."""
    on_identity: str = ""
    activation: str = "none"

    @property
    def heads(self) -> tuple[str, ...]:
        """What may stand behind `#`: a judge's questions under both names, and its other heads; what a language model
        was taught."""
        return (*self.questions, *self.aliases, "nli", "words", "mlm") if self.role == "judge" else self.taught

    @property
    def backend(self) -> str:
        return "numpy/fp32" if self.on else f"onnx/{self.precision}"


def trained_with_prefix_space(folder: Path) -> bool:
    """Of a folder that training wrote: how its texts began there. Folders from before this was written down did begin
    with a blank; a folder without model.toml is someone else's."""
    file = folder / NAME
    if not file.is_file():
        return False
    return bool(tomllib.loads(file.read_text(encoding="utf-8")).get("input", {}).get("prefix_space", True))


def describe(folder: Path) -> Description:
    path = folder / NAME
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelError(f"{path} is not TOML ({error})") from None
    try:
        found = checked(plain, Description, str(path))
    except InputError as error:
        raise ModelError(f"{path} does not describe a model ({error.what})") from None
    for name, (least, most) in _SIZES.items():
        if not least <= getattr(found, name) <= most:
            raise ModelError(f"{path}: {name} is {getattr(found, name)}, which no model has ({least} to {most})")
    if not (folder / found.file).resolve().is_relative_to(folder.resolve()):
        raise ModelError(f"{path}: {found.file!r} lies outside the model's folder")
    return found
