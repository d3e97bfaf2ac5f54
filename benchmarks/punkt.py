"""In how many texts our sentence rules cut elsewhere than NLTK's Punkt, which UniEval and GRUEN were computed with.

    python benchmarks/punkt.py PUNKT_TAB/english [--data DIR]

Ends of sentences in the distinct outputs of five sets; the figures are in docs/metrics/unieval.md.
"""

from __future__ import annotations

import argparse

from quintet.data.benchmark import load
from quintet.text.punkt import Split, splitter

SETS = ("summeval", "qags_cnn", "qags_xsum", "topical_chat", "cnndm_quality")


def ends(cut: Split, text: str) -> set[int]:
    """Where sentences end, blanks after them left out."""
    return {len(text[: piece.end].rstrip()) for piece in cut(text)}


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("folder", help="punkt_tab/english of NLTK's data")
    ask.add_argument("--data")
    given = ask.parse_args()
    theirs, ours = splitter(f"punkt:{given.folder}"), splitter("rules")
    print("| set | texts | cut elsewhere | ends in common |\n|---|---|---|---|")
    for name in SETS:
        texts = dict.fromkeys(example.output for example in load(name, given.data).examples)
        pairs = [(ends(theirs, text), ends(ours, text)) for text in texts]
        shared = sum(len(a & b) for a, b in pairs) / sum(len(a | b) for a, b in pairs)
        print(f"| {name} | {len(texts)} | {sum(a != b for a, b in pairs)} | {shared:.2%} |")


if __name__ == "__main__":
    main()
