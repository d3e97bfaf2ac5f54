"""The public face: names, what importing costs, and how fast the door opens."""

import doctest
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import quintet

HEAVY = ("torch", "transformers", "onnxruntime", "pandas", "scipy", "matplotlib", "numpy", "typer", "rich")


def test_each_public_name_has_an_example_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert 25 <= len(quintet.__all__) <= 35
    runner = doctest.DocTestRunner(verbose=False)
    for name in set(quintet.__all__) - {"__version__"}:
        public = getattr(quintet, name)
        assert (public.__doc__ or "").strip(), name
        found = doctest.DocTestFinder(recurse=False).find(public, name, module=False, globs={"quintet": quintet})
        assert sum(len(test.examples) for test in found), f"{name} has no example"
        for test in found:
            assert not runner.run(test).failed, name


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        quintet.nonsense  # noqa: B018


def test_one_dimension_is_no_list_of_letters() -> None:
    found = quintet.score(
        [{"output": "It opens in June.", "source": "It opens in May."}],
        "fact", dims="consistency", fast=True, cache=False,
    )  # fmt: skip
    assert list(found.columns) == ["consistency"]


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, quintet; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_version_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom quintet.cli import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {(*HEAVY, 'click')!r} if m in sys.modules])"
    )
    lines = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    assert lines == [f"quintet {quintet.__version__}", "[]"]


def seconds(command: list[str]) -> float:
    """Of processor time, which others on the machine do not lengthen; the least of some, since they do a little."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(9))


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
    mistake = run("explain")
    assert (mistake.returncode, mistake.stderr) == (
        2,
        "quintet: Missing argument 'FILE'. (see quintet explain --help)\n",
    )
