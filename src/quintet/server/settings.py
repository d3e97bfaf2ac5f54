"""What a service allows, and when it refuses to start."""

from __future__ import annotations

import ipaddress
import math
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from quintet._checked import checked
from quintet.errors import InputError, UnknownName

SHORTEST_TOKEN = 16

NAME_CHARACTERS = 1000
"""The longest id, system or group."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Every default is meant to be safe on a small machine; see docs/service.md."""

    body_bytes: int = 4 * 2**20
    rows: int = 256
    characters: int = 100_000
    """Of one text."""
    evidence_characters: int = 200_000
    """Of all outputs of a request that asks for evidence: evidence is many times larger than the text."""
    work: int = 2_000_000
    """Tokens that models would have to read for one example, estimated before it is scored."""
    turns: int = 256
    """Turns of a history, or references of an example."""
    concurrent: int = 256
    """Requests being read, waiting or scored; further ones get 429."""
    queue_rows: int = 4096
    connections: int = 1024
    batch_rows: int = 128
    batch_seconds: float = 5.0
    """About how long a batch may take, so that a small request does not wait for a large crowd."""
    linger_seconds: float = 0.004
    """How long a first request waits for others to share its batch."""
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    request_seconds: float = 120.0
    write_seconds: float = 30.0
    idle_seconds: int = 15
    stop_seconds: float = 7.0
    """After a signal to stop: what is not answered by then is told so."""
    parting_seconds: float = 2.0
    """How long a client whose body is not wanted may go on sending it, so that it reads the answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    warm: tuple[str, ...] = ()
    """Tasks whose models are opened before the service says that it is ready."""
    limits: Limits = field(default_factory=Limits)

    def check(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise InputError(f"the token is shorter than {SHORTEST_TOKEN} characters", todo="choose a longer one")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise InputError("the token has characters that a header cannot carry", todo="use letters, digits, - and _")
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host} can be reached from other machines, so a token is needed",
                todo="set QUINTET_TOKEN, or pass --token-file FILE, or keep to --host 127.0.0.1",
            )


def limits_from(path: str, base: Limits) -> Limits:
    """`base`, with what a TOML file says of it: `characters = 200000`; read again at every SIGHUP."""
    try:
        plain = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"is not TOML ({error})", path) from None
    names = [limit.name for limit in fields(Limits)]
    for name in plain:
        if name not in names:
            raise UnknownName(f"limit in {path}", name, names)
    given = checked(plain, Limits, path)
    for name in plain:
        if not 0 < getattr(given, name) < math.inf:
            raise InputError(f"{name} is {getattr(given, name)}", path, "give a number above 0")
    return replace(base, **{name: getattr(given, name) for name in plain})


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
