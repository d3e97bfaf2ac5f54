"""BERTScore against the bert_score package, on vectors and through a whole (random, tiny) model."""

import dataclasses
import math

import numpy as np
import pytest

from quintet.core.example import Example
from quintet.metrics.baselines.contextual import BertScore, match_greedily
from quintet.metrics.baselines.frequencies import count_documents, subword_units
from quintet.models.open import open_model
from quintet.models.roles import TokenVectors

FAKE = "fake:embedder"


def made_up(rng, tokens, width=8):
    places = np.arange(tokens, dtype=np.int32)
    return TokenVectors("x" * tokens, places, places, rng.normal(size=(tokens, width)).astype(np.float32) + 0.5)


def test_matching_is_greedy_cos_idf():
    torch = pytest.importorskip("torch")
    greedy_cos_idf = pytest.importorskip("bert_score.utils").greedy_cos_idf
    rng = np.random.default_rng(0)
    for _ in range(50):
        mine, theirs = made_up(rng, int(rng.integers(3, 12))), made_up(rng, int(rng.integers(3, 12)))
        weights = [rng.random(len(t)) * (rng.random(len(t)) < 0.8) for t in (mine, theirs)]
        for weight in weights:
            weight[[0, -1]], weight[1] = 0.0, 0.5
        tensors = [
            (
                torch.tensor(t.vectors.copy())[None],
                torch.ones(1, len(t), dtype=torch.long),
                torch.tensor(w, dtype=torch.float)[None],
            )
            for t, w in zip((mine, theirs), weights, strict=True)
        ]
        p, r, f = (float(x) for x in greedy_cos_idf(*tensors[1], *tensors[0]))
        assert match_greedily(mine, theirs, *weights).parts == pytest.approx({"p": p, "r": r, "f": f}, abs=1e-5)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A BERT of 3 layers with random weights, as a model folder."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = "abcdefghijklmnopqrstuvwxyz"
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "on", "mat", ".", ","]
    names += [*letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    torch.manual_seed(3)
    config = transformers.BertConfig(
        vocab_size=len(names), hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48
    )
    model = transformers.BertModel(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(5)
    folder = tmp_path_factory.mktemp("tiny-bert")
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


EXAMPLES = [
    Example("The cat sat on the mat.", references=("A dog sat on the cat.", "the cat, on the mat, sat")),
    Example("dogs bark", references=("The mat.",)),
    Example("Cat", references=("cat", "sat", "on the mat")),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layer", [1, 2])
def test_whole_metric_is_bert_score(tiny, layer, weighted, tmp_path):
    torch = pytest.importorskip("torch")
    utils = pytest.importorskip("bert_score.utils")
    import transformers

    model = transformers.BertModel.from_pretrained(tiny).eval()
    model.encoder.layer = model.encoder.layer[:layer]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tiny / "tokenizer.json"), pad_token="[PAD]", model_max_length=512
    )
    corpus = ["the cat sat", "the mat, the mat.", "on a cat"]
    if weighted:
        idf = utils.get_idf_dict(corpus, tokenizer, nthreads=0)
        embedded = open_model(f"dir:{tiny}").embed(corpus, layer)
        count_documents(map(subword_units, embedded)).write(tmp_path / "df.json")
    else:
        idf = {i: float(i not in (2, 3)) for i in range(tokenizer.vocab_size + 10)}
    metric = BertScore(model=f"dir:{tiny}", layer=layer, df=str(tmp_path / "df.json") if weighted else None)
    for example, row in zip(EXAMPLES, metric.score(EXAMPLES), strict=True):
        references = list(example.references)
        with torch.no_grad():
            found = utils.bert_cos_score_idf(
                model, references, [example.output] * len(references), tokenizer, idf, device="cpu"
            )
        expected = dict(zip("prf", found.max(dim=0).values.tolist(), strict=True))
        assert row["bertscore"].parts == pytest.approx(expected, abs=1e-5)
        assert row["bertscore"].value == row["bertscore"].parts["f"]


def test_rescaling_and_its_range():
    examples = [Example("The cat sat.", references=("A cat sat down.",)), Example(" ", references=("x",))]
    plain, rescaled = BertScore(model=FAKE, part="r"), BertScore(model=FAKE, part="r", baseline=0.8)
    for a, b in zip(plain.score(examples), rescaled.score(examples), strict=True):
        assert b["bertscore"].value == pytest.approx((a["bertscore"].value - 0.8) / 0.2)
    assert plain.dimensions[0].low == -1.0
    assert rescaled.dimensions[0].low == pytest.approx(-9.0)


def test_evidence_names_the_matching_word():
    example = Example("A cat sat.", references=("no", "The cat sat there."))
    (row,) = BertScore(model=FAKE, layer=0).score([example])
    joined = example.text("references")
    found = {
        example.output[s.start : s.end]: (joined[s.other[1] : s.other[2]] if s.other else None, s.value)
        for s in row["bertscore"].spans
    }
    assert found["cat"] == ("cat", 1.0)
    assert found["sat"] == ("sat", 1.0)
    assert found["A"][1] < 1.0


def test_identical_text_scores_one_whatever_the_weights(tmp_path):
    count_documents([["cat"], ["sat", "cat"]]).write(tmp_path / "df.json")
    example = Example("The cat sat.", references=("The cat sat.",))
    for metric in (BertScore(model=FAKE), BertScore(model=FAKE, df=str(tmp_path / "df.json"))):
        assert metric.score([example])[0]["bertscore"].value == pytest.approx(1.0)


def test_idf_moves_weight_to_rare_words(tmp_path):
    count_documents([["the"]] * 99 + [["cat"]]).write(tmp_path / "df.json")
    example = Example("the dog", references=("the cat",))
    plain = BertScore(model=FAKE, part="p")
    weighted = dataclasses.replace(plain, df=str(tmp_path / "df.json"))
    assert weighted.score([example])[0]["bertscore"].value < plain.score([example])[0]["bertscore"].value
    assert math.isfinite(weighted.score([Example("the", references=("the",))])[0]["bertscore"].value)
