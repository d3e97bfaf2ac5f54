"""What a server behind `openai:` was asked in this run, for the last line."""

from __future__ import annotations


def spent(model: str | None) -> str | None:
    if model is None or not model.startswith("openai:"):
        return None
    from quintet.models.open import open_model

    used = open_model(model, "yes-no").usage
    cost = f", cost {used.cost:.4f}" if used.cost else ""
    return (
        f"{used.requests} requests ({used.retries} again), {used.known} answers known from before, "
        f"{used.prompt_tokens} tokens read and {used.completion_tokens} written{cost}"
    )
