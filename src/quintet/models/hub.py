"""Snapshots from the Hugging Face hub: a revision is required, tensors only, offline variables are honoured."""

from __future__ import annotations

from pathlib import Path

from quintet.errors import MissingExtra, ModelError

WANTED = ("*.safetensors", "*.json", "*.txt", "*.model", "model.toml", "*.onnx")


def snapshot(repository: str, revision: str) -> Path:
    """The local folder of a repository at a revision: from the cache, else downloaded unless offline."""
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra("huggingface_hub", "torch", f"hf:{repository}") from None

    def fetch(local_only: bool) -> Path:
        return Path(
            huggingface_hub.snapshot_download(
                repository, revision=revision, allow_patterns=list(WANTED), local_files_only=local_only
            )
        )

    try:
        return fetch(local_only=True)
    except Exception:  # not in the cache: the hub's errors have changed their base class between releases
        pass
    try:
        return fetch(local_only=huggingface_hub.constants.HF_HUB_OFFLINE)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"hf:{repository}@{revision} cannot be fetched ({reason[:200]})") from None
