# ruff: noqa: E402 - what follows needs packages that may be absent
"""Heads learn what can be learnt, and the topic graph is what it says."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from quintet.errors import MissingExtra
from quintet.models.torch_trained import UNREACHABLE, GraphAttention, TopicGraph
from quintet_train import devscore, losses, topics
from quintet_train.assemble import assemble
from quintet_train.generate import masked_infiller, model_infiller, nucleus_draw, seq2seq_infiller, write
from quintet_train.heads import HeadLesson
from quintet_train.items import PairItem, TextItem, WordItem, YesNoItem
from quintet_train.opening import open_base
from quintet_train.recipe import Model, Plan
from quintet_train.text.masks import Template, read_fillings
from quintet_train.torch_parts import need
from quintet_train.trainer import Trainer


def learnt(model: Model, items: list, tmp_path, steps: int = 60, rate: float = 5e-3) -> dict[str, float]:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    made = assemble(model, items)
    lesson = HeadLesson(made.head, items, items, 16)
    plan = Plan(max_steps=steps, batch=8, rate=rate, warmup=0.1, keep="last", evaluate_every=steps)
    Trainer(made.network, lesson, plan, tmp_path).fit()
    made.network.eval()
    with torch.no_grad():
        return lesson.dev_scores(made.network)


GOOD, BAD = ["sun", "warm", "light", "happy"], ["rain", "cold", "dark", "sad"]


def sentence(words: list[str], rng: Random) -> str:
    return " ".join(["it", "is", rng.choice(words), "and", rng.choice(words), "today"])


def test_a_pair_head_learns(tmp_path) -> None:
    rng = Random(0)
    items = [PairItem("how is it", sentence(GOOD if i % 2 else BAD, rng), i % 2) for i in range(32)]
    model = Model("tiny:bert", "pooled", labels=("bad", "good"), max_tokens=48, pooling="max")
    assert learnt(model, items, tmp_path)["accuracy"] > 0.95


def test_a_tagger_learns_which_words_are_made_up(tmp_path) -> None:
    rng = Random(0)
    items = []
    for _ in range(24):
        words = [rng.choice(GOOD + BAD) for _ in range(6)]
        items.append(WordItem(tuple(words), tuple(int(word in BAD) for word in words), "the sun is warm"))
    model = Model(
        "tiny:roberta", "tagger", dropout=0.1, labels=("supported", "unsupported"), max_tokens=64, truncate="second"
    )
    assert learnt(model, items, tmp_path)["f1_sum"] > 1.9


@pytest.mark.parametrize(("start", "head"), [("tiny:t5", "yesno"), ("tiny:gpt2", "yesno-causal")])
def test_yes_and_no_are_learnt(tmp_path, start: str, head: str) -> None:
    rng = Random(0)
    items = [
        YesNoItem(("question: is it nice?", sentence(GOOD if i % 2 else BAD, rng)), bool(i % 2)) for i in range(32)
    ]
    figures = learnt(Model(start, head, max_tokens=64), items, tmp_path, steps=100)
    assert figures["auc"] > 0.95


@pytest.mark.parametrize(("start", "head"), [("tiny:bert", "mlm"), ("tiny:gpt2", "causal")])
def test_language_models_learn(tmp_path, start: str, head: str) -> None:
    items = [TextItem("the sun is warm and the light is warm")] * 16
    model = Model(start, head, max_tokens=16, options={"blocks": False})
    before = learnt(model, items, tmp_path / "a", steps=1)
    after = learnt(model, items, tmp_path / "b", steps=60)
    assert -after["minus_loss"] < -0.6 * before["minus_loss"]


def test_padding_does_not_change_a_score() -> None:
    torch.manual_seed(0)
    items = [PairItem("it is warm", "yes", 1), PairItem("it is cold and dark and sad", "no it is not " * 4, 0)]
    for start, pooling in (("tiny:bert", "max"), ("tiny:roberta", "mean"), ("tiny:gpt2", "max")):
        made = assemble(Model(start, "pooled", labels=("a", "b"), max_tokens=64, pooling=pooling), items)
        made.network.eval()
        with torch.no_grad():
            both = made.network(made.head.collate(items, 0))
            alone = torch.cat([made.network(made.head.collate([item], 0)) for item in items])
        assert torch.allclose(both, alone, atol=1e-5), start


def test_blocks_hold_every_piece_once() -> None:
    made = assemble(Model("tiny:roberta", "mlm", max_tokens=12), [TextItem("the sun is warm")])
    items = [TextItem(f"the sun is warm {i}") for i in range(9)]
    blocks = made.head.prepare(items)
    joined = [piece for item in items for piece in made.base.encoder.pieces(item.text)[0]]
    assert [piece for block in blocks for piece in block] == joined
    assert all(len(block) == 10 for block in blocks[:-1])


def test_masking_hits_fifteen_percent_and_never_specials() -> None:
    made = assemble(Model("tiny:bert", "mlm", max_tokens=120), [TextItem("a b c d e f g")])
    batch = made.head.collate([[7] * 118] * 40, 5)
    chosen = batch["labels"] != -100
    assert not chosen[:, 0].any()
    assert not chosen[:, -1].any()
    assert float(chosen.float().mean()) == pytest.approx(0.15, abs=0.02)
    masked = batch["input_ids"][chosen] == made.base.encoder.mask
    assert float(masked.float().mean()) == pytest.approx(0.8, abs=0.05)
    again = made.head.collate([[7] * 118] * 40, 5)
    assert torch.equal(batch["input_ids"], again["input_ids"])


def test_losses_by_hand() -> None:
    better, worse = torch.tensor([0.9, 0.5]), torch.tensor([0.1, 0.6])
    assert float(losses.margin(better, worse, 0.1)) == pytest.approx((0 + 0.2) / 2)
    logits = torch.tensor([[[0.0, 0.0], [5.0, 0.0]]])
    assert float(losses.words(logits, torch.tensor([[1, -100]]))) == pytest.approx(np.log(2))
    assert float(losses.squared_error(torch.tensor([1.0, 3.0]), torch.tensor([0.0, 1.0]))) == pytest.approx(2.5)


def test_graph_attention_equals_its_twin() -> None:
    torch.manual_seed(0)
    layer = GraphAttention(5, 6, 2)
    nodes, edges = torch.randn(1, 4, 5), torch.eye(4).unsqueeze(0)
    edges[0, 0, 1] = edges[0, 1, 0] = 0.5
    fast = layer(nodes, edges)[0]
    values = layer.values(nodes)[0].view(4, 2, 3)
    for i in range(4):
        for h in range(2):
            raw = {}
            for j in range(4):
                if edges[0, i, j] > 0:
                    score = (values[i, h] * layer.receiver[h]).sum() + (values[j, h] * layer.sender[h]).sum()
                    raw[j] = edges[0, i, j] * torch.exp(torch.nn.functional.leaky_relu(score, 0.2))
            total = sum(raw.values())
            slow = sum(weight / total * values[j, h] for j, weight in raw.items())
            assert torch.allclose(torch.nn.functional.elu(slow), fast[i, 3 * h : 3 * h + 3], atol=1e-5)


TEXTS = ["cats drink milk", "cats chase mice", "dogs chase balls", "dogs drink water", "cats drink cream"] * 3


def test_the_topic_graph_links_what_occurs_together() -> None:
    graph = topics.learn(TEXTS, vocabulary=50, width=4)
    index = {word: number for number, word in enumerate(graph.words)}
    counts = {word: sum(word in text.split() for text in TEXTS) for word in index}
    near = {graph.words[i] for i in graph.one_hop(index["milk"])}
    assert near == {"cats", "drink"}
    assert graph.hops(index["milk"], index["cats"]) == 1
    assert graph.hops(index["milk"], index["cream"]) == 2
    assert graph.hops(index["milk"], index["balls"]) == UNREACHABLE
    assert counts["milk"] == 3
    nodes, edges = graph.graph("cats drink", "milk and unknowns")
    assert nodes.shape == (3, 12)
    assert edges[0, 2] == edges[2, 0] == 1.0
    assert edges[0, 1] == 0.0, "keywords of one side are not tied to each other"
    nodes, edges = graph.graph("", "???")
    assert nodes.shape == (1, 12)
    assert edges.tolist() == [[1.0]]


def test_the_topic_graph_is_saved_with_the_model(tmp_path) -> None:
    graph = topics.learn(TEXTS, vocabulary=50, width=4)
    graph.save(tmp_path)
    again = TopicGraph.open(tmp_path)
    assert again.words == graph.words
    assert np.array_equal(again.vectors, graph.vectors)
    assert np.array_equal(again.neighbours, graph.neighbours)


def test_figures_by_hand_and_by_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    truth, guess = [1, 1, 0, 0, 1], [1, 0, 0, 1, 1]
    assert devscore.f1_sum(truth, guess) == pytest.approx(2 / 3 + 1 / 2)
    assert devscore.matthews(truth, guess) == pytest.approx(1 / 6)
    x, y = [1.0, 2.0, 4.0, 3.0], [2.0, 1.0, 5.0, 5.0]
    assert devscore.pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0])
    assert devscore.pearson([1, 1], [1, 2]) == 0.0
    assert devscore.area_under_curve([1, 0, 1, 0], [0.9, 0.9, 0.8, 0.1]) == pytest.approx((0.5 + 1 + 0 + 1) / 4)
    assert devscore.area_under_curve([1], [0.3]) == 0.5


TEMPLATE = Template(("the", "<mask>", "is", "warm"), ("sun",))


def test_model_infillers_fill_what_was_masked(tmp_path) -> None:
    words = ["the sun is warm and light", "the rain is cold"] * 4
    base = open_base("tiny:roberta", "mlm", words)
    base.network.eval()
    runs = [masked_infiller(base)(TEMPLATE, Random(3)) for _ in range(2)]
    assert runs[0] == runs[1]
    if runs[0] is not None:
        assert read_fillings(TEMPLATE, runs[0]) is not None
    made = assemble(Model("tiny:gpt2", "causal", max_tokens=32), [TextItem(text) for text in words])
    made.network.eval()
    new = write(made.base, made.base.encoder.pieces("the sun")[0], 5, Random(0), stop=False)
    assert len(new) == 5
    assert made.base.encoder.last not in new
    writer = open_base("tiny:t5", "seq2seq", words)
    assert callable(seq2seq_infiller(writer))
    with pytest.raises(Exception, match="infiller must be"):
        model_infiller("magic", "tiny:bert")


def test_the_nucleus_is_the_smallest_set() -> None:
    logits = torch.log(torch.tensor([0.5, 0.3, 0.15, 0.05]))
    rng = Random(0)
    drawn = {nucleus_draw(logits, rng, 0.75) for _ in range(200)}
    assert drawn == {0, 1}
    assert nucleus_draw(logits, rng, 0.75, banned=(0,)) in (1, 2)


def test_a_missing_package_is_said_in_one_line() -> None:
    with pytest.raises(MissingExtra, match=r"training needs no_such_package.*pip install '.+\[torch\]'"):
        need("no_such_package")
