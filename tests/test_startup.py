"""What is looked at costs little: imports are counted, not timed, since clocks differ."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ["numpy", "rich", "onnxruntime", "tokenizers", "msgspec", "arro3", "sacrebleu", "sqlite3", "quintet._api"]


def modules_after(code: str) -> set[str]:
    code = f"import sys\n{code}\nimport json; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def command(*words: str) -> str:
    return f"from quintet.cli import main\ntry: main({list(words)!r})\nexcept SystemExit: pass"


LOOKING = ("--version",), ("--help",), ("nothing",), ("score", "--help"), ("score", "--nothing")


@pytest.mark.parametrize("code", ["import quintet", *(command(*words) for words in LOOKING)])
def test_looking_imports_nothing_heavy(code: str) -> None:
    assert not modules_after(code) & set(HEAVY)


def test_a_command_imports_no_other() -> None:
    found = modules_after(command("score", "--help"))
    others = {"bench", "gate", "calibrate", "compare", "reproduce", "people", "corpus", "claims", "explain"}
    assert not found & {f"quintet.cli.{name}" for name in others}
    assert not found & {"onnxruntime", "tokenizers", "msgspec", "sacrebleu", "quintet.server.command"}


def test_every_command_stands_where_the_table_says() -> None:
    from typer.main import get_command

    from quintet.cli import app as commands

    whole = get_command(commands.app)
    for name, inner in whole.commands.items():  # type: ignore[attr-defined]
        one = get_command(commands.program_for([name, "--help"])).commands  # type: ignore[attr-defined]
        assert list(one) == list(whole.commands)  # type: ignore[attr-defined]
        assert [p.name for p in one[name].params] == [p.name for p in inner.params]
