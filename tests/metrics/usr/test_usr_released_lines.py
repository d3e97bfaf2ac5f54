"""The strings that the authors of USR released for the 300 Topical-Chat responses, line by line."""

import gzip
import json
from collections import Counter

import pytest

from quintet import load as load_metric
from quintet.core.example import Example
from quintet.data.benchmark import load
from quintet.metrics.usr.inputs import context_pair, fact_pair, masked_line
from quintet.text.usr_lines import spaced


@pytest.fixture(scope="module")
def released(benchmarks):
    """Ours and theirs; their files are in another order than the ratings."""
    folder = benchmarks / "topical_chat_usr"
    if not (folder / "usr_released_lines.json.gz").is_file():
        pytest.skip("no released lines of USR there")
    lines = json.loads(gzip.decompress((folder / "usr_released_lines.json.gz").read_bytes()))
    ground_truth = "Original Ground Truth"
    return [e for e in load("topical_chat", benchmarks).examples if e.system != ground_truth], lines


def test_all_300_lines_of_the_language_model(released):
    examples, lines = released
    assert Counter(masked_line(e, "released")[0] for e in examples) == Counter(lines["undr/test.lm"])


@pytest.mark.parametrize(
    ("file", "pair"),
    [
        ("both/dev.tsv", lambda e: context_pair(e, "released", 1)),
        ("fct/dev.tsv", lambda e: fact_pair(e, "released")),
    ],
)
def test_all_300_pairs_of_each_classifier(released, file, pair):
    """57 and 47 of them hold quotation marks that a CSV writer doubled."""
    examples, lines = released
    theirs = Counter(tuple(line.split("\t")[3:5]) for line in lines[file][1:])
    assert theirs.total() == 300
    assert sum('""' in "".join(texts) for texts in theirs.elements()) == (57 if file.startswith("both") else 47)
    assert Counter(pair(e) for e in examples) == theirs


def test_tokens_stay_as_they_are_and_plain_text_is_cut():
    assert spaced("It 's 9 a.m. , you 've said so ;)") == "it 's 9 a.m. , you 've said so ;)"
    assert spaced("It's late; don't go!") == "it 's late ; do n't go !"


def test_paper_mode_reads_the_whole_history_and_the_fact():
    """Section 4.2.2: DR(x=c) sees the history and the fact; the released code one turn and the fact."""
    example = Example('He said "no".', context="Cats sleep.", history=("Hello .", "And you ?"))
    assert context_pair(example, "paper", 1)[0] == "hello . _eos and you ? _eos cats sleep . _eos"
    assert fact_pair(example, "paper")[0] == "cats sleep . _eos"
    assert context_pair(example, "released", 1)[1] == '"_go he said "" no "" . _eos"'
    assert context_pair(example, "paper", 1)[1] == '_go he said " no " . _eos'
    assert load_metric("usr:mode=paper").sub_metrics["usr-mlm"].mode == "paper"
