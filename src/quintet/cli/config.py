"""Settings of a project: `quintet.toml`, or `[tool.quintet]` in pyproject.toml, found upward from here.

    task = "rag"
    columns = { output = "answer", source = "contexts" }

    [gate]
    min = { faithfulness = 0.8 }
    baseline = "last-on-main"

Keys at the top hold for every command that has such an option, a table for its command alone; what is typed wins.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from quintet.core.plain import JsonObject
from quintet.core.task import read_tasks
from quintet.errors import InputError, UnknownName

NAME, VARIABLE = "quintet.toml", "QUINTET_CONFIG"
SHARED = ("task", "metric", "dims", "columns", "model", "task_file", "fast", "calibration", "skip_bad", "cache")
"""What may stand at the top."""
SCORING = ("score", "explain", "gate")
"""The commands that these are for."""
PATHS = ("calibration", "task_file", "cache", "baseline")
"""Relative to the file that names them."""


def find_config(start: Path | None = None) -> Path | None:
    """The nearest file with settings, up to the root of the repository; QUINTET_CONFIG names another, or none."""
    if (named := os.environ.get(VARIABLE)) is not None:
        return Path(named) if named else None
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        own, project = folder / NAME, folder / "pyproject.toml"
        if own.is_file():
            return own
        if project.is_file() and "tool.quintet" in _text(project) and "quintet" in _read(project).get("tool", {}):
            return project
        if (folder / ".git").exists():
            return None
    return None


def defaults(path: Path, options: Mapping[str, Mapping[str, bool]]) -> dict[str, JsonObject]:
    """The options of each command as click wants them; `options` says which there are, and which may be repeated."""
    table = _read(path)
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("quintet", {})
    found: dict[str, JsonObject] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if isinstance(value, dict) and name in options:
            for inner, setting in value.items():
                option = inner.replace("-", "_")
                if option not in options[name]:
                    raise UnknownName(f"setting in {path} [{key}]", inner, options[name])
                found.setdefault(name, {})[option] = _value(path, option, setting, options[name][option])
        elif name in SHARED:
            for command in SCORING:
                if name in options[command]:
                    ready = _value(path, name, value, options[command][name])
                    found.setdefault(command, {}).setdefault(name, ready)
        else:
            raise UnknownName(f"setting in {path}", key, (*SHARED, *(f"[{command}]" for command in options)))
    return found


def _value(path: Path, name: str, value: object, many: bool) -> Any:
    if isinstance(value, dict):
        pairs = [f"{key}={inner}" for key, inner in value.items()]
        return pairs if many else ",".join(pairs)
    if isinstance(value, list):
        return [str(item) for item in value] if many else ",".join(map(str, value))
    if name in PATHS and isinstance(value, str) and (path.parent / value).exists():
        value = str(path.parent / value)
    return [str(value)] if many else value


def _read(path: Path) -> JsonObject:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", str(path), "mend it") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", str(path)) from None


def settings(command: Any, given: list[str]) -> dict[str, JsonObject]:
    """For the command line: the settings of this project, said on standard error where they are used."""
    path = find_config()
    if path is None:
        return {}
    options = {
        name: {p.name: bool(getattr(p, "multiple", False)) for p in inner.params if p.param_type_name == "option"}
        for name, inner in command.commands.items()
    }
    found = defaults(path, options)
    asked = next((word for word in given if not word.startswith("-")), "")
    if asked in found and "--help" not in given:
        typed = _typed(command.commands[asked], given)
        if used := [name for name in found[asked] if name not in typed]:
            typer.echo(f"settings: {path} ({', '.join(used)})", err=True)
    return found


def _typed(command: Any, given: list[str]) -> set[str]:
    """The options that stand on the command line, which win."""
    words = given[: given.index("--")] if "--" in given else given
    return {
        p.name
        for p in command.params
        for option in (*p.opts, *p.secondary_opts)
        if any(w.partition("=")[0] == option or (len(option) == 2 and w.startswith(option)) for w in words)
    }


File = Annotated[str | None, typer.Argument(metavar="[FILE]", help="A file of yours: its columns are looked at.")]
Task = Annotated[str | None, typer.Option("--task", "-t", metavar="NAME", help="What kind of text it is.")]


def init(file: File = None, task: Task = None) -> None:
    """Writes quintet.toml here, with the task and columns of FILE."""
    path = Path(NAME)
    if path.exists():
        raise InputError("is there already", NAME, "change it by hand")
    tasks = read_tasks()
    if task is not None and task not in tasks:
        raise UnknownName("task", task, tasks)
    columns, guessed = _looked_at(file, task) if file else ("", task or "summarization")
    chosen = tasks[guessed]
    first = next(name for name, wanted in chosen.dimensions.items() if wanted.metric)
    lines = [
        "# What quintet score, explain and gate do in this folder; what is typed wins.",
        f'task = "{guessed}"  # one of {", ".join(tasks)}',
        columns or '# columns = { output = "answer", source = "document" }',
        "# fast = true                        # leave the language model out",
        '# calibration = "calibration.json"   # made by quintet calibrate',
        "",
        "[gate]",
        f"# min = {{ {first} = 0.5 }}  # choose it by labels of your own: quintet calibrate",
        f"# max-drop = {{ {first} = 0.02 }}",
        '# baseline = "last-on-main"',
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    typer.echo(NAME)


def _looked_at(file: str, task: str | None) -> tuple[str, str]:
    """The line with the file's columns, and the task they look like."""
    from quintet.io.items import open_items

    with open_items(file, None, task) as items:
        found, present = items.columns.as_dict(), items.present
    named = {f: c if isinstance(c, str) else c[0] for f, c in found.items() if f in present}
    pairs = ", ".join(f"{field} = {json.dumps(column, ensure_ascii=False)}" for field, column in named.items())
    known = read_tasks()
    if "contexts" in present or "question" in present:
        guess = "rag" if "rag" in known else "fact"
    elif "history" in present:
        guess = "dialogue"
    else:
        guess = "summarization" if "source" in present else "text"
    return f"columns = {{ {pairs} }}", task or guess
