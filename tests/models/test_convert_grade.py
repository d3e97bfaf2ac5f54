"""GRADE's checkpoint by the names its tensors have in texar, with words, Numberbatch and ConceptNet from files."""

import functools
import math

import numpy as np
import pytest
from tiny_models import NARROW, build, torch, transformers

from quintet.core.example import Example
from quintet.errors import ModelError
from quintet.metrics.im2.classifiers import TopicCoherence
from quintet.models.concepts import Concepts, gather
from quintet.models.convert import convert
from quintet.models.open import open_model
from quintet.models.torch_grade import convert_tensors

WIDTH, HEADS, PLACES = 8, 2, 18
VOCABULARY = ["dog", "cat", "rain", "house", "mat"]
PAIR = ("the cat sat on the mat\nthe dog looked at rain", "a dog barked at the old house")
EXAMPLE = Example(PAIR[1], history=("so ?", *PAIR[0].split("\n")))


def bring(folder, edges=True):
    folder.mkdir()
    (folder / "keyword.vocab").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    # "the" is a function word; "sat" and "old" are in no vocabulary; "looked" and "barked" are in no turn.
    told = ["the cat sat", "the mat", "the dog", "rain", "a house", "old", "so", "so", "so", "so", "so", "so"] * 20
    (folder / "utterances.txt").write_text("\n".join(told), encoding="utf-8")
    random = np.random.default_rng(3)
    names = [*VOCABULARY, "pet", "water", "floor"]
    table = {name: random.standard_normal(WIDTH).round(3) for name in names}
    rows = [f"{name} {' '.join(map(str, table[name]))}" for name in names]
    if edges:
        (folder / "numberbatch-en.txt").write_text(f"{len(names)} {WIDTH}\n" + "\n".join(rows), encoding="utf-8")
        known = "isa dog pet 1.0|isa cat pet 2.0|atlocation cat mat 1.0|hascontext rain dog 1.0|isa house of_it 1.0"
        known += "|isa mat floor 1.0|isa mat mat 1.0|relatedto rain water 1.0"
        lines = ("\t".join(edge.split()) for edge in known.split("|"))
        (folder / "conceptnet.csv").write_text("\n".join(lines), encoding="utf-8")
    else:
        for name in ("1st_hop_nr10", "2nd_hop_nr10"):
            (folder / f"{name}.embedding").write_text("\n".join(rows), encoding="utf-8")
        (folder / "tuples.hop").write_text("cat|||dog|||3\nmat|||dog|||-1\ncat|||house|||2\n", encoding="utf-8")
    return folder


def texar_names(plain):
    """bert_encoder.* of texar for what transformers calls a BERT."""
    block = {
        "attention.self.query": "self_attns.{}.Q_dense",
        "attention.self.key": "self_attns.{}.K_dense",
        "attention.self.value": "self_attns.{}.V_dense",
        "attention.output.dense": "self_attns.{}.O_dense",
        "attention.output.LayerNorm": "poswise_layer_norm.{}",
        "intermediate.dense": "poswise_networks.{}._layers.0",
        "output.dense": "poswise_networks.{}._layers.2",
        "output.LayerNorm": "output_layer_norm.{}",
    }
    tables = {"word": "word_embedder", "token_type": "segment_embedder", "position": "position_embedder"}
    out = {}
    for name, value in plain.items():
        if name.startswith("encoder.layer."):
            _, _, number, rest = name.split(".", 3)
            part, kind = rest.rsplit(".", 1)
            out[f"encoder.{block[part].format(number)}.{kind}"] = value
        elif name.startswith("embeddings.LayerNorm."):
            out[f"encoder.input_normalizer.{name.rsplit('.', 1)[1]}"] = value
        elif name.startswith("pooler."):
            out[name.replace("pooler.dense", "pooler.0")] = value
        elif name.endswith("_embeddings.weight"):
            out[f"{tables[name.split('.')[1].removesuffix('_embeddings')]}._embedding"] = value
    assert len(out) == len(plain)
    return {f"bert_encoder.{name}": value for name, value in out.items()}


def checkpoint(tmp_path, hop_width=PLACES * WIDTH):
    base = build(tmp_path / "base", "bert", "BertModel")
    torch.manual_seed(5)
    state = texar_names(transformers.AutoModel.from_pretrained(base).state_dict())
    state["word_embedder._embedding"] = torch.randn(len(VOCABULARY) + 4, WIDTH)
    wide = NARROW["hidden_size"]
    layers = {
        "linear_onehop_weight": (hop_width, WIDTH),
        "linear_twohop_weight": (hop_width, WIDTH),
        **{f"linear0_{n}": (PLACES * WIDTH, WIDTH) for n in (1, 2, 3)},
        "linear1": (WIDTH, 6),
        "linear2_1": (wide, 6),
        "linear2_2": (wide, 6),
        "linear3": (12, 10),
        "linear4_1": (10, 4),
        "linear4_2": (10, 4),
        "linear5": (4, 1),
    }
    for name, (before, after) in layers.items():
        state[f"{name}._linear_layer.weight"] = torch.randn(after, before) / math.sqrt(before)
        state[f"{name}._linear_layer.bias"] = torch.randn(after) / 4
    narrow = WIDTH // HEADS
    for layer in (1, 2, 3):
        for head in range(HEADS):
            matrix, vector = torch.randn(WIDTH, narrow) / 2, torch.randn(2 * narrow, 1)
            at = f"gat_{layer}.heads.{head}"
            state |= {f"{at}.W": matrix, f"{at}.a": vector}
    state = {f"module.{name}": value.clone() for name, value in state.items()}
    told = {"model": state, "optimizer": {"state": {}, "param_groups": []}, "scheduler": {"last_epoch": 3}}
    torch.save(told, tmp_path / "model_eval_best_71.ckpt")
    return base, {name.removeprefix("module."): value for name, value in state.items()}


