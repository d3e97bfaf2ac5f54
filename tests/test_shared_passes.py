"""One encoder pass per distinct text, shared by all metrics of a run."""

from quintet import _api as api
from quintet.core.cache import fresh
from quintet.core.example import Example
from quintet.core.item import Item
from quintet.core.options import Options
from quintet.models.open import open_model
from quintet.runner.store import NoStore

SOURCE = "The council voted on Monday to repair the old bridge. Work begins in May."
ITEMS = [
    Item(Example(text, source=SOURCE, references=("The bridge will be repaired.",), id=str(n)))
    for n, text in enumerate(["The bridge will be mended.", "A cat slept.", "The bridge will be mended."])
]
METRICS = ["ctc-consistency", "ctc-relevance", "bertscore-f", "moverscore", "embedding-average", "greedy-matching"]


def test_every_distinct_text_passes_once_whatever_the_number_of_metrics() -> None:
    plan = api.make_plan(Options(metrics=METRICS, model="fake:embedder"))
    memo = open_model("fake:embedder")
    before = memo.passes
    rows = list(api.stream(plan, ITEMS, NoStore()))
    assert len(rows) == 3
    distinct = {SOURCE, "The bridge will be mended.", "A cat slept.", "The bridge will be repaired."}
    assert memo.passes - before == len(distinct)


def test_nothing_is_remembered_between_chunks() -> None:
    fresh()  # other tests leave something to this thread
    memo = open_model("fake:embedder")
    plan = api.make_plan(Options(metrics=["ctc-consistency"], model="fake:embedder"))
    list(api.stream(plan, ITEMS, NoStore()))
    assert memo.bytes == 0
