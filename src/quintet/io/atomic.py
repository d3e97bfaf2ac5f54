"""Where written bytes go: FILE.part, locked while it grows and renamed to FILE only when all is well; or standard
output."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import stat
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, cast

from quintet.errors import InputError
from quintet.io.streams import STDIN

try:
    import fcntl
except ImportError:  # no such locks on Windows: every run then writes a part of its own
    fcntl = None  # type: ignore[assignment]

PART = ".part"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTSUP)
_DATABASE = b"SQLite format 3\x00"


class Taken(OSError):
    """Another run holds the lock."""


def _open_part(final: Path) -> tuple[Path, BinaryIO]:
    """FILE.part, held by a lock that the system drops when its holder dies.

    The lock is on the file and not on a process number: it holds between containers, and on network file systems that
    have locks. What a killed run left behind is simply taken over. Where there are no locks the name is one that
    nobody else uses, and nothing of others is touched.
    """
    part = final.with_name(final.name + PART)
    while fcntl is not None:
        stream = open(os.open(part, os.O_RDWR | os.O_CREAT, 0o666), "wb")  # noqa: SIM115 (held until the end)
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between opening and locking, its last holder may have renamed or removed it.
            if _is_still(part, stream):
                stream.truncate(0)
                return part, stream
            stream.close()
        except OSError as error:
            stream.close()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise Taken from None
            if error.errno not in _NO_LOCKS:
                raise
            with contextlib.suppress(OSError):
                if part.stat().st_size == 0:
                    part.unlink()
            break
    part = final.with_name(f"{final.name}.{uuid.uuid4().hex[:12]}{PART}")
    return part, open(part, "xb")


def _is_still(path: Path, stream: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False


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
        if not str(path):
            raise InputError("the name of the file to write is empty", todo="name a file, or - for standard output")
        # A link keeps pointing where it did; a device or pipe cannot be renamed over and is written directly.
        final = Path(os.path.realpath(path))
        direct = final.exists() and not final.is_file() and not final.is_dir()
        with self.told():
            if final.is_dir():
                raise InputError("is a folder", self.name, "name a file")
            if direct:
                self.stream = open(final, "wb")  # noqa: SIM115 (closed by finish or abandon)
            else:
                self._refuse_protected(final)
                self._final = final
                self._part, self.stream = _open_part(final)
        self._file = self.stream
        self._closing.append(self.stream)
        if final.suffix.lower() == ".gz":
            # No name and no time in the header: same rows, same bytes.
            self.stream = cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=self.stream, mtime=0))
            self._closing.insert(0, self.stream)

    def _refuse_protected(self, final: Path) -> None:
        """A file that may not be written may not be replaced either, and a store of results is no table."""
        if not final.exists():
            return
        if not final.stat().st_mode & 0o222:
            raise InputError("is write-protected", self.name, "name another file, or allow writing: chmod u+w")
        with contextlib.suppress(OSError), final.open("rb") as there:
            if there.read(len(_DATABASE)) == _DATABASE:
                raise InputError("is a database, such as a store of results", self.name, "name another file")

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """What the system refuses (no folder, no permission, disk full) is said in one line."""
        try:
            yield
        except BrokenPipeError:
            raise
        except Taken:
            todo = "wait until it has ended, or name another file"
            raise InputError("is being written by another run", self.name, todo) from None
        except FileNotFoundError:
            raise InputError("its folder does not exist", self.name, "create the folder first") from None
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror or error})", self.name) from None

    def finish(self) -> None:
        with self.told():
            if not self._closing:
                self.stream.flush()
                return
            if self._part is None or self._final is None:
                while self._closing:
                    self._closing.pop(0).close()
                return
            while len(self._closing) > 1:  # the packer writes its end into the file
                self._closing.pop(0).close()
            self._file.flush()
            # Renamed before it is on the disk, a file may be empty after the power has failed.
            os.fsync(self._file.fileno())
            _keep_rights(self._part, self._final)
            # Renamed while the lock is held: nobody else can have begun to write into it.
            os.replace(self._part, self._final)
            self._closing.pop().close()

    def abandon(self) -> None:
        if self._part is not None and self._closing:
            with contextlib.suppress(OSError):
                self._part.unlink()  # while it is still ours
        while self._closing:
            with contextlib.suppress(OSError):
                self._closing.pop(0).close()


def refuse_same(written: Mapping[str, str | None], kept: Mapping[str, str | None]) -> None:
    """No file that is written may be one that is kept, or one that is written under another option.

    Both map what a file is for (`--report`, the input) to its name; no name and standard streams are passed over.
    """
    seen: list[tuple[str, str]] = []
    for role, path in written.items():
        if not path or path == STDIN or not _is_plain(path):
            continue
        for other, name in [*seen, *((what, found) for what, found in kept.items() if found)]:
            if _same(path, name):
                raise InputError(f"{role} would overwrite what {other} names", path, "name another file")
        seen.append((role, path))


def _is_plain(path: str) -> bool:
    return os.path.isfile(path) or not os.path.exists(path)


def _same(path: str, other: str) -> bool:
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _keep_rights(part: Path, final: Path) -> None:
    """Who might read and write the old file may read and write the new one, and nobody else."""
    try:
        old = final.stat()
    except OSError:
        return
    with contextlib.suppress(OSError, AttributeError):
        os.chown(part, old.st_uid, old.st_gid)
    with contextlib.suppress(OSError):
        part.chmod(stat.S_IMODE(old.st_mode))
