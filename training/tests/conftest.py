"""A recipe's run on made-up rows, done once for all tests of a module."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory):
    done: dict[str, Any] = {}

    def get(name: str) -> Any:
        # torch is loaded by the tests that train, not by every test of this folder.
        from quintet_train.run import run_recipe

        if name not in done:
            done[name] = run_recipe(name, out=tmp_path_factory.mktemp(name), smoke=True, device="cpu")
        return done[name]

    return get
