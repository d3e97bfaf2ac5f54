"""What a server behind `openai:` was asked in this run, for the last line."""

from __future__ import annotations

ROLES = ("yes-no", "grader")


def spent(model: str | None) -> str | None:
    if model is None or not model.startswith("openai:"):
        return None
    from quintet.models.open import open_model

    used = [open_model(model, role).usage for role in ROLES]
    requests, retries, known, read, written = (
        sum(getattr(one, name) for one in used)
        for name in ("requests", "retries", "known", "prompt_tokens", "completion_tokens")
    )
    total = sum(one.cost for one in used)
    cost = f", cost {total:.4f}" if total else ""
    return (
        f"{requests} requests ({retries} again), {known} answers known from before, "
        f"{read} tokens read and {written} written{cost}"
    )
