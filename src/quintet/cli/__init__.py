"""The command line. `--version` answers before anything heavy is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from quintet._version import __version__


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `quintet` command: runs it and exits with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if given in (["--version"], ["-V"]):
        print(f"quintet {__version__}")
        return
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a character shows a mark instead
            stream.reconfigure(errors="replace")
    code = _run(given)
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or (0 if isinstance(error, BrokenPipeError) else _say(f"the output cannot be written ({error})", 2))
    sys.exit(code)


_STOPPED = "stopped; what was scored is kept, run the same command to go on"


def _run(given: list[str]) -> int:
    """0 done; 2 the user can fix it, said in one line; 3 a gate was not passed; 1 our fault."""
    import typer

    from quintet.errors import QuintetError

    try:
        from quintet.cli.app import app

        code = app(args=given, prog_name="quintet", standalone_mode=False)
        if code == 130:  # typer turns Ctrl-C into this
            return _say(_STOPPED, 130)
        return code if isinstance(code, int) else 0
    except QuintetError as error:
        return _say(str(error), error.exit_code)
    except typer.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _say(_STOPPED, 130)
    except SystemExit as leave:  # typer ends so itself when the reader of our output goes away
        return 0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else int(leave.code or 0)
    except BrokenPipeError:
        # The reader of our output went away; keep Python from complaining while it closes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _say(f"the output cannot be written ({error.strerror or error})", 2)
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error; typer may carry its own copy of click
            command = getattr(getattr(error, "ctx", None), "command_path", None) or "quintet"
            return _say(f"{error.format_message()} (see {command} --help)", 2)
        if os.environ.get("QUINTET_DEBUG"):
            raise
        return _say(f"internal error: {type(error).__name__}: {error}; set QUINTET_DEBUG=1 for details", 1)


def _say(message: str, code: int) -> int:
    line = " ".join(message.split())
    print(f"quintet: {line}", file=sys.stderr)
    return code
