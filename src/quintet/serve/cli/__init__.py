"""The command line. `--version` answers before anything heavy is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from quintet._version import __version__


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `quintet` command: runs it and exits with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--version"], ["-V"]):
        print(f"quintet {__version__}")
        return
    sys.exit(_run(given))


def _run(given: list[str]) -> int:
    """0 done; 2 the user can fix it, said in one line; 3 a gate was not passed; 1 our fault."""
    import typer

    from quintet.errors import QuintetError

    try:
        from quintet.serve.cli.app import app

        code = app(args=given, prog_name="quintet", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except QuintetError as error:
        return _say(str(error), error.exit_code)
    except typer.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _say("stopped; what was scored is kept, run the same command to go on", 130)
    except BrokenPipeError:
        # The reader of our output went away; keep Python from complaining while it closes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error; typer may carry its own copy of click
            return _say(f"{error.format_message()} (see quintet --help)", 2)
        if os.environ.get("QUINTET_DEBUG"):
            raise
        return _say(f"internal error: {type(error).__name__}: {error}; set QUINTET_DEBUG=1 for details", 1)


def _say(message: str, code: int) -> int:
    line = " ".join(message.split())
    print(f"quintet: {line}", file=sys.stderr)
    return code
