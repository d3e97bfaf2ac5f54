"""Where written bytes go: FILE.PROCESS.part, renamed to FILE only when all is well; or standard output."""

from __future__ import annotations

import contextlib
import glob
import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from quintet.errors import InputError
from quintet.io.streams import STDIN

PART = ".part"


def _part_of(final: Path) -> Path:
    """A name no other run uses; what a killed run left behind is cleared away."""
    for stale in final.parent.glob(f"{glob.escape(final.name)}.*{PART}"):
        number = stale.name.removesuffix(PART).rpartition(".")[2]
        if number.isdigit() and not _alive(int(number)):
            with contextlib.suppress(OSError):
                stale.unlink()
    return final.with_name(f"{final.name}.{os.getpid()}{PART}")


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is there, but somebody else's
        return True
    return True


class Target:
    """An open destination. `finish` makes it real, `abandon` leaves nothing behind."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = "standard output" if str(path) == STDIN else str(path)
        self.is_standard_output = str(path) == STDIN
        self._final: Path | None = None
        self._part: Path | None = None
        self._closing: list[BinaryIO] = []
        if self.is_standard_output:
            self.stream: BinaryIO = sys.stdout.buffer
            return
        # A link keeps pointing where it did; a device or pipe cannot be renamed over and is written directly.
        final = Path(os.path.realpath(path))
        direct = final.exists() and not final.is_file() and not final.is_dir()
        with self.told():
            if final.is_dir():
                raise InputError("is a folder", self.name, "name a file")
            if not direct:
                self._final, self._part = final, _part_of(final)
            self.stream = open(self._part or final, "wb")  # noqa: SIM115 (closed by finish or abandon)
        self._closing.append(self.stream)
        if final.suffix.lower() == ".gz":
            # No name and no time in the header: same rows, same bytes.
            self.stream = cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=self.stream, mtime=0))
            self._closing.insert(0, self.stream)

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """What the system refuses (no folder, no permission, disk full) is said in one line."""
        try:
            yield
        except BrokenPipeError:
            raise
        except FileNotFoundError:
            raise InputError("its folder does not exist", self.name, "create the folder first") from None
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror or error})", self.name) from None

    def finish(self) -> None:
        with self.told():
            if not self._closing:
                self.stream.flush()
                return
            while self._closing:
                self._closing.pop(0).close()
            if self._part is not None and self._final is not None:
                os.replace(self._part, self._final)

    def abandon(self) -> None:
        while self._closing:
            with contextlib.suppress(OSError):
                self._closing.pop(0).close()
        if self._part is not None:
            with contextlib.suppress(OSError):
                self._part.unlink()
