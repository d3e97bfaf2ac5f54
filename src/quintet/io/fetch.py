"""Downloads: the only module that reaches the network. Resumes, verifies sha256, renames when all is well."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from quintet._version import __version__
from quintet.errors import InputError
from quintet.io.atomic import PART
from quintet.io.paths import offline_variable

CHUNK = 1 << 18
ATTEMPTS = 5
TIMEOUT = 30.0
PAUSE = 0.5

Progress = Callable[[int, int | None], None]
"""Called with the bytes had so far and, if the server said so, the bytes there are."""


def sha256_of(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def knock(host: str, port: int, seconds: float) -> str:
    """Whether someone listens there: empty, or why not."""
    import socket

    try:
        socket.create_connection((host, port), timeout=seconds).close()
    except (OSError, OverflowError) as error:
        return str(error)
    return ""


def fetch(
    url: str,
    destination: str | os.PathLike[str],
    sha256: str,
    *,
    progress: Progress | None = None,
    attempts: int = ATTEMPTS,
    pause: float = PAUSE,
) -> Path:
    """The file at `url` as `destination`, once its bytes have the hash. A file that is there already is only checked.

    A cut download leaves FILE.part, and the next call goes on from there. Bytes with a wrong hash are deleted.
    """
    final = Path(destination)
    if final.exists():
        if sha256_of(final) == sha256:
            return final
        raise InputError("the file is there with another sha256", str(final), "delete it to download it again")
    _refuse_offline(url)
    with _told(final):
        final.parent.mkdir(parents=True, exist_ok=True)
    part = final.with_name(final.name + PART)
    resumed = part.exists() and part.stat().st_size > 0
    _download(url, part, progress, attempts, pause)
    found = sha256_of(part)
    if found != sha256 and resumed:
        # What lay there may have been the start of another file; one clean try decides.
        part.unlink()
        _download(url, part, progress, attempts, pause)
        found = sha256_of(part)
    if found != sha256:
        part.unlink()
        raise InputError(f"has sha256 {found[:12]}… but {sha256[:12]}… is expected", url, "nothing was kept")
    with _told(final):
        os.replace(part, final)
    return final


def _refuse_offline(url: str) -> None:
    variable = offline_variable()
    if variable is not None:
        todo = f"unset {variable}, or use a local copy"
        raise InputError(f"cannot be downloaded because {variable} is set", url, todo)
    if not url.startswith(("https://", "http://")):
        raise InputError("is not an http or https address", url)


def _download(url: str, part: Path, progress: Progress | None, attempts: int, pause: float) -> None:
    import http.client
    import urllib.error

    reason = ""
    for attempt in range(1, attempts + 1):
        before = part.stat().st_size if part.exists() else 0
        try:
            _continue(url, part, progress)
            return
        except urllib.error.HTTPError as error:
            code = error.code
            error.close()
            if code < 500 and code not in (408, 429):
                raise InputError(f"the server answers {code} ({error.reason})", url) from None
            reason = f"the server answers {code}"
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
        after = part.stat().st_size if part.exists() else 0
        if attempt < attempts:
            time.sleep(pause if after > before else pause * attempt)
    todo = "what was had is kept; run it again to go on" if part.exists() else "check the connection"
    raise InputError(f"cannot be downloaded ({reason})", url, todo)


def _continue(url: str, part: Path, progress: Progress | None) -> None:
    """One connection: asks for what is still missing and appends it."""
    import http.client
    import urllib.error
    import urllib.request

    had = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": f"quintet/{__version__}"})
    if had:
        request.add_header("Range", f"bytes={had}-")
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not had:
            raise
        error.close()
        if _total(error.headers) == had:
            return  # nothing is missing
        part.unlink()
        _continue(url, part, progress)
        return
    had = had if response.status == 206 else 0
    length = response.headers.get("Content-Length")
    whole = had + int(length) if length else None
    with response, _appending(part, had) as write:
        while chunk := response.read(CHUNK):
            write(chunk)
            had += len(chunk)
            if progress is not None:
                progress(had, whole)
    if whole is not None and had < whole:
        raise http.client.IncompleteRead(b"", whole - had)


def _total(headers: Any) -> int | None:
    """`Content-Range: bytes */1234` of a 416 answer."""
    total = str(headers.get("Content-Range", "")).rpartition("/")[2]
    return int(total) if total.isdigit() else None


@contextlib.contextmanager
def _appending(part: Path, had: int) -> Iterator[Callable[[bytes], None]]:
    with _told(part):
        stream = open(part, "ab" if had else "wb")  # noqa: SIM115

    def write(chunk: bytes) -> None:
        with _told(part):  # a full disk is not a cut connection: trying again would not help
            stream.write(chunk)

    try:
        yield write
    finally:
        with _told(part):
            stream.close()


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", str(path)) from None
