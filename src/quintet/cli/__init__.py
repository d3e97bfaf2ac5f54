"""The command line. `--version` answers before anything heavy is imported."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence

from quintet._secrets import masked
from quintet._version import __version__

_LONGEST = 2000
"""Characters of a message: names and cells out of files may be of any length."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `quintet` command: runs it and exits with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    lost = _stand_in_for_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a character shows a mark instead
            stream.reconfigure(errors="replace")
    code = _run(given)
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop_output()
        code = code or (0 if isinstance(error, BrokenPipeError) else _say(_unwritable(error), 2))
    if lost is not None and lost.written and not code and not _names_output(given):
        code = _say("standard output is closed, so there was nowhere to write to; name a file, or open it", 2)
    sys.exit(code)


class _Lost(io.RawIOBase):
    """Takes what would go to a closed stream, and knows whether anything did."""

    written = False

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.written = True
        return len(memoryview(data).cast("B"))  # type: ignore[arg-type]


def _stand_in_for_closed_streams() -> _Lost | None:
    """Closed streams (`>&-`) are None in Python, and the next file that is opened would get their number and then be
    written into by libraries that print. What was to go to standard output is counted."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    lost = None
    if sys.stdout is None:
        lost = _Lost()
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(lost), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (lasts as long as the program)
    return lost


def _names_output(given: Sequence[str]) -> bool:
    return any(each in ("--out", "-o") or each.startswith("--out=") for each in given)


def _drop_output() -> None:
    """Keeps Python from complaining while it closes."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_STOPPED = "stopped; what was scored is kept, run the same command to go on"


class _Stopped(BaseException):
    """By SIGTERM. Not KeyboardInterrupt: Python may die of that one by its own signal once it has left an exec()."""


def _stop(*_: object) -> None:
    """As Ctrl-C: nothing half written is left behind."""
    raise _Stopped


def _run(given: list[str]) -> int:
    """0 done; 2 the user can fix it, said in one line; 3 a gate was not passed; 1 our fault."""
    if given in (["--version"], ["-V"]):
        try:
            print(f"quintet {__version__}")
        except OSError as error:  # an unbuffered stream
            _drop_output()
            return 0 if isinstance(error, BrokenPipeError) else _say(_unwritable(error), 2)
        return 0
    import typer

    from quintet.errors import QuintetError

    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _stop)
        from quintet.cli.app import program_for

        whole = "_QUINTET_COMPLETE" in os.environ  # a shell asks for what could be typed
        command, settled = typer.main.get_command(program_for([] if whole else given)), {}
        if whole or given != ["--help"]:
            from quintet.cli.config import find_config, settings

            if whole or find_config() is not None:  # which may speak of any command
                from quintet.cli.app import app

                command = typer.main.get_command(app)
            settled = settings(command, given)
        code = command(args=given, prog_name="quintet", standalone_mode=False, default_map=settled)
        if code == 130:  # typer turns Ctrl-C into this
            return _say(_STOPPED, 130)
        return code if isinstance(code, int) else 0
    except QuintetError as error:
        return _say(error.typed(), error.exit_code)
    except typer.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, typer.Abort, _Stopped):
        return _say(_STOPPED, 130)
    except SystemExit as leave:  # typer ends so itself when the reader of our output goes away
        return 0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else int(leave.code or 0)
    except BrokenPipeError:
        _drop_output()
        return 0
    except MemoryError:
        return _say("there is not enough memory for this; try fewer or shorter rows at a time", 2)
    except OSError as error:
        return _say(_unwritable(error), 2)
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error; typer may carry its own copy of click
            path = getattr(getattr(error, "ctx", None), "command_path", None) or "quintet"
            return _say(f"{error.format_message()} (see {path} --help)", 2)
        if os.environ.get("QUINTET_DEBUG"):
            raise
        return _say(f"internal error: {type(error).__name__}: {error}; set QUINTET_DEBUG=1 for details", 1)


def _unwritable(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: cannot be used ({reason})"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO):
        return f"the output cannot be written ({reason})"
    return f"the system refused it ({reason})"


def _say(message: str, code: int) -> int:
    """One line that cannot drive the terminal, give away a key, or fill the screen."""
    line = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(masked(message).split()))
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST * 3 // 4]} … {line[-_LONGEST // 4 :]}"
    with contextlib.suppress(OSError):
        print(f"quintet: {line}", file=sys.stderr)
    return code
