"""Where a network starts from: a tiny random model, a folder, or a hub name; what is wrong is said in one line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quintet.errors import InputError, ModelError, UnknownName
from quintet.models.folder import trained_with_prefix_space
from quintet.models.open import snapshot
from quintet_train import tiny
from quintet_train.encode import TextEncoder
from quintet_train.recipe import Model
from quintet_train.torch_parts import need

CLASSES = {
    "sequence": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "pretraining": "AutoModelForPreTraining",
    "mlm": "AutoModelForMaskedLM",
    "causal": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "encoder": "AutoModel",
}
HEADS = {
    "sequence": "sequence",
    "pooled": "encoder",
    "regressor": "sequence",
    "tagger": "tokens",
    "order": "pretraining",
    "grade": "encoder",
    "mlm": "mlm",
    "causal": "causal",
    "yesno": "seq2seq",
    "yesno-causal": "causal",
}
"""What each head stands on, a key of CLASSES."""
_FITTING = {
    "mlm": ("bert", "roberta", "albert", "xlm-roberta", "distilbert", "electra", "deberta", "deberta-v2", "camembert"),
    "causal": ("gpt2", "llama", "qwen2", "qwen3", "opt", "gpt_neox", "mistral", "gemma"),
    "seq2seq": ("t5", "mt5", "bart"),
    "pretraining": ("albert",),
}


@dataclass(frozen=True)
class Base:
    """A transformers model (a whole one or an encoder), its configuration and its text side."""

    network: Any
    config: Any
    encoder: TextEncoder
    identity: str


def open_base(spec: str, kind: str, texts: Iterable[str] = (), labels: int = 2, dropout: float | None = None) -> Base:
    """`kind` is a key of CLASSES; `texts` teach a tiny tokenizer its words; `dropout` is that before the head."""
    scheme, colon, rest = spec.partition(":")
    if not colon or scheme not in ("tiny", "dir", "hf"):
        raise InputError(f"cannot start from {spec!r}", todo="give tiny:KIND, dir:FOLDER or hf:NAME")
    if scheme == "tiny":
        return _tiny(rest, kind, texts, labels, dropout)
    if scheme == "dir":
        folder = Path(rest).expanduser()
        _check_folder(folder)
        if kind == "encoder" and (folder / "model.toml").is_file():
            return _own_encoder(folder)
        return _pretrained(folder, kind, labels, dropout, spec)
    name, _, revision = rest.partition("@")
    folder = snapshot(name, revision or "main")
    _check_folder(folder)
    return _pretrained(folder, kind, labels, dropout, spec)


def _tiny(kind_of_model: str, kind: str, texts: Iterable[str], labels: int, dropout: float | None) -> Base:
    transformers = need("transformers")
    made = tiny.tokenizer(kind_of_model, texts)
    config = tiny.config(kind_of_model, made.get_vocab_size(), made)
    check_fits(config.model_type, kind, f"tiny:{kind_of_model}")
    _set_head(config, kind, labels, dropout)
    if config.pad_token_id is None:
        config.pad_token_id = 0
    network = getattr(transformers, CLASSES[kind]).from_config(config)
    return Base(network, config, TextEncoder(made, config.model_type), f"tiny:{kind_of_model}")


def _set_head(config: Any, kind: str, labels: int, dropout: float | None) -> None:
    if kind in ("sequence", "tokens"):
        config.num_labels = labels
        name = "classifier_dropout_prob" if config.model_type == "albert" else "classifier_dropout"
        if dropout is not None:
            setattr(config, name, dropout)


def bare_from_folder(folder: Path, kind: str, labels: int) -> Base:
    """Configuration and words of an exported folder, with random weights for the caller to fill."""
    transformers = need("transformers")
    tokenizers = need("tokenizers")
    config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    check_fits(config.model_type, kind, f"dir:{folder}")
    _set_head(config, kind, labels, None)
    words = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    network = getattr(transformers, CLASSES[kind]).from_config(config)
    return Base(
        network, config, TextEncoder(words, config.model_type, trained_with_prefix_space(folder)), f"dir:{folder}"
    )


def _own_encoder(folder: Path) -> Base:
    """The encoder under one of our own heads, or of a whole model of another kind (an MLM, say)."""
    base = bare_from_folder(folder, "encoder", 0)
    tensors = need("safetensors.torch").load_file(folder / "model.safetensors")
    inner = base.network.base_model_prefix
    wanted = base.network.state_dict()
    found = {}
    for prefix in ("encoder.", f"{inner}.", ""):
        found = {name: tensors[prefix + name] for name in wanted if prefix + name in tensors}
        if found:
            break
    holes = sorted(name for name in set(wanted) - set(found) if "pooler" not in name)
    if holes:
        kind = base.config.model_type
        raise ModelError(f"dir:{folder} lacks {len(holes)} tensors that a {kind} model needs, first {holes[0]}")
    base.network.load_state_dict(found, strict=False)
    return base


def check_fits(model_type: str, kind: str, where: str) -> None:
    """An encoder cannot write answers, a decoder cannot fill masks."""
    fitting = _FITTING.get(kind)
    if fitting is not None and model_type not in fitting:
        raise ModelError(f"{where} is a {model_type} model; this recipe needs one of: {', '.join(fitting)}")


def check_positions(max_tokens: int, positions: int | None, where: str) -> None:
    """Else the first long text would end the run somewhere inside the network."""
    if positions is not None and max_tokens > positions:
        raise InputError(
            f"model.max_tokens is {max_tokens}, but {where} has {positions} positions", todo=f"set it to {positions}"
        )


def positions_of(config: Any) -> int | None:
    """How many tokens a text may have; none where positions are relative (T5 names a number it does not keep)."""
    from quintet.models.torch_backend import OFFSET

    if config.model_type in ("t5", "mt5"):
        return None
    found = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if found is None:
        return None
    return int(found) - (config.pad_token_id + 1 if config.model_type in OFFSET else 0)


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ModelError(f"{folder} is not a folder")
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} has no config.json")
    weights = list(folder.glob("*.safetensors"))
    pickles = [*folder.glob("*.bin"), *folder.glob("*.ckpt"), *folder.glob("*.pt"), *folder.glob("*.pth")]
    if not weights and pickles:
        raise ModelError(
            f"{pickles[0]} is a pickle, which can run code; run: quintet models convert {pickles[0]} {folder}"
        )
    if not weights:
        raise ModelError(f"{folder} has no model.safetensors")


def _pretrained(folder: Path, kind: str, labels: int, dropout: float | None, where: str) -> Base:
    transformers = need("transformers")
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        check_fits(config.model_type, kind, where)
        _set_head(config, kind, labels, dropout)
        # Exported folders keep tokenizer.json; the auto class also turns a vocab.txt or a sentencepiece into one.
        words = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True).backend_tokenizer
        loader = getattr(transformers, CLASSES[kind])
        network, report = loader.from_pretrained(
            folder, config=config, use_safetensors=True, output_loading_info=True, local_files_only=True
        )
    except ModelError:
        raise
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"{where} cannot be opened: {first}") from None
    _check_loaded(report, network, where, config.model_type)
    return Base(network, config, TextEncoder(words, config.model_type, trained_with_prefix_space(folder)), where)


def _check_loaded(report: Any, network: Any, where: str, model_type: str) -> None:
    """Only a new head may be missing; a hole in the encoder is an error and says which tensors."""
    prefix = getattr(network, "base_model_prefix", "")
    inner = getattr(network, prefix, None) is not None
    fresh = ("classifier", "score", "lm_head", "pooler", "cls.", "predictions", "qa_outputs")
    missing = sorted(report["missing_keys"] if isinstance(report, dict) else report.missing_keys)
    holes = [key for key in missing if not any(part in key for part in fresh)]
    if inner:
        holes = [key for key in holes if key.startswith(f"{prefix}.")]
    if holes:
        raise ModelError(f"{where} lacks {len(holes)} tensors that a {model_type} model needs, first {holes[0]}")


def needed_kind(model: Model) -> str:
    """Which transformers class a head stands on."""
    if model.head not in HEADS:
        raise UnknownName("head", model.head, HEADS)
    return HEADS[model.head]
