"""Does a run survive being killed? The target: 100 SIGKILLs over a 2,000-row run, no row lost or doubled.

    python benchmarks/kills.py [--kills 100] [--rows 2000] [--workers 1] [--seed 0]

Each run is the real command with weightless models. It is killed, started again on the same store, and when it ends
its file must equal that of an undisturbed run. Ends with status 1 where it does not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "runner"))

from killing import kill_and_resume


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        more = ("--workers", str(given.workers))
        outcome = kill_and_resume(Path(folder), given.kills, given.rows, given.seed, more)
    print(
        f"{outcome.kills} kills, {outcome.kept} of them with results in the store; {outcome.finished} runs finished, "
        f"{outcome.wrong} of them wrong; {time.monotonic() - start:.0f} s"
    )
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
