"""How a text begins for a RoBERTa: with a blank where bert_score encodes it, without one where USR and CTC-D did.

The ids that the authors of USR stored begin without one (`He` is 42803; "_go" after the separators is 1215 2977).
"""

import pytest
from tiny_models import build

from quintet.models import torch_backend, torch_open
from quintet.models.open import open_model
from quintet.models.roles import Limits

FAMILY = {
    "masked-lm": "RobertaForMaskedLM",
    "pair-classifier": "RobertaForSequenceClassification",
    "token-tagger": "RobertaForTokenClassification",
}


def first_pieces(path, role, text):
    family = FAMILY.get(role, "AutoModel")
    loaded = torch_backend.load(path, family, "x", torch_open.prefix_space(path, role))
    ids = loaded.subwords.split(text).ids
    return [loaded.subwords._tokenizer.id_to_token(int(i)) for i in ids]


@pytest.mark.parametrize("role", FAMILY)
def test_no_blank_before_a_text_but_for_embedders(tmp_path, role):
    path = build(tmp_path, "roberta", FAMILY[role])
    assert not first_pieces(path, role, "the cat")[0].startswith("Ġ")
    assert first_pieces(path, "embedder", "the cat")[0].startswith("Ġ")


def test_the_second_text_of_a_pair_has_none_either(tmp_path):
    path = build(tmp_path, "roberta", FAMILY["pair-classifier"])
    model = open_model(f"dir:{path}", "pair-classifier")
    ids = model._framed(("the cat", "_go cat"), Limits()).ids.tolist()
    name = model._loaded.subwords._tokenizer.id_to_token
    inner = [name(i) for i in ids]
    after = inner[inner.index("</s>") + 2]
    assert not after.startswith("Ġ")


def test_a_trained_folder_says_how_it_was_trained(tmp_path):
    path = build(tmp_path, "roberta", FAMILY["masked-lm"])
    (path / "model.toml").write_text('[input]\ntruncate = "longest"\n', encoding="utf-8")
    assert first_pieces(path, "masked-lm", "the cat")[0].startswith("Ġ"), "from before it was written down"
    (path / "model.toml").write_text("[input]\nprefix_space = false\n", encoding="utf-8")
    assert not first_pieces(path, "masked-lm", "the cat")[0].startswith("Ġ")
