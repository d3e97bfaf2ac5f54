"""Snapshots from the Hugging Face hub: a revision is required, tensors only, offline variables are honoured."""

from __future__ import annotations

import json
from pathlib import Path

from quintet.errors import MissingExtra, ModelError

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
