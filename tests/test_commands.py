"""Every shell snippet of the README, the examples and the docs is run; every command they name exists.

How a page is run: its `sh` fences in order, in one folder that has a copy of examples/, by bash, stopping at the first
command that fails. A TOML fence that begins with `# FILE.toml` becomes that file. Unlike in a reader's own shell:

- `pip install` is not done again: the extras it names must exist.
- `quintet serve` runs beside the lines after it, on a free port, and is stopped with its page.
- the server at localhost:11434 that pages ask is the one of tests/doors/integrations.
- a line that ends in `# exits 3` must exit with that code.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(sh|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
TESTS_OF_THE_REPOSITORY = re.compile(r"<!-- tests -->\n```sh.*?^```", re.DOTALL | re.MULTILINE)
EXITS = re.compile(r"^(.*?)\s+# exits (\d+)$", re.MULTILINE)
SERVE = re.compile(r"^quintet serve(.*)$", re.MULTILINE)
COMMENT = re.compile(r"\s+#.*$")
READERS_SERVER = "http://localhost:11434/v1"
NEEDS_TORCH = re.compile(r"^quintet train", re.MULTILINE)
INLINE = re.compile(r"`quintet ([a-z]+)((?:\s[^`]*)?)`")
OPTION = re.compile(r"(?<=\s)--[a-z][a-z-]+")


def fences(page: Path) -> list[tuple[str, str]]:
    """Kind and text; the README's own test command is what runs this, so it is left out."""
    return FENCE.findall(TESTS_OF_THE_REPOSITORY.sub("", page.read_text(encoding="utf-8")))


PAGES_WITH_COMMANDS = [page for page in PAGES if any(kind == "sh" for kind, _ in fences(page))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=name_of)
def test_shell_snippets_run(page: Path, tmp_path: Path, pages_cache: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    texts = [text for kind, text in fences(page) if kind == "sh"]
    if any(NEEDS_TORCH.search(text) for text in texts) and find_spec("torch") is None:
        pytest.skip("training needs torch")
    if any("curl" in text for text in texts) and shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    with (
        chat_server_if(any(READERS_SERVER in text for _, text in fences(page))) as judge,
        Session(tmp_path, judge, pages_cache) as session,
    ):
        for kind, text in fences(page):
            if kind == "toml":
                session.keep_file(text)
            else:
                session.run(text)


class Session:
    def __init__(self, folder: Path, judge: str, cache: Path) -> None:
        self.folder, self.judge, self.port = folder, judge, 0
        self._service: subprocess.Popen[bytes] | None = None
        tools = folder / ".tools"
        tools.mkdir()
        write_tool(tools / "quintet", f'exec "{sys.executable}" -m quintet "$@"')
        write_tool(tools / "pip", f'printf "%s\\n" "$*" >> "{tools}/pip.log"')
        self.environment = {
            **os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "QUINTET_CACHE": str(cache),
            "QUINTET_OFFLINE": "1",
        }  # fmt: skip

    def keep_file(self, text: str) -> None:
        named = re.match(r"# ([\w.-]+\.toml)\n", text)
        if named:
            (self.folder / named[1]).write_text(text.replace(READERS_SERVER, self.judge), encoding="utf-8")

    def run(self, text: str) -> None:
        script = EXITS.sub(r"\1 && exit 1 || [ $? -eq \2 ]", text.replace(READERS_SERVER, self.judge))
        serving = SERVE.search(script)
        if serving:
            self._bash(script[: serving.start()])
            self._serve(COMMENT.sub("", serving[1]))
            script = script[serving.end() :]
        self._bash(script.replace("localhost:8765", f"localhost:{self.port}"))

    def _bash(self, script: str) -> None:
        if not script.strip():
            return
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.environment, capture_output=True,
            text=True, timeout=1200,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert "Traceback" not in done.stderr, done.stderr[-2000:]

    def _serve(self, options: str) -> None:
        command = [sys.executable, "-m", "quintet", "serve", *options.split(), "--port", "0"]
        log = self.folder / ".tools" / "service.log"
        with log.open("wb") as errors:
            self._service = subprocess.Popen(command, cwd=self.folder, env=self.environment, stderr=errors)
        until = time.monotonic() + 300
        while time.monotonic() < until:
            listening = re.search(r'"listening", "url": "http://[^"]*:(\d+)"', log.read_text(encoding="utf-8"))
            if listening:  # a connection waits at the open door until the service serves
                self.port = int(listening[1])
                return
            assert self._service.poll() is None, "the service ended"
            time.sleep(0.05)
        raise AssertionError("the service did not start")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._service is not None:
            self._service.send_signal(signal.SIGTERM)
            code = self._service.wait(30)
            assert kind is not None or code == 0
        if kind is None and (self.folder / ".tools" / "pip.log").exists():
            check_pip((self.folder / ".tools" / "pip.log").read_text(encoding="utf-8"))


def write_tool(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


def check_pip(log: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for line in log.splitlines():
        assert line.startswith("install "), line
        for named in re.findall(r"(?:quintet|\.)\[([\w,]+)\]", line):
            assert set(named.split(",")) <= set(extras), line


@contextmanager
def chat_server_if(wanted: bool) -> Iterator[str]:
    if not wanted:
        yield ""
        return
    spec = spec_from_file_location("docs_chat_server", ROOT / "tests" / "doors" / "integrations" / "chat_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)

    def behaviour(request: dict[str, Any], count: int) -> Any:
        grades = "whole number" in request["messages"][-1]["content"]
        return (module.graded if grades else module.with_logprobs)(request, count)

    with module.serving(behaviour) as server:
        yield server.url


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_the_text_exist(page: Path) -> None:
    """Those inside a line of text have placeholders and cannot be run; their names and options can be looked up."""
    from typer.main import get_command

    from quintet.cli.app import app

    commands: Any = get_command(app)
    for name, rest in INLINE.findall(page.read_text(encoding="utf-8")):
        assert name in commands.commands, f"quintet {name}"
        command = commands.commands[name]
        for word in rest.split():
            command = getattr(command, "commands", {}).get(word, command)
        known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
        for option in OPTION.findall(" " + rest):
            assert option in known | {"--help"}, f"quintet {name} {option}"
