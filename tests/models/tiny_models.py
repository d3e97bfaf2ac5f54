"""Random models of a few thousand weights in real folders: config.json, model.safetensors, tokenizer.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
transformers = pytest.importorskip("transformers", reason="the torch extra is not installed")

TEXTS = [
    "The cat sat on the mat, and the dog looked at it.",
    "A dog barked at the old house while the rain fell.",
    "Yes",
    "No",
    "Yes No Yes No",
    "question: Is this claim consistent with the document?",
    "claim: the cat was there. document: the cat sat on the mat all day long",
    "unbelievable misunderstandings are seldom reasonable",
] * 20

NARROW = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
POSITIONS = 40


def wordpiece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=150, special_tokens=special))
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def byte_pairs(special: list[str]) -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=360, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(TEXTS, trainer)
    if "<s>" in special:
        made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def unigram(special: list[str], unknown: str) -> Tokenizer:
    """As sentencepiece saves it: the special tokens are pieces with score 0, which a text could spell."""
    words = dict.fromkeys(f"▁{word}" for text in TEXTS for word in text.split()[::2])
    pieces = [(name, 0.0) for name in special] + [(chr(i), -9.0) for i in range(33, 127)]
    pieces += [("▁", -6.0), ("at", -5.0), ("▁un", -5.0), *((word, -4.0) for word in words)]
    made = Tokenizer(models.Unigram(pieces, special.index(unknown)))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    # T5 declares its special tokens in the file; here ALBERT's stand in the vocabulary only.
    if "[CLS]" in special:
        ids = [("[CLS]", special.index("[CLS]")), ("[SEP]", special.index("[SEP]"))]
        made.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=ids
        )
    else:
        made.add_special_tokens(special)
        made.post_processor = processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", special.index("</s>"))]
        )
    return made


def build(folder: Path, kind: str, family: str, **settings: object) -> Path:
    """A folder with random weights; `family` is the transformers class, e.g. RobertaForMaskedLM."""
    if kind == "bert":
        tokenizer, config = wordpiece(), transformers.BertConfig
        settings = {**NARROW, "max_position_embeddings": POSITIONS, "pad_token_id": 0, **settings}
    elif kind == "roberta":
        tokenizer, config = byte_pairs(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]), transformers.RobertaConfig
        ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1}
        settings = {**NARROW, **ids, "max_position_embeddings": POSITIONS + 2, **settings}
    elif kind == "albert":
        tokenizer = unigram(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], "<unk>")
        config = transformers.AlbertConfig
        settings = {**NARROW, "embedding_size": 16, "max_position_embeddings": POSITIONS, "pad_token_id": 0, **settings}
    elif kind == "gpt2":
        tokenizer, config = byte_pairs(["<|endoftext|>"]), transformers.GPT2Config
        size = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS}
        settings = {**size, "bos_token_id": 0, "eos_token_id": 0, **settings}
    else:
        tokenizer, config = unigram(["<pad>", "</s>", "<unk>"], "<unk>"), transformers.T5Config
        size = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "tie_word_embeddings": False}
        ids = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
        settings = {**size, **ids, "feed_forward_proj": "gated-gelu", **settings}
    torch.manual_seed(7)
    model = getattr(transformers, family)(config(vocab_size=tokenizer.get_vocab_size(), **settings))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            # Fresh weights are so small that every text looks alike; these tell texts and positions apart.
            if kind != "t5" and "norm" not in name.lower():
                weight.mul_(6)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def hugging_face(folder: Path, family: str) -> tuple[Any, Any]:
    """The same folder through Hugging Face's own doors, for plain twins."""
    model = getattr(transformers, family).from_pretrained(folder).eval()
    return model, transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
