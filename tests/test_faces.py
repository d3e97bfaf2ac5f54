"""The public face: names, what importing costs, and how fast the door opens."""

import statistics
import subprocess
import sys
import time

import quintet

PUBLIC = {"Dimension", "Example", "Metric", "Result", "Score", "Span"}
PUBLIC |= {"QuintetError", "UserError", "__version__", "load", "score"}
HEAVY = ("torch", "transformers", "onnxruntime", "pandas", "scipy", "matplotlib", "numpy", "typer", "rich")


def test_public_names_are_these_and_resolve() -> None:
    assert set(quintet.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(quintet, name) is not None


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, quintet; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_version_loads_nothing_heavy() -> None:
    code = (
        "import sys; from quintet.cli import main; main(['--version']);"
        f"print([m for m in {(*HEAVY, 'click')!r} if m in sys.modules])"
    )
    lines = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    assert lines == [f"quintet {quintet.__version__}", "[]"]


def seconds(command: list[str]) -> float:
    def once() -> float:
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - start

    return statistics.median(once() for _ in range(7))


def test_version_is_no_slower_than_four_bare_pythons() -> None:
    # A ratio within one run, not a time: the issue's own measure.
    script = "from quintet.cli import main; main(['--version'])"
    assert seconds([sys.executable, "-c", script]) < 4 * seconds([sys.executable, "-c", "pass"])


def test_the_bare_command_shows_its_help_and_a_mistake_names_the_help_of_its_command() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "quintet", *arguments], capture_output=True, text=True)

    bare = run()
    assert bare.returncode == 0
    assert bare.stdout == run("--help").stdout
    assert "..." not in bare.stdout.partition("Commands:")[2], "every command is told in one line"
    mistake = run("score")
    assert (mistake.returncode, mistake.stderr) == (2, "quintet: Missing argument 'FILE'. (see quintet score --help)\n")
