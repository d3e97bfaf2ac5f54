"""Places that are no files of this machine: `s3://…`, `gs://…`, `memory://…`, by fsspec and its plug-ins."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from pathlib import Path
from typing import Any

from quintet.core.plain import Foreign
from quintet.errors import InputError, MissingExtra, shortened

_URL = re.compile(r"[a-z][a-z0-9+.-]+://")


def is_url(path: object) -> bool:
    return isinstance(path, str) and _URL.match(path) is not None


def open_url(path: str) -> Foreign:
    """A stream of the bytes there."""
    system, inner = _system(path)
    try:
        return system.open(inner, "rb")
    except Exception as error:  # every store has its own kinds
        raise InputError(f"cannot be opened ({_reason(error)})", path) from None


class Folder:
    """A place for files that are whole or not there at all, on this machine or in a store."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._system: Foreign = None  # a store's; here none is needed
        self._inner = place
        if is_url(place):
            self._system, self._inner = _system(place)

    def prepare(self) -> None:
        if self._system is None:
            try:
                Path(self._inner).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"is no folder that can be written to ({error.strerror})", self.place) from None

    def read(self, name: str) -> bytes | None:
        """None where there is none."""
        try:
            if self._system is None:
                return (Path(self._inner) / name).read_bytes()
            return bytes(self._system.cat_file(self._at(name)))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise InputError(f"{name} cannot be read ({_reason(error)})", self.place) from None

    def write(self, name: str, content: bytes) -> None:
        """Stores put a file there whole or not at all; here it is written beside and renamed."""
        try:
            if self._system is not None:
                self._system.pipe_file(self._at(name), content)
                return
            beside = Path(self._inner) / f".{name}.{uuid.uuid4().hex[:12]}"
            try:
                with beside.open("wb") as stream:
                    stream.write(content)
                    stream.flush()
                    os.fsync(stream.fileno())
                beside.replace(Path(self._inner) / name)
            finally:
                with contextlib.suppress(OSError):
                    beside.unlink()
        except Exception as error:
            raise InputError(f"{name} cannot be written ({_reason(error)})", self.place) from None

    def names(self) -> list[str]:
        if self._system is None:
            return sorted(os.listdir(self._inner))
        return sorted(str(path).rpartition("/")[2] for path in self._system.ls(self._inner, detail=False))

    def remove(self, name: str) -> None:
        if self._system is None:
            (Path(self._inner) / name).unlink()
        else:
            self._system.rm_file(self._at(name))

    def _at(self, name: str) -> str:
        return f"{self._inner.rstrip('/')}/{name}"


def _system(path: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise MissingExtra("fsspec", "ray", f"reading and writing {path.partition('://')[0]}://") from None
    try:
        system, inner = fsspec.core.url_to_fs(path)
        return system, str(inner)
    except Exception as error:  # an unknown kind of address, or its plug-in is not installed
        raise InputError(f"cannot be reached ({_reason(error)})", path) from None


def _reason(error: Exception) -> str:
    return shortened(" ".join(str(getattr(error, "strerror", None) or error).split()) or type(error).__name__, 200)
