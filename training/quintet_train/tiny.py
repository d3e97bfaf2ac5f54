"""Random models of a few thousand weights with a tokenizer learnt from the rows: for smoke runs and tests.

tiny:bert  tiny:roberta  tiny:albert  tiny:gpt2  tiny:t5
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from quintet.errors import UnknownName
from quintet_train.torch_parts import need

KINDS = ("bert", "roberta", "albert", "gpt2", "t5")
_VOCABULARY = 400
_POSITIONS = 130


def tokenizer(kind: str, texts: Iterable[str]) -> Any:
    """Word pieces for BERT and ALBERT, byte pairs for RoBERTa and GPT-2, `▁` pairs for T5."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    if kind in ("bert", "albert"):
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        made = Tokenizer(models.WordPiece(_pieces(texts, special), unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.add_special_tokens(special)
        return _framed(made, "[CLS]", "[SEP]")
    if kind in ("roberta", "gpt2"):
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if kind == "roberta" else ["<|endoftext|>"]
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer: Any = trainers.BpeTrainer(
            vocab_size=_VOCABULARY, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
    elif kind == "t5":
        made = Tokenizer(models.BPE(unk_token="<unk>"))
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Metaspace()
        special = ["<pad>", "</s>", "<unk>"]
        trainer = trainers.BpeTrainer(vocab_size=_VOCABULARY, special_tokens=special, show_progress=False)
    else:
        raise UnknownName("tiny model", kind, KINDS)
    # Yes and No must be single pieces, which a small corpus does not promise.
    made.train_from_iterator([*texts, *["Yes No"] * 200], trainer)
    return _framed(made, "<s>", "</s>") if kind == "roberta" else made


def _framed(made: Any, first: str, last: str) -> Any:
    """What stands around a text, for readers of tokenizer.json."""
    from tokenizers.processors import TemplateProcessing

    names = [(name, made.token_to_id(name)) for name in (first, last)]
    made.post_processor = TemplateProcessing(single=f"{first} $A {last}", special_tokens=names)
    return made


def _pieces(texts: Iterable[str], special: list[str]) -> dict[str, int]:
    """Letters, inner letters and the commonest words: the library's own trainer numbers them anew each time."""
    counts = Counter(word for text in texts for word in re.findall(r"\w+|[^\w\s]", text.lower()))
    letters = sorted({letter for word in counts for letter in word})
    common = sorted((word for word in counts if len(word) > 1), key=lambda word: (-counts[word], word))
    room = max(0, _VOCABULARY - len(special) - 2 * len(letters))
    names = [*special, *letters, *(f"##{letter}" for letter in letters), *common[:room]]
    return {name: number for number, name in enumerate(names)}


def config(kind: str, vocabulary: int, made: Any) -> Any:
    """A transformers configuration with two narrow layers."""
    transformers = need("transformers")
    size: dict[str, Any] = {"vocab_size": vocabulary}
    narrow = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    makers: Mapping[str, Any] = {
        "bert": lambda: transformers.BertConfig(**size, **narrow, max_position_embeddings=_POSITIONS, pad_token_id=0),
        "albert": lambda: transformers.AlbertConfig(
            **size, **narrow, embedding_size=16, max_position_embeddings=_POSITIONS, pad_token_id=0
        ),
        "roberta": lambda: transformers.RobertaConfig(
            **size, **narrow, max_position_embeddings=_POSITIONS + 2, type_vocab_size=1, pad_token_id=1,
            bos_token_id=0, eos_token_id=2,
        ),
        "gpt2": lambda: transformers.GPT2Config(
            **size, n_embd=32, n_layer=2, n_head=2, n_positions=_POSITIONS, bos_token_id=0, eos_token_id=0
        ),
        "t5": lambda: transformers.T5Config(
            **size, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, feed_forward_proj="gated-gelu",
            tie_word_embeddings=False, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
        ),
    }  # fmt: skip
    if kind not in makers:
        raise UnknownName("tiny model", kind, KINDS)
    return makers[kind]()