def released_attention(state, layer, nodes, edges):
    """One head after another, and every pair by its place in the list that the release reads two by two."""
    out, count = [], len(nodes)
    for head in range(HEADS):
        own = nodes @ state[f"gat_{layer}.heads.{head}.W"]
        listed = [own[i] for i in range(count) for _ in range(count)] + [
            own[i] for _ in range(count) for i in range(count)
        ]
        scores = torch.zeros(count, count)
        for i in range(count):
            for j in range(count):
                at = 2 * (i * count + j)
                pair = torch.cat([listed[at], listed[at + 1]])
                value = torch.nn.functional.leaky_relu(pair @ state[f"gat_{layer}.heads.{head}.a"], 0.2)[0]
                scores[i, j] = value * edges[i, j] if edges[i, j] > 0 else 0.0
        out.append(torch.softmax(scores, dim=0) @ own)
    return torch.cat(out, dim=1)


def released_score(state, batch, pooled):
    linear = lambda name, x: x @ state[f"{name}._linear_layer.weight"].T + state[f"{name}._linear_layer.bias"]  # noqa: E731
    given = {name: torch.from_numpy(np.asarray(array))[0] for name, array in batch.items()}
    nodes = state["word_embedder._embedding"][given["keywords"]]
    for ring, name in (("near", "linear_onehop_weight"), ("far", "linear_twohop_weight")):
        flat = state[f"{name}._linear_layer.weight"].shape[1] == PLACES * WIDTH
        nodes = nodes + linear(name, given[ring].reshape(-1) if flat else given[ring])
    for layer in (1, 2, 3):
        nodes = torch.nn.functional.elu(
            linear(f"linear0_{layer}", nodes.reshape(-1)) + released_attention(state, layer, nodes, given["edges"])
        )
    topic = torch.nn.functional.elu(linear("linear1", nodes.sum(0) / given["count"]))
    joined = torch.nn.functional.elu(linear("linear3", torch.cat([linear("linear2_1", pooled), topic])))
    return linear("linear5", torch.nn.functional.elu(linear("linear4_1", joined)))


def pooled_vector(base, pair):
    """The first word's state: the release feeds BERT without its [CLS]."""
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(base / "tokenizer.json"))
    given = tokenizer(*pair, return_tensors="pt", return_token_type_ids=True)
    given = {name: given[name][:, 1:] for name in ("input_ids", "token_type_ids", "attention_mask")}
    return transformers.AutoModel.from_pretrained(base).eval()(**given).pooler_output[0]


@pytest.mark.parametrize(("hop_width", "edges"), [(PLACES * WIDTH, True), (WIDTH, False)])
@torch.no_grad()
def test_the_converted_folder_answers_as_the_tensors_say(tmp_path, hop_width, edges):
    base, state = checkpoint(tmp_path, hop_width)
    brought = bring(tmp_path / "words", edges)
    done = convert(str(tmp_path / "model_eval_best_71.ckpt"), tmp_path / "out", base, brought)
    assert done.architecture == "GRADE with ConceptNet"
    unused = {f"{name}._linear_layer.{kind}" for name in ("linear2_2", "linear4_2") for kind in ("weight", "bias")}
    assert set(done.dropped) == unused, "layers that the release has and never uses"
    known = Concepts.open(tmp_path / "out")
    batch = known.batch([PAIR])
    assert batch["keywords"][0].tolist()[:11] == [1, 5, 3, 8, 4, 6, 4, 3, 7, 2, 0], "3 for a word not in the vocabulary"
    assert batch["count"][0] == 10
    expected = float(released_score(state, batch, pooled_vector(base, PAIR)))
    model = open_model(f"dir:{tmp_path / 'out'}", "pair-classifier")
    (found,) = model.score([PAIR])
    assert found.values == pytest.approx([expected], abs=1e-4)
    row = TopicCoherence(f"dir:{tmp_path / 'out'}").score([EXAMPLE])[0]
    assert row["coherence"].value == pytest.approx(1 / (1 + math.exp(-expected)), abs=1e-5)
    other = model.score([PAIR, ("the cat sat", "so")])
    assert other[0].values == pytest.approx(found.values, abs=1e-5), "whatever stands beside it"


