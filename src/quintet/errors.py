"""Everything that can go wrong on purpose.

    QuintetError                 base of all; `exit_code` 1
    ├── UserError                the user can fix it; one line, exit code 2
    │   ├── InputError           a file, row or value that cannot be read
    │   ├── MissingField         an example lacks what a dimension needs
    │   ├── UnknownName          no such metric, task, dimension, model or set
    │   ├── ModelError           a model is absent, altered or of the wrong kind
    │   ├── MissingExtra         an optional dependency is not installed
    │   └── MissingPackage       a distribution of this repository is not installed
    └── GateFailed               scores fell short of a gate; exit code 3

A message says what, where and what to do, in one line. It is written with the options of the command line, and shown
so there; as a string it names the arguments of the functions instead.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from quintet._install import install
from quintet._secrets import masked

_MOST_NAMES = 20
"""That a message lists."""
_LONGEST_NAME = 80
"""Of a name out of a file that is repeated in a message: a header may hold a whole text."""


class QuintetError(Exception):
    """Base of everything that goes wrong on purpose.

    >>> try:
    ...     quintet.load("no-such-metric")
    ... except quintet.QuintetError as error:
    ...     error.exit_code
    2
    """

    exit_code = 1

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(masked(each) if isinstance(each, str) else each for each in arguments))

    def __str__(self) -> str:
        return in_python(self.typed())

    def typed(self) -> str:
        """As the command line shows it."""
        return super().__str__()

    def __reduce__(self) -> tuple[object, ...]:
        # Python would call the class with the message alone; a pool of processes waits for ever on what that raises.
        return _again, (type(self), self.args), vars(self)


_FLAGS = ("common-only", "fast", "lower-is-better", "skip-bad")
_VALUED = ("accept", "baseline", "cache", "calibration", "columns", "dims", "engine", "labels", "metric", "model",
           "precision", "recall", "task", "task-file", "workers")  # fmt: skip
_OPTION = re.compile(
    rf"(?P<kept>\bquintet [a-z]+ [^;,]*)|--no-(?P<off>cache)(?![\w-])|--(?P<flag>{'|'.join(_FLAGS)})(?![\w-])"
    r"|--columns (?P<field>[\w.-]+)=(?P<column>.+?)(?= or |[,;]|$)"
    rf"|--(?P<valued>{'|'.join(sorted(_VALUED, reverse=True))})(?![\w-])(?: (?P<value>[A-Z][A-Z._]+|openai:[^ ,;]+))?"
)


def in_python(message: str) -> str:
    """`--columns source=COLUMN` as `columns={"source": "COLUMN"}`, `--skip-bad` as `skip_bad=True`; whole commands
    stay as they are."""
    return _OPTION.sub(_argument, message) if "--" in message else message


def _argument(option: re.Match[str]) -> str:
    if option["kept"]:
        return option[0]
    if option["off"] or option["flag"]:
        return "cache=False" if option["off"] else f"{option['flag'].replace('-', '_')}=True"
    if option["field"]:
        return f'columns={{"{option["field"]}": "{option["column"]}"}}'
    name = "metrics" if option["valued"] == "metric" else option["valued"].replace("-", "_")
    value = option["value"]
    return f"{name}={value}" if value and value.isupper() else f'{name}="{value}"' if value else name


def _again(kind: type[QuintetError], arguments: tuple[object, ...]) -> QuintetError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    return error


def shortened(name: str, most: int = _LONGEST_NAME) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


class UserError(QuintetError):
    """What the user can put right; the message says how.

    >>> issubclass(quintet.UserError, quintet.QuintetError)
    True
    """

    exit_code = 2


class InputError(UserError):
    """Bad bytes, a broken line, an impossible value; `where` is a file, line or row.

    >>> str(quintet.InputError("no text", "rows.jsonl, line 2", "give one"))
    'rows.jsonl, line 2: no text; give one'
    """

    def __init__(self, what: str, where: str = "", todo: str = "") -> None:
        self.what, self.where, self.todo = masked(what), masked(where), masked(todo)
        line = f"{where}: {what}" if where else what
        super().__init__(f"{line}; {todo}" if todo else line)


class MissingField(UserError):
    def __init__(self, field: str, example_id: str, dimension: str) -> None:
        self.field, self.example_id, self.dimension = field, example_id, dimension
        super().__init__(
            f"example {example_id!r} has no {field!r}, which {dimension} needs; "
            f"name the column with --columns {field}=COLUMN, or pass --skip-bad to go on without such rows"
        )


_HARM = "quintet knows nothing of harm: no metric here measures it"
_TRANSLATED = "there is no task for translation: take --metric bleu, chrf or ter, or quintet corpus"
ABSENT = {
    **dict.fromkeys(("toxicity", "bias", "safety", "harmfulness", "pii", "pii_leakage", "jailbreak"), _HARM),
    **dict.fromkeys(("translation", "comet"), _TRANSLATED),
}
"""What people ask for, and nothing here is."""


class UnknownName(UserError):
    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        names = sorted(shortened(one) for one in self.known)
        near = difflib.get_close_matches(shortened(name), names, n=3, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names[:_MOST_NAMES]) or 'none'}"
        if not near and len(names) > _MOST_NAMES:
            hint = f"there are {len(names)}; " + (
                "quintet metrics --search TEXT looks for one" if kind == "metric" else f"{names[0]}, {names[1]} …"
            )
        absent = ABSENT.get(name.lower()) if kind in ("metric", "task") else None
        super().__init__(f"unknown {kind} {shortened(name)!r}; {absent or hint}")


class ModelError(UserError):
    """A model that is absent, altered, of the wrong architecture or in an unsafe format."""


class MissingExtra(UserError):
    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}, which is not installed; run: {install('quintet-eval', extra)}")


class MissingPackage(UserError):
    """A distribution of quintet's own that is not installed."""

    def __init__(self, package: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}, which is not installed; run: {install(package)}")


class GateFailed(QuintetError):
    """Scores fell short of a limit; `quintet.Verdict.check` raises it.

    >>> quintet.GateFailed.exit_code
    3
    """

    exit_code = 3
