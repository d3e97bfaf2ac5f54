"""`quintet serve`: the command. What it needs beyond the default install is said in one line."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from quintet._secrets import keep_secret
from quintet.errors import InputError, MissingExtra
from quintet.server.settings import Limits, Settings, limits_from

_DEFAULT = Limits()

Host = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="Where to listen; anything but this machine itself needs a token."),
]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes any free port.")]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", envvar="QUINTET_TOKEN", help="Bearer token that requests must carry."),
]
TokenFile = Annotated[
    str | None, typer.Option("--token-file", metavar="FILE", help="A file whose first line is the token.")
]
Warm = Annotated[
    list[str] | None, typer.Option("--warm", metavar="TASK", help="A task whose models are opened before it is ready.")
]
MaxBytes = Annotated[int, typer.Option("--max-bytes", metavar="N", min=1024, help="Bytes of one request.")]
MaxRows = Annotated[int, typer.Option("--max-rows", metavar="N", min=1, help="Examples of one request.")]
MaxCharacters = Annotated[int, typer.Option("--max-characters", metavar="N", min=1, help="Characters of one text.")]
MaxWork = Annotated[
    int, typer.Option("--max-work", metavar="N", min=1, help="Tokens that models may have to read for one example.")
]
MaxConcurrent = Annotated[
    int, typer.Option("--max-concurrent", metavar="N", min=1, help="Requests at once; more get 429.")
]
MaxQueue = Annotated[int, typer.Option("--max-queue", metavar="N", min=1, help="Examples waiting; more get 429.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Seconds until an answer; later is 504.")
]
LimitsFile = Annotated[
    str | None,
    typer.Option("--limits", metavar="FILE", help="Limits as TOML (characters = 200000); read again at SIGHUP."),
]
BodyTimeout = Annotated[
    float, typer.Option("--body-timeout", metavar="SECONDS", min=0.1, help="Seconds for a request to arrive.")
]


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8765,
    token: Token = None,
    token_file: TokenFile = None,
    warm: Warm = None,
    max_bytes: MaxBytes = _DEFAULT.body_bytes,
    max_rows: MaxRows = _DEFAULT.rows,
    max_characters: MaxCharacters = _DEFAULT.characters,
    max_work: MaxWork = _DEFAULT.work,
    max_concurrent: MaxConcurrent = _DEFAULT.concurrent,
    max_queue: MaxQueue = _DEFAULT.queue_rows,
    timeout: Timeout = _DEFAULT.request_seconds,
    body_timeout: BodyTimeout = _DEFAULT.body_seconds,
    limits: LimitsFile = None,
) -> None:
    """Scores over HTTP, with a page to try it; stops on Ctrl-C or SIGTERM after finishing what it accepted."""
    given = Limits(
        body_bytes=max_bytes,
        rows=max_rows,
        characters=max_characters,
        work=max_work,
        concurrent=max_concurrent,
        queue_rows=max_queue,
        request_seconds=timeout,
        body_seconds=body_timeout,
        header_seconds=min(_DEFAULT.header_seconds, body_timeout),
    )

    def read() -> Settings:
        """What the files say now; the command line stays as it was."""
        secret = _token(token, token_file)
        if secret is not None:
            keep_secret(secret)
        found = Settings(host, port, secret, tuple(warm or ()), limits_from(limits, given) if limits else given)
        found.check()
        return found

    settings = read()
    _check_tasks(settings.warm)
    for package in ("starlette", "uvicorn"):
        try:
            import_module(package)
        except ModuleNotFoundError:
            raise MissingExtra(package, "serve", "quintet serve") from None
    from quintet.server.running import run_service

    run_service(settings, read)


def _token(token: str | None, token_file: str | None) -> str | None:
    if token_file is None:
        return token
    try:
        lines = Path(token_file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({type(error).__name__})", token_file) from None
    if not lines or not lines[0].strip():
        raise InputError("is empty", token_file, "write the token on its first line")
    return lines[0].strip()


def _check_tasks(names: tuple[str, ...]) -> None:
    from quintet.core.task import find_task

    for name in names:
        find_task(name)