def test_heads_may_be_linear_layers(tmp_path):
    """Bare matrices map from left to right; as layers they are stored the other way round."""
    _, state = checkpoint(tmp_path)
    turned = {
        f"{n}.weight" if n.endswith((".W", ".a")) else n: t.T if n.endswith((".W", ".a")) else t
        for n, t in state.items()
    }
    assert turned["gat_1.heads.0.W.weight"].shape == (WIDTH // HEADS, WIDTH)
    bare, layers = convert_tensors(state), convert_tensors(turned)
    assert bare.keys() == layers.keys()
    assert all(torch.equal(bare[name], layers[name]) for name in bare)


def test_rings_and_hops_from_conceptnet_and_numberbatch(tmp_path):
    found = gather(bring(tmp_path / "words"), WIDTH)
    numbers = [line.split() for line in (tmp_path / "words/numberbatch-en.txt").read_text("utf-8").splitlines()[1:]]
    table = {word: np.array(values, float) for word, *values in numbers}
    dog, cat, _, house, _ = range(5)
    assert found.near[dog] == pytest.approx(table["pet"], abs=1e-4)
    assert found.near[cat] == pytest.approx((table["pet"] + table["mat"]) / 2, abs=1e-4)
    assert found.far[dog] == pytest.approx(table["cat"], abs=1e-4), "two edges away, never the word itself"
    assert not found.near[house].any(), "an edge to a concept with a function word is none"
    ids = {name: 4 + VOCABULARY.index(name) for name in VOCABULARY}
    assert found.weight(ids["dog"], ids["cat"]) == 1 / 3, "two edges and one, as the release counts"
    assert found.weight(ids["cat"], ids["cat"]) == 1
    assert found.weight(ids["mat"], ids["dog"]) == 1 / 4
    assert found.weight(ids["dog"], ids["rain"]) == found.weight(ids["dog"], ids["house"]) == 1 / 20
    assert found.weight(3, ids["dog"]) == 1 / 20, "a word that the vocabulary lacks"
    listed = gather(bring(tmp_path / "listed", edges=False), WIDTH)
    assert [listed.weight(ids[a], ids["dog"]) for a in ("cat", "mat", "rain")] == [1 / 3, 1 / 20, 1 / 20]


def test_edges_are_normalised_and_stand_where_the_release_puts_them(tmp_path):
    found = gather(bring(tmp_path / "words"), WIDTH)
    links = found.edges(found.ids(["cat"]), found.ids(["mat", "dog"]))
    plain = np.eye(PLACES)
    plain[1, 1] += 1 / 2  # cat with mat: each is the first of its side
    plain[1, 2] = plain[2, 1] = 1 / 3
    scale = np.diag(plain.sum(1) ** -0.5)
    assert links == pytest.approx(scale @ plain @ scale, abs=1e-6)


def test_conceptnets_own_lines(tmp_path):
    folder = bring(tmp_path / "words")
    lines = [
        '/a/1\t/r/IsA\t/c/en/dog/n\t/c/en/pet\t{"weight": 1.0}',
        '/a/2\t/r/IsA\t/c/en/dog\t/c/fr/chien\t{"weight": 1.0}',
        '/a/3\t/r/HasContext\t/c/en/dog\t/c/en/rain\t{"weight": 1.0}',
    ]
    (folder / "conceptnet.csv").write_text("\n".join(lines), encoding="utf-8")
    found = gather(folder, WIDTH)
    assert found.near[0].any()
    assert not found.near[2].any()


def test_what_is_missing_is_named(tmp_path):
    base, state = checkpoint(tmp_path)
    source, brought = str(tmp_path / "model_eval_best_71.ckpt"), bring(tmp_path / "words")
    with pytest.raises(ModelError, match="is GRADE; give the folder"):
        convert(source, tmp_path / "out", base)
    (brought / "keyword.vocab").write_text("dog\ncat\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"keyword\.vocab has 2 words, the checkpoint 5"):
        convert(source, tmp_path / "out", base, brought)
    (brought / "conceptnet.csv").unlink()
    with pytest.raises(ModelError, match="neither edges of ConceptNet"):
        convert(source, tmp_path / "out", base, brought)
    torch.save({**state, "linear_threehop._linear_layer.weight": torch.zeros(2, 2)}, source)
    with pytest.raises(ModelError, match=r"holds linear_threehop\._linear_layer\.weight, for which"):
        convert(source, tmp_path / "out", base, brought)
    del state["linear3._linear_layer.weight"]
    torch.save(state, source)
    with pytest.raises(ModelError, match=r"lacks both\.weight"):
        convert(source, tmp_path / "out", base, brought)
    assert not (tmp_path / "out").exists()


def test_a_pickle_with_code_is_refused(tmp_path):
    """The release's scheduler is a partial function: as attributes it is saved empty; as an object it would be code."""
    base, state = checkpoint(tmp_path)
    source = tmp_path / "model_eval_best_71.ckpt"
    torch.save({"model": state, "scheduler": functools.partial(print)}, source)
    with pytest.raises(ModelError, match="holds more than tensors"):
        convert(str(source), tmp_path / "out", base, bring(tmp_path / "words"))
